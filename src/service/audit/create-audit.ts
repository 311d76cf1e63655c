import type { Clock, Closable, Log } from '../../core/index.ts';
import type { AnyTransaction, Storage } from '../../platform/index.ts';
import { createAppender, type TimedEvent } from './append.ts';
import type { AuditTables } from './chain.ts';
import type { ConcealedValues } from './conceal.ts';
import { createBatch } from './batch.ts';
import { deleteOld } from './delete-old.ts';
import { createFloodGuard } from './flood-guard.ts';
import { findEvent, findEvents, type AuditFilter, type AuditRecord } from './find-events.ts';
import { verifyChain, type ChainReport } from './verify-chain.ts';

export type AuditOutcome = 'ok' | 'refused' | 'failed';

/** One event; the time is added when it is handed over. */
export interface AuditEvent {
  /** `area.verb`, for example `token.issue` or `directory.search`. */
  readonly action: string;
  /** A client id, `system`, or the name of an operator. */
  readonly actor?: string | undefined;
  readonly outcome: AuditOutcome;
  /** Identifiers only (SEC-03): message id, from, to, reason code, counts. */
  readonly objects?: Readonly<Record<string, string | number>> | undefined;
  /** Values that must not be stored: beside the objects, the row gets hashes of them. */
  readonly concealed?: ConcealedValues | undefined;
  readonly requestId?: string | undefined;
  readonly remoteAddress?: string | undefined;
}

export interface Audit extends Closable {
  /**
   * For frequent events such as searches: returns at once, the row is written with others within `flushMs`. A crash
   * loses at most that much. Refusals of strangers are limited per address (`flood-guard.ts`).
   */
  record(event: AuditEvent): Promise<void>;
  /** For everything that must not get lost: the row is part of the caller's transaction. */
  recordIn(tx: AnyTransaction, event: AuditEvent): Promise<void>;
  /** The same for a caller without a transaction: the row is durable when the promise is fulfilled. */
  recordNow(event: AuditEvent): Promise<void>;
  /** Writes what waits. */
  flush(): Promise<void>;
  /** Walks the whole chain. */
  verifyChain(): Promise<ChainReport>;
  /** Deletes the oldest events, beyond the time that they are kept; the rest can still be verified. Returns how many. */
  deleteOld(): Promise<number>;
  /** Undefined if there is none of that number. */
  get(sequence: number): Promise<AuditRecord | undefined>;
  /** Newest first. */
  find(filter: AuditFilter): Promise<readonly AuditRecord[]>;
}

export interface AuditOptions {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly log: Log;
  /** Longest time that an event of `record` waits. */
  readonly flushMs?: number;
  /** How long events are kept: six years or more (SEC-04). */
  readonly keepMs?: number;
}

/** Six years with their leap days (SEC-04). */
const leastKeepMs = 2192 * 86_400_000;

export function createAudit({
  storage,
  clock,
  log,
  flushMs = 250,
  keepMs = leastKeepMs,
}: AuditOptions): Audit {
  const timed = (event: AuditEvent): TimedEvent => ({ event, atMs: clock.now().getTime() });
  const chain = storage.collector<TimedEvent>('audit', createAppender(storage));
  const guard = createFloodGuard(clock);
  const append = (events: readonly TimedEvent[]): Promise<void> =>
    storage.transaction(async (tx) => {
      for (const event of events) chain.add(tx, event);
    });
  const batch = createBatch<TimedEvent>({ flushMs, log, write: append });
  return {
    record: async (event) => {
      const kept = guard(event);
      if (kept !== undefined) batch.add(timed(kept));
    },
    recordIn: async (tx, event) => chain.add(tx, timed(event)),
    recordNow: (event) => append([timed(event)]),
    flush: () => batch.flush(),
    verifyChain: async () => {
      await batch.flush();
      return verifyChain(storage.tables<AuditTables>());
    },
    deleteOld: () => deleteOld(storage, clock, Math.max(keepMs, leastKeepMs)),
    find: async (filter) => {
      await batch.flush();
      return findEvents(storage.tables<AuditTables>(), filter);
    },
    get: (sequence) => findEvent(storage.tables<AuditTables>(), sequence),
    close: () => batch.close(),
  };
}
