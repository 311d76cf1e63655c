import type { Migration } from '../migrate.ts';

/** Generations of the directory in blocks, the pointer to the active one, provisioned records and quotas (Decision 0008). */
export const directoryMigration: Migration = {
  name: '0010-directory',
  async up(db) {
    await db.schema
      .createTable('directory_load')
      .addColumn('id', 'integer', (column) => column.primaryKey())
      .addColumn('parent_id', 'integer')
      .addColumn('previous_id', 'integer')
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('format', 'text', (column) => column.notNull())
      .addColumn('source', 'text', (column) => column.notNull())
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('record_count', 'integer', (column) => column.notNull())
      .addColumn('block_count', 'integer', (column) => column.notNull())
      .addColumn('report', 'text', (column) => column.notNull())
      .addColumn('started_at', 'bigint', (column) => column.notNull())
      .addColumn('heartbeat_at', 'bigint', (column) => column.notNull())
      .addColumn('finished_at', 'bigint')
      .execute();
    await db.schema
      .createTable('directory_block')
      .addColumn('load_id', 'integer', (column) => column.notNull())
      .addColumn('sequence', 'integer', (column) => column.notNull())
      .addColumn('record_count', 'integer', (column) => column.notNull())
      .addColumn('keys', 'bytea', (column) => column.notNull())
      .addColumn('records', 'bytea', (column) => column.notNull())
      .addPrimaryKeyConstraint('directory_block_key', ['load_id', 'sequence'])
      .execute();
    await db.schema
      .createTable('directory_state')
      .addColumn('id', 'integer', (column) => column.primaryKey())
      .addColumn('active_load_id', 'integer')
      .addColumn('revision', 'integer', (column) => column.notNull())
      .addColumn('next_load_id', 'integer', (column) => column.notNull())
      .addColumn('next_record_id', 'bigint', (column) => column.notNull())
      .addColumn('secret', 'bytea', (column) => column.notNull())
      .execute();
    await db.schema
      .createTable('directory_provisioned')
      .addColumn('address_key', 'text', (column) => column.primaryKey())
      .addColumn('record_id', 'bigint', (column) => column.notNull())
      .addColumn('record', 'text', (column) => column.notNull())
      .addColumn('updated_at', 'bigint', (column) => column.notNull())
      .execute();
    await db.schema
      .createTable('directory_quota')
      .addColumn('client_id', 'text', (column) => column.notNull())
      .addColumn('day', 'text', (column) => column.notNull())
      .addColumn('record_count', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('directory_quota_key', ['client_id', 'day'])
      .execute();
  },
};
