import { MimeError, type MimeEntity } from '../../../lib/mime/index.ts';
import { nestedOf } from './structure.ts';

/** What `BODY[…]<…>` names. */
export interface Section {
  /** As the client wrote it, in upper case, for the answer. */
  readonly name: string;
  readonly numbers: readonly number[];
  readonly kind: 'all' | 'HEADER' | 'HEADER.FIELDS' | 'HEADER.FIELDS.NOT' | 'TEXT' | 'MIME';
  /** Lower-cased. */
  readonly fields: readonly string[];
  readonly partial: { readonly from: number; readonly count: number } | undefined;
  readonly isPeek: boolean;
}

const form =
  /^BODY(\.PEEK)?\[((?:[1-9]\d{0,4}\.)*[1-9]\d{0,4})?\.?(?:(HEADER\.FIELDS(?:\.NOT)?) \(([^()]*)\)|(HEADER|TEXT|MIME))?\](?:<(\d{1,10})\.([1-9]\d{0,9})>)?$/i;

export function parseSection(text: string): Section | undefined {
  const found = form.exec(text);
  if (found === null) return undefined;
  const [, peek, path, fieldsKind, fields = '', plainKind, from, count] = found;
  const numbers = path === undefined ? [] : path.split('.').map(Number);
  const kind = ((fieldsKind ?? plainKind)?.toUpperCase() ?? 'all') as Section['kind'];
  if (numbers.length > maxPath || (kind === 'MIME' && numbers.length === 0)) return undefined;
  const shown = text.slice(text.indexOf('[') + 1, text.lastIndexOf(']')).toUpperCase();
  return {
    name: `BODY[${shown}]${from === undefined ? '' : `<${Number(from)}>`}`,
    numbers,
    kind,
    fields: fields
      .split(/\s+/)
      .filter((name) => name !== '')
      .map((name) => name.replaceAll('"', '').toLowerCase()),
    partial: from === undefined ? undefined : { from: Number(from), count: Number(count) },
    isPeek: peek !== undefined,
  };
}

const maxPath = 40;

/** The octets of a section; undefined if the message has no such part. */
export function readSection(message: MimeEntity, { numbers, kind, fields }: Section): Uint8Array | undefined {
  try {
    const part = findPart(message, numbers);
    if (part === undefined) return undefined;
    if (kind === 'all') return numbers.length === 0 ? part.bytes : part.bodyBytes;
    if (kind === 'MIME') return headerOf(part);
    const entity = numbers.length === 0 ? part : messageIn(part);
    if (entity === undefined) return undefined;
    if (kind === 'TEXT') return entity.bodyBytes;
    if (kind === 'HEADER') return headerOf(entity);
    const isWanted = (name: string): boolean =>
      fields.includes(name.toLowerCase()) === (kind === 'HEADER.FIELDS');
    return Buffer.concat([
      ...entity.headerFields.filter(({ name }) => isWanted(name)).map(({ raw }) => raw),
      Buffer.from('\r\n'),
    ]);
  } catch (error) {
    if (error instanceof MimeError) return undefined;
    throw error;
  }
}

function headerOf(entity: MimeEntity): Uint8Array {
  return entity.bytes.subarray(0, entity.bytes.length - entity.bodyBytes.length);
}

const messageIn = (part: MimeEntity): MimeEntity | undefined =>
  part.contentType.mediaType === 'message/rfc822' ? nestedOf(part) : undefined;

/** RFC 9051 §6.4.5.1: parts of a multipart by number; what is no multipart is its own part 1. */
function findPart(message: MimeEntity, numbers: readonly number[]): MimeEntity | undefined {
  let current = message;
  for (const [depth, number] of numbers.entries()) {
    const holder = depth === 0 ? current : (messageIn(current) ?? current);
    if (holder.contentType.type === 'multipart') {
      const part = holder.parts[number - 1];
      if (part === undefined) return undefined;
      current = part;
    } else if (number === 1 && (depth === 0 || holder !== current)) current = holder;
    else return undefined;
  }
  return current;
}
