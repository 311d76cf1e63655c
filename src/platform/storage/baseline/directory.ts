/**
 * Sources of the directory, their generations in blocks, the served one, provisioned records and quotas
 * (Decisions 0008 and 0025).
 */
export const directoryTables = (): readonly string[] => [
  `create table directory_source (
    name text primary key,
    bit integer not null unique,
    rank integer not null,
    export_right text not null,
    active_load_id integer,
    created_at bigint not null,
    schedule_path text,
    schedule_every_ms bigint,
    schedule_checked_at bigint not null default 0,
    schedule_seen text not null default '',
    schedule_failure text not null default '',
    schedule_failed_at bigint
  )`,
  // `file_keys`: whether records may be identified by a key of the file. `progress`: JSON, empty before and
  // after.
  `create table directory_load (
    id integer primary key,
    parent_id integer,
    previous_id integer,
    kind text not null check (kind in ('full', 'incremental', 'merged')),
    format text not null,
    source text not null,
    state text not null check (state in ('loading', 'merging', 'ready', 'failed', 'retired')),
    record_count integer not null,
    block_count integer not null,
    report text not null,
    started_at bigint not null,
    heartbeat_at bigint not null,
    finished_at bigint,
    source_name text not null,
    file_keys integer not null,
    changed_at bigint,
    started_by text not null default '',
    progress text not null default '',
    node_id text
  )`,
  // One load in progress (Decision 0022).
  `create unique index directory_load_loading on directory_load (state) where state = 'loading'`,
  // `changed` has the times of records that are older than the load, in seconds since 1970; without it all
  // changed with it (Decision 0028).
  `create table directory_block (
    load_id integer not null,
    sequence integer not null,
    record_count integer not null,
    keys bytea not null,
    records bytea not null,
    sources bytea,
    changed bytea,
    constraint directory_block_key primary key (load_id, sequence)
  )`,
  // The blocks of a load by the hashes of their entries: one record is read without the keys of all blocks.
  // Merges and loads of one block have no rows.
  `create table directory_lookup (
    load_id integer not null,
    bucket integer not null,
    places bytea not null,
    constraint directory_lookup_key primary key (load_id, bucket)
  )`,
  // `recorded_since` is the first revision whose changes of provisioned records are all recorded.
  `create table directory_state (
    id integer primary key,
    active_load_id integer,
    revision integer not null,
    next_load_id integer not null,
    next_record_id bigint not null,
    secret bytea not null,
    recorded_since integer not null default 0,
    last_change_at bigint not null default 0,
    earliest_change_at bigint not null default 0,
    earliest_open_change_at bigint not null default 0
  )`,
  // The generation that a node serves, or is about to serve.
  `create table directory_node (
    node_id text primary key,
    load_id integer,
    revision integer not null,
    seen_at bigint not null
  )`,
  `create table directory_provisioned (
    address_key text primary key,
    record_id bigint not null,
    record text not null,
    updated_at bigint not null,
    listing_changed_at bigint,
    former_npis text,
    revision integer not null default 0
  )`,
  // Hosted addresses that are not contributed to the aggregated directory, listed or not.
  `create table directory_opt_out (
    address_key text primary key,
    created_at bigint not null
  )`,
  `create index directory_provisioned_revision on directory_provisioned (revision)`,
  `create unique index directory_provisioned_record on directory_provisioned (record_id)`,
  `create table directory_quota (
    client_id text not null,
    day text not null,
    record_count bigint not null,
    constraint directory_quota_key primary key (day, client_id)
  )`,
];
