import type { Migration } from '../migrate.ts';

/** Sent messages, one row a recipient, and everything that happened to each (Decisions 0009 and 0012). */
export const messageMigration: Migration = {
  name: '0021-message',
  async up(db) {
    await db.schema
      .createTable('message')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('client_id', 'text', (column) => column.notNull())
      .addColumn('uuid', 'text', (column) => column.notNull())
      .addColumn('wire_id', 'text', (column) => column.notNull().unique())
      .addColumn('sender', 'text', (column) => column.notNull())
      .addColumn('sender_key', 'text', (column) => column.notNull())
      .addColumn('request_hash', 'text', (column) => column.notNull())
      .addColumn('response', 'text', (column) => column.notNull())
      .addColumn('is_xdm', 'integer', (column) => column.notNull())
      .addColumn('is_asm_enabled', 'integer', (column) => column.notNull())
      .addColumn('requests_final_delivery', 'integer', (column) => column.notNull())
      .addColumn('sealed_details', 'bytea')
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addUniqueConstraint('message_client_uuid', ['client_id', 'uuid'])
      .execute();
    await db.schema.createIndex('message_created').on('message').column('created_at').execute();
    await db.schema
      .createTable('message_recipient')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('message_id', 'text', (column) =>
        column.notNull().references('message.id').onDelete('cascade'),
      )
      .addColumn('position', 'integer', (column) => column.notNull())
      .addColumn('address', 'text', (column) => column.notNull())
      .addColumn('address_key', 'text', (column) => column.notNull())
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('has_dispatched_notice', 'integer', (column) => column.notNull())
      .addColumn('reason', 'text', (column) => column.notNull())
      .addColumn('status_code', 'text', (column) => column.notNull())
      .addColumn('status_at', 'bigint', (column) => column.notNull())
      .addColumn('deadline_at', 'bigint')
      .addUniqueConstraint('message_recipient_once', ['message_id', 'address_key'])
      .execute();
    await db.schema
      .createIndex('message_recipient_deadline')
      .on('message_recipient')
      .column('deadline_at')
      .execute();
    await db.schema
      .createTable('recipient_event')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('recipient_id', 'text', (column) =>
        column.notNull().references('message_recipient.id').onDelete('cascade'),
      )
      .addColumn('position', 'integer', (column) => column.notNull())
      .addColumn('event', 'text', (column) => column.notNull())
      .addColumn('from_state', 'text', (column) => column.notNull())
      .addColumn('to_state', 'text', (column) => column.notNull())
      .addColumn('reason', 'text', (column) => column.notNull())
      .addColumn('status_code', 'text', (column) => column.notNull())
      .addColumn('diagnostic', 'text', (column) => column.notNull())
      .addColumn('at', 'bigint', (column) => column.notNull())
      .addUniqueConstraint('recipient_event_order', ['recipient_id', 'position'])
      .execute();
  },
};
