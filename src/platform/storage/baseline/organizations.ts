/** Organizations, to which domains and clients belong (Decision 0033). */
export const organizationsTables = (): readonly string[] => [
  `create table organization (
    id text primary key,
    name text not null,
    npi text not null,
    postal_address text not null,
    contacts text not null,
    created_at bigint not null,
    updated_at bigint not null,
    mac bytea
  )`,
  // Locked while it is decided whose a domain is, and which domains a client may have addresses of.
  `create table organization_state (
    id integer primary key
  )`,
  'insert into organization_state (id) values (1)',
];
