import { sql, type RawBuilder } from 'kysely';
import type { Migration } from '../migrate.ts';

/**
 * What the console finds failed messages by. Failures are few among millions of rows: each condition has an index of them alone, which a
 * message that arrives never touches. Sender and client stand in the row for that; they never change.
 */
export const failedSearchMigration: Migration = {
  name: '0085-failed-search',
  async up(db) {
    for (const column of ['sender_key', 'client_id'] as const)
      await db.schema
        .alterTable('message_recipient')
        .addColumn(column, 'text', (added) => added.notNull().defaultTo(''))
        .execute();
    await sql`update message_recipient set
      sender_key = (select sender_key from message where message.id = message_recipient.message_id),
      client_id = (select client_id from message where message.id = message_recipient.message_id)`.execute(
      db,
    );
    // With the reason at the end, rows of another one are passed over without reading the table.
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
