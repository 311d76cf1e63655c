import { sql } from 'kysely';
import type { Migration } from '../migrate.ts';

/**
 * Recipients stored by a node without migration 0085, which still runs during an upgrade, have no sender. The index holds them alone:
 * housekeeping finds them, and a complete row writes nothing to it.
 */
export const incompleteRecipientsMigration: Migration = {
  name: '0087-incomplete-recipients',
  async up(db) {
    await sql`create index message_recipient_incomplete on message_recipient (id) where sender_key = ''`.execute(
      db,
    );
  },
};
