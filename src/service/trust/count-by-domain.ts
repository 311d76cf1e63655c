import type { Kysely } from 'kysely';
import type { TrustTables } from './tables.ts';

/** The number of a table's rows by domain; domains without any are absent. */
export async function countByDomain(
  db: Kysely<TrustTables>,
  table: 'hosted_address' | 'trust_anchor',
): Promise<ReadonlyMap<string, number>> {
  const rows = await db
    .selectFrom(table)
    .select(({ fn }) => ['domain', fn.countAll<number>().as('count')])
    .groupBy('domain')
    .execute();
  return new Map(rows.map(({ domain, count }) => [domain, Number(count)]));
}
