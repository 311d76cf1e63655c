import { concatBytes } from '../../core/index.ts';
import { contentBytes, der, encodedBytes, readOctetString, tags, type Asn1 } from '../asn1/index.ts';

/**
 * A SET OF in DER (X.690 §10, §11): definite lengths in their shortest form, strings in one piece, the
 * elements in order. The tag is that of SET, whatever tag the node travels under (RFC 5652 §5.4).
 */
export function derSetOf(node: Asn1): Uint8Array {
  return wrap(0x31, node.children.map(derOf).toSorted(Buffer.compare));
}

function derOf(node: Asn1): Uint8Array {
  const isTagged = (tagNumber: number): boolean => node.tagClass === 0 && node.tagNumber === tagNumber;
  if (isTagged(tags.set)) return derSetOf(node);
  if (isTagged(tags.octetString)) return wrap(tags.octetString, [readOctetString(node)]);
  const tagByte = node.source[node.start] ?? 0;
  // No attribute has a tag of several octets.
  if ((tagByte & 0x1f) === 0x1f) return encodedBytes(node);
  return wrap(tagByte, node.isConstructed ? node.children.map(derOf) : [contentBytes(node)]);
}

function wrap(tagByte: number, parts: readonly Uint8Array[]): Uint8Array {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  return concatBytes([der.header(tagByte, length), ...parts]);
}
