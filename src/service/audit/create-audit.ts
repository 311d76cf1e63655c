import type { Kysely } from 'kysely';
import type { Clock, Closable, Log } from '../../core/index.ts';
import { tablesOf, type AnyTransaction, type Storage } from '../../platform/index.ts';
import { canonicalObjects, chainStart, hashRow, type AuditRow, type AuditTables } from './chain.ts';
import { createBatch } from './batch.ts';
import { createFloodGuard } from './flood-guard.ts';
import { findEvents, type AuditFilter, type AuditRecord } from './find-events.ts';
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
  /** Newest first. */
  find(filter: AuditFilter): Promise<readonly AuditRecord[]>;
}

export interface AuditOptions {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly log: Log;
  /** Longest time that an event of `record` waits. */
  readonly flushMs?: number;
}

type Timed = { readonly event: AuditEvent; readonly atMs: number };

export function createAudit({ storage, clock, log, flushMs = 250 }: AuditOptions): Audit {
  const timed = (event: AuditEvent): Timed => ({ event, atMs: clock.now().getTime() });
  const guard = createFloodGuard(clock);
  const batch = createBatch<Timed>({
    flushMs,
    log,
    write: (events) => storage.transaction((tx: Kysely<AuditTables>) => append(tx, events)),
  });
  return {
    record: async (event) => {
      const kept = guard(event);
      if (kept !== undefined) batch.add(timed(kept));
    },
    recordIn: (tx, event) => append(tablesOf<AuditTables>(tx), [timed(event)]),
    recordNow: (event) => storage.transaction((tx: Kysely<AuditTables>) => append(tx, [timed(event)])),
    flush: () => batch.flush(),
    verifyChain: async () => {
      await batch.flush();
      return verifyChain(storage.tables<AuditTables>());
    },
    find: async (filter) => {
      await batch.flush();
      return findEvents(storage.tables<AuditTables>(), filter);
    },
    close: () => batch.close(),
  };
}

// The transaction holds the write lock, so nobody else can append between reading the last row and inserting the next.
async function append(tx: Kysely<AuditTables>, events: readonly Timed[]): Promise<void> {
  const last = await tx
    .selectFrom('audit_event')
    .select(['sequence', 'hash'])
    .orderBy('sequence', 'desc')
    .limit(1)
    .executeTakeFirst();
  let { sequence, hash } = last ?? { sequence: 0, hash: chainStart };
  const rows: AuditRow[] = [];
  for (const { event, atMs } of events) {
    const row = toRow(event, atMs, ++sequence, hash);
    rows.push(row);
    hash = row.hash;
  }
  for (let start = 0; start < rows.length; start += rowsPerInsert) {
    await tx
      .insertInto('audit_event')
      .values(rows.slice(start, start + rowsPerInsert))
      .execute();
  }
}

/** Ten columns each, under the 1000 parameters that every engine takes. */
const rowsPerInsert = 90;

function toRow(event: AuditEvent, atMs: number, sequence: number, previousHash: Uint8Array): AuditRow {
  const row = {
    sequence,
    recorded_at: atMs,
    action: event.action,
    actor: event.actor ?? null,
    outcome: event.outcome,
    request_id: event.requestId ?? null,
    remote_address: event.remoteAddress ?? null,
    objects: canonicalObjects(event.objects ?? {}),
    previous_hash: previousHash,
  };
  return { ...row, hash: hashRow(row) };
}
