/** Runs in a worker thread of the search pool: answers queries over the shared index. */
import { parentPort } from 'node:worker_threads';
import { errorText } from '../../core/index.ts';
import { createIndexHolder } from './changes/index-holder.ts';
import { writePage, type PoolReply, type PoolRequest } from './search-pool.ts';
import type { ProviderQuery } from './types.ts';

const holder = createIndexHolder();

parentPort?.on('message', (request: PoolRequest) => {
  if (request.kind === 'swap') holder.take(request.delivery);
  else reply(request.id, request.query);
});

function reply(id: number, query: ProviderQuery): void {
  try {
    const index = holder.current;
    if (index === undefined) throw new TypeError('The search came before the index.');
    const page = writePage(index, index.search(query));
    parentPort?.postMessage({ id, page } satisfies PoolReply, [page.json.buffer as ArrayBuffer]);
  } catch (error) {
    parentPort?.postMessage({ id, failure: errorText(error) } satisfies PoolReply);
  }
}
