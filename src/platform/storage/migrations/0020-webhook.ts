import type { Migration } from '../migrate.ts';

/** Webhooks of edge clients and their waiting notifications (Decision 0013). */
export const webhookMigration: Migration = {
  name: '0020-webhook',
  async up(db) {
    await db.schema
      .createTable('webhook')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('client_id', 'text', (column) => column.notNull())
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('url', 'text', (column) => column.notNull())
      .addColumn('description', 'text', (column) => column.notNull())
      .addColumn('event_types', 'text', (column) => column.notNull())
      .addColumn('is_xdm', 'integer', (column) => column.notNull())
      .addColumn('is_enabled', 'integer', (column) => column.notNull())
      .addColumn('disabled_reason', 'text', (column) => column.notNull())
      .addColumn('sealed_secret', 'bytea', (column) => column.notNull())
      .addColumn('sealed_previous_secret', 'bytea')
      .addColumn('previous_secret_until', 'bigint')
      .addColumn('sealed_basic', 'bytea')
      .addColumn('failing_since', 'bigint')
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('updated_at', 'bigint', (column) => column.notNull())
      .execute();
    await db.schema.createIndex('webhook_client').on('webhook').column('client_id').execute();
    await db.schema
      .createTable('webhook_notification')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('webhook_id', 'text', (column) =>
        column.notNull().references('webhook.id').onDelete('cascade'),
      )
      .addColumn('event_type', 'text', (column) => column.notNull())
      .addColumn('subject', 'text', (column) => column.notNull())
      .addColumn('payload', 'text', (column) => column.notNull())
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('attempts', 'integer', (column) => column.notNull())
      .addColumn('next_attempt_at', 'bigint', (column) => column.notNull())
      .addColumn('lease_owner', 'text')
      .addColumn('lease_until', 'bigint')
      .addColumn('last_status', 'integer')
      .addColumn('last_error', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('settled_at', 'bigint')
      .execute();
    await db.schema
      .createIndex('webhook_notification_due')
      .on('webhook_notification')
      .columns(['state', 'next_attempt_at'])
      .execute();
    await db.schema
      .createIndex('webhook_notification_hook')
      .on('webhook_notification')
      .columns(['webhook_id', 'state'])
      .execute();
  },
};
