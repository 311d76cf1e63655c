import { createHash } from 'node:crypto';
import { errorCode, viewAsBuffer } from '../../../core/index.ts';
import { finalDeliveryHeaders, requestsFinalDelivery } from '../../../lib/mdn/index.ts';
import {
  canonicalize,
  collectParts,
  decodeWords,
  findDamagedPart,
  findHeaderAmbiguity,
  formatDate,
  formatHeader,
  formatMessageId,
  MimeError,
  parseEntity,
  readAddressList,
  readMailboxes,
  type HeaderPair,
  type MessagePart,
  type MimeEntity,
} from '../../../lib/mime/index.ts';
import {
  addressKey,
  createMessageUrn,
  domainOf,
  findDirectAddress,
  parseMessageUrn,
  uuidOf,
  ValueError,
  type DirectAddress,
  type MessageUrn,
} from '../../../lib/values/index.ts';
import { hasPackageType } from '../../../lib/xdm/index.ts';
import type { ServiceIdentity } from '../identity.ts';
import { createProblems, type Problems } from '../problems.ts';
import { deniedTypesOf, hasDeniedExtension, isProgram } from './attachment-types.ts';
import type { ReadOptions } from './read-send-request.ts';

export interface SubmittedOptions extends ReadOptions {
  /** The sender of the envelope. */
  readonly from: DirectAddress;
  readonly to: readonly DirectAddress[];
  readonly clientId: string;
  /** Set if the documents are to be packed as XDM. */
  readonly packing?: Packing;
  /** The client's setting, for a message that says nothing itself. */
  readonly requestsFinalDelivery: boolean;
}

/** What a package holds that the message does not say. */
export interface Packing {
  readonly authorInstitution: string;
  readonly identity: ServiceIdentity;
}

/**
 * A message that an edge client composed itself, as it goes out. Plain data, so that it can come from a
 * thread.
 */
export interface SubmittedMessage {
  readonly message: Uint8Array;
  readonly messageId: MessageUrn;
  readonly wireId: string;
  /** Empty if the message had no Message-ID. */
  readonly requestHash: string;
  readonly requestsFinalDelivery: boolean;
  readonly isXdm: boolean;
  readonly details: string;
}

/**
 * Reads a complete message of a client: MIME tree, file names, charsets and Message-ID stay as they came, Bcc
 * is removed, and a missing Date, Message-ID or request for final delivery is added at the top. Throws
 * MESSAGING_REQUEST_INVALID with all problems; the fields are `message`, or a header field such as
 * `Message-ID`.
 */
export function readSubmitted(bytes: Uint8Array, options: SubmittedOptions): SubmittedMessage {
  const problems = createProblems();
  const parsed = parse(bytes, problems);
  problems.refuseIfAny();
  const { entity, parts } = parsed as Parsed;
  checkSender(entity, options.from, problems);
  checkVisible(entity, options.to, problems);
  checkParts(parts, options, problems);
  const given = readMessageId(entity, problems);
  problems.refuseIfAny();
  const messageId = findUuid(given) ?? createMessageUrn();
  const wireId = given ?? `<${uuidOf(messageId)}@${domainOf(options.from)}>`;
  const isMissing = (name: string): boolean => (entity.header(name) ?? '').trim() === '';
  const asksFinal = isMissing('disposition-notification-options')
    ? options.requestsFinalDelivery
    : requestsFinalDelivery(entity);
  const added: readonly HeaderPair[] = [
    ...(given === undefined ? [['Message-ID', wireId] as const] : []),
    ...(isMissing('date') ? [['Date', formatDate(options.now)] as const] : []),
    ...(isMissing('mime-version') ? [['MIME-Version', '1.0'] as const] : []),
    ...(asksFinal ? finalDeliveryHeaders(options.from) : []).filter(([name]) => isMissing(name)),
  ];
  return {
    message: rewrite(entity, added),
    messageId,
    wireId,
    requestHash: given === undefined ? '' : hashSubmitted(bytes, options),
    requestsFinalDelivery: asksFinal,
    isXdm: parts.some(({ mediaType, fileName }) => hasPackageType(mediaType, fileName)),
    details: JSON.stringify({
      messageSubject: decodeWords(entity.header('subject') ?? ''),
      attachments: parts
        .filter(({ isText }) => !isText)
        .map(({ mediaType, title = '', fileName = '' }) => ({ mediaType, title, fileName })),
    }),
  };
}

interface Parsed {
  readonly entity: MimeEntity;
  readonly parts: readonly MessagePart[];
}

function parse(bytes: Uint8Array, problems: Problems): Parsed | undefined {
  try {
    const received = parseEntity(bytes);
    const ambiguity = findHeaderAmbiguity(received);
    if (ambiguity !== undefined) problems.add('message', 'invalid', `The header has ${ambiguity}.`);
    // Many programs end lines with LF alone. One kind throughout, or what is added would make it a mixture.
    const canonical = canonicalize(bytes);
    const entity = canonical.length === bytes.length ? received : parseEntity(canonical);
    const damaged = canonical.length === bytes.length ? undefined : findDamagedPart(received);
    if (damaged !== undefined)
      problems.add('message', 'invalid', `A binary part of type ${damaged} must be sent as base64.`);
    return { entity, parts: collectParts(entity) };
  } catch (error) {
    if (!(error instanceof MimeError)) throw error;
    const fault = unreadable[error.code] ?? errorCode(error);
    problems.add('message', 'invalid', `The message cannot be read: ${fault}.`);
    return undefined;
  }
}

const unreadable: Readonly<Record<string, string>> = {
  MIME_HEADER_TOO_LARGE: 'its header, or a line of it, is too large',
  MIME_TOO_DEEP: 'its parts are nested too deep',
  MIME_TOO_MANY_PARTS: 'it has too many parts',
};

// The recipient sees the header, and the signature is that of the envelope's sender.
function checkSender(entity: MimeEntity, from: DirectAddress, problems: Problems): void {
  for (const name of ['From', 'Sender']) {
    const values = entity.headers(name);
    if (values.length === 0 && name === 'Sender') continue;
    const mailboxes = values.flatMap(readMailboxes);
    const address = findDirectAddress(mailboxes[0]?.address ?? '');
    const isSame = address !== undefined && addressKey(address) === addressKey(from);
    if (values.length !== 1 || mailboxes.length !== 1 || !isSame)
      problems.add(name, 'forbidden', `The message must name its sender, ${from}, once.`);
  }
}

/**
 * What sealing would refuse later is refused here, where the client hears of it: lists that are none, and
 * recipients that the others cannot see (AS-38).
 */
function checkVisible(entity: MimeEntity, to: readonly DirectAddress[], problems: Problems): void {
  const values = ['To', 'Cc'].flatMap((name) => entity.headers(name).map((value) => ({ name, value })));
  for (const { name, value } of values)
    if (value.trim() !== '' && readAddressList(value, { allowsGroups: true }) === undefined)
      problems.add(name, 'invalid', 'Not a list of addresses.');
  const visible = new Set(
    values
      .flatMap(({ value }) => readMailboxes(value))
      .map(({ address }) => findDirectAddress(address))
      .map((address) => (address === undefined ? '' : addressKey(address))),
  );
  const hidden = to.filter((address) => !visible.has(addressKey(address)));
  if (hidden.length > 0)
    problems.add(
      'To',
      'forbidden',
      `Every recipient must be in To or Cc, since Direct has no blind copies: ${hidden.slice(0, 3).join(', ')}.`,
    );
}

function checkParts(parts: readonly MessagePart[], options: ReadOptions, problems: Problems): void {
  const attached = parts.filter(({ isText }) => !isText);
  if (attached.length > options.limits.maxAttachments)
    problems.add('message', 'too_many', `At most ${options.limits.maxAttachments} attachments are allowed.`);
  const denied = deniedTypesOf(options.limits);
  for (const [index, part] of attached.slice(0, options.limits.maxAttachments).entries()) {
    if (denied.has(part.mediaType) || hasDeniedExtension(part.fileName ?? '') || isProgram(part.content()))
      problems.add('message', 'not_allowed', `Attachment ${index + 1} is a program, or of a refused type.`);
  }
}

function readMessageId(entity: MimeEntity, problems: Problems): string | undefined {
  const values = entity.headers('message-id');
  if (values.length === 0) return undefined;
  try {
    if (values.length === 1) return formatMessageId((values[0] ?? '').trim());
  } catch (error) {
    if (!(error instanceof MimeError)) throw error;
  }
  problems.add('Message-ID', 'invalid', 'One Message-ID of the form <left@right> is allowed.');
  return undefined;
}

/** The left part of the Message-ID, if it is a UUID: then status can be asked for by it. */
function findUuid(wireId: string | undefined): MessageUrn | undefined {
  try {
    return parseMessageUrn(`urn:uuid:${wireId?.slice(1, wireId.lastIndexOf('@')) ?? ''}`);
  } catch (error) {
    if (error instanceof ValueError) return undefined;
    throw error;
  }
}

function hashSubmitted(bytes: Uint8Array, { clientId, from }: SubmittedOptions): string {
  const envelope = JSON.stringify([clientId, addressKey(from)]);
  return createHash('sha256').update(envelope).update('\n').update(bytes).digest('hex');
}

function rewrite(entity: MimeEntity, added: readonly HeaderPair[]): Buffer {
  // A field that is blank is there once more, with its value.
  const dropped = new Set(['bcc', 'resent-bcc', ...added.map(([name]) => name.toLowerCase())]);
  const kept = entity.headerFields.filter(({ name }) => !dropped.has(name.toLowerCase()));
  return Buffer.concat([
    Buffer.from(added.map(([name, value]) => formatHeader(name, value)).join('')),
    ...kept.map(({ raw }) => viewAsBuffer(raw)),
    Buffer.from('\r\n'),
    entity.bodyBytes,
  ]);
}
