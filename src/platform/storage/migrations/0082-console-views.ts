import { sql } from 'kysely';
import type { Migration } from '../migrate.ts';

/** The beginning of a webhook target's response to a status event, and an index by which an operator's audit rows are found. */
export const consoleViewsMigration: Migration = {
  name: '0082-console-views',
  async up(db) {
    await db.schema
      .alterTable('webhook_attempt')
      .addColumn('answer', 'text', (column) => column.notNull().defaultTo(''))
      .execute();
    // Operators write few of all rows.
    await sql`create index audit_event_operator on audit_event (actor, sequence)
      where substr(actor, 1, 9) = 'operator:'`.execute(db);
  },
};
