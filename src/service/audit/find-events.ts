import type { Kysely } from 'kysely';
import type { AuditRow, AuditTables } from './chain.ts';

export interface AuditFilter {
  readonly action?: string | undefined;
  readonly actor?: string | undefined;
  readonly requestId?: string | undefined;
  readonly outcome?: string | undefined;
  readonly since?: Date | undefined;
  /** Rows up to this time. */
  readonly until?: Date | undefined;
  /** Only rows before this sequence number, to page backwards. */
  readonly before?: number | undefined;
  /** At most 1000; 100 if absent. */
  readonly limit?: number | undefined;
}

/** One row as shown to an operator. */
export interface AuditRecord {
  readonly sequence: number;
  readonly recordedAt: Date;
  readonly action: string;
  readonly actor: string | undefined;
  readonly outcome: string;
  readonly objects: Readonly<Record<string, string | number>>;
  readonly requestId: string | undefined;
  readonly remoteAddress: string | undefined;
}

export async function findEvents(
  db: Kysely<AuditTables>,
  filter: AuditFilter,
): Promise<readonly AuditRecord[]> {
  let query = db.selectFrom('audit_event').selectAll();
  if (filter.action !== undefined) query = query.where('action', '=', filter.action);
  if (filter.actor !== undefined) query = query.where('actor', '=', filter.actor);
  if (filter.requestId !== undefined) query = query.where('request_id', '=', filter.requestId);
  if (filter.outcome !== undefined) query = query.where('outcome', '=', filter.outcome);
  if (filter.until !== undefined) query = query.where('recorded_at', '<=', filter.until.getTime());
  if (filter.since !== undefined) query = query.where('recorded_at', '>=', filter.since.getTime());
  if (filter.before !== undefined) query = query.where('sequence', '<', filter.before);
  const rows = await query
    .orderBy('sequence', 'desc')
    .limit(Math.min(filter.limit ?? 100, 1000))
    .execute();
  return rows.map(toRecord);
}

function toRecord(row: AuditRow): AuditRecord {
  return {
    sequence: row.sequence,
    recordedAt: new Date(row.recorded_at),
    action: row.action,
    actor: row.actor ?? undefined,
    outcome: row.outcome,
    objects: JSON.parse(row.objects) as Record<string, string | number>,
    requestId: row.request_id ?? undefined,
    remoteAddress: row.remote_address ?? undefined,
  };
}
