import { recipientStates, recipientStatesOf } from '../../../lib/recipient-states/index.ts';
import { orWords, inWords } from '../literals.ts';
import type { StorageEngine } from '../storage.ts';

/** The text after the last `@`, by functions that both engines have and regard as immutable. */
function domainOf(text: string): string {
  return `(replace(${text}, rtrim(${text}, replace(${text}, '@', '')), ''))`;
}

const hasFailed = inWords('state', recipientStatesOf('failed'));

/**
 * Final successes are nearly all rows, and no search uses only this condition. SQLite compares a list of more
 * than two values by a table in memory, which it makes anew each time a row enters or leaves the index: with
 * `or`, a change of a recipient takes a third of the time. PostgreSQL treats both alike.
 */
const isOpenOrFailed = orWords('state', recipientStatesOf('waiting', 'failed'));

/**
 * Sent messages, one row a recipient, and everything that happened to each (Decisions 0009 and 0012);
 * received mail, and the copies of it that wait for edge clients (Decision 0014); the figures of the
 * console's charts, and the usage of clients.
 */
export const messagingTables = (engine: StorageEngine): readonly string[] => [
  `create table message (
    id text primary key,
    client_id text not null,
    uuid text not null,
    wire_id text not null,
    wire_number integer not null default 0,
    sender text not null,
    sender_key text not null,
    request_hash text not null,
    response text not null,
    is_xdm integer not null,
    is_asm_enabled integer not null,
    requests_final_delivery integer not null,
    sealed_details bytea,
    size_bytes bigint not null default 0,
    created_at bigint not null,
    constraint message_uuid unique (uuid, client_id)
  )`,
  `create unique index message_wire on message (wire_id, ${domainOf('sender_key')}, wire_number)`,
  `create index message_created on message (created_at)`,
  `create index message_details on message (created_at) where sealed_details is not null`,
  `create index message_sender on message (sender_key, created_at)`,
  `create index message_client on message (client_id, created_at)`,
  `create index message_sender_domain on message (${domainOf('sender_key')}, created_at)`,
  // Sender and client are repeated for the indexes below; they never change.
  `create table message_recipient (
    id text primary key,
    message_id text not null references message (id) on delete cascade,
    position integer not null,
    address text not null,
    address_key text not null,
    state text not null check (${inWords('state', recipientStates)}),
    has_dispatched_notice integer not null,
    reason text not null,
    status_code text not null,
    status_at bigint not null,
    deadline_at bigint,
    event_count integer not null default 0,
    created_at bigint not null default 0,
    sender_key text not null default '',
    client_id text not null default '',
    edge_account text,
    edge_protocol text,
    edge_told_at bigint,
    constraint message_recipient_once unique (message_id, address_key)
  )`,
  // What was sent by an edge account that has not been told the outcome. A look reads what it may tell: with
  // the protocol, since what one protocol sent may be told to nobody for as long as it is kept.
  `create index message_recipient_untold on message_recipient
    (edge_account, edge_protocol, created_at, id)
    where edge_account is not null and edge_told_at is null`,
  `create index message_recipient_deadline on message_recipient (deadline_at)`,
  `create index message_recipient_address on message_recipient (address_key, created_at, id)`,
  `create index message_recipient_domain on message_recipient
    (${domainOf('address_key')}, created_at, id)`,
  // Failures are few: each condition of the console's search has an index of them alone, so a message that
  // arrives writes to none. With the reason at the end, rows with another reason are skipped without reading
  // the table.
  `create index message_recipient_failed_domain on message_recipient
    (${domainOf('address_key')}, state, created_at, id, reason)
    where ${hasFailed}`,
  `create index message_recipient_failed_sender on message_recipient
    (sender_key, state, created_at, id, reason)
    where ${hasFailed}`,
  `create index message_recipient_failed_sender_domain on message_recipient
    (${domainOf('sender_key')}, state, created_at, id, reason)
    where ${hasFailed}`,
  `create index message_recipient_failed_client on message_recipient
    (client_id, state, created_at, id, reason)
    where ${hasFailed}`,
  `create index message_recipient_failed_reason on message_recipient
    (reason, state, created_at, id)
    where ${hasFailed}`,
  // Repeats every column that the console searches by, so that a search that few rows match reads this index
  // alone. One wide index and not one per condition: every message enters and leaves it.
  `create index message_recipient_state on message_recipient
    (state, created_at, id, address_key, sender_key, client_id, reason)
    where ${isOpenOrFailed}`,
  // As it went out, for the mailbox of sent messages of the edge account that sent it.
  `create table sent_message (
    message_id text primary key references message (id) on delete cascade,
    edge_account text not null,
    sealed_message bytea not null,
    size_bytes bigint not null,
    created_at bigint not null
  )`,
  `create index sent_message_account on sent_message (edge_account, created_at)`,
  `create index sent_message_created on sent_message (created_at)`,
  `create table recipient_event (
    id text primary key,
    recipient_id text not null references message_recipient (id) on delete cascade,
    position integer not null,
    event text not null,
    from_state text not null,
    to_state text not null check (${inWords('to_state', recipientStates)}),
    reason text not null,
    status_code text not null,
    diagnostic text not null,
    at bigint not null,
    constraint recipient_event_order unique (recipient_id, position)
  )`,
  `create table mdn_evidence (
    id text primary key,
    recipient_id text not null references message_recipient (id) on delete cascade,
    sealed_mdn bytea not null,
    signer_path text not null,
    received_at bigint not null
  )`,
  `create index mdn_evidence_recipient on mdn_evidence (recipient_id)`,
  // The certificates on the validated paths of MDN signers, each once. `used_at` says when last.
  `create table path_certificate (
    fingerprint text primary key,
    der bytea not null,
    used_at bigint not null
  )`,
  `create index path_certificate_used on path_certificate (used_at)`,
  `create table inbound_mail (
    id text primary key,
    mail_from text not null,
    recipients text not null,
    sealed_mail bytea not null,
    content_hash text not null,
    network text not null,
    sender_domain text not null,
    party text not null,
    needs_fetch integer not null,
    state text not null check (state in ('waiting', 'dead-letter')),
    attempts integer not null,
    next_attempt_at bigint not null,
    lease_token text,
    lease_until bigint not null,
    last_error text not null,
    received_at bigint not null,
    remote_address text not null default ''
  )`,
  `create unique index inbound_mail_once on inbound_mail (content_hash) where state = 'waiting'`,
  `create index inbound_mail_due on inbound_mail (needs_fetch, next_attempt_at) where state = 'waiting'`,
  `create index inbound_mail_sender on inbound_mail (sender_domain) where state = 'waiting'`,
  `create index inbound_mail_undecided on inbound_mail
    (network)
    where state = 'waiting' and needs_fetch = 1`,
  `create index inbound_mail_dead on inbound_mail (received_at) where state = 'dead-letter'`,
  // The hashes by which replayed mail is known.
  `create table received_register (
    hash bytea primary key not null,
    received_at bigint not null,
    answered_at bigint not null
  )${engine === 'sqlite' ? ' without rowid' : ''}`,
  `create index received_register_age on received_register (received_at)`,
  `create table inbox_message (
    id text primary key,
    sender text not null,
    wire_id text not null,
    sealed_message bytea not null,
    requests_final_delivery integer not null,
    attachment_count integer not null,
    size_bytes bigint not null,
    received_at bigint not null
  )`,
  `create index inbox_message_final on inbox_message (wire_id) where requests_final_delivery = 1`,
  `create index inbox_message_wire on inbox_message (wire_id)`,
  `create index inbox_message_sender on inbox_message (lower(sender), received_at)`,
  `create index inbox_message_domain on inbox_message (${domainOf('lower(sender)')}, received_at)`,
  `create table inbox_copy (
    id text primary key,
    message_id text not null references inbox_message (id),
    address text not null,
    address_key text not null,
    domain text not null,
    acknowledged_at bigint,
    dispatched_at bigint,
    warned_at bigint,
    received_at bigint not null,
    delivered_to text not null default '',
    forwarded_from text not null default '',
    forward_mac bytea
  )`,
  // The inbox lists only unacknowledged copies, warnings concern only those, and only acknowledged copies are
  // deleted.
  `create index inbox_copy_unwarned on inbox_copy
    (received_at)
    where acknowledged_at is null and warned_at is null`,
  `create index inbox_copy_acknowledged on inbox_copy
    (acknowledged_at)
    where acknowledged_at is not null`,
  `create index inbox_copy_message on inbox_copy (message_id)`,
  `create index inbox_copy_received on inbox_copy (received_at, id)`,
  `create index inbox_copy_address on inbox_copy (address_key, received_at, id)`,
  `create index inbox_copy_domain_time on inbox_copy (domain, received_at, id)`,
  `create index inbox_copy_unacknowledged on inbox_copy (received_at, id) where acknowledged_at is null`,
  // Of a partial index and one of all copies with the same columns SQLite takes the latter, and reads every
  // copy that was ever received. With a further column that the condition fixes it takes this one. PostgreSQL
  // knows which is small.
  ...(['address_key', 'domain'] as const).map(
    (column) => `create index inbox_copy_${column === 'domain' ? 'domain' : 'waiting'} on inbox_copy
      (${column}, ${engine === 'sqlite' ? 'acknowledged_at, ' : ''}received_at, id)
      where acknowledged_at is null`,
  ),
  // The counts of one node in one minute.
  `create table traffic_minute (
    minute bigint not null,
    node_id text not null,
    accepted integer not null,
    received integer not null,
    processed integer not null,
    failed integer not null,
    durations text not null,
    constraint traffic_minute_key primary key (minute, node_id)
  )`,
  // What was sent on one UTC day, by client and sender domain; counted anew from the messages while the day
  // is not final.
  `create table usage_day (
    day text not null,
    client_id text not null,
    organization_id text not null,
    domain text not null,
    messages bigint not null,
    recipients bigint not null,
    octets bigint not null,
    delivered bigint not null,
    failed bigint not null,
    constraint usage_day_key primary key (day, client_id, domain)
  )`,
  `create table usage_count (
    day text primary key,
    counted_at bigint not null,
    is_final integer not null
  )`,
];
