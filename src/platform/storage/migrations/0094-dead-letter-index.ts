import { sql } from 'kysely';
import type { Migration } from '../migrate.ts';

/**
 * The dead letters of a webhook in the order of their list, which otherwise sorts all of them for the oldest 200: after a long outage
 * of its target hundreds of thousands. `state` has one value here; with it SQLite takes this index and not that of webhook and state,
 * as in migration 0093. Notifications that are delivered are never in it.
 */
export const deadLetterIndexMigration: Migration = {
  name: '0094-dead-letter-index',
  async up(db) {
    await sql`create index webhook_notification_dead on webhook_notification (webhook_id, state, created_at, id)
      where state = 'dead'`.execute(db);
  },
};
