import type { Migration } from '../migrate.ts';

/** The audit chain: append-only, each row naming the hash of the one before (SEC-04). */
export const auditMigration: Migration = {
  name: '0003-audit',
  async up(db) {
    await db.schema
      .createTable('audit_event')
      .addColumn('sequence', 'bigint', (column) => column.primaryKey())
      .addColumn('recorded_at', 'bigint', (column) => column.notNull())
      .addColumn('action', 'text', (column) => column.notNull())
      .addColumn('actor', 'text')
      .addColumn('outcome', 'text', (column) => column.notNull())
      .addColumn('request_id', 'text')
      .addColumn('remote_address', 'text')
      .addColumn('objects', 'text', (column) => column.notNull())
      .addColumn('previous_hash', 'bytea', (column) => column.notNull())
      .addColumn('hash', 'bytea', (column) => column.notNull())
      .execute();
    await db.schema.createIndex('audit_event_time').on('audit_event').column('recorded_at').execute();
    await db.schema.createIndex('audit_event_action').on('audit_event').columns(['action', 'recorded_at']).execute();
  },
};
