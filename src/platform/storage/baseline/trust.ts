/** Our domains, addresses, keys and anchors, with a count of their changes (Decisions 0016 and 0022). */
export const trustTables = (): readonly string[] => [
  `create table hosted_domain (
    domain text primary key,
    organization_id text not null default 'operator',
    created_at bigint not null,
    mac bytea
  )`,
  `create index hosted_domain_organization on hosted_domain (organization_id)`,
  // Whose a domain was: what it received may still be stored, and may be on legal hold with its organization.
  `create table removed_domain (
    domain text primary key,
    organization_id text not null,
    removed_at bigint not null,
    mac bytea
  )`,
  `create table hosted_address (
    address_key text primary key,
    address text not null,
    domain text not null references hosted_domain (domain),
    status text not null,
    created_at bigint not null,
    mac bytea
  )`,
  `create table address_proofing (
    address_key text primary key references hosted_address (address_key),
    level text not null,
    method text not null,
    proofed_on text not null,
    expires_on text not null,
    verifier text not null,
    reference text not null,
    updated_at bigint not null
  )`,
  `create index hosted_address_domain on hosted_address (domain)`,
  // To which other addresses here the mail of one is delivered.
  `create table address_forwarding (
    address_key text primary key references hosted_address (address_key),
    deliver_to text not null,
    keeps_copy integer not null,
    begins_at bigint,
    ends_at bigint,
    mac bytea
  )`,
  `create table key_pair (
    id text primary key,
    owner text not null,
    certificate bytea not null,
    fingerprint text not null,
    sealed_private_key bytea not null,
    status text not null,
    created_at bigint not null,
    signs_from bigint,
    signs_until bigint,
    retires_at bigint,
    mac bytea
  )`,
  `create index key_pair_owner on key_pair (owner)`,
  // Keys that wait for their certificate.
  `create table key_request (
    id text primary key,
    owner text not null,
    domain text not null,
    csr bytea not null,
    sealed_private_key bytea not null,
    created_at bigint not null,
    mac bytea
  )`,
  `create index key_request_domain on key_request (domain)`,
  `create table trust_anchor (
    id text primary key,
    domain text not null references hosted_domain (domain),
    direction text not null,
    certificate bytea not null,
    fingerprint text not null,
    bundle_id text not null,
    created_at bigint not null,
    mac bytea,
    constraint trust_anchor_once unique (domain, direction, bundle_id, fingerprint)
  )`,
  `create table trust_bundle (
    id text primary key,
    domain text not null references hosted_domain (domain),
    direction text not null,
    url text not null,
    signer bytea,
    refresh_seconds bigint not null,
    next_refresh_at bigint not null,
    refreshed_at bigint,
    checksum text not null,
    etag text not null,
    last_error text not null,
    created_at bigint not null,
    mac bytea
  )`,
  `create table trust_bundle_change (
    id text primary key,
    bundle_id text not null,
    at bigint not null,
    added text not null,
    removed text not null
  )`,
  `create index trust_bundle_change_bundle on trust_bundle_change (bundle_id, at)`,
  `create table trust_state (
    id integer primary key,
    revision bigint not null
  )`,
  'insert into trust_state (id, revision) values (1, 1)',
];
