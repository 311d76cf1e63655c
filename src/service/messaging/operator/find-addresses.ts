import { sql, type Kysely } from 'kysely';
import type { MessagingTables } from '../tables.ts';

const maxAddresses = 10;

/** Columns with an index that begins with them. */
const columns = [
  ['message_recipient', sql<string>`address_key`],
  ['message', sql<string>`sender_key`],
  ['inbox_copy', sql<string>`address_key`],
  ['inbox_message', sql<string>`lower(sender)`],
] as const;

/**
 * Addresses of senders and recipients that begin so, lower-cased: the first ten of each kind. Each costs one
 * look into an index, whatever the number of messages.
 */
export async function findAddressesBeginning(
  db: Kysely<MessagingTables>,
  start: string,
): Promise<readonly string[]> {
  const found = new Set<string>();
  for (const [table, column] of columns) {
    let last = start.toLowerCase();
    for (let count = 0; count < maxAddresses; count++) {
      const after = count === 0 ? sql`${column} >= ${last}` : sql`${column} > ${last}`;
      const { rows } = await sql<{ address: string | null }>`
        select min(${column}) as address from ${sql.table(table)}
        where ${after} and ${column} < ${`${start.toLowerCase()}\u{10FFFF}`}`.execute(db);
      const address = rows[0]?.address ?? undefined;
      if (address === undefined) break;
      found.add(address);
      last = address;
    }
  }
  return [...found];
}
