import type { Migration } from '../migrate.ts';

/** Who began a directory load, the node that does the work, and how far it is (JSON; empty before and after), for the console of every node. */
export const loadProgressMigration: Migration = {
  name: '0090-load-progress',
  async up(db) {
    for (const name of ['started_by', 'progress'])
      await db.schema
        .alterTable('directory_load')
        .addColumn(name, 'text', (column) => column.notNull().defaultTo(''))
        .execute();
    await db.schema.alterTable('directory_load').addColumn('node_id', 'text').execute();
  },
};
