/** The disposition type of an MDN; `failed`, `denied` and `error` come from older texts. */
export type Disposition =
  | 'processed'
  | 'dispatched'
  | 'displayed'
  | 'deleted'
  | 'failed'
  | 'denied'
  | 'error';

/**
 * A message disposition notification as read, for example of `Disposition:
 * automatic-action/MDN-sent-automatically;processed`.
 */
export interface Mdn {
  readonly kind: 'mdn';
  /** Undefined if the field is missing or unknown: the MDN then confirms nothing (MDN-22). */
  readonly disposition: Disposition | undefined;
  /**
   * The first word of each modifier, lower-cased, for example `error` of
   * `processed/Error: decryption-failed`.
   */
  readonly modifiers: readonly string[];
  /**
   * True if the recipient's system reports a failure: failed, denied, error, a modifier that begins so, or a
   * Failure or Error field.
   */
  readonly isFailure: boolean;
  /** The addr-spec of Final-Recipient, case as written. */
  readonly finalRecipient: string | undefined;
  /**
   * The addr-spec of Original-Recipient: the address that the message was sent to, if its system delivers to
   * another one.
   */
  readonly originalRecipient: string | undefined;
  /** The From address of the MDN; it counts for nothing until the signer is bound to it (MDN-23). */
  readonly reporter: string | undefined;
  /**
   * With angle brackets. From Original-Message-ID; only if that is missing from In-Reply-To, then from
   * References (MDN-21).
   */
  readonly originalMessageIds: readonly string[];
  readonly reportingUa: string | undefined;
  /** Text of Failure, Error, the modifier or Warning, for operators. */
  readonly explanation: string | undefined;
  /** Fields that begin with `X-`, by lower-cased name. */
  readonly extensions: ReadonlyMap<string, string>;
  /** True for a dispatched MDN with the field X-DIRECT-FINAL-DESTINATION-DELIVERY (MDN-10, MDN-24). */
  readonly confirmsFinalDelivery: boolean;
}

export type DsnAction = 'failed' | 'delayed' | 'delivered' | 'relayed' | 'expanded';

/** One recipient of a delivery status notification. */
export interface DsnRecipient {
  readonly finalRecipient: string | undefined;
  readonly originalRecipient: string | undefined;
  readonly action: DsnAction | undefined;
  /** For example `5.1.1`. */
  readonly status: string | undefined;
  readonly diagnostic: string | undefined;
  /** True if the action is `failed`, or there is none and the status begins with 5. */
  readonly isFailure: boolean;
}

/** A delivery status notification as read (RFC 3464). */
export interface Dsn {
  readonly kind: 'dsn';
  readonly recipients: readonly DsnRecipient[];
  readonly reporter: string | undefined;
  /**
   * With angle brackets, best source first: the report's own fields, In-Reply-To, the returned headers,
   * Original-Envelope-ID (DSN-03).
   */
  readonly originalMessageIds: readonly string[];
  readonly reportingMta: string | undefined;
}

export type MdnOrDsn = Mdn | Dsn;
