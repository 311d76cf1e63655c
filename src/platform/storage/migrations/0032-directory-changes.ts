import { sql } from 'kysely';
import type { Migration } from '../migrate.ts';

/**
 * The revision of each provisioned record's last change, so that a directory index need not be rebuilt for it (Decision 0008).
 * `recorded_since` is the first revision with complete records; earlier changes and removals are unknown.
 */
export const directoryChangesMigration: Migration = {
  name: '0032-directory-changes',
  async up(db) {
    await db.schema
      .alterTable('directory_provisioned')
      .addColumn('revision', 'integer', (column) => column.notNull().defaultTo(0))
      .execute();
    await db.schema
      .createIndex('directory_provisioned_revision')
      .on('directory_provisioned')
      .column('revision')
      .execute();
    await db.schema
      .alterTable('directory_state')
      .addColumn('recorded_since', 'integer', (column) => column.notNull().defaultTo(0))
      .execute();
    await sql`update directory_state set recorded_since = revision`.execute(db);
  },
};
