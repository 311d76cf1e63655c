/** The rows that this module owns. Times are milliseconds since 1970 (UTC). */
export interface DeliveryTables {
  /** One outgoing Direct message, as long as it has a recipient without a final outcome. */
  delivery: {
    id: string;
    kind: DeliveryKind;
    sender: string;
    /** The plain RFC 5322 message as the content store wrote it for `delivery:<id>`; null once all is decided. */
    sealed_message: Uint8Array | null;
    created_at: number;
    /** When trying ends; a recipient still pending then fails. */
    not_after: number;
    next_attempt_at: number;
    attempts: number;
    lease_owner: string | null;
    lease_until: number;
    is_done: number;
  };
  delivery_recipient: {
    delivery_id: string;
    /** The address as written. */
    address: string;
    state: 'pending' | 'sent' | 'failed';
    last_error: string;
    decided_at: number | null;
  };
}

/** What is being carried: a message of an edge client, or a notice of ours. */
export type DeliveryKind = 'message' | 'mdn' | 'dsn';
