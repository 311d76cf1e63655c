import { sql, type Kysely } from 'kysely';
import type { Migration } from '../migrate.ts';

/**
 * Notifications under lease tokens, in a queue that delivered ones leave; failed attempts; one row per client that is
 * locked while its webhooks are counted (Decision 0013).
 */
export const webhookLeasesMigration: Migration = {
  name: '0042-webhook-leases',
  async up(db) {
    await db.schema.alterTable('webhook').addColumn('last_success_at', 'bigint').execute();
    await createOwners(db);
    await createQueue(db);
    await createAttempts(db);
  },
};

async function createOwners(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('webhook_owner')
    .addColumn('client_id', 'text', (column) => column.primaryKey())
    .execute();
  await sql`insert into webhook_owner (client_id) select distinct client_id from webhook`.execute(db);
}

/** Without a reference to `webhook`: a webhook may be removed while another transaction stores a notification for it. */
async function createQueue(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('webhook_queue')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('webhook_id', 'text', (column) => column.notNull())
    .addColumn('client_id', 'text', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('event_type', 'text', (column) => column.notNull())
    .addColumn('subject', 'text', (column) => column.notNull())
    .addColumn('payload', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('attempts', 'integer', (column) => column.notNull())
    .addColumn('next_attempt_at', 'bigint', (column) => column.notNull())
    .addColumn('lease_token', 'text')
    .addColumn('lease_until', 'bigint', (column) => column.notNull())
    .addColumn('last_status', 'integer')
    .addColumn('last_error', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('settled_at', 'bigint')
    .execute();
  await sql`
    insert into webhook_queue
    select n.id, n.webhook_id, w.client_id, w.kind, n.event_type, n.subject, n.payload, n.state, n.attempts,
      n.next_attempt_at, null, 0, n.last_status, n.last_error, n.created_at, n.settled_at
    from webhook_notification n join webhook w on w.id = n.webhook_id
    where n.state in ('waiting', 'dead')`.execute(db);
  await db.schema.dropTable('webhook_notification').execute();
  await db.schema.alterTable('webhook_queue').renameTo('webhook_notification').execute();
  // The claim and the look before it are answered by this index alone.
  await db.schema
    .createIndex('webhook_notification_due')
    .on('webhook_notification')
    .columns(['kind', 'next_attempt_at', 'lease_until', 'webhook_id', 'client_id', 'id'])
    .where(sql.ref('state'), '=', sql.lit('waiting'))
    .execute();
  await db.schema
    .createIndex('webhook_notification_hook')
    .on('webhook_notification')
    .columns(['webhook_id', 'state'])
    .execute();
  await db.schema
    .createIndex('webhook_notification_settled')
    .on('webhook_notification')
    .column('settled_at')
    .where(sql.ref('settled_at'), 'is not', sql.lit(null))
    .execute();
}

async function createAttempts(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('webhook_attempt')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('webhook_id', 'text', (column) => column.notNull())
    .addColumn('notification_id', 'text', (column) => column.notNull())
    .addColumn('message_id', 'text', (column) => column.notNull())
    .addColumn('attempt', 'integer', (column) => column.notNull())
    .addColumn('http_status', 'integer')
    .addColumn('error', 'text', (column) => column.notNull())
    .addColumn('attempted_at', 'bigint', (column) => column.notNull())
    .addColumn('duration_ms', 'integer', (column) => column.notNull())
    .execute();
  await db.schema
    .createIndex('webhook_attempt_hook')
    .on('webhook_attempt')
    .columns(['webhook_id', 'attempted_at'])
    .execute();
  await db.schema.createIndex('webhook_attempt_message').on('webhook_attempt').column('message_id').execute();
  await db.schema.createIndex('webhook_attempt_age').on('webhook_attempt').column('attempted_at').execute();
}
