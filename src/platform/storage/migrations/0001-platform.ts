import type { Migration } from '../migrate.ts';

/** Data keys of the vault, wrapped by the master key. */
export const platformMigration: Migration = {
  name: '0001-platform',
  async up(db) {
    await db.schema
      .createTable('data_key')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('master_key_id', 'text', (column) => column.notNull())
      .addColumn('wrapped_key', 'bytea', (column) => column.notNull())
      .addColumn('is_current', 'integer', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .execute();
  },
};
