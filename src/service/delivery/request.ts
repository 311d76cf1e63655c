import type { DirectAddress } from '../../lib/values/index.ts';
import type { AnyTransaction } from '../../platform/index.ts';
import type { PathCertificate } from '../agent/index.ts';
import type { DeliveryFailureReason, DeliveryKind } from './tables.ts';

/** A message to deliver. */
export interface DeliveryRequest {
  /** Unique; the caller finds its own row by it. */
  readonly deliveryId: string;
  /** The message that it belongs to, for log and attempts; by default the delivery's id. */
  readonly messageId?: string;
  readonly kind: DeliveryKind;
  readonly from: DirectAddress;
  /** At least one, each once. */
  readonly recipients: readonly DirectAddress[];
  /** The plain RFC 5322 message with CRLF; encrypted at rest. It must not be changed afterwards. */
  readonly message: Uint8Array;
  /** `message` as `prepare` stored it. */
  readonly stored?: Uint8Array;
}

/** The outcome of one recipient: the peer's mail server accepted the message, or will never get it. */
export interface DeliveryOutcome {
  readonly deliveryId: string;
  readonly messageId: string;
  readonly kind: DeliveryKind;
  readonly sender: DirectAddress;
  /** `@domain`: all of the message there that are undecided, since who they are cannot be read any more. */
  readonly recipient: DirectAddress | `@${string}`;
  readonly outcome: 'sent' | 'failed';
  readonly reason?: DeliveryFailureReason;
  /**
   * Enhanced status code (RFC 3463) of the peer or of the agent, for example `5.7.31`; undefined if neither
   * gave one.
   */
  readonly statusCode?: string;
  /** For operators and the sender; names hosts and rules, never content. */
  readonly text?: string;
  readonly at: Date;
}

/**
 * Called inside the transaction that stores the outcomes, so that they and their consequences are stored
 * together or not at all. All are of one delivery and one destination.
 */
export type OutcomeListener = (tx: AnyTransaction, outcomes: readonly DeliveryOutcome[]) => Promise<void>;

/**
 * Called inside the transaction that stores an attempt, with the certificates of the paths that it sealed by.
 */
export type CertificateListener = (
  tx: AnyTransaction,
  certificates: readonly PathCertificate[],
  at: Date,
) => void;

/** Why something did not succeed, whether it is retried or not. */
export interface DeliveryProblem {
  readonly reason: DeliveryFailureReason;
  readonly statusCode?: string;
  readonly text: string;
}

/** The decision about one recipient. */
export type RecipientDecision = Pick<DeliveryOutcome, 'recipient'> &
  ({ readonly outcome: 'sent' } | ({ readonly outcome: 'failed' } & DeliveryProblem));
