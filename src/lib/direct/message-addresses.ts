import {
  findHeaderAmbiguity,
  readAddressList,
  readMailboxes,
  readUnquotedMailbox,
  type MimeEntity,
} from '../mime/index.ts';
import { addressKey, findDirectAddress, type DirectAddress } from '../values/index.ts';
import { DirectError } from './errors.ts';

/** The claimed sender and recipients of a message, until a signature confirms the sender. */
export interface MessageAddresses {
  /** The address that must have signed: Sender if there is one, else From (AS-79). */
  readonly sender: DirectAddress;
  readonly from: readonly DirectAddress[];
  /** To and Cc, in order; other than Direct addresses are omitted. */
  readonly recipients: readonly DirectAddress[];
  /** Keys of From and Sender, any of which MAIL FROM may be (AS-39). */
  readonly senderKeys: ReadonlySet<string>;
  readonly recipientKeys: ReadonlySet<string>;
}

/**
 * Reads sender and recipients from the header of the inner message. Display names play no part (AS-03).
 *
 * Errors: `DIRECT_NO_SENDER`; `DIRECT_SENDER_AMBIGUOUS` for two From or Sender fields, for several From
 * mailboxes without Sender (RFC 5322 §3.6.2), and for anything else that two readers may understand
 * differently; `DIRECT_NO_RECIPIENTS`.
 */
export function readMessageAddresses(message: MimeEntity): MessageAddresses {
  const ambiguity = findHeaderAmbiguity(message);
  if (ambiguity !== undefined) throw new DirectError('DIRECT_SENDER_AMBIGUOUS', ambiguity);
  const from = readSingleField(message, 'from');
  const senders = readSingleField(message, 'sender');
  const sender = chooseSender(senders.mailboxCount > 0 ? senders : from);
  const recipients = readRecipients(message);
  if (recipients.length === 0)
    throw new DirectError('DIRECT_NO_RECIPIENTS', 'neither To nor Cc names a Direct address');
  return {
    sender,
    from: from.addresses,
    recipients,
    senderKeys: keysOf([...from.addresses, ...senders.addresses]),
    recipientKeys: keysOf(recipients),
  };
}

/** The Direct addresses of To and Cc, in order. */
export function readRecipients(message: MimeEntity): DirectAddress[] {
  return [...message.headers('to'), ...message.headers('cc')].flatMap(readAddresses);
}

interface OriginatorField {
  readonly addresses: readonly DirectAddress[];
  /** Mailboxes of any kind, including those that are not Direct addresses, for display. */
  readonly mailboxCount: number;
}

/** A repeated field that may occur once would let two readers see different senders. */
function readSingleField(message: MimeEntity, name: string): OriginatorField {
  const values = message.headers(name);
  const [value = '', ...others] = values;
  if (others.length > 0) throw new DirectError('DIRECT_SENDER_AMBIGUOUS', `${values.length} ${name} fields`);
  if (value === '' || (name === 'from' && !value.includes('@'))) return { addresses: [], mailboxCount: 0 };
  // A display name that should be quoted and is not: the certificate that must be bound to the one address
  // decides what two readers could see.
  const unquoted = readUnquotedMailbox(value);
  const mailboxes = readAddressList(value) ?? (unquoted === undefined ? undefined : [unquoted]);
  if (mailboxes === undefined)
    throw new DirectError('DIRECT_SENDER_AMBIGUOUS', `a ${name} field that is not a list of mailboxes`);
  return {
    addresses: mailboxes.flatMap((address) => findDirectAddress(address) ?? []),
    mailboxCount: mailboxes.length,
  };
}

function chooseSender({ addresses, mailboxCount }: OriginatorField): DirectAddress {
  const [sender] = addresses;
  if (sender === undefined)
    throw new DirectError('DIRECT_NO_SENDER', 'neither From nor Sender names a Direct address');
  if (mailboxCount > 1)
    throw new DirectError('DIRECT_SENDER_AMBIGUOUS', 'several mailboxes, and no Sender that identifies one');
  return sender;
}

/** The Direct addresses in one header value. */
function readAddresses(value: string): DirectAddress[] {
  return readMailboxes(value).flatMap(({ address }) => findDirectAddress(address) ?? []);
}

function keysOf(addresses: readonly DirectAddress[]): ReadonlySet<string> {
  return new Set(addresses.map(addressKey));
}
