import type { Kysely } from 'kysely';
import { threadScript, type Closable } from '../../core/index.ts';
import { createTaskThreads, type Storage, type StorageLocation } from '../../platform/index.ts';
import type { Appender, TimedEvent } from './append.ts';
import type { AuditTables } from './chain.ts';

/** Appends that are transactions of their own. */
export interface BulkAppender extends Closable {
  append(events: readonly TimedEvent[]): Promise<void>;
}

/** What the thread is asked: the events as JSON, which crosses as one text instead of thousands of objects. */
export interface AppendTask {
  readonly location: StorageLocation;
  readonly events: string;
}

// Half a millisecond of hashing and inserting; going to the thread costs a tenth of it.
const manyEvents = 50;

const script = threadScript('append-thread', import.meta.url);

/**
 * Few events are written here. Many, as thousands of searches a second leave them, are hashed and written by a thread,
 * and the commit that waits for the disk happens there too. The thread ends when it has been idle for a while.
 */
export function createBulkAppender(storage: Storage, append: Appender): BulkAppender {
  const threads = createTaskThreads<AppendTask, undefined>(script);
  return {
    append: (events) =>
      events.length < manyEvents
        ? storage.transaction((tx: Kysely<AuditTables>) => append(tx, events))
        : storage.whileWritersWait(() =>
            threads.run({ location: storage.location, events: JSON.stringify(events) }),
          ),
    close: () => threads.close(),
  };
}
