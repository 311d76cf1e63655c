import type { StorageEngine } from '../storage.ts';

/** Six years (SEC-04); younger rows cannot be deleted. */
const retentionSeconds = 2192 * 86_400;

/**
 * The audit chain: append-only, each row naming the hash of the one before (SEC-04); its start after its
 * oldest rows were deleted, its key, and signed statements about it (Decision 0024).
 */
export const auditTables = (engine: StorageEngine): readonly string[] => [
  `create table audit_event (
    sequence ${engine === 'sqlite' ? 'integer' : 'bigint'} primary key,
    recorded_at bigint not null,
    action text not null,
    actor text,
    outcome text not null,
    request_id text,
    remote_address text,
    origin text,
    objects text not null,
    previous_hash bytea not null,
    hash bytea not null
  )`,
  `create index audit_event_time on audit_event (recorded_at)`,
  `create index audit_event_action on audit_event (action, recorded_at)`,
  `create index audit_event_request on audit_event (request_id) where action = 'message.accept'`,
  // Operators write few of all rows.
  `create index audit_event_operator on audit_event
    (actor, sequence)
    where substr(actor, 1, 9) = 'operator:'`,
  `create table audit_start (
    id integer primary key,
    sequence bigint not null,
    previous_hash bytea not null,
    statement text not null
  )`,
  `create table audit_chain (
    id integer primary key,
    chain_id text not null,
    key_id text not null,
    public_key bytea not null,
    sealed_private_key bytea not null,
    mac bytea not null
  )`,
  `create table audit_checkpoint (
    id integer primary key,
    statement text not null
  )`,
  ...(engine === 'sqlite' ? sqliteGuards : postgresGuards),
];

// The program never changes a row; these stop a slip of the hand at a database console.
const sqliteGuards = [
  `create trigger audit_event_unchanged before update on audit_event
    begin select raise(abort, 'the audit chain is append-only'); end`,
  `create trigger audit_event_kept before delete on audit_event
    when old.recorded_at > (unixepoch() - ${retentionSeconds}) * 1000
    begin select raise(abort, 'the audit chain is append-only'); end`,
];

const postgresGuards = [
  `create function refuse_audit_change() returns trigger language plpgsql as
    $$ begin raise exception 'the audit chain is append-only'; end $$`,
  `create trigger audit_event_unchanged before update on audit_event
    for each row execute function refuse_audit_change()`,
  `create trigger audit_event_kept before delete on audit_event for each row
    when (old.recorded_at > (extract(epoch from now()) - ${retentionSeconds}) * 1000)
    execute function refuse_audit_change()`,
  `create trigger audit_event_not_emptied before truncate on audit_event
    for each statement execute function refuse_audit_change()`,
];
