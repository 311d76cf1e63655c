import { tags } from './tags.ts';

/** A tag and a length, to be followed by that many bytes of content. For content too large to copy. */
function header(tagByte: number, length: number): Buffer {
  if (length < 128) return Buffer.from([tagByte, length]);
  const count = length < 0x100 ? 1 : length < 0x1_0000 ? 2 : length < 0x100_0000 ? 3 : 4;
  const bytes = Buffer.allocUnsafe(2 + count);
  bytes[0] = tagByte;
  bytes[1] = 0x80 | count;
  bytes.writeUIntBE(length, 2, count);
  return bytes;
}

function tlv(tagByte: number, ...content: readonly Uint8Array[]): Buffer {
  const length = content.reduce((sum, part) => sum + part.length, 0);
  return Buffer.concat([header(tagByte, length), ...content]);
}

function sequence(...elements: readonly Uint8Array[]): Buffer {
  return tlv(0x30, ...elements);
}

/** SET OF: elements in ascending order of their encodings (X.690 §11.6). */
function set(...elements: readonly Uint8Array[]): Buffer {
  return tlv(0x31, ...elements.toSorted(Buffer.compare));
}

function integer(value: bigint | number): Buffer {
  return tlv(tags.integer, twosComplement(BigInt(value)));
}

function enumerated(value: number): Buffer {
  return tlv(tags.enumerated, twosComplement(BigInt(value)));
}

function twosComplement(value: bigint): Buffer {
  let byteCount = 1;
  while (BigInt.asIntN(byteCount * 8, value) !== value) byteCount++;
  const hex = BigInt.asUintN(byteCount * 8, value).toString(16);
  return Buffer.from(hex.padStart(byteCount * 2, '0'), 'hex');
}

/** A non-negative INTEGER from its big-endian magnitude. */
function unsignedInteger(bytes: Uint8Array): Buffer {
  let start = 0;
  while (start < bytes.length - 1 && bytes[start] === 0) start++;
  const magnitude = bytes.subarray(start);
  const first = magnitude[0] ?? 0x80;
  return first < 0x80 ? tlv(tags.integer, magnitude) : tlv(tags.integer, Buffer.of(0), magnitude);
}

/** Encoded object identifiers: a message needs some thirty of them, nearly always the same. */
const knownOids = new Map<string, Buffer>();
const maxKnownOids = 500;

/**
 * From dotted text such as `2.16.840.1.101.3.4.2.1`. A text that is not an object identifier is a
 * programmer's mistake. The bytes may be shared: they are to be read only.
 */
function oid(text: string): Uint8Array {
  const known = knownOids.get(text);
  if (known !== undefined) return known;
  const encoded = encodeOid(text);
  if (knownOids.size < maxKnownOids) knownOids.set(text, encoded);
  return encoded;
}

function encodeOid(text: string): Buffer {
  const [first, second, ...rest] = text.split('.');
  if (first === undefined || second === undefined) throw new TypeError(`not an object identifier: ${text}`);
  const bytes: number[] = [];
  for (const arc of [String(BigInt(Number(first) * 40) + BigInt(second)), ...rest])
    bytes.push(...base128(arc));
  return tlv(tags.oid, Buffer.from(bytes));
}

function base128(text: string): number[] {
  const arc = Number(text);
  // Arcs beyond 31 bits are rare (UUIDs) and cost big integers.
  if (arc > 0x7fff_ffff) return base128Big(BigInt(text));
  const bytes = [arc & 0x7f];
  for (let left = arc >> 7; left > 0; left >>= 7) bytes.unshift((left & 0x7f) | 0x80);
  return bytes;
}

function base128Big(arc: bigint): number[] {
  const bytes = [Number(arc & 0x7fn)];
  for (let left = arc >> 7n; left > 0n; left >>= 7n) bytes.unshift(Number(left & 0x7fn) | 0x80);
  return bytes;
}

function nullValue(): Buffer {
  return Buffer.of(tags.null, 0);
}

function boolean(value: boolean): Buffer {
  return Buffer.of(tags.boolean, 1, value ? 0xff : 0);
}

function octetString(bytes: Uint8Array): Buffer {
  return tlv(tags.octetString, bytes);
}

function bitString(bytes: Uint8Array, unusedBits = 0): Buffer {
  return tlv(tags.bitString, Buffer.of(unusedBits), bytes);
}

function utf8(text: string): Buffer {
  return tlv(tags.utf8String, Buffer.from(text, 'utf8'));
}

/** The caller keeps to the character set of PrintableString. */
function printable(text: string): Buffer {
  return tlv(tags.printableString, Buffer.from(text, 'latin1'));
}

/** The caller keeps to ASCII. */
function ia5(text: string): Buffer {
  return tlv(tags.ia5String, Buffer.from(text, 'latin1'));
}

/** UTCTime from 1950 to 2049, else GeneralizedTime, to the second (RFC 5280 §4.1.2.5, RFC 5652 §11.3). */
function time(date: Date): Buffer {
  const digits = date.toISOString().replaceAll(/[-:T]|\.\d+/g, '');
  const year = date.getUTCFullYear();
  const isUtc = year >= 1950 && year < 2050;
  return tlv(
    isUtc ? tags.utcTime : tags.generalizedTime,
    Buffer.from(isUtc ? digits.slice(2) : digits, 'latin1'),
  );
}

/** `[tagNumber] EXPLICIT part`. */
function explicit(tagNumber: number, ...elements: readonly Uint8Array[]): Buffer {
  return tlv(0xa0 | tagNumber, ...elements);
}

/** `[tagNumber] IMPLICIT` around content bytes without their own tag and length. */
function implicit(tagNumber: number, isConstructed: boolean, ...content: readonly Uint8Array[]): Buffer {
  return tlv((isConstructed ? 0xa0 : 0x80) | tagNumber, ...content);
}

/** Writers of DER (X.690 §10, §11). Each returns a whole element. */
export const der = {
  header,
  tlv,
  sequence,
  set,
  integer,
  enumerated,
  unsignedInteger,
  oid,
  null: nullValue,
  boolean,
  octetString,
  bitString,
  utf8,
  printable,
  ia5,
  time,
  explicit,
  implicit,
} as const;
