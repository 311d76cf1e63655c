import { CodedError, errorText, concatBytes } from '../../core/index.ts';
import {
  findDamagedPart,
  findHeaderAmbiguity,
  type MimeEntity,
  MimeError,
  parseEntity,
  readAddressList,
  wrapPieces,
  formatHeader,
  formatMailbox,
  readMailboxes,
} from '../mime/index.ts';
import { type Certificate, findValidityFault, isBoundTo } from '../pki/index.ts';
import {
  encryptEntity,
  type KeyTransport,
  type SendingCipher,
  type SigningKey,
  signPieces,
} from '../smime/index.ts';
import { addressKey, type DirectAddress, findDirectAddress } from '../values/index.ts';
import { DirectError, isCryptoError } from './errors.ts';
import { type MessageAddresses, readMessageAddresses } from './message-addresses.ts';

/** A recipient that was found usable: the certificates are those of validated paths, nothing else. */
export interface SealRecipient {
  readonly address: DirectAddress;
  /** At least one; each gets the content key (AS-43). */
  readonly certificates: readonly Certificate[];
  /** For peers that cannot read the default, RSAES-OAEP with SHA-256 (AS-57). */
  readonly keyTransport?: KeyTransport;
}

export interface SealRequest {
  /**
   * The full plain message (RFC 5322), all headers included. Bare LF, and bare CR in its body, become CRLF
   * before anything is checked; nothing else is changed.
   */
  readonly message: Uint8Array;
  /** Keys whose certificates are bound to the sender. Those with a certificate valid at `at` sign. */
  readonly signers: readonly SigningKey[];
  readonly recipients: readonly SealRecipient[];
  readonly at: Date;
  /** Intermediate certificates to enclose. */
  readonly extraCertificates?: readonly Certificate[];
  /** Default AES-256-CBC (AS-53). */
  readonly contentCipher?: SendingCipher;
}

export interface SealedMessage {
  /** The outer message, ready for SMTP, with CRLF line ends and 7-bit bytes only. */
  readonly message: Uint8Array;
  readonly sender: DirectAddress;
  /** RCPT TO: exactly the recipients that it was encrypted to. */
  readonly recipients: readonly DirectAddress[];
}

/**
 * Turns a plain message into a Direct message: wrap, sign, encrypt, and an outer header without content
 * (AS-30 to AS-44). CPU only.
 *
 * Nothing is sent unsigned or without a recipient: a failure for one given recipient, or for all given
 * signers, is an error.
 *
 * Errors: `DIRECT_NO_SENDER`, `DIRECT_SENDER_AMBIGUOUS`, `DIRECT_NO_RECIPIENTS`, `DIRECT_HEADER_MISSING`,
 * `DIRECT_BLIND_COPY`, `DIRECT_MESSAGE_MALFORMED`, `DIRECT_BINARY_PART`,
 * `DIRECT_SENDER_CERTIFICATE_UNUSABLE`, `DIRECT_RECIPIENT_NOT_VISIBLE`, `DIRECT_NO_TRUSTED_RECIPIENTS`,
 * `DIRECT_SEAL_FAILED`.
 */
export function sealMessage(request: SealRequest): SealedMessage {
  const { pieces, inner, addresses } = readPlain(request.message);
  const recipients = request.recipients.map(({ address }) => address);
  const signers = chooseSigners(request, addresses.sender);
  checkRecipients(request.recipients, addresses);
  return translating(() => {
    const prefix = buildOuterHeader(inner, recipients);
    const { at, extraCertificates, contentCipher } = request;
    const signed = signPieces(pieces, signers, {
      at,
      ...(extraCertificates && { extraCertificates }),
    });
    const keys = request.recipients.flatMap(({ certificates, keyTransport }) =>
      certificates.map((certificate) => ({ certificate, ...(keyTransport && { keyTransport }) })),
    );
    const message = encryptEntity(signed, keys, { prefix, ...(contentCipher && { contentCipher }) });
    return { message, sender: addresses.sender, recipients };
  });
}

interface Plain {
  /** The wrapped message, to be signed unchanged. */
  readonly pieces: readonly Uint8Array[];
  readonly inner: MimeEntity;
  readonly addresses: MessageAddresses;
}

/** The checked bytes are the signed ones: line ends are normalized first. */
function readPlain(message: Uint8Array): Plain {
  try {
    const pieces = wrapPieces(message);
    const [, canonical] = pieces;
    if (canonical.length !== message.length) checkChange(message);
    const inner = parseEntity(canonical);
    checkHeader(inner);
    return { pieces, inner, addresses: readMessageAddresses(inner) };
  } catch (error) {
    if (!(error instanceof MimeError)) throw error;
    throw new DirectError('DIRECT_MESSAGE_MALFORMED', errorText(error), { cause: error });
  }
}

/**
 * Checks a message whose line ends will be changed: the change must not add or remove header fields, nor
 * alter binary parts.
 */
function checkChange(message: Uint8Array): void {
  const parsed = parseEntity(message);
  const ambiguity = findHeaderAmbiguity(parsed);
  if (ambiguity !== undefined) throw new DirectError('DIRECT_MESSAGE_MALFORMED', ambiguity);
  const mediaType = findDamagedPart(parsed);
  if (mediaType !== undefined)
    throw new DirectError(
      'DIRECT_BINARY_PART',
      `a binary part of type ${mediaType} with bare CR or LF: send it as base64`,
    );
}

/**
 * AS-36; From and To are checked by reading them. AS-38: a blind copy would be a recipient that others do not
 * see.
 */
function checkHeader(inner: MimeEntity): void {
  const missing = ['Date', 'Message-ID', 'MIME-Version'].find(
    (name) => (inner.header(name) ?? '').trim() === '',
  );
  if (missing !== undefined) throw new DirectError('DIRECT_HEADER_MISSING', `the message has no ${missing}`);
  const blind = ['Bcc', 'Resent-Bcc'].find((name) => inner.header(name) !== undefined);
  if (blind !== undefined) throw new DirectError('DIRECT_BLIND_COPY', `the message has a ${blind} field`);
  const malformed = ['To', 'Cc'].find((name) =>
    inner
      .headers(name)
      .some((value) => value !== '' && readAddressList(value, { allowsGroups: true }) === undefined),
  );
  if (malformed !== undefined)
    throw new DirectError('DIRECT_MESSAGE_MALFORMED', `a ${malformed} field that is not a list of addresses`);
}

/**
 * A signature that is not bound to the sender, or out of date, is refused by every receiver, so it is refused
 * here first.
 */
function chooseSigners({ signers, at }: SealRequest, sender: DirectAddress): readonly SigningKey[] {
  const areBound =
    signers.length > 0 && signers.every(({ certificate }) => isBoundTo(certificate, sender) !== undefined);
  if (!areBound) throw unusable(`${signers.length} signing keys, not all bound to the sender`);
  const faults = signers.map(({ certificate }) => findValidityFault(certificate, at));
  const valid = signers.filter((_, index) => faults[index] === undefined);
  const [fault] = faults;
  if (valid.length === 0) throw unusable(`no signing certificate is valid now: ${errorText(fault)}`, fault);
  return valid;
}

function unusable(text: string, cause?: unknown): DirectError {
  return new DirectError('DIRECT_SENDER_CERTIFICATE_UNUSABLE', text, { cause });
}

function checkRecipients(recipients: readonly SealRecipient[], addresses: MessageAddresses): void {
  if (recipients.length === 0)
    throw new DirectError('DIRECT_NO_TRUSTED_RECIPIENTS', 'no recipient to encrypt to');
  for (const { address, certificates } of recipients) {
    if (!addresses.recipientKeys.has(addressKey(address))) {
      throw new DirectError('DIRECT_RECIPIENT_NOT_VISIBLE', 'a recipient that is neither in To nor in Cc');
    }
    const isUsable =
      certificates.length > 0 && certificates.every((one) => isBoundTo(one, address) !== undefined);
    if (!isUsable)
      throw new DirectError('DIRECT_NO_TRUSTED_RECIPIENTS', 'a recipient without a certificate bound to it');
  }
}

function translating<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof DirectError) throw error;
    if (!(error instanceof CodedError) && !isCryptoError(error)) throw error;
    const code = error instanceof MimeError ? 'DIRECT_MESSAGE_MALFORMED' : 'DIRECT_SEAL_FAILED';
    throw new DirectError(code, errorText(error), { cause: error });
  }
}

/** The unencrypted fields, for routing and threading, in this order (AS-35). Never the subject. */
const copiedFields = [
  'from',
  'to',
  'cc',
  'date',
  'orig-date',
  'message-id',
  'in-reply-to',
  'references',
] as const;

/**
 * Header fields of the outer message, each ended by CRLF, without the closing blank line. To and Cc name only
 * the recipients that the message goes to (AS-42); everything else is repeated as it stands inside. Display
 * names, which may reveal a patient's care, are not repeated.
 */
function buildOuterHeader(inner: MimeEntity, recipients: readonly DirectAddress[]): Buffer {
  const kept = new Set(recipients.map(addressKey));
  const lines = copiedFields.flatMap((name) =>
    inner.headers(name).map((value) => outerField(name, value, kept)),
  );
  return concatBytes([
    Buffer.from('MIME-Version: 1.0\r\n', 'latin1'),
    ...lines.map((line) => Buffer.from(line, 'latin1')),
  ]);
}

const properNames: Readonly<Record<string, string>> = {
  'message-id': 'Message-ID',
  'in-reply-to': 'In-Reply-To',
  'orig-date': 'Orig-Date',
};

function outerField(name: (typeof copiedFields)[number], value: string, kept: ReadonlySet<string>): string {
  const proper = properNames[name] ?? `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
  const isRecipients = name === 'to' || name === 'cc';
  if (!isRecipients && name !== 'from') return formatHeader(proper, value);
  const mailboxes = readMailboxes(value)
    .flatMap(({ address }) => findDirectAddress(address) ?? [])
    .filter((address) => !isRecipients || kept.has(addressKey(address)));
  return mailboxes.length === 0
    ? ''
    : formatHeader(proper, mailboxes.map((address) => formatMailbox(address)).join(', '));
}
