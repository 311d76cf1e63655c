import { sql } from 'kysely';
import type { Migration } from '../migrate.ts';

/**
 * What waits in the inbox of an address or a domain. Of a partial index and one of all copies with the same columns SQLite takes the
 * latter (migration 0081), and then reads every copy that was received, acknowledged or not. With a further column that the condition
 * fixes it takes this one. PostgreSQL knows which of them is small.
 */
export const inboxIndexMigration: Migration = {
  name: '0093-inbox-index',
  async up(db, engine) {
    if (engine !== 'sqlite') return;
    await sql`drop index inbox_copy_waiting`.execute(db);
    await sql`drop index inbox_copy_domain`.execute(db);
    await sql`create index inbox_copy_waiting on inbox_copy (address_key, acknowledged_at, received_at, id)
      where acknowledged_at is null`.execute(db);
    await sql`create index inbox_copy_domain on inbox_copy (domain, acknowledged_at, received_at, id)
      where acknowledged_at is null`.execute(db);
  },
};
