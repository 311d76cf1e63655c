/**
 * The queue of outgoing mail: a row per destination, every attempt, and destinations on hold (Decision 0023).
 */
export const deliveryTables = (): readonly string[] => [
  `create table delivery (
    id text primary key,
    kind text not null check (kind in ('message', 'mdn', 'dsn')),
    sender text not null,
    sealed_message bytea not null,
    created_at bigint not null,
    message_id text not null default '',
    destinations integer not null default 1,
    size_bytes bigint not null default 0
  )`,
  `create table delivery_destination (
    id text primary key,
    delivery_id text not null references delivery (id),
    domain text not null,
    recipients text not null,
    not_after bigint not null,
    next_attempt_at bigint not null,
    attempts integer not null,
    lease_token text,
    lease_until bigint not null,
    last_reason text not null,
    last_status_code text not null,
    last_error text not null
  )`,
  `create index delivery_destination_due on delivery_destination (next_attempt_at)`,
  `create index delivery_destination_delivery on delivery_destination (delivery_id)`,
  // Read each minute; mail that is sent at once never enters it.
  `create index delivery_destination_failed on delivery_destination (domain) where last_reason <> ''`,
  `create index delivery_destination_domain on delivery_destination (domain, id)`,
  `create table delivery_attempt (
    id text primary key,
    delivery_id text not null,
    message_id text not null,
    domain text not null,
    host text not null,
    address text not null,
    tls text not null,
    reply text not null,
    code text not null,
    certificates text not null,
    outcome text not null,
    started_at bigint not null,
    duration_ms integer not null,
    sent_hash text not null default ''
  )`,
  `create index delivery_attempt_delivery on delivery_attempt (delivery_id)`,
  `create table delivery_hold (
    domain text primary key,
    reason text not null,
    author text not null,
    ends_at bigint,
    created_at bigint not null
  )`,
];
