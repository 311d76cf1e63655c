import type { Migration } from '../migrate.ts';

/** Received mail, and the copies of it that wait for edge clients (Decision 0014). */
export const inboxMigration: Migration = {
  name: '0022-inbox',
  async up(db) {
    await db.schema
      .createTable('inbound_mail')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('mail_from', 'text', (column) => column.notNull())
      .addColumn('recipients', 'text', (column) => column.notNull())
      .addColumn('sealed_mail', 'bytea', (column) => column.notNull())
      .addColumn('content_hash', 'text', (column) => column.notNull())
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('attempts', 'integer', (column) => column.notNull())
      .addColumn('next_attempt_at', 'bigint', (column) => column.notNull())
      .addColumn('lease_owner', 'text')
      .addColumn('lease_until', 'bigint')
      .addColumn('last_error', 'text', (column) => column.notNull())
      .addColumn('received_at', 'bigint', (column) => column.notNull())
      .execute();
    await db.schema
      .createIndex('inbound_mail_due')
      .on('inbound_mail')
      .columns(['state', 'next_attempt_at'])
      .execute();
    await db.schema.createIndex('inbound_mail_hash').on('inbound_mail').column('content_hash').execute();
    await db.schema
      .createTable('inbox_message')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('sender', 'text', (column) => column.notNull())
      .addColumn('wire_id', 'text', (column) => column.notNull())
      .addColumn('sealed_message', 'bytea', (column) => column.notNull())
      .addColumn('requests_final_delivery', 'integer', (column) => column.notNull())
      .addColumn('attachment_count', 'integer', (column) => column.notNull())
      .addColumn('size_bytes', 'bigint', (column) => column.notNull())
      .addColumn('received_at', 'bigint', (column) => column.notNull())
      .execute();
    await db.schema
      .createTable('inbox_copy')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('message_id', 'text', (column) => column.notNull().references('inbox_message.id'))
      .addColumn('address', 'text', (column) => column.notNull())
      .addColumn('address_key', 'text', (column) => column.notNull())
      .addColumn('domain', 'text', (column) => column.notNull())
      .addColumn('duplicate_key', 'text', (column) => column.notNull().unique())
      .addColumn('acknowledged_at', 'bigint')
      .addColumn('warned_at', 'bigint')
      .addColumn('received_at', 'bigint', (column) => column.notNull())
      .execute();
    await db.schema
      .createIndex('inbox_copy_waiting')
      .on('inbox_copy')
      .columns(['address_key', 'received_at', 'id'])
      .execute();
    await db.schema
      .createIndex('inbox_copy_domain')
      .on('inbox_copy')
      .columns(['domain', 'received_at', 'id'])
      .execute();
    await db.schema.createIndex('inbox_copy_message').on('inbox_copy').column('message_id').execute();
    await db.schema
      .createIndex('inbox_copy_age')
      .on('inbox_copy')
      .columns(['acknowledged_at', 'received_at'])
      .execute();
  },
};
