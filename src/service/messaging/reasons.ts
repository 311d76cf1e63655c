import type { DeliveryFailureReason } from '../delivery/index.ts';
import type { RecipientState } from './status/states.ts';

/** Why a recipient failed or expired: stable words that clients may compare (Decision 0012). */
export type FailureReason =
  | DeliveryFailureReason
  | 'remote-failed'
  | 'no-processed-mdn'
  | 'no-dispatched-mdn';

export interface ReasonText {
  /** Enhanced status code (RFC 3463 §2) used when the remote server gave none. */
  readonly statusCode: string;
  readonly text: string;
}

/** A reason with advice for the operator. */
export interface FailureText extends ReasonText {
  readonly advice: string;
  /** The advice after the last attempt, where it differs. */
  readonly adviceAtEnd?: string;
}

export const failureReasons: Readonly<Record<FailureReason, FailureText>> = {
  'no-certificate': {
    statusCode: '5.7.31',
    text: 'No certificate was found for the recipient.',
    advice:
      "Check the address: it may be misspelt, or it may not be a Direct address. Otherwise the recipient's HISP must publish a certificate in DNS or LDAP.",
  },
  untrusted: {
    statusCode: '5.7.11',
    text: "The recipient's certificate is not trusted.",
    advice:
      "Check the refused certificate. If you trust the partner, add its anchor or its trust bundle to the sender's domain; then send again.",
  },
  'sender-certificate': {
    statusCode: '5.7.5',
    text: 'The sender has no valid certificate.',
    advice: "Install a valid key for the sender's domain, then retry the message.",
  },
  'certificate-expired': {
    statusCode: '5.7.11',
    text: "The recipient's certificate is expired.",
    advice: "Ask the recipient's HISP to renew its certificate; nothing can be sent until then.",
  },
  'unknown-recipient': {
    statusCode: '5.1.1',
    text: 'The receiving HISP does not know the address.',
    advice: 'Check the address with the recipient: the mail server there does not know it.',
  },
  'domain-not-found': {
    statusCode: '5.1.2',
    text: "The recipient's domain does not exist.",
    advice: 'Check the address: its domain does not exist.',
  },
  'no-mail-host': {
    statusCode: '5.4.4',
    text: "The recipient's domain accepts no mail.",
    advice: 'Check the address: its domain accepts no mail.',
  },
  'dns-failed': {
    statusCode: '5.4.3',
    text: "The DNS or LDAP servers of the recipient's domain do not answer.",
    advice:
      "The delivery is retried automatically. If other domains fail too, check this service's resolvers; otherwise contact the recipient's HISP.",
    adviceAtEnd:
      "Contact the recipient's HISP: its name servers or LDAP did not answer. When they do, the client can send the message again as a new message.",
  },
  unreachable: {
    statusCode: '5.4.1',
    text: "The recipient's mail server cannot be reached.",
    advice:
      "The delivery is retried automatically. If every destination fails, check the firewall for port 25; otherwise contact the recipient's HISP.",
    adviceAtEnd:
      "Contact the recipient's HISP: its mail server could not be reached. When it is reachable, the client can send the message again as a new message.",
  },
  'tls-failed': {
    statusCode: '5.7.10',
    text: "No encrypted connection to the recipient's mail server.",
    advice:
      "Contact the recipient's HISP: its mail server offers no usable TLS. The delivery is retried automatically.",
    adviceAtEnd:
      "Contact the recipient's HISP: its mail server offers no usable TLS. When it does, the client can send the message again as a new message.",
  },
  'gateway-unavailable': {
    statusCode: '5.4.1',
    text: 'The outgoing mail gateway of this service cannot be reached, or refuses its connection.',
    advice:
      'Run openhisp doctor (check relay): no mail leaves this service until its gateway (smtp.relayHost) takes it. The delivery is retried automatically.',
    adviceAtEnd:
      'Run openhisp doctor (check relay). When the gateway (smtp.relayHost) takes mail again, the client can send the message again as a new message.',
  },
  'smtp-deferred': {
    statusCode: '5.4.7',
    text: "The recipient's mail server deferred the message too long.",
    advice: 'Read the reply of their mail server in the attempts; the delivery is retried automatically.',
    adviceAtEnd:
      "Read the reply of their mail server in the attempts, and ask the recipient's HISP; the client can then send the message again as a new message.",
  },
  'smtp-rejected': {
    statusCode: '5.5.0',
    text: "The recipient's mail server refused the message.",
    advice:
      'Read the reply of their mail server in the attempts. Often the message is too large, or their side admits only known senders.',
  },
  'remote-failed': {
    statusCode: '5.2.0',
    text: 'The receiving service could not deliver the message.',
    advice:
      "Read what their HISP reported in the history, and ask the recipient's HISP, with the wire id, or use another address.",
  },
  'no-processed-mdn': {
    statusCode: '5.4.71',
    text: 'No processed MDN arrived in time; the outcome is unknown.',
    advice: "Ask the recipient's HISP, with the wire id, about the outcome before the message is sent again.",
  },
  'no-dispatched-mdn': {
    statusCode: '5.4.72',
    text: 'No dispatched MDN arrived in time; the outcome is unknown.',
    advice:
      'Their HISP has the message. Ask it, with the wire id, whether it was delivered before it is sent again.',
  },
  cancelled: {
    statusCode: '5.3.2',
    text: 'An operator of this service ended the delivery, or held it until its time was over.',
    advice:
      'Ask the operator who ended or held it; the audit rows name them. The client may send it again as a new message.',
  },
  internal: {
    statusCode: '5.3.0',
    text: 'This service could not send the message.',
    advice: 'Search the log of this service for the message id, and report the fault.',
  },
};

/** Advice for the operator about a reason; `isFinal` if no more attempts are made. */
export function adviceFor(reason: FailureReason, isFinal: boolean): string {
  const { advice, adviceAtEnd } = failureReasons[reason];
  return isFinal ? (adviceAtEnd ?? advice) : advice;
}

/** RFC 3463: 5.2.3, larger than the mailbox takes; 5.3.4, larger than the system takes. */
const tooLargeCodes: ReadonlySet<string> = new Set(['5.2.3', '5.3.4']);

/**
 * A text for a status code of the far side that is more exact than its reason; undefined if there is none.
 */
export function explainCode(
  statusCode: string,
): { readonly text: string; readonly advice: string } | undefined {
  if (!tooLargeCodes.has(statusCode)) return undefined;
  return {
    text: "The message is larger than the recipient's mail server takes.",
    advice:
      'Tell the client: send fewer or smaller attachments, or several messages. The reply in the attempts may name the limit.',
  };
}

export function isFailureReason(text: string): text is FailureReason {
  return Object.hasOwn(failureReasons, text);
}

const enhancedCode = /^[245]\.\d{1,3}\.\d{1,3}$/;
const maxStatusTextLength = 300;

/** The code to report: the remote server's if it is valid, otherwise the reason's. */
export function statusCodeFor(reason: FailureReason, remoteCode: string | undefined): string {
  return remoteCode !== undefined && enhancedCode.test(remoteCode)
    ? remoteCode
    : failureReasons[reason].statusCode;
}

/** Remote text made safe to store and show: printable, one line, bounded. */
export function cleanStatusText(text: string): string {
  return text
    .replaceAll(/[^\x21-\x7e]+/g, ' ')
    .trim()
    .slice(0, maxStatusTextLength);
}

/** The state of a recipient whose message was not sent yet. */
export interface Wait {
  readonly lastReason?: DeliveryFailureReason;
  readonly isRunning: boolean;
  readonly isOnHold: boolean;
  readonly isBackingOff: boolean;
}

/** The reason of the last attempt, in a sentence that is true while the delivery is retried. */
export function retriedText(reason: FailureReason): string {
  return reason === 'smtp-deferred'
    ? "The recipient's mail server asked to try again later."
    : failureReasons[reason].text;
}

/** The reason why a recipient waits, in a sentence that is true while it waits. */
export function waitingText({ lastReason, isRunning, isOnHold, isBackingOff }: Wait): string {
  const then = isOnHold
    ? 'An operator of this service has put the destination on hold.'
    : isRunning
      ? 'An attempt is in progress.'
      : 'The delivery will be retried.';
  if (lastReason !== undefined) {
    return `Not sent yet. ${retriedText(lastReason)} ${then}`;
  }
  if (isOnHold || isRunning) return `${stateTexts.queued.text} ${then}`;
  return isBackingOff
    ? `${stateTexts.queued.text} Earlier messages could not be delivered to the recipient's domain.`
    : stateTexts.queued.text;
}

/** Text and code of the states that are not failures. */
export const stateTexts: Readonly<Record<RecipientState, ReasonText>> = {
  queued: { statusCode: '2.0.0', text: 'Stored; not sent yet.' },
  sent: { statusCode: '2.0.0', text: "The recipient's mail server accepted the message." },
  processed: { statusCode: '2.0.0', text: 'The receiving service accepted the message.' },
  dispatched: { statusCode: '2.0.0', text: 'The message reached its final destination.' },
  failed: { statusCode: '5.0.0', text: 'The message was not delivered.' },
  expired: { statusCode: '5.4.7', text: 'No MDN arrived in time.' },
};
