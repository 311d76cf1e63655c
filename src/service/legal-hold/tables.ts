/**
 * `message`: one message, by its Message-ID. `address`: all messages from or to a Direct address.
 * `organization`: all messages from or to an address in one of its domains.
 */
export type LegalHoldKind = 'message' | 'address' | 'organization';

export interface LegalHoldRow {
  id: string;
  kind: LegalHoldKind;
  /** A Message-ID with angle brackets, an address in lower case, or the id of an organization. */
  subject: string;
  reason: string;
  /** Who added it, as the audit trail names people. */
  author: string;
  created_at: number;
  /** Null while it is in force. */
  released_at: number | null;
  released_by: string | null;
  release_reason: string | null;
}

export interface LegalHoldTables {
  legal_hold: LegalHoldRow;
  /** Of other services, as far as holds read them. */
  organization: { id: string };
  hosted_domain: { domain: string; organization_id: string };
  removed_domain: { domain: string; organization_id: string };
  /** One row, see `lockLegalHolds`. */
  legal_hold_state: { id: number };
}
