import { sql } from 'kysely';
import type { Migration } from '../migrate.ts';

/** The nodes over this database, the directory generation that each one needs, and a count of all changes of trust (Decision 0022). */
export const nodesMigration: Migration = {
  name: '0051-nodes',
  async up(db) {
    await db.schema
      .createTable('node')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('started_at', 'bigint', (column) => column.notNull())
      .addColumn('seen_at', 'bigint', (column) => column.notNull())
      .addColumn('version', 'text', (column) => column.notNull())
      .addColumn('host', 'text', (column) => column.notNull())
      .execute();
    await db.schema
      .createTable('directory_node')
      .addColumn('node_id', 'text', (column) => column.primaryKey())
      .addColumn('load_id', 'integer')
      .addColumn('revision', 'integer', (column) => column.notNull())
      .addColumn('seen_at', 'bigint', (column) => column.notNull())
      .execute();
    await db.schema
      .createTable('trust_state')
      .addColumn('id', 'integer', (column) => column.primaryKey())
      .addColumn('revision', 'bigint', (column) => column.notNull())
      .execute();
    await sql`insert into trust_state (id, revision) values (1, 1)`.execute(db);
  },
};
