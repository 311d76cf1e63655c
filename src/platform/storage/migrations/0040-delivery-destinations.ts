import { randomUUID } from 'node:crypto';
import type { Kysely } from 'kysely';
import { tablesOf } from '../storage.ts';
import type { Migration } from '../migrate.ts';

interface OldTables {
  delivery: { id: string; not_after: number; next_attempt_at: number; attempts: number; is_done: number };
  delivery_recipient: { delivery_id: string; address: string; state: string; last_error: string };
  delivery_destination: {
    id: string;
    delivery_id: string;
    domain: string;
    recipients: string;
    not_after: number;
    next_attempt_at: number;
    attempts: number;
    lease_token: string | null;
    lease_until: number;
    last_reason: string;
    last_status_code: string;
    last_error: string;
  };
}

/** One row per destination of an outgoing message, every attempt, and the destinations that are on hold (Decision 0023). */
export const deliveryDestinationsMigration: Migration = {
  name: '0040-delivery-destinations',
  async up(db) {
    await db.schema
      .createTable('delivery_destination')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('delivery_id', 'text', (column) => column.notNull().references('delivery.id'))
      .addColumn('domain', 'text', (column) => column.notNull())
      .addColumn('recipients', 'text', (column) => column.notNull())
      .addColumn('not_after', 'bigint', (column) => column.notNull())
      .addColumn('next_attempt_at', 'bigint', (column) => column.notNull())
      .addColumn('attempts', 'integer', (column) => column.notNull())
      .addColumn('lease_token', 'text')
      .addColumn('lease_until', 'bigint', (column) => column.notNull())
      .addColumn('last_reason', 'text', (column) => column.notNull())
      .addColumn('last_status_code', 'text', (column) => column.notNull())
      .addColumn('last_error', 'text', (column) => column.notNull())
      .execute();
    await db.schema
      .createIndex('delivery_destination_due')
      .on('delivery_destination')
      .column('next_attempt_at')
      .execute();
    await db.schema
      .createIndex('delivery_destination_delivery')
      .on('delivery_destination')
      .column('delivery_id')
      .execute();
    await db.schema
      .createTable('delivery_attempt')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('delivery_id', 'text', (column) => column.notNull())
      .addColumn('message_id', 'text', (column) => column.notNull())
      .addColumn('domain', 'text', (column) => column.notNull())
      .addColumn('host', 'text', (column) => column.notNull())
      .addColumn('address', 'text', (column) => column.notNull())
      .addColumn('tls', 'text', (column) => column.notNull())
      .addColumn('reply', 'text', (column) => column.notNull())
      .addColumn('code', 'text', (column) => column.notNull())
      .addColumn('certificates', 'text', (column) => column.notNull())
      .addColumn('outcome', 'text', (column) => column.notNull())
      .addColumn('started_at', 'bigint', (column) => column.notNull())
      .addColumn('duration_ms', 'integer', (column) => column.notNull())
      .execute();
    await db.schema
      .createIndex('delivery_attempt_delivery')
      .on('delivery_attempt')
      .column('delivery_id')
      .execute();
    await db.schema
      .createTable('delivery_hold')
      .addColumn('domain', 'text', (column) => column.primaryKey())
      .addColumn('reason', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .execute();
    await db.schema
      .alterTable('delivery')
      .addColumn('message_id', 'text', (column) => column.notNull().defaultTo(''))
      .execute();
    await db.schema
      .alterTable('delivery')
      .addColumn('destinations', 'integer', (column) => column.notNull().defaultTo(1))
      .execute();
    await db.schema
      .alterTable('delivery')
      .addColumn('size_bytes', 'bigint', (column) => column.notNull().defaultTo(0))
      .execute();
    await moveRecipients(tablesOf<OldTables>(db as Kysely<unknown>));
    await db.schema.dropTable('delivery_recipient').execute();
    await db.schema.dropIndex('delivery_due').execute();
    for (const column of [
      'not_after',
      'next_attempt_at',
      'attempts',
      'lease_owner',
      'lease_until',
      'is_done',
    ])
      await db.schema.alterTable('delivery').dropColumn(column).execute();
  },
};

/** Recipients without a decision get rows; completed deliveries are deleted. */
async function moveRecipients(db: Kysely<OldTables>): Promise<void> {
  const pending = await db
    .selectFrom('delivery_recipient as r')
    .innerJoin('delivery as d', 'd.id', 'r.delivery_id')
    .select(['r.delivery_id', 'r.address', 'r.last_error', 'd.not_after', 'd.next_attempt_at', 'd.attempts'])
    .where('r.state', '=', 'pending')
    .where('d.is_done', '=', 0)
    .execute();
  const destinations = Map.groupBy(pending, (row) => `${row.delivery_id} ${domainOf(row.address)}`);
  const counts = new Map<string, number>();
  for (const rows of destinations.values()) {
    const [first] = rows;
    if (first === undefined) continue;
    const { delivery_id, not_after, next_attempt_at, attempts } = first;
    counts.set(delivery_id, (counts.get(delivery_id) ?? 0) + 1);
    await db
      .insertInto('delivery_destination')
      .values({
        id: randomUUID(),
        delivery_id,
        domain: domainOf(first.address),
        recipients: JSON.stringify(rows.map(({ address }) => address)),
        not_after,
        next_attempt_at,
        attempts,
        lease_token: null,
        lease_until: 0,
        last_reason: '',
        last_status_code: '',
        last_error: first.last_error,
      })
      .execute();
  }
  const delivery = tablesOf<{ delivery: { id: string; message_id: string; destinations: number } }>(db);
  for (const [id, destinationCount] of counts)
    await delivery
      .updateTable('delivery')
      .set({ destinations: destinationCount })
      .where('id', '=', id)
      .execute();
  await delivery
    .updateTable('delivery')
    .set((eb) => ({ message_id: eb.ref('id') }))
    .execute();
  await db.deleteFrom('delivery_recipient').execute();
  await db
    .deleteFrom('delivery')
    .where('id', 'not in', db.selectFrom('delivery_destination').select('delivery_id'))
    .execute();
}

function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1).toLowerCase();
}
