import type { DeliveryFailureReason } from '../delivery/index.ts';
import type { RecipientState } from './status/states.ts';

/** Why a recipient failed or expired: stable words that clients may compare (Decision 0012). */
export type FailureReason =
  | DeliveryFailureReason
  | 'remote-failed'
  | 'no-processed-mdn'
  | 'no-dispatched-mdn';

export interface ReasonText {
  /** Enhanced status code (RFC 3463 §2) used when the far side gave none. */
  readonly statusCode: string;
  readonly text: string;
}

export const failureReasons: Readonly<Record<FailureReason, ReasonText>> = {
  'no-certificate': { statusCode: '5.7.31', text: 'No certificate was found for the recipient.' },
  untrusted: { statusCode: '5.7.11', text: "The recipient's certificate is not trusted." },
  'sender-certificate': { statusCode: '5.7.5', text: 'The sender has no certificate that is valid now.' },
  'certificate-expired': { statusCode: '5.7.11', text: "The recipient's certificate is expired." },
  'unknown-recipient': { statusCode: '5.1.1', text: 'The recipient does not exist there.' },
  'domain-not-found': { statusCode: '5.1.2', text: "The recipient's domain does not exist." },
  'no-mail-host': { statusCode: '5.4.4', text: "The recipient's domain takes no mail." },
  'dns-failed': {
    statusCode: '5.4.3',
    text: "The directory services of the recipient's domain do not answer.",
  },
  unreachable: { statusCode: '5.4.1', text: "The recipient's mail server cannot be reached." },
  'tls-failed': { statusCode: '5.7.10', text: "No encrypted connection to the recipient's mail server." },
  'smtp-deferred': {
    statusCode: '5.4.7',
    text: "The recipient's mail server deferred the message too long.",
  },
  'smtp-rejected': { statusCode: '5.5.0', text: "The recipient's mail server refused the message." },
  'remote-failed': { statusCode: '5.2.0', text: 'The receiving service could not deliver the message.' },
  'no-processed-mdn': {
    statusCode: '5.4.71',
    text: 'No processed MDN came in time; the outcome is unknown.',
  },
  'no-dispatched-mdn': {
    statusCode: '5.4.72',
    text: 'No dispatched MDN came in time; the outcome is unknown.',
  },
  cancelled: { statusCode: '5.3.2', text: 'An operator of this service ended the delivery.' },
  internal: { statusCode: '5.3.0', text: 'This service could not send the message.' },
};

export function isFailureReason(text: string): text is FailureReason {
  return Object.hasOwn(failureReasons, text);
}

const enhancedCode = /^[245]\.\d{1,3}\.\d{1,3}$/;
const maxStatusTextLength = 300;

/** The code to report: the far side's own if it is one, else the reason's. */
export function statusCodeFor(reason: FailureReason, remoteCode: string | undefined): string {
  return remoteCode !== undefined && enhancedCode.test(remoteCode)
    ? remoteCode
    : failureReasons[reason].statusCode;
}

/** Text from a far side made safe to store and show: printable, one line, bounded. */
export function cleanStatusText(text: string): string {
  return text
    .replaceAll(/[^\x21-\x7e]+/g, ' ')
    .trim()
    .slice(0, maxStatusTextLength);
}

/** What is known of a recipient that was not sent to yet. */
export interface Wait {
  readonly lastReason?: DeliveryFailureReason;
  readonly isRunning: boolean;
  readonly isOnHold: boolean;
  readonly isResting: boolean;
}

/** Why a recipient waits, in a sentence that is true while it does. */
export function waitingText({ lastReason, isRunning, isOnHold, isResting }: Wait): string {
  const then = isOnHold
    ? 'The operator of this service has put the destination on hold.'
    : isRunning
      ? 'It is being tried now.'
      : 'It will be tried again.';
  if (lastReason !== undefined) {
    const why =
      lastReason === 'smtp-deferred'
        ? "The recipient's mail server asked to try again later."
        : failureReasons[lastReason].text;
    return `Not sent yet. ${why} ${then}`;
  }
  if (isOnHold || isRunning) return `${stateTexts.queued.text} ${then}`;
  return isResting
    ? `${stateTexts.queued.text} Earlier messages could not be delivered to the recipient's domain.`
    : stateTexts.queued.text;
}

/** Text and code of the states that are not failures. */
export const stateTexts: Readonly<Record<RecipientState, ReasonText>> = {
  queued: { statusCode: '2.0.0', text: 'Stored; not sent yet.' },
  sent: { statusCode: '2.0.0', text: "The recipient's mail server took the message." },
  processed: { statusCode: '2.0.0', text: 'The receiving service accepted the message.' },
  dispatched: { statusCode: '2.0.0', text: 'The message reached its final destination.' },
  failed: { statusCode: '5.0.0', text: 'The message was not delivered.' },
  expired: { statusCode: '5.4.7', text: 'No MDN came in time.' },
};
