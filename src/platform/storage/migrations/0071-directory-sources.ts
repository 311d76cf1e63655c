import { sql } from 'kysely';
import type { Migration } from '../migrate.ts';

/**
 * Directory sources side by side (Decision 0025). Existing loads belong to the source `default`. `file_keys` says
 * whether a load may have records identified by a key of the file; it is unknown for loads by the version before.
 */
export const directorySourcesMigration: Migration = {
  name: '0071-directory-sources',
  async up(db) {
    await db.schema
      .createTable('directory_source')
      .addColumn('name', 'text', (column) => column.primaryKey())
      .addColumn('bit', 'integer', (column) => column.notNull().unique())
      .addColumn('rank', 'integer', (column) => column.notNull())
      .addColumn('export_right', 'text', (column) => column.notNull())
      .addColumn('active_load_id', 'integer')
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('schedule_path', 'text')
      .addColumn('schedule_every_ms', 'bigint')
      .addColumn('schedule_checked_at', 'bigint', (column) => column.notNull().defaultTo(0))
      .addColumn('schedule_seen', 'text', (column) => column.notNull().defaultTo(''))
      .addColumn('schedule_failure', 'text', (column) => column.notNull().defaultTo(''))
      .execute();
    await db.schema
      .alterTable('directory_load')
      .addColumn('source_name', 'text', (column) => column.notNull().defaultTo('default'))
      .execute();
    await db.schema
      .alterTable('directory_load')
      .addColumn('file_keys', 'integer', (column) => column.notNull().defaultTo(1))
      .execute();
    await db.schema.alterTable('directory_block').addColumn('sources', 'bytea').execute();
    await sql`insert into directory_source (name, bit, rank, export_right, active_load_id, created_at)
      select 'default', 0, 0, 'closed', active_load_id, 0 from directory_state where active_load_id is not null`.execute(
      db,
    );
  },
};
