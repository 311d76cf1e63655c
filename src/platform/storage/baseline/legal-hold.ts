/** What must not be deleted, with the holds that ended (Decision 0034). */
export const legalHoldTables = (): readonly string[] => [
  `create table legal_hold (
    id text primary key,
    kind text not null check (kind in ('message', 'address', 'organization')),
    subject text not null,
    reason text not null,
    author text not null,
    created_at bigint not null,
    released_at bigint,
    released_by text,
    release_reason text
  )`,
  `create unique index legal_hold_in_force on legal_hold (kind, subject) where released_at is null`,
  // Locked while a hold is added, and by what deletes: retention, the removal of a webhook, the end of an
  // edge target.
  `create table legal_hold_state (
    id integer primary key
  )`,
  'insert into legal_hold_state (id) values (1)',
];
