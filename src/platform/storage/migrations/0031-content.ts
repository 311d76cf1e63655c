import type { Migration } from '../migrate.ts';

/** Large contents in parts (Decision 0018). Contents stored before stay in their owners' rows and are read there. */
export const contentMigration: Migration = {
  name: '0031-content',
  async up(db) {
    await db.schema
      .createTable('content')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('sweep_at', 'bigint')
      .execute();
    await db.schema.createIndex('content_sweep').on('content').column('sweep_at').execute();
    await db.schema
      .createTable('content_part')
      .addColumn('content_id', 'text', (column) => column.notNull().references('content.id'))
      .addColumn('position', 'integer', (column) => column.notNull())
      .addColumn('sealed', 'bytea', (column) => column.notNull())
      .addPrimaryKeyConstraint('content_part_key', ['content_id', 'position'])
      .execute();
  },
};
