import { sql, type Kysely } from 'kysely';
import type { Migration } from '../migrate.ts';

/**
 * Indexes for operators' searches, and the evidence of delivery: signed MDNs as received and the hash of the sent bytes
 * (Decision 0012).
 */
export const operatorsMigration: Migration = {
  name: '0060-operators',
  async up(db) {
    await db.schema
      .alterTable('message_recipient')
      .addColumn('created_at', 'bigint', (column) => column.notNull().defaultTo(0))
      .execute();
    await sql`update message_recipient set created_at =
      (select created_at from message where message.id = message_recipient.message_id)`.execute(db);
    await createIndexes(db);
    await db.schema
      .alterTable('delivery_attempt')
      .addColumn('sent_hash', 'text', (column) => column.notNull().defaultTo(''))
      .execute();
    await createEvidence(db);
  },
};

async function createIndexes(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createIndex('message_recipient_address')
    .on('message_recipient')
    .columns(['address_key', 'created_at', 'id'])
    .execute();
  // Final successes are nearly all rows, and no search uses only this condition.
  await sql`create index message_recipient_state on message_recipient (state, created_at, id)
    where state in ('queued', 'sent', 'failed', 'expired')`.execute(db);
  await db.schema.createIndex('message_sender').on('message').columns(['sender_key', 'created_at']).execute();
  await db.schema.createIndex('message_client').on('message').columns(['client_id', 'created_at']).execute();
  await sql`create index audit_event_request on audit_event (request_id) where action = 'message.accept'`.execute(
    db,
  );
}

async function createEvidence(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('mdn_evidence')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('recipient_id', 'text', (column) =>
      column.notNull().references('message_recipient.id').onDelete('cascade'),
    )
    .addColumn('sealed_mdn', 'bytea', (column) => column.notNull())
    .addColumn('signer_path', 'text', (column) => column.notNull())
    .addColumn('received_at', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('mdn_evidence_recipient').on('mdn_evidence').column('recipient_id').execute();
}
