import type { Storage } from '../../../platform/index.ts';
import { isLive, linesOf, readLivePairs } from '../merge/live-entries.ts';
import { textOf } from '../records/record-line.ts';
import { seedOf } from '../store/provisioned.ts';
import { listSources, readChains } from '../store/sources.ts';
import { loadState } from '../store/state.ts';
import type { DirectoryTables } from '../store/tables.ts';

/** The Direct addresses of one block of a source, as written. */
export interface SourceAddresses {
  readonly source: string;
  readonly addresses: readonly string[];
}

/**
 * The Direct addresses of every source's own generation, source by source; one address may come several
 * times.
 */
export async function* readSourceAddresses(storage: Storage): AsyncGenerator<SourceAddresses> {
  const state = await loadState(storage);
  const db = storage.tables<DirectoryTables>();
  const seed = seedOf(state.secret);
  for (const { source, chain } of await readChains(db, await listSources(db)))
    for await (const block of readLivePairs(db, chain, seed)) {
      const lines = await linesOf(db, block);
      const addresses = lines.flatMap((line, entry) =>
        isLive(block, entry) ? [textOf(line, 'directAddress')] : [],
      );
      yield { source: source.name, addresses };
    }
}
