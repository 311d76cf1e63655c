/**
 * The thread that builds and reads indexes, so that the thread of the requests never waits for it.
 * Used by `service/directory`: `load`, `serve`, `changes`.
 * Begin with this file; `protocol.ts` lists what the thread does.
 */
import type { ProviderRecord } from '../../../lib/provider-record/index.ts';
import { totalmem } from 'node:os';
import { errorCode, errorText, type Closable } from '../../../core/index.ts';
import { createTaskThreads, listMoved, threadScript } from '../../../core/threads/index.ts';
import type { SharedIndexBytes } from '../../../lib/provider-index/index.ts';
import { DirectoryError } from '../errors.ts';
import type { LiveBlock } from '../store/generation.ts';
import type { IndexReply, IndexRequest } from './protocol.ts';

/** Builds an index in its own thread, so that nobody waits for it. */
export interface IndexThread extends Closable {
  /**
   * Passes a block, whose uncompressed lines are then gone; waits only when the thread is several blocks
   * behind.
   */
  add(block: LiveBlock): Promise<void>;
  /** Ends the building and, if a path is given, writes the snapshot. */
  finish(snapshotPath?: string): Promise<SharedIndexBytes>;
  /** Writes the snapshot of an index. Throws DIRECTORY_NOT_READY if it cannot be written. */
  save(bytes: SharedIndexBytes, snapshotPath: string): Promise<void>;
  /** Reads a snapshot. Throws DIRECTORY_NOT_READY if it is missing, cut short or of another version. */
  load(snapshotPath: string): Promise<SharedIndexBytes>;
  /** The records of an index that have one of these ids. */
  findRecords(base: SharedIndexBytes, ids: ReadonlySet<number>): Promise<readonly ProviderRecord[]>;
  /** An index of those records. */
  copyRecords(base: SharedIndexBytes, ids: ReadonlySet<number>): Promise<SharedIndexBytes>;
}

/** Blocks on their way at once: enough to keep both threads busy, few enough to bound memory. */
const maxUnanswered = 8;

const noBytes = new Uint8Array();

const threadFile = threadScript('thread', import.meta.url);

export function startIndexThread(): IndexThread {
  const threads = createTaskThreads<IndexRequest, IndexReply>(threadFile, {
    // The index in progress is in the thread.
    staysReady: true,
    maxHeapMb: Math.max(4096, Math.floor(totalmem() / 2 ** 21)),
  });
  const underWay: Promise<unknown>[] = [];
  const ask = async (request: IndexRequest, moved: readonly Uint8Array[] = []): Promise<IndexReply> => {
    try {
      return await threads.run(request, listMoved(moved));
    } catch (cause) {
      const text = `The index thread failed: ${errorCode(cause)}: ${errorText(cause)}`;
      throw new DirectoryError('DIRECTORY_NOT_READY', text, { cause });
    }
  };

  return {
    async add(block) {
      // Data that is available uncompressed need not be compressed and read again.
      const sent =
        block.lines === undefined
          ? ask({ kind: 'block', block })
          : ask({ kind: 'block', block: { ...block, records: noBytes } }, [block.lines]);
      // The caller that awaits this block handles a failure; until then it must not be an unhandled
      // rejection.
      sent.catch(() => {});
      underWay.push(sent);
      if (underWay.length >= maxUnanswered) await underWay.shift();
    },
    async finish(snapshotPath) {
      while (underWay.length > 0) await underWay.shift();
      return toBytes(await ask({ kind: 'finish', snapshotPath }));
    },
    async save(bytes, snapshotPath) {
      await ask({ kind: 'save', bytes, snapshotPath });
    },
    async load(snapshotPath) {
      return toBytes(await ask({ kind: 'load', snapshotPath }));
    },
    async findRecords(base, ids) {
      const reply = await ask({ kind: 'records', base, ids });
      if (reply.kind === 'records') return reply.records;
      throw unexpected();
    },
    async copyRecords(base, ids) {
      return toBytes(await ask({ kind: 'copy', base, ids }));
    },
    close: () => threads.close(),
  };
}

function toBytes(reply: IndexReply): SharedIndexBytes {
  if (reply.kind === 'index') return reply.bytes;
  throw unexpected();
}

function unexpected(): DirectoryError {
  return new DirectoryError('DIRECTORY_NOT_READY', 'The index thread gave an unexpected reply');
}
