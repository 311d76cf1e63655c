/**
 * The thread that builds and reads indexes, so that the thread of the requests never waits for it.
 * Used by `service/directory`: `load`, `serve`, `changes`.
 * Begin with this file; `protocol.ts` lists what the thread does.
 */
import type { ProviderRecord } from '../../../lib/provider-record/index.ts';
import { totalmem } from 'node:os';
import { errorCode, errorText, type Closable } from '../../../core/index.ts';
import { createTaskThreads, listMoved, threadScript, type TaskThreads } from '../../../core/threads/index.ts';
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
  /** Ends the building. */
  finish(): Promise<SharedIndexBytes>;
  /** Ends it with a snapshot, most of which is never in memory. Throws DIRECTORY_NOT_READY as `save` does. */
  write(snapshotPath: string): Promise<void>;
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

type Threads = TaskThreads<IndexRequest, IndexReply>;

/** Threads that small indexes have left: starting one costs as much as thousands of records. */
const idle = new Set<Threads>();
const idleMs = 5000;
const maxIdle = 2;
const fewBytes = 10_000_000;

function takeThread(): Threads {
  for (const threads of idle) {
    idle.delete(threads);
    return threads;
  }
  return createTaskThreads<IndexRequest, IndexReply>(threadFile, {
    // The index in progress is in the thread.
    staysReady: true,
    maxHeapMb: Math.max(4096, Math.floor(totalmem() / 2 ** 21)),
  });
}

/** Drops an index in progress. Ends the thread if it is not needed soon. */
async function leaveThread(threads: Threads): Promise<void> {
  try {
    await threads.run({ kind: 'reset' });
  } catch {
    return threads.close();
  }
  if (idle.size >= maxIdle) return threads.close();
  idle.add(threads);
  setTimeout(() => {
    if (idle.delete(threads)) void threads.close();
  }, idleMs).unref();
}

/** `readsHere`: a snapshot is read by the calling thread. Nothing is started before it is needed. */
export function startIndexThread({ readsHere = false } = {}): IndexThread {
  let threads: Threads | undefined;
  const underWay: Promise<unknown>[] = [];
  let bytesHeld = 0;
  let unanswered = 0;
  let isClosed = false;
  const ask = async (request: IndexRequest, moved: readonly Uint8Array[] = []): Promise<IndexReply> => {
    if (isClosed) throw new DirectoryError('DIRECTORY_NOT_READY', 'The index thread is closed');
    unanswered++;
    try {
      if (readsHere && request.kind === 'load') {
        const { readSnapshot } = await import('../../../lib/provider-index/index.ts');
        return { kind: 'index', bytes: readSnapshot(request.snapshotPath) };
      }
      threads ??= takeThread();
      const reply = await threads.run(request, listMoved(moved));
      if (reply.kind === 'index') bytesHeld += byteLengthOf(reply.bytes);
      return reply;
    } catch (cause) {
      const text = `The index thread failed: ${errorCode(cause)}: ${errorText(cause)}`;
      throw new DirectoryError('DIRECTORY_NOT_READY', text, { cause });
    } finally {
      unanswered--;
    }
  };

  return {
    async add(block) {
      bytesHeld += block.records.length + (block.lines?.length ?? 0);
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
    async finish() {
      while (underWay.length > 0) await underWay.shift();
      return toBytes(await ask({ kind: 'finish' }));
    },
    async write(snapshotPath) {
      while (underWay.length > 0) await underWay.shift();
      await ask({ kind: 'write', snapshotPath });
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
    async close() {
      if (isClosed) return;
      isClosed = true;
      if (threads === undefined) return;
      await (unanswered > 0 || bytesHeld > fewBytes ? threads.close() : leaveThread(threads));
    },
  };
}

function byteLengthOf({ buffers }: SharedIndexBytes): number {
  return buffers.reduce((sum, { byteLength }) => sum + byteLength, 0);
}

function toBytes(reply: IndexReply): SharedIndexBytes {
  if (reply.kind === 'index') return reply.bytes;
  throw unexpected();
}

function unexpected(): DirectoryError {
  return new DirectoryError('DIRECTORY_NOT_READY', 'The index thread gave an unexpected reply');
}
