/** `message`: one message, by its Message-ID. `address`: all messages from or to a Direct address. */
export type LegalHoldKind = 'message' | 'address';

export interface LegalHoldRow {
  id: string;
  kind: LegalHoldKind;
  /** A Message-ID with angle brackets, or an address in lower case. */
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
  /** One row, see `lockLegalHolds`. */
  legal_hold_state: { id: number };
}
