import type { MimeEntity } from '../mime/index.ts';
import { addressKey, findDirectAddress, type DirectAddress } from '../values/index.ts';
import { DirectError } from './errors.ts';
import type { MessageAddresses } from './message-addresses.ts';

/** The SMTP envelope. */
export interface Envelope {
  /** The reverse path without brackets; empty for the null path, absent if it is not known. */
  readonly mailFrom?: string;
  /** The recipients it is opened for. */
  readonly recipients: readonly DirectAddress[];
}

/**
 * Holds the SMTP envelope against the signed header (AS-39). A null reverse path is an MDN's (MDN-08), and
 * only an MDN's.
 *
 * Errors: `DIRECT_ENVELOPE_SENDER_MISMATCH`, `DIRECT_ENVELOPE_RECIPIENT_MISMATCH`.
 */
export function checkEnvelope(envelope: Envelope, addresses: MessageAddresses, inner: MimeEntity): void {
  if (envelope.mailFrom !== undefined && !isSenderNamed(envelope.mailFrom, addresses, inner)) {
    throw new DirectError(
      'DIRECT_ENVELOPE_SENDER_MISMATCH',
      'MAIL FROM is neither From nor Sender of the message',
    );
  }
  if (!envelope.recipients.every((address) => addresses.recipientKeys.has(addressKey(address)))) {
    throw new DirectError(
      'DIRECT_ENVELOPE_RECIPIENT_MISMATCH',
      'a recipient that is neither in To nor in Cc of the message',
    );
  }
}

function isSenderNamed(mailFrom: string, addresses: MessageAddresses, inner: MimeEntity): boolean {
  if (mailFrom === '') return inner.contentType.mediaType === 'multipart/report';
  const address = findDirectAddress(mailFrom);
  return address !== undefined && addresses.senderKeys.has(addressKey(address));
}
