/** The states of the directory's addresses, and the work of verification (Decision 0027). */
export const verificationTables = (): readonly string[] => [
  `create table verification_state (
    id integer primary key,
    is_running integer not null,
    changed_at bigint not null,
    listed text not null
  )`,
  `insert into verification_state (id, is_running, changed_at, listed) values (1, 0, 0, '')`,
  `create table verification_domain (
    id text primary key,
    name_server text not null,
    next_attempt_at bigint not null,
    lease_token text,
    lease_until bigint not null,
    done_up_to text not null,
    failures integer not null,
    asks_all integer not null,
    cycle integer not null,
    cycle_started_at bigint not null,
    queries integer not null,
    checked_at bigint
  )`,
  `create index verification_domain_due on verification_domain (next_attempt_at)`,
  `create table verification_address (
    address_key text primary key,
    domain text not null,
    state text not null check (
      state in ('trusted', 'discoverable', 'expired', 'no-certificate', 'unreachable')
    ),
    reason text not null,
    checked_at bigint not null,
    changed_at bigint not null
  )`,
  `create index verification_address_domain on verification_address (domain, state)`,
  `create index verification_address_changed on verification_address (changed_at)`,
  `create table verification_processed (
    address_key text primary key,
    month integer not null,
    changed_at bigint not null
  )`,
  `create index verification_processed_changed on verification_processed (changed_at)`,
];
