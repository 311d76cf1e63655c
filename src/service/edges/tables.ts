import type { MacColumn } from '../integrity/index.ts';

/** What each account has. */
export const mailboxNames = ['INBOX', 'Sent', 'Trash'] as const;
export type MailboxName = (typeof mailboxNames)[number];

/** The rows of this service, as stored. */
export interface EdgesTables {
  edge_account: MacColumn & {
    account_id: string;
    client_id: string;
    username: string;
    /** In lower case: users type addresses in any case. */
    username_key: string;
    /** JSON array: `user@domain` or `@domain`, lower-cased. */
    addresses: string;
    /** Space-delimited. */
    protocols: string;
    /** JSON object, see EdgePolicies. */
    policies: string;
    /** One for all passwords of an account, so that checking one costs one hash. */
    salt: Uint8Array;
    disabled_at: number | null;
    created_at: number;
    updated_at: number;
  };
  edge_password: MacColumn & {
    password_id: string;
    account_id: string;
    hash: Uint8Array;
    created_at: number;
  };
  edge_address: {
    account_id: string;
    /** `user@domain` or `@domain`, lower-cased. */
    address: string;
  };
  edge_mailbox: {
    account_id: string;
    name: MailboxName;
    uid_validity: number;
    uid_next: number;
    /** Of the last change: each one has the next number. */
    change_number: number;
    /** How often messages were removed. */
    removals: number;
    /** When what waited for the account's addresses was put in; null: not yet. */
    filled_at: number | null;
  };
  edge_mail: {
    account_id: string;
    mailbox: MailboxName;
    uid: number;
    /** Of a received message, else null. */
    copy_id: string | null;
    /** Of an outcome, else null. */
    recipient_id: string | null;
    /** Of a sent message, else null. */
    sent_id: string | null;
    /** Bits, see `mailFlags`. */
    flags: number;
    change_number: number;
    /** Octets as the mailbox shows it; null: not known yet. */
    size_bytes: number | null;
    received_at: number;
  };
  edge_lease: {
    account_id: string;
    /** The session. */
    owner: string;
    until: number;
  };
  edge_offer: {
    copy_id: string;
    offers: number;
    offered_at: number;
  };
}
