import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { Migration } from '../migrate.ts';

/** The indexes of the console's searches, and the figures of its charts. */
export const consoleSearchMigration: Migration = {
  name: '0081-console-search',
  async up(db) {
    await createIndexes(db);
    await db.schema
      .createTable('traffic_minute')
      .addColumn('minute', 'bigint', (column) => column.notNull())
      .addColumn('node_id', 'text', (column) => column.notNull())
      .addColumn('accepted', 'integer', (column) => column.notNull())
      .addColumn('received', 'integer', (column) => column.notNull())
      .addColumn('processed', 'integer', (column) => column.notNull())
      .addColumn('failed', 'integer', (column) => column.notNull())
      .addColumn('durations', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('traffic_minute_key', ['minute', 'node_id'])
      .execute();
  },
};

/** The text after the last `@`, by functions that both engines have and regard as immutable. */
function domainOf(text: RawBuilder<unknown>) {
  return sql`replace(${text}, rtrim(${text}, replace(${text}, '@', '')), '')`;
}

async function createIndexes(db: Kysely<unknown>): Promise<void> {
  const recipientDomain = domainOf(sql.ref('address_key'));
  await sql`create index message_recipient_domain on message_recipient ((${recipientDomain}), created_at, id)`.execute(
    db,
  );
  const senderDomain = domainOf(sql.ref('sender_key'));
  await sql`create index message_sender_domain on message ((${senderDomain}), created_at)`.execute(db);
  await db.schema
    .createIndex('inbox_copy_received')
    .on('inbox_copy')
    .columns(['received_at', 'id'])
    .execute();
  await db.schema
    .createIndex('inbox_copy_address')
    .on('inbox_copy')
    .columns(['address_key', 'received_at', 'id'])
    .execute();
  await db.schema.createIndex('inbox_message_wire').on('inbox_message').column('wire_id').execute();
  await sql`create index inbox_message_sender on inbox_message (lower(sender), received_at)`.execute(db);
  const foreignDomain = domainOf(sql`lower(sender)`);
  await sql`create index inbox_message_domain on inbox_message ((${foreignDomain}), received_at)`.execute(db);
  await db.schema
    .createIndex('inbox_copy_domain_time')
    .on('inbox_copy')
    .columns(['domain', 'received_at', 'id'])
    .execute();
  await sql`create index inbox_copy_unacknowledged on inbox_copy (received_at, id) where acknowledged_at is null`.execute(
    db,
  );
  await sql`create index delivery_destination_domain on delivery_destination (domain, id)`.execute(db);
}
