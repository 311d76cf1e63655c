import { sql, type Kysely } from 'kysely';
import type { StorageEngine } from '../storage.ts';
import type { Migration } from '../migrate.ts';

/**
 * Inbound mail with leases and two lanes, the register of received mail, and history without its first row, which only
 * repeated the message's own (Decision 0023, Decision 0014).
 */
export const inboundMigration: Migration = {
  name: '0041-inbound',
  async up(db, engine) {
    await createRegister(db, engine);
    await replaceInboundMail(db);
    await replaceInboxCopy(db);
    await db.schema
      .alterTable('message_recipient')
      .addColumn('event_count', 'integer', (column) => column.notNull().defaultTo(0))
      .execute();
    await sql`create index message_details on message (created_at) where sealed_details is not null`.execute(
      db,
    );
    await createAuditStart(db);
    await sql`delete from recipient_event where event = 'accepted'`.execute(db);
    await sql`update message_recipient set event_count =
      (select coalesce(max(position) + 1, 0) from recipient_event where recipient_id = message_recipient.id)`.execute(
      db,
    );
  },
};

/** Mail received before is registered by the same hash as new mail. */
async function createRegister(db: Kysely<unknown>, engine: StorageEngine): Promise<void> {
  await db.schema
    .createTable('received_register')
    .addColumn('hash', 'bytea', (column) => column.primaryKey().notNull())
    .addColumn('received_at', 'bigint', (column) => column.notNull())
    .addColumn('answered_at', 'bigint', (column) => column.notNull())
    .$call((table) => (engine === 'sqlite' ? table.modifyEnd(sql`without rowid`) : table))
    .execute();
  await db.schema
    .createIndex('received_register_age')
    .on('received_register')
    .column('received_at')
    .execute();
  const bytes = engine === 'sqlite' ? sql`unhex(duplicate_key)` : sql`decode(duplicate_key, 'hex')`;
  await sql`insert into received_register (hash, received_at, answered_at)
    select ${bytes}, received_at, 0 from inbox_copy`.execute(db);
}

async function replaceInboundMail(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('inbound_mail_leased')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('mail_from', 'text', (column) => column.notNull())
    .addColumn('recipients', 'text', (column) => column.notNull())
    .addColumn('sealed_mail', 'bytea', (column) => column.notNull())
    .addColumn('content_hash', 'text', (column) => column.notNull())
    .addColumn('network', 'text', (column) => column.notNull())
    .addColumn('sender_domain', 'text', (column) => column.notNull())
    .addColumn('party', 'text', (column) => column.notNull())
    .addColumn('needs_fetch', 'integer', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('attempts', 'integer', (column) => column.notNull())
    .addColumn('next_attempt_at', 'bigint', (column) => column.notNull())
    .addColumn('lease_token', 'text')
    .addColumn('lease_until', 'bigint', (column) => column.notNull())
    .addColumn('last_error', 'text', (column) => column.notNull())
    .addColumn('received_at', 'bigint', (column) => column.notNull())
    .execute();
  // Of mail that waits twice, the first copy stays. Old mail has no sender domain and is not limited by it.
  await sql`insert into inbound_mail_leased (id, mail_from, recipients, sealed_mail, content_hash, network, sender_domain,
      party, needs_fetch, state, attempts, next_attempt_at, lease_token, lease_until, last_error, received_at)
    select id, mail_from, recipients, sealed_mail, content_hash, '', '', '', 0,
      case when state = 'failed' then 'dead-letter' else 'waiting' end,
      attempts, next_attempt_at, null, 0, last_error, received_at
    from inbound_mail as mail
    where state = 'failed' or id = (
      select min(id) from inbound_mail as same where same.content_hash = mail.content_hash and same.state = 'waiting')`.execute(
    db,
  );
  await db.schema.dropTable('inbound_mail').execute();
  await db.schema.alterTable('inbound_mail_leased').renameTo('inbound_mail').execute();
  await sql`create unique index inbound_mail_once on inbound_mail (content_hash) where state = 'waiting'`.execute(
    db,
  );
  await sql`create index inbound_mail_due on inbound_mail (needs_fetch, next_attempt_at) where state = 'waiting'`.execute(
    db,
  );
  await sql`create index inbound_mail_sender on inbound_mail (sender_domain) where state = 'waiting'`.execute(
    db,
  );
  await sql`create index inbound_mail_undecided on inbound_mail (network) where state = 'waiting' and needs_fetch = 1`.execute(
    db,
  );
  await sql`create index inbound_mail_dead on inbound_mail (received_at) where state = 'dead-letter'`.execute(
    db,
  );
}

/** The register detects duplicates; the copies need no key for it. */
async function replaceInboxCopy(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('inbox_copy_plain')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('message_id', 'text', (column) => column.notNull().references('inbox_message.id'))
    .addColumn('address', 'text', (column) => column.notNull())
    .addColumn('address_key', 'text', (column) => column.notNull())
    .addColumn('domain', 'text', (column) => column.notNull())
    .addColumn('acknowledged_at', 'bigint')
    .addColumn('warned_at', 'bigint')
    .addColumn('received_at', 'bigint', (column) => column.notNull())
    .execute();
  await sql`insert into inbox_copy_plain (id, message_id, address, address_key, domain, acknowledged_at, warned_at, received_at)
    select id, message_id, address, address_key, domain, acknowledged_at, warned_at, received_at from inbox_copy`.execute(
    db,
  );
  await db.schema.dropTable('inbox_copy').execute();
  await db.schema.alterTable('inbox_copy_plain').renameTo('inbox_copy').execute();
  // The inbox lists only unacknowledged copies, warnings concern only those, and only acknowledged copies are deleted.
  await sql`create index inbox_copy_waiting on inbox_copy (address_key, received_at, id) where acknowledged_at is null`.execute(
    db,
  );
  await sql`create index inbox_copy_domain on inbox_copy (domain, received_at, id) where acknowledged_at is null`.execute(
    db,
  );
  await sql`create index inbox_copy_unwarned on inbox_copy (received_at) where acknowledged_at is null and warned_at is null`.execute(
    db,
  );
  await sql`create index inbox_copy_acknowledged on inbox_copy (acknowledged_at) where acknowledged_at is not null`.execute(
    db,
  );
  await sql`create index inbox_message_final on inbox_message (wire_id) where requests_final_delivery = 1`.execute(
    db,
  );
  await db.schema.createIndex('inbox_copy_message').on('inbox_copy').column('message_id').execute();
}

/** Start of the audit chain after its oldest rows were deleted; at most one row. */
async function createAuditStart(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('audit_start')
    .addColumn('id', 'integer', (column) => column.primaryKey())
    .addColumn('sequence', 'bigint', (column) => column.notNull())
    .addColumn('previous_hash', 'bytea', (column) => column.notNull())
    .execute();
}
