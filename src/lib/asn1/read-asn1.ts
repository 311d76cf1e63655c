import { Asn1Error } from './errors.ts';
import { tags } from './tags.ts';

/** Universal, application, context-specific, private. */
export type TagClass = 0 | 1 | 2 | 3;

/**
 * One element of BER or DER as it is in `source`; nothing is copied.
 *
 * `30 03 02 01 05` gives tagNumber 16, start 0, contentStart 2, contentEnd 5, end 5 and one child. With the
 * indefinite form `contentEnd` lies before the two end-of-contents bytes and `end` behind them.
 */
export interface Asn1 {
  readonly tagClass: TagClass;
  readonly tagNumber: number;
  readonly isConstructed: boolean;
  readonly source: Uint8Array;
  readonly start: number;
  readonly contentStart: number;
  readonly contentEnd: number;
  readonly end: number;
  /** Empty for primitive elements. */
  readonly children: readonly Asn1[];
}

export interface ReadAsn1Options {
  /** Levels of nesting, the outermost element included. Default 64. */
  readonly maxDepth?: number;
  /** Elements in all. Default 200,000. */
  readonly maxNodes?: number;
  /**
   * Refuse encodings that only BER allows: indefinite and overlong lengths, constructed strings, booleans
   * other than 00 and FF.
   */
  readonly strictDer?: boolean;
  /** Ignore bytes after the element; they start at its `end`. */
  readonly allowTrailing?: boolean;
}

interface Reader {
  readonly source: Uint8Array;
  readonly maxDepth: number;
  readonly strictDer: boolean;
  nodesLeft: number;
}

const noChildren: readonly Asn1[] = Object.freeze([]);

/**
 * Reads one element and everything in it (X.690 §8, and §10 with `strictDer`). Cost is linear in the number
 * of elements, not in the size of their content. Errors: any `ASN1_*` but `ASN1_UNEXPECTED_TYPE`.
 */
export function readAsn1(bytes: Uint8Array, options: ReadAsn1Options = {}): Asn1 {
  const reader: Reader = {
    source: bytes,
    maxDepth: options.maxDepth ?? 64,
    strictDer: options.strictDer ?? false,
    nodesLeft: options.maxNodes ?? 200_000,
  };
  const node = readElement(reader, 0, bytes.length, 1);
  if (node.end !== bytes.length && options.allowTrailing !== true) {
    throw new Asn1Error('ASN1_TRAILING_DATA', `${bytes.length - node.end} bytes follow the element`);
  }
  return node;
}

function readElement(reader: Reader, start: number, limit: number, depth: number): Asn1 {
  if (depth > reader.maxDepth) throw new Asn1Error('ASN1_TOO_DEEP', `more than ${reader.maxDepth} levels`);
  if (--reader.nodesLeft < 0) throw new Asn1Error('ASN1_TOO_MANY_NODES', 'too many elements');
  const { source } = reader;
  const first = byteAt(source, start, limit);
  const isConstructed = (first & 0x20) !== 0;
  const tagClass = (first >> 6) as TagClass;
  let tagNumber = first & 0x1f;
  let at = start + 1;
  if (tagNumber === 0x1f) ({ value: tagNumber, next: at } = readHighTag(source, at, limit));
  if (tagClass === 0) checkUniversal(reader, tagNumber, isConstructed);

  const lengthByte = byteAt(source, at++, limit);
  if (lengthByte === 0x80)
    return readIndefinite(reader, { start, at, limit, depth, tagClass, tagNumber, isConstructed });
  let length = lengthByte;
  if (lengthByte > 0x80) {
    const count = lengthByte & 0x7f;
    length = readLongLength(reader, at, count, limit);
    at += count;
  }
  const end = at + length;
  if (end > limit) throw truncated(limit, reader);
  const node = {
    tagClass,
    tagNumber,
    isConstructed,
    source,
    start,
    contentStart: at,
    contentEnd: end,
    end,
    children: noChildren,
  };
  if (isConstructed) node.children = readChildren(reader, at, end, depth + 1);
  else if (reader.strictDer && tagClass === 0) checkDerValue(node);
  return node;
}

function readChildren(reader: Reader, start: number, end: number, depth: number): readonly Asn1[] {
  const children: Asn1[] = [];
  for (let at = start; at < end;) {
    const child = readElement(reader, at, end, depth);
    children.push(child);
    at = child.end;
  }
  return children;
}

interface IndefiniteStart {
  readonly start: number;
  readonly at: number;
  readonly limit: number;
  readonly depth: number;
  readonly tagClass: TagClass;
  readonly tagNumber: number;
  readonly isConstructed: boolean;
}

/** X.690 §8.1.3.6: only constructed elements, closed by two zero bytes. */
function readIndefinite(reader: Reader, head: IndefiniteStart): Asn1 {
  const { source } = reader;
  const { limit, tagClass, tagNumber, isConstructed } = head;
  if (reader.strictDer) throw new Asn1Error('ASN1_NOT_DER', 'an indefinite length');
  if (!isConstructed) throw new Asn1Error('ASN1_LENGTH_INVALID', 'a primitive element of indefinite length');
  const children: Asn1[] = [];
  let at = head.at;
  while (byteAt(source, at, limit) !== 0) {
    const child = readElement(reader, at, limit, head.depth + 1);
    children.push(child);
    at = child.end;
  }
  if (byteAt(source, at + 1, limit) !== 0)
    throw new Asn1Error('ASN1_TAG_INVALID', 'end-of-contents with content');
  return {
    tagClass,
    tagNumber,
    isConstructed,
    source,
    start: head.start,
    contentStart: head.at,
    contentEnd: at,
    end: at + 2,
    children,
  };
}

function readHighTag(source: Uint8Array, start: number, limit: number): { value: number; next: number } {
  let value = 0;
  for (let at = start; at < start + 4; at++) {
    const byte = byteAt(source, at, limit);
    value = value * 128 + (byte & 0x7f);
    if (value === 0) throw new Asn1Error('ASN1_TAG_INVALID', 'a padded tag number');
    if (byte < 0x80) {
      if (value < 0x1f) throw new Asn1Error('ASN1_TAG_INVALID', 'a low tag number in the long form');
      return { value, next: at + 1 };
    }
  }
  throw new Asn1Error('ASN1_TAG_INVALID', 'a tag number over 28 bits');
}

function readLongLength(reader: Reader, start: number, count: number, limit: number): number {
  if (count === 127) throw new Asn1Error('ASN1_LENGTH_INVALID', 'the reserved length byte');
  let length = 0;
  for (let at = start; at < start + count; at++) {
    length = length * 256 + byteAt(reader.source, at, limit);
    // No length this reader can hold needs more; the check also keeps the sum exact.
    if (length > 0xffff_ffff_ffff) throw new Asn1Error('ASN1_LENGTH_INVALID', 'a length over 48 bits');
  }
  if (reader.strictDer && (length < 128 || reader.source[start] === 0)) {
    throw new Asn1Error('ASN1_NOT_DER', 'a length in more bytes than needed');
  }
  return length;
}

const primitiveOnly: ReadonlySet<number> = new Set([
  tags.boolean,
  tags.integer,
  tags.null,
  tags.oid,
  tags.enumerated,
]);

function checkUniversal(reader: Reader, tagNumber: number, isConstructed: boolean): void {
  if (tagNumber === 0) throw new Asn1Error('ASN1_TAG_INVALID', 'end-of-contents out of place');
  const mustConstruct = tagNumber === tags.sequence || tagNumber === tags.set;
  if (isConstructed ? primitiveOnly.has(tagNumber) : mustConstruct) {
    throw new Asn1Error(
      'ASN1_TAG_INVALID',
      `universal type ${tagNumber} ${isConstructed ? 'constructed' : 'primitive'}`,
    );
  }
  if (reader.strictDer && isConstructed && !mustConstruct)
    throw new Asn1Error('ASN1_NOT_DER', 'a constructed string');
}

/** X.690 §11.1, §11.2.1. */
function checkDerValue(node: Asn1): void {
  const first = node.source[node.contentStart];
  if (node.tagNumber === tags.boolean && first !== 0 && first !== 0xff) {
    throw new Asn1Error('ASN1_NOT_DER', 'a boolean that is neither 00 nor FF');
  }
  if (node.tagNumber === tags.bitString && first !== undefined && first > 0 && first < 8) {
    const last = node.source[node.contentEnd - 1] ?? 0;
    if ((last & ((1 << first) - 1)) !== 0)
      throw new Asn1Error('ASN1_NOT_DER', 'unused bits that are not zero');
  }
}

function byteAt(source: Uint8Array, at: number, limit: number): number {
  const byte = source[at];
  if (byte === undefined || at >= limit) throw new Asn1Error('ASN1_TRUNCATED', `the bytes end at ${at}`);
  return byte;
}

function truncated(limit: number, reader: Reader): Asn1Error {
  return limit === reader.source.length
    ? new Asn1Error('ASN1_TRUNCATED', 'an element is longer than the bytes')
    : new Asn1Error('ASN1_LENGTH_INVALID', 'an element is longer than what contains it');
}
