import { codedError, type ErrorTable } from '../../core/index.ts';

export const messagingErrors = {
  MESSAGING_REQUEST_INVALID: { kind: 'invalid-input' },
  MESSAGING_TOO_LARGE: { kind: 'too-large' },
  MESSAGING_SENDER_NOT_OWNED: {
    kind: 'forbidden',
    publicMessage: 'The sender address does not belong to this client.',
  },
  MESSAGING_SENDER_NOT_HOSTED: {
    kind: 'forbidden',
    publicMessage: 'The sender address is not an active address of this service.',
  },
  MESSAGING_ADDRESS_NOT_OWNED: {
    kind: 'forbidden',
    publicMessage: 'The address does not belong to this client.',
  },
  /** A received message is not pushed to it. */
  MESSAGING_CLIENT_NOT_ALLOWED: {
    kind: 'forbidden',
    publicMessage: 'The client is disabled, or may not use the messaging API.',
  },
  MESSAGING_ID_REUSED: {
    kind: 'conflict',
    publicMessage: 'This messageId was already used for another message.',
  },
  MESSAGING_MESSAGE_NOT_FOUND: { kind: 'not-found', publicMessage: 'Message not found.' },
  MESSAGING_ATTACHMENT_NOT_FOUND: { kind: 'not-found', publicMessage: 'Attachment not found.' },
  MESSAGING_RATE_LIMITED: { kind: 'rate-limited', publicMessage: 'Too many messages were sent.' },
  MESSAGING_CHECKS_LIMITED: {
    kind: 'rate-limited',
    publicMessage: 'This client has too many concurrent address checks; retry later.',
  },
  MESSAGING_CHECKS_OVERLOADED: {
    kind: 'unavailable',
    publicMessage: 'Too many concurrent address checks; retry later.',
  },
  MESSAGING_SPOOL_FULL: { kind: 'unavailable', publicMessage: 'Too much mail is waiting; retry later.' },
  MESSAGING_SEARCH_INVALID: { kind: 'invalid-input' },
  MESSAGING_EVIDENCE_UNSIGNED: {
    kind: 'unavailable',
    publicMessage: 'The evidence cannot be signed: the sender has no valid signing key.',
  },
  MESSAGING_TRANSITION_IMPOSSIBLE: { kind: 'internal' },
  /** A row of the inbox was not written by this service. */
  MESSAGING_ROW_CHANGED: { kind: 'internal' },
} as const satisfies ErrorTable;

/** A refusal by the messaging service. Messages name fields and identifiers, never content. */
export class MessagingError extends codedError(messagingErrors) {}
