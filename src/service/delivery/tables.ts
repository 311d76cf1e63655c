/**
 * The rows that this module owns. Times are milliseconds: `created_at` and `started_at` since 1970 (UTC) by
 * the machine's clock, all others by `Storage.clock`.
 */
export interface DeliveryTables {
  /** One outgoing Direct message, as long as one of its destinations is undecided. */
  delivery: {
    id: string;
    kind: DeliveryKind;
    sender: string;
    /** The plain RFC 5322 message as the content store wrote it for `delivery:<id>`. */
    sealed_message: Uint8Array;
    created_at: number;
    message_id: string;
    /** Initial number of destinations. */
    destinations: number;
    /** Of the plain message. */
    size_bytes: number;
  };
  /** The undecided recipients of one domain, which are leased, tried and settled together. */
  delivery_destination: {
    /** Begins with the time of creation, so that the order of ids is the order of age. */
    id: string;
    delivery_id: string;
    /** In lower case. */
    domain: string;
    /** JSON list of the addresses as written. */
    recipients: string;
    /** Time at which retries end. */
    not_after: number;
    next_attempt_at: number;
    attempts: number;
    lease_token: string | null;
    lease_until: number;
    /** Reason of the last attempt; empty before the first. */
    last_reason: DeliveryFailureReason | '';
    last_status_code: string;
    last_error: string;
  };
  /**
   * Every attempt, for operators; append-only, deleted with the message's history (`messaging.messageDays`).
   */
  delivery_attempt: {
    /** Begins with the time, like the id of a destination. */
    id: string;
    delivery_id: string;
    message_id: string;
    domain: string;
    /** The mail server's name and IP address; empty if none was reached. */
    host: string;
    address: string;
    /** `TLSv1.3`, `TLSv1.2`, or empty for clear text. */
    tls: string;
    /** The server's last reply, or the error text. */
    reply: string;
    /** Why, as a code of the error tables or a {@link DeliveryFailureReason}; empty if all was sent. */
    code: string;
    /**
     * JSON list: the agent's `CertificateFinding` about each certificate, with the recipient as `to`; empty
     * if there is none.
     */
    certificates: string;
    outcome: AttemptOutcome;
    /**
     * SHA-256 of the message that was sent, as it went over the wire before dot-stuffing, hex; empty if none
     * was.
     */
    sent_hash: string;
    started_at: number;
    duration_ms: number;
  };
  /** Destinations that an operator has put on hold. */
  delivery_hold: {
    domain: string;
    reason: string;
    /** As in the audit trail, such as `operator:alice`. */
    author: string;
    /** Since 1970 (UTC) by the machine's clock, like `created_at`; null: until an operator releases it. */
    ends_at: number | null;
    created_at: number;
  };
}

/** The kind of delivery: a message of an edge client, or an MDN or DSN of ours. */
export type DeliveryKind = 'message' | 'mdn' | 'dsn';

/** `partial`: some recipients were sent and some not, `deferred`: all are retried. */
export type AttemptOutcome = 'sent' | 'partial' | 'deferred' | 'failed';

/** Words of Decision 0012; their status codes are in `service/messaging/reasons.ts`. */
export type DeliveryFailureReason =
  | 'no-certificate'
  | 'untrusted'
  | 'sender-certificate'
  | 'certificate-expired'
  | 'unknown-recipient'
  | 'domain-not-found'
  | 'no-mail-host'
  | 'dns-failed'
  | 'unreachable'
  | 'tls-failed'
  | 'gateway-unavailable'
  | 'smtp-deferred'
  | 'smtp-rejected'
  | 'cancelled'
  | 'internal';

/** Reasons that say something about the whole destination, so that its other mail waits as well. */
export const outages: readonly DeliveryFailureReason[] = [
  'unreachable',
  'dns-failed',
  'tls-failed',
  'gateway-unavailable',
];
