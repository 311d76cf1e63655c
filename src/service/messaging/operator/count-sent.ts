import { sql } from 'kysely';
import type { Storage } from '../../../platform/index.ts';
import type { MessagingTables } from '../tables.ts';

/** Counted at most. */
const maxCounted = 100_000;

export interface SentCount {
  readonly count: number;
  readonly lastAt: Date | undefined;
}

/**
 * By client, the number of its sends since a time, at most 100,000, and the time of the last one. For a few
 * hundred clients at once.
 */
export async function countSent(
  storage: Storage,
  clientIds: readonly string[],
  since: Date,
): Promise<ReadonlyMap<string, SentCount>> {
  if (clientIds.length === 0) return new Map();
  const db = storage.tables<MessagingTables>();
  const clients = sql.join(clientIds.map((id) => sql`(cast(${id} as text))`));
  // One statement for all of them, and for each two looks into the index of clients and times.
  const { rows } = await sql<{ client_id: string; count: number; last_at: number | null }>`
    select client.column1 as client_id,
      (select count(*) from (select 1 from message
        where client_id = client.column1 and created_at >= ${since.getTime()} limit ${sql.lit(maxCounted)}) as sent) as count,
      (select max(created_at) from message where client_id = client.column1) as last_at
    from (values ${clients}) as client`.execute(db);
  return new Map(
    rows.map((row) => [
      row.client_id,
      {
        count: Number(row.count),
        lastAt: row.last_at === null ? undefined : new Date(Number(row.last_at)),
      },
    ]),
  );
}
