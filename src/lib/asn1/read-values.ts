import { concatBytes, viewAsBuffer } from '../../core/index.ts';
import { Asn1Error } from './errors.ts';
import type { Asn1 } from './read-asn1.ts';
import { tags } from './tags.ts';

/** The whole element exactly as received, tag and length included. A view, not a copy. */
export function encodedBytes(node: Asn1): Uint8Array {
  return node.source.subarray(node.start, node.end);
}

/** The content bytes exactly as received. A view, not a copy. */
export function contentBytes(node: Asn1): Uint8Array {
  return node.source.subarray(node.contentStart, node.contentEnd);
}

export function isUniversal(node: Asn1 | undefined, tagNumber: number): node is Asn1 {
  return node !== undefined && node.tagClass === 0 && node.tagNumber === tagNumber;
}

export function isContext(node: Asn1 | undefined, tagNumber: number): node is Asn1 {
  return node !== undefined && node.tagClass === 2 && node.tagNumber === tagNumber;
}

/** The child at that place, counted from 0. Errors: `ASN1_UNEXPECTED_TYPE` if there is none. */
export function childAt(node: Asn1, index: number): Asn1 {
  const child = node.children[index];
  if (child === undefined) throw new Asn1Error('ASN1_UNEXPECTED_TYPE', `no element ${index} inside`);
  return child;
}

/** The children of a SEQUENCE. Errors: `ASN1_UNEXPECTED_TYPE` for anything else. */
export function sequenceItems(node: Asn1 | undefined): readonly Asn1[] {
  return expect(node, tags.sequence).children;
}

/** The children of a SET, in the order received. Errors: `ASN1_UNEXPECTED_TYPE` for anything else. */
export function setItems(node: Asn1 | undefined): readonly Asn1[] {
  return expect(node, tags.set).children;
}

export function readBoolean(node: Asn1): boolean {
  const bytes = contentOf(node, tags.boolean);
  if (bytes.length !== 1) throw invalid('a boolean of other than one byte');
  return bytes[0] !== 0;
}

/** INTEGER or ENUMERATED, two's complement, of any size. */
export function readInteger(node: Asn1): bigint {
  const bytes = integerBytes(node);
  const magnitude = BigInt(`0x${viewAsBuffer(bytes).toString('hex')}`);
  return (bytes[0] ?? 0) < 0x80 ? magnitude : magnitude - (1n << BigInt(bytes.length * 8));
}

/** INTEGER or ENUMERATED that fits 32 bits. Errors: `ASN1_VALUE_INVALID` for larger ones. */
export function readSmallInteger(node: Asn1): number {
  const bytes = integerBytes(node);
  if (bytes.length > 4) throw invalid('an integer over 32 bits');
  return viewAsBuffer(bytes).readIntBE(0, bytes.length);
}

function integerBytes(node: Asn1): Uint8Array {
  const bytes = contentOf(node, node.tagNumber === tags.enumerated ? tags.enumerated : tags.integer);
  const [first, second] = bytes;
  if (first === undefined) throw invalid('an integer without content');
  // X.690 §8.3.2 demands the shortest form of BER too.
  if (second !== undefined && ((first === 0 && second < 0x80) || (first === 0xff && second >= 0x80))) {
    throw invalid('a padded integer');
  }
  return bytes;
}

const maxOidBytes = 128;

/** Dotted text, for example `1.2.840.113549.1.7.2`. */
export function readOid(node: Asn1): string {
  const bytes = contentOf(node, tags.oid);
  if (bytes.length === 0 || bytes.length > maxOidBytes || (bytes.at(-1) ?? 0) >= 0x80)
    throw invalid('an object identifier');
  const arcs: string[] = [];
  for (let at = 0; at < bytes.length;) {
    if (bytes[at] === 0x80) throw invalid('a padded object identifier');
    const start = at;
    let arc = 0;
    do arc = arc * 128 + ((bytes[at] ?? 0) & 0x7f);
    while ((bytes[at++] ?? 0) >= 0x80);
    const value = arc <= Number.MAX_SAFE_INTEGER ? String(arc) : bigArc(bytes.subarray(start, at));
    if (arcs.length > 0) arcs.push(value);
    else if (arc < 80) arcs.push(arc < 40 ? '0' : '1', String(arc % 40));
    else arcs.push('2', String(BigInt(value) - 80n));
  }
  return arcs.join('.');
}

function bigArc(bytes: Uint8Array): string {
  return bytes.reduce((sum, byte) => sum * 128n + BigInt(byte & 0x7f), 0n).toString();
}

/** Errors: `ASN1_UNEXPECTED_TYPE` for the constructed form, which no structure of this project uses. */
export function readBitString(node: Asn1): { unusedBits: number; bytes: Uint8Array } {
  const content = contentOf(node, tags.bitString);
  const unusedBits = content[0];
  if (unusedBits === undefined || unusedBits > 7 || (unusedBits > 0 && content.length === 1))
    throw invalid('a bit string');
  return { unusedBits, bytes: content.subarray(1) };
}

/** Joins the pieces of a constructed string; a primitive one is returned as a view, without a copy. */
export function readOctetString(node: Asn1): Uint8Array {
  expect(node, tags.octetString);
  const pieces = octetStringPieces(node);
  return pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : concatBytes(pieces);
}

/**
 * The pieces of an OCTET STRING, or of an implicitly tagged one with any tag, in order, as views.
 * One piece for the primitive form; none for a constructed string without content.
 */
export function octetStringPieces(node: Asn1): Uint8Array[] {
  if (!node.isConstructed) return [contentBytes(node)];
  const pieces: Uint8Array[] = [];
  collectPieces(node, pieces);
  return pieces;
}

function collectPieces(node: Asn1, pieces: Uint8Array[]): void {
  for (const child of node.children) {
    expect(child, tags.octetString);
    if (child.isConstructed) collectPieces(child, pieces);
    else pieces.push(contentBytes(child));
  }
}

const stringDecoders: ReadonlyMap<number, (bytes: Uint8Array) => string> = new Map([
  [tags.utf8String, decodeUtf8],
  [tags.numericString, decodeLatin1],
  [tags.printableString, decodeLatin1],
  [tags.teletexString, decodeLatin1],
  [tags.ia5String, decodeLatin1],
  [tags.visibleString, decodeLatin1],
  [tags.bmpString, decodeUtf16],
  [tags.universalString, decodeUtf32],
]);

/**
 * Text of any of the character string types. NUL and other control characters are kept: who compares names
 * must not trust that there are none.
 */
export function readText(node: Asn1): string {
  const decode = node.tagClass === 0 && !node.isConstructed ? stringDecoders.get(node.tagNumber) : undefined;
  if (decode === undefined) throw new Asn1Error('ASN1_UNEXPECTED_TYPE', 'not a character string');
  return decode(contentBytes(node));
}

function decodeLatin1(bytes: Uint8Array): string {
  return viewAsBuffer(bytes).toString('latin1');
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch (error) {
    throw new Asn1Error('ASN1_VALUE_INVALID', 'a UTF8String that is not UTF-8', { cause: error });
  }
}

function decodeUtf16(bytes: Uint8Array): string {
  if (bytes.length % 2 !== 0) throw invalid('a BMPString of odd length');
  return Buffer.from(bytes).swap16().toString('utf16le');
}

function decodeUtf32(bytes: Uint8Array): string {
  if (bytes.length % 4 !== 0) throw invalid('a UniversalString of odd length');
  const view = viewAsBuffer(bytes);
  let text = '';
  for (let at = 0; at < view.length; at += 4) {
    const point = view.readUInt32BE(at);
    if (point > 0x10_ffff) throw invalid('a UniversalString beyond Unicode');
    text += String.fromCodePoint(point);
  }
  return text;
}

function contentOf(node: Asn1, tagNumber: number): Uint8Array {
  expect(node, tagNumber);
  if (node.isConstructed)
    throw new Asn1Error('ASN1_UNEXPECTED_TYPE', 'a constructed element where a primitive one is needed');
  return contentBytes(node);
}

function expect(node: Asn1 | undefined, tagNumber: number): Asn1 {
  if (isUniversal(node, tagNumber)) return node;
  throw new Asn1Error('ASN1_UNEXPECTED_TYPE', `universal type ${tagNumber} expected`);
}

function invalid(what: string): Asn1Error {
  return new Asn1Error('ASN1_VALUE_INVALID', what);
}
