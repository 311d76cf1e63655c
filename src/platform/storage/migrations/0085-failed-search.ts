import { sql, type RawBuilder } from 'kysely';
import type { Migration } from '../migrate.ts';

/**
 * Indexes for the console's search of failed messages. Failures are few among millions of rows: each condition has an index of them
 * alone, so a message that arrives writes to none. For these indexes the row repeats the sender and the client; they never change.
 */
export const failedSearchMigration: Migration = {
  name: '0085-failed-search',
  async up(db, engine) {
    for (const column of ['sender_key', 'client_id'] as const)
      await db.schema
        .alterTable('message_recipient')
        .addColumn(column, 'text', (added) => added.notNull().defaultTo(''))
        .execute();
    // On PostgreSQL nodes of the version before serve meanwhile, and no statement of theirs could read a recipient while all were
    // rewritten: half a minute per million. So only those that are searched are; housekeeping completes the others (migration 0087).
    const searched = sql`where state in ('queued', 'sent', 'failed', 'expired')`;
    await sql`update message_recipient set
      sender_key = (select sender_key from message where message.id = message_recipient.message_id),
      client_id = (select client_id from message where message.id = message_recipient.message_id)
      ${engine === 'sqlite' ? sql`` : searched}`.execute(db);
    // With the reason at the end, rows with another reason are skipped without reading the table.
    const keys = {
      domain: sql`(${domainOf(sql.ref('address_key'))})`,
      sender: sql.ref('sender_key'),
      sender_domain: sql`(${domainOf(sql.ref('sender_key'))})`,
      client: sql.ref('client_id'),
    };
    for (const [name, key] of Object.entries(keys))
      await sql`create index ${sql.ref(`message_recipient_failed_${name}`)} on message_recipient
        (${key}, state, created_at, id, reason) where state in ('failed', 'expired')`.execute(db);
    await sql`create index message_recipient_failed_reason on message_recipient
      (reason, state, created_at, id) where state in ('failed', 'expired')`.execute(db);
  },
};

/** As in migration 0081. */
function domainOf(text: RawBuilder<unknown>) {
  return sql`replace(${text}, rtrim(${text}, replace(${text}, '@', '')), '')`;
}
