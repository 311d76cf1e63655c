/** Organizations, to which domains and clients belong (Decision 0033). */
export const organizationsTables = (): readonly string[] => [
  `create table organization (
    id text primary key,
    name text not null,
    npi text not null,
    postal_address text not null,
    contacts text not null,
    limits text not null,
    closed_at bigint,
    closed_reason text not null,
    created_at bigint not null,
    updated_at bigint not null,
    mac bytea
  )`,
  // What an organization with a limit per day has sent on its last day.
  `create table organization_sent (
    organization_id text primary key,
    day text not null,
    messages bigint not null,
    octets bigint not null
  )`,
  // What an organization with a limit of storage keeps.
  `create table organization_stored (
    organization_id text primary key,
    octets bigint not null,
    counted_at bigint not null
  )`,
  // Locked while it is decided whose a domain is, and which domains a client may have addresses of.
  `create table organization_state (
    id integer primary key
  )`,
  'insert into organization_state (id) values (1)',
];
