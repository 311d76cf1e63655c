import { sql } from 'kysely';
import type { Migration } from '../migrate.ts';

/**
 * Times of the last change of each served directory record (Decision 0028), in seconds since 1970. `changed` has the times of
 * a block's records that are older than its load; without it all of them changed when the load was activated.
 */
export const directoryChangeTimesMigration: Migration = {
  name: '0084-directory-change-times',
  async up(db) {
    await db.schema.alterTable('directory_block').addColumn('changed', 'bytea').execute();
    await db.schema.alterTable('directory_load').addColumn('changed_at', 'bigint').execute();
    for (const name of ['last_change_at', 'earliest_change_at', 'earliest_open_change_at'])
      await db.schema
        .alterTable('directory_state')
        .addColumn(name, 'bigint', (column) => column.notNull().defaultTo(0))
        .execute();
    await sql`update directory_state set last_change_at =
      (select coalesce(max(finished_at), 0) / 1000 from directory_load where state = 'ready')`.execute(db);
  },
};
