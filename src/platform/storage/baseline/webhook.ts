/** Webhooks of edge clients, and the notifications that wait for them (Decision 0013). */
export const webhookTables = (): readonly string[] => [
  `create table webhook (
    id text primary key,
    client_id text not null,
    kind text not null,
    url text not null,
    description text not null,
    event_types text not null,
    is_xdm integer not null,
    is_enabled integer not null,
    disabled_reason text not null,
    sealed_secret bytea not null,
    sealed_previous_secret bytea,
    previous_secret_until bigint,
    sealed_basic bytea,
    failing_since bigint,
    created_at bigint not null,
    updated_at bigint not null,
    last_success_at bigint,
    edge_account text,
    mac bytea
  )`,
  `create index webhook_client on webhook (client_id)`,
  // Locked while the webhooks of a client are counted.
  `create table webhook_owner (
    client_id text primary key
  )`,
  // Without a reference to `webhook`: that may be removed while another transaction stores a notification for
  // it.
  `create table webhook_notification (
    id text primary key,
    webhook_id text not null,
    client_id text not null,
    kind text not null check (kind in ('status', 'inbound')),
    event_type text not null,
    subject text not null,
    payload text not null,
    state text not null check (state in ('waiting', 'held', 'dead')),
    attempts integer not null,
    next_attempt_at bigint not null,
    lease_token text,
    lease_until bigint not null,
    last_status integer,
    last_error text not null,
    created_at bigint not null,
    settled_at bigint
  )`,
  // The claim and the look before it are answered by this index alone.
  `create index webhook_notification_due on webhook_notification
    (kind, next_attempt_at, lease_until, webhook_id, client_id, id)
    where state = 'waiting'`,
  `create index webhook_notification_hook on webhook_notification (webhook_id, state)`,
  `create index webhook_notification_settled on webhook_notification
    (settled_at)
    where settled_at is not null`,
  // The dead letters of a webhook in the order of their list. `state` has one value here; with it SQLite
  // takes this index and not that of webhook and state.
  `create index webhook_notification_dead on webhook_notification
    (webhook_id, state, created_at, id)
    where state = 'dead'`,
  `create table webhook_attempt (
    id text primary key,
    webhook_id text not null,
    notification_id text not null,
    message_id text not null,
    attempt integer not null,
    http_status integer,
    error text not null,
    attempted_at bigint not null,
    duration_ms integer not null,
    answer text not null default ''
  )`,
  `create index webhook_attempt_hook on webhook_attempt (webhook_id, attempted_at)`,
  `create index webhook_attempt_message on webhook_attempt (message_id)`,
  `create index webhook_attempt_age on webhook_attempt (attempted_at)`,
];
