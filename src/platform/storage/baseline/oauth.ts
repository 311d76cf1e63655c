/**
 * Clients, their secrets and the tokens issued to them (Decision 0006). `mac`: Decision 0024, in every file
 * of this folder.
 */
export const oauthTables = (): readonly string[] => [
  `create table oauth_client (
    client_id text primary key,
    organization_id text not null default 'operator',
    name text not null,
    secret_salt bytea not null,
    secret_cost integer not null,
    scopes text not null,
    direct_addresses text not null,
    limits text not null,
    requests_final_delivery integer not null,
    data_use_accepted_at bigint,
    disabled_at bigint,
    created_at bigint not null,
    updated_at bigint not null,
    mac bytea
  )`,
  `create table oauth_secret (
    secret_id text primary key,
    client_id text not null references oauth_client (client_id) on delete cascade,
    hash bytea not null,
    created_at bigint not null,
    mac bytea
  )`,
  `create index oauth_secret_client on oauth_secret (client_id)`,
  `create table oauth_token (
    token_hash bytea primary key,
    client_id text not null references oauth_client (client_id) on delete cascade,
    scopes text not null,
    secret_id text not null,
    issued_at bigint not null,
    expires_at bigint not null,
    mac bytea
  )`,
  `create index oauth_token_client on oauth_token (client_id)`,
  `create index oauth_token_expiry on oauth_token (expires_at)`,
];
