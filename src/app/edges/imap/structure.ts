import {
  encodeWords,
  MimeError,
  parseEntity,
  readMailboxes,
  type MimeEntity,
} from '../../../lib/mime/index.ts';
import { writeNil, writeString } from './write-values.ts';

/** A forwarded message in a forwarded message …: deeper ones are shown as octets. */
const maxMessages = 10;

/** RFC 9051 §7.5.2, ENVELOPE. */
export function writeEnvelope(entity: MimeEntity): string {
  const from = addressesOf(entity, 'from');
  const or = (name: string): string => {
    const own = addressesOf(entity, name);
    return own === 'NIL' ? from : own;
  };
  return `(${[
    writeNil(headerOf(entity, 'date')),
    writeNil(headerOf(entity, 'subject')),
    from,
    or('sender'),
    or('reply-to'),
    addressesOf(entity, 'to'),
    addressesOf(entity, 'cc'),
    addressesOf(entity, 'bcc'),
    writeNil(headerOf(entity, 'in-reply-to')),
    writeNil(headerOf(entity, 'message-id')),
  ].join(' ')})`;
}

/** As it is in the header, encoded words and all; what is not ASCII there is encoded. */
function headerOf(entity: MimeEntity, name: string): string | undefined {
  const value = entity.header(name)?.trim();
  return value === undefined ? undefined : encoded(value);
}

const encoded = (text: string): string => (/^[\x20-\x7e]*$/.test(text) ? text : encodeWords(text));

function addressesOf(entity: MimeEntity, name: string): string {
  const mailboxes = entity.headers(name).flatMap(readMailboxes);
  if (mailboxes.length === 0) return 'NIL';
  const written = mailboxes.map(({ displayName, address }) => {
    const at = address.lastIndexOf('@');
    const local = at === -1 ? address : address.slice(0, at);
    const domain = at === -1 ? '' : address.slice(at + 1);
    const name = displayName === undefined ? undefined : encoded(displayName);
    return `(${writeNil(name)} NIL ${writeString(local)} ${writeString(domain)})`;
  });
  return `(${written.join('')})`;
}

/**
 * RFC 9051 §7.5.2, BODYSTRUCTURE; without extension data BODY. Always whole and valid: clients fail on an
 * empty multipart or a size that is not there. A structure beyond the limits of the parser is one part of
 * octets.
 */
export function writeStructure(entity: MimeEntity, isExtended: boolean): string {
  try {
    return structureOf(entity, isExtended, 0);
  } catch (error) {
    if (!(error instanceof MimeError)) throw error;
    return leaf(entity, isExtended, ['application', 'octet-stream']);
  }
}

function structureOf(entity: MimeEntity, isExtended: boolean, messages: number): string {
  const { type, subtype, mediaType } = entity.contentType;
  if (type === 'multipart') {
    const parts = entity.parts.map((part) => structureOf(part, isExtended, messages));
    const body = parts.length === 0 ? emptyText : parts.join('');
    const extension = isExtended ? ` ${parametersOf(entity)} ${dispositionOf(entity)} NIL NIL` : '';
    return `(${body} ${writeString(subtype)}${extension})`;
  }
  const nested = mediaType === 'message/rfc822' && messages < maxMessages ? nestedOf(entity) : undefined;
  if (nested === undefined)
    return leaf(
      entity,
      isExtended,
      mediaType === 'message/rfc822' ? ['application', 'octet-stream'] : [type, subtype],
    );
  const inner = `${writeEnvelope(nested)} ${structureOf(nested, isExtended, messages + 1)}`;
  return leaf(entity, isExtended, [type, subtype], `${inner} ${linesOf(entity.bodyBytes)}`);
}

const emptyText = '("text" "plain" NIL NIL NIL "7bit" 0 0)';

/** The message in a part; none if it is encoded, which RFC 2046 §5.2.1 forbids. */
export function nestedOf(entity: MimeEntity): MimeEntity | undefined {
  if (!['7bit', '8bit', 'binary'].includes(entity.transferEncoding)) return undefined;
  return parseEntity(entity.bodyBytes);
}

function leaf(
  entity: MimeEntity,
  isExtended: boolean,
  [type, subtype]: readonly [string, string],
  more?: string,
): string {
  const fields = [
    writeString(type),
    writeString(subtype),
    parametersOf(entity),
    writeNil(headerOf(entity, 'content-id')),
    writeNil(headerOf(entity, 'content-description')),
    writeString(entity.transferEncoding || '7bit'),
    String(entity.bodyBytes.length),
    ...(more === undefined ? [] : [more]),
    ...(type === 'text' ? [String(linesOf(entity.bodyBytes))] : []),
    ...(isExtended ? ['NIL', dispositionOf(entity), 'NIL', 'NIL'] : []),
  ];
  return `(${fields.join(' ')})`;
}

function parametersOf({ contentType }: MimeEntity): string {
  return listOf(contentType.parameters);
}

function listOf(parameters: ReadonlyMap<string, string>): string {
  if (parameters.size === 0) return 'NIL';
  return `(${[...parameters].map(([name, value]) => `${writeString(name)} ${writeString(encoded(value))}`).join(' ')})`;
}

function dispositionOf({ disposition }: MimeEntity): string {
  if (disposition === undefined || disposition.value === '') return 'NIL';
  return `(${writeString(encoded(disposition.value))} ${listOf(disposition.parameters)})`;
}

function linesOf(bytes: Uint8Array): number {
  let count = 0;
  for (let at = bytes.indexOf(0x0a); at !== -1; at = bytes.indexOf(0x0a, at + 1)) count++;
  return count;
}
