import type { AnyTransaction, Storage, StoredValue } from '../../platform/index.ts';
import { canonicalObjects, chainStart, hashRow, type AuditRow, type AuditTables } from './chain.ts';
import { conceal } from './conceal.ts';
import type { AuditEvent } from './create-audit.ts';

export interface TimedEvent {
  readonly event: AuditEvent;
  readonly atMs: number;
}

const columns = [
  'sequence',
  'recorded_at',
  'action',
  'actor',
  'outcome',
  'request_id',
  'remote_address',
  'objects',
  'previous_hash',
  'hash',
] as const satisfies readonly (keyof AuditRow)[];

/**
 * Adds events to the end of the chain. Storage hands over the events of a whole commit together, under a lock, so nobody
 * else can append between reading the last row and inserting the next.
 */
export function createAppender(
  storage: Storage,
): (tx: AnyTransaction, events: readonly TimedEvent[]) => Promise<void> {
  const findLast = storage.prepare<AuditTables, object, Pick<AuditRow, 'sequence'>>((db) =>
    db.selectFrom('audit_event').select('sequence').orderBy('sequence', 'desc').limit(1),
  );
  const findHash = storage.prepare<AuditTables, Pick<AuditRow, 'sequence'>, Pick<AuditRow, 'hash'>>(
    (db, { sequence }) => db.selectFrom('audit_event').select('hash').where('sequence', '=', sequence),
  );
  // Of the last row that this process has committed. Nobody can write another row of that number.
  let own = { sequence: 0, hash: chainStart };

  async function readEnd(tx: AnyTransaction): Promise<Pick<AuditRow, 'sequence' | 'hash'>> {
    const { sequence } = (await findLast.first(tx, {})) ?? { sequence: 0 };
    if (sequence === own.sequence) return own;
    const row = await findHash.first(tx, { sequence });
    return { sequence, hash: row?.hash ?? chainStart };
  }

  return async (tx, events) => {
    let { sequence, hash } = await readEnd(tx);
    const rows: StoredValue[][] = [];
    for (const { event, atMs } of events) {
      const row = toRow(event, atMs, ++sequence, hash);
      rows.push(columns.map((column) => row[column]));
      hash = row.hash;
    }
    await storage.bulkInsert(tx, { table: 'audit_event', columns, rows });
    storage.afterCommit(tx, () => {
      own = { sequence, hash };
    });
  };
}

function toRow(event: AuditEvent, atMs: number, sequence: number, previousHash: Uint8Array): AuditRow {
  const row = {
    sequence,
    recorded_at: atMs,
    action: event.action,
    actor: event.actor ?? null,
    outcome: event.outcome,
    request_id: event.requestId ?? null,
    remote_address: event.remoteAddress ?? null,
    objects: canonicalObjects({
      ...event.objects,
      ...(event.concealed === undefined ? {} : conceal(event.concealed)),
    }),
    previous_hash: previousHash,
  };
  return { ...row, hash: hashRow(row) };
}
