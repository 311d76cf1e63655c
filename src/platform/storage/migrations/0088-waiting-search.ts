import { sql } from 'kysely';
import type { Migration } from '../migrate.ts';

/**
 * The index of undecided and failed recipients repeats every column that the console searches them by, so a search for a sender or a
 * domain that none of them has reads this index alone and no row. One wider index, and not one per condition: every message enters
 * and leaves it, and a further index would cost it further writes.
 */
export const waitingSearchMigration: Migration = {
  name: '0088-waiting-search',
  async up(db) {
    await sql`drop index message_recipient_state`.execute(db);
    await sql`create index message_recipient_state on message_recipient
      (state, created_at, id, address_key, sender_key, client_id, reason)
      where state in ('queued', 'sent', 'failed', 'expired')`.execute(db);
  },
};
