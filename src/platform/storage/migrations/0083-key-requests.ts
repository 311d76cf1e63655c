import type { Migration } from '../migrate.ts';

/** Keys that wait for their certificate, and the changes made by refreshes of trust bundles. */
export const keyRequestsMigration: Migration = {
  name: '0083-key-requests',
  async up(db) {
    await db.schema
      .createTable('key_request')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('owner', 'text', (column) => column.notNull())
      .addColumn('domain', 'text', (column) => column.notNull())
      .addColumn('csr', 'bytea', (column) => column.notNull())
      .addColumn('sealed_private_key', 'bytea', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('mac', 'bytea')
      .execute();
    await db.schema.createIndex('key_request_domain').on('key_request').column('domain').execute();
    await db.schema
      .createTable('trust_bundle_change')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('bundle_id', 'text', (column) => column.notNull())
      .addColumn('at', 'bigint', (column) => column.notNull())
      .addColumn('added', 'text', (column) => column.notNull())
      .addColumn('removed', 'text', (column) => column.notNull())
      .execute();
    await db.schema
      .createIndex('trust_bundle_change_bundle')
      .on('trust_bundle_change')
      .columns(['bundle_id', 'at'])
      .execute();
  },
};
