/** The vault's data keys, large contents in parts, and the nodes (Decisions 0018, 0022 and 0029). */
export const platformTables = (): readonly string[] => [
  `create table data_key (
    id text primary key,
    master_key_id text not null,
    wrapped_key bytea not null,
    is_current integer not null,
    created_at bigint not null
  )`,
  // One current key, whichever node makes it.
  `create unique index data_key_current on data_key (is_current) where is_current = 1`,
  `create table content (
    id text primary key,
    sweep_at bigint
  )`,
  `create index content_sweep on content (sweep_at)`,
  `create table content_part (
    content_id text not null references content (id),
    position integer not null,
    sealed bytea not null,
    constraint content_part_key primary key (content_id, position)
  )`,
  `create table node (
    id text primary key,
    started_at bigint not null,
    seen_at bigint not null,
    version text not null,
    host text not null,
    -- Comma-separated: api, mail, and what else the configuration turns on.
    serves text not null
  )`,
];
