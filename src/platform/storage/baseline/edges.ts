/** Edge accounts, by which software other than REST clients signs in, and what their protocols remember. */
export const edgesTables = (): readonly string[] => [
  `create table edge_account (
    account_id text primary key,
    client_id text not null references oauth_client (client_id) on delete cascade,
    username text not null,
    username_key text not null unique,
    addresses text not null,
    protocols text not null,
    policies text not null,
    salt bytea not null,
    disabled_at bigint,
    created_at bigint not null,
    updated_at bigint not null,
    mac bytea
  )`,
  `create index edge_account_client on edge_account (client_id)`,
  `create table edge_password (
    password_id text primary key,
    account_id text not null references edge_account (account_id) on delete cascade,
    hash bytea not null,
    created_at bigint not null,
    mac bytea
  )`,
  `create index edge_password_account on edge_password (account_id)`,
  // By which received mail finds the accounts whose mailbox it belongs to. It lets nobody in: reading asks
  // the account itself.
  `create table edge_address (
    account_id text not null references edge_account (account_id) on delete cascade,
    address text not null,
    constraint edge_address_key primary key (address, account_id)
  )`,
  `create index edge_address_account on edge_address (account_id)`,
  // IMAP's unique identifiers and the number of the last change.
  `create table edge_mailbox (
    account_id text not null references edge_account (account_id) on delete cascade,
    name text not null,
    uid_validity bigint not null,
    uid_next bigint not null,
    change_number bigint not null,
    removals bigint not null,
    filled_at bigint,
    constraint edge_mailbox_key primary key (account_id, name)
  )`,
  // A received message, the outcome of a sent one, or a sent one.
  `create table edge_mail (
    account_id text not null references edge_account (account_id) on delete cascade,
    mailbox text not null,
    uid bigint not null,
    copy_id text references inbox_copy (id) on delete cascade,
    recipient_id text references message_recipient (id) on delete cascade,
    sent_id text references sent_message (message_id) on delete cascade,
    flags integer not null,
    change_number bigint not null,
    size_bytes bigint,
    received_at bigint not null,
    constraint edge_mail_key primary key (account_id, mailbox, uid),
    constraint edge_mail_copy unique (account_id, mailbox, copy_id),
    constraint edge_mail_outcome unique (account_id, mailbox, recipient_id)
  )`,
  `create index edge_mail_of_copy on edge_mail (copy_id)`,
  `create index edge_mail_of_recipient on edge_mail (recipient_id)`,
  `create index edge_mail_of_sent on edge_mail (sent_id)`,
  `create index edge_mail_changes on edge_mail (account_id, mailbox, change_number)`,
  // Whose session an account's queue belongs to at present.
  `create table edge_lease (
    account_id text primary key references edge_account (account_id) on delete cascade,
    owner text not null,
    until bigint not null
  )`,
  // How often a client was given a received message and did not take it.
  `create table edge_offer (
    copy_id text primary key references inbox_copy (id) on delete cascade,
    offers integer not null,
    offered_at bigint not null
  )`,
];
