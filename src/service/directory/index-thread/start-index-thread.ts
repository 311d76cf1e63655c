import { totalmem } from 'node:os';
import { Worker } from 'node:worker_threads';
import { type Closable } from '../../../core/index.ts';
import { threadScript } from '../../../core/threads/index.ts';
import type { ProviderRecord, SharedIndexBytes } from '../../../lib/provider-index/index.ts';
import { DirectoryError } from '../errors.ts';
import type { LiveBlock } from '../store/generation.ts';
import type { IndexReply, IndexRequest } from './protocol.ts';

/** Builds an index in a thread of its own, so that nobody waits for it. */
export interface IndexThread extends Closable {
  /** Hands over a block; waits only when the thread is several blocks behind. */
  add(block: LiveBlock): Promise<void>;
  /** Ends the building and, if a path is given, writes the snapshot. */
  finish(snapshotPath?: string): Promise<SharedIndexBytes>;
  /** Reads a snapshot. Throws DIRECTORY_NOT_READY if it is missing, cut short or of another version. */
  load(snapshotPath: string): Promise<SharedIndexBytes>;
  /** The records of an index that have one of these ids. */
  findRecords(base: SharedIndexBytes, ids: ReadonlySet<number>): Promise<readonly ProviderRecord[]>;
  /** An index of those records. */
  copyRecords(base: SharedIndexBytes, ids: ReadonlySet<number>): Promise<SharedIndexBytes>;
}

/** Blocks on their way at once: enough to keep both threads busy, few enough to bound memory. */
const maxUnanswered = 8;

const threadFile = threadScript('thread', import.meta.url);

interface Waiter {
  resolve(reply: IndexReply): void;
  reject(error: unknown): void;
}

export function startIndexThread(): IndexThread {
  const worker = new Worker(threadFile, {
    resourceLimits: { maxOldGenerationSizeMb: Math.max(4096, Math.floor(totalmem() / 2 ** 21)) },
  });
  const waiters: Waiter[] = [];
  let failure: unknown;

  function fail(error: unknown): void {
    failure ??= error;
    for (const waiter of waiters.splice(0)) waiter.reject(error);
  }
  worker.on('message', (reply: IndexReply) => waiters.shift()?.resolve(reply));
  worker.on('error', fail);
  worker.on('exit', () => fail(new DirectoryError('DIRECTORY_NOT_READY', 'The index thread has ended')));

  function ask(request: IndexRequest): Promise<IndexReply> {
    if (failure !== undefined) return Promise.reject(failure);
    return new Promise((resolve, reject) => {
      waiters.push({ resolve, reject });
      worker.postMessage(request);
    });
  }

  const underWay: Promise<IndexReply>[] = [];

  async function settleOldest(): Promise<void> {
    const reply = await underWay.shift();
    if (reply?.kind === 'failed') throw toError(reply);
  }

  return {
    async add(block) {
      const sent = ask({ kind: 'block', block });
      // A failure is met by whoever settles this block; until then it is not an unhandled one.
      sent.catch(() => {});
      underWay.push(sent);
      if (underWay.length >= maxUnanswered) await settleOldest();
    },
    async finish(snapshotPath) {
      while (underWay.length > 0) await settleOldest();
      return toBytes(await ask({ kind: 'finish', snapshotPath }));
    },
    async load(snapshotPath) {
      return toBytes(await ask({ kind: 'load', snapshotPath }));
    },
    async findRecords(base, ids) {
      const reply = await ask({ kind: 'records', base, ids });
      if (reply.kind === 'records') return reply.records;
      throw toError(reply);
    },
    async copyRecords(base, ids) {
      return toBytes(await ask({ kind: 'copy', base, ids }));
    },
    async close() {
      await worker.terminate();
    },
  };
}

function toBytes(reply: IndexReply): SharedIndexBytes {
  if (reply.kind === 'index') return reply.bytes;
  throw toError(reply);
}

function toError(reply: IndexReply): DirectoryError {
  const text = reply.kind === 'failed' ? `${reply.code}: ${reply.text}` : 'unexpected reply';
  return new DirectoryError('DIRECTORY_NOT_READY', `The index thread failed: ${text}`);
}
