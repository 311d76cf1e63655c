import { sql } from 'kysely';
import type { Migration } from '../../src/platform/index.ts';

/** Changes of the schema that the next version may make under nodes of this one: columns with defaults, tables, indexes (Decision 0022). */
export const nextMigration: Migration = {
  name: '9999-next',
  async up(db) {
    for (const table of [
      'message',
      'message_recipient',
      'recipient_event',
      'delivery',
      'delivery_destination',
      'delivery_attempt',
      'inbound_mail',
      'inbox_message',
      'inbox_copy',
      'webhook',
      'webhook_notification',
      'audit_event',
    ])
      await db.schema
        .alterTable(table)
        .addColumn('added_next', 'text', (column) => column.notNull().defaultTo(''))
        .execute();
    await db.schema
      .createTable('next_thing')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .execute();
    await db.schema
      .createIndex('message_added_next')
      .on('message')
      .column('added_next')
      .where(sql.ref('added_next'), '<>', sql.lit(''))
      .execute();
  },
};
