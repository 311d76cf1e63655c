import { sql } from 'kysely';
import type { Migration } from '../migrate.ts';

/**
 * SQLite compares a list of more than two values by a table in memory, which it makes anew each time a row enters or leaves the
 * index: with `or`, a change of a recipient takes a third of the time. PostgreSQL treats both alike.
 */
export const stateIndexConditionMigration: Migration = {
  name: '0092-state-index-condition',
  async up(db, engine) {
    if (engine !== 'sqlite') return;
    await sql`drop index message_recipient_state`.execute(db);
    await sql`create index message_recipient_state on message_recipient
      (state, created_at, id, address_key, sender_key, client_id, reason)
      where state = 'queued' or state = 'sent' or state = 'failed' or state = 'expired'`.execute(db);
  },
};
