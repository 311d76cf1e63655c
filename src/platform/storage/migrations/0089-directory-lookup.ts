import type { Migration } from '../migrate.ts';

/**
 * The blocks of a directory load by the hashes of their entries, so that one record is read without reading the keys of all blocks.
 * Loads of one block, merges and loads of the version before have no rows.
 */
export const directoryLookupMigration: Migration = {
  name: '0089-directory-lookup',
  async up(db) {
    await db.schema
      .createTable('directory_lookup')
      .addColumn('load_id', 'integer', (column) => column.notNull())
      .addColumn('bucket', 'integer', (column) => column.notNull())
      .addColumn('places', 'bytea', (column) => column.notNull())
      .addPrimaryKeyConstraint('directory_lookup_key', ['load_id', 'bucket'])
      .execute();
  },
};
