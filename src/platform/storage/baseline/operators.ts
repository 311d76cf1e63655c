/**
 * Access to the console: operators, their passkeys, links, sessions and tokens, and started sign-ins
 * (Decision 0030).
 */
export const operatorsTables = (): readonly string[] => [
  `create table console_operator (
    id text primary key,
    name text not null,
    name_key text not null unique,
    role text not null,
    organization_id text,
    subject text unique,
    disabled_at bigint,
    created_at bigint not null,
    updated_at bigint not null,
    mac bytea
  )`,
  `create table console_passkey (
    id text primary key,
    operator_id text not null references console_operator (id),
    public_key bytea not null,
    counter bigint not null,
    transports text not null,
    is_backed_up integer not null,
    created_at bigint not null,
    last_used_at bigint,
    mac bytea,
    name text not null default ''
  )`,
  `create index console_passkey_operator on console_passkey (operator_id)`,
  `create table console_link (
    token_hash bytea primary key,
    operator_id text not null references console_operator (id),
    purpose text not null,
    created_at bigint not null,
    expires_at bigint not null,
    used_at bigint,
    mac bytea
  )`,
  `create index console_link_operator on console_link (operator_id)`,
  `create index console_link_expiry on console_link (expires_at)`,
  `create table console_session (
    id text primary key,
    token_hash bytea not null unique,
    operator_id text not null references console_operator (id),
    method text not null,
    passkey_id text,
    remote_address text not null,
    user_agent text not null,
    created_at bigint not null,
    seen_at bigint not null,
    expires_at bigint not null,
    mac bytea
  )`,
  `create index console_session_operator on console_session (operator_id)`,
  `create index console_session_expiry on console_session (expires_at)`,
  `create table console_token (
    id text primary key,
    token_hash bytea not null unique,
    operator_id text not null references console_operator (id),
    label text not null,
    created_at bigint not null,
    expires_at bigint not null,
    mac bytea
  )`,
  `create index console_token_operator on console_token (operator_id)`,
  `create index console_token_expiry on console_token (expires_at)`,
  `create table console_ceremony (
    id_hash bytea primary key,
    kind text not null,
    challenge text not null,
    expires_at bigint not null
  )`,
  `create index console_ceremony_expiry on console_ceremony (expires_at)`,
];
