import { concatBytes, equalBytes } from '../../core/index.ts';
import {
  type Asn1,
  childAt,
  contentBytes,
  der,
  encodedBytes,
  isContext,
  isUniversal,
  readAsn1,
  readOctetString,
  readOid,
  readTime,
  tags,
} from '../asn1/index.ts';
import type { DigestName } from './algorithms.ts';
import { SmimeError } from './errors.ts';
import { oids } from './oids.ts';
import type { SignedAttributes, SignerInfo } from './signer-info.ts';
import { isSameAlgorithm, readAlgorithm } from './structure.ts';

/** Properties of the signed content that a signer's attributes must match. */
export interface SignedContent {
  readonly contentType: string;
  /** The digest of the content, computed once for all signers that use it. */
  digestOf(digest: DigestName): Uint8Array;
  /** The content in one piece. */
  wholeContent(): Uint8Array;
}

/**
 * RFC 5652 §5.4: checks the attributes and gives the bytes that may have been signed, in the order to try
 * them: the attributes as received, and their DER encoding where that is another one.
 */
export function checkAttributes(
  signer: SignerInfo,
  attributes: SignedAttributes,
  digest: DigestName,
  context: SignedContent,
): readonly Uint8Array[] {
  const contentType = readOid(singleValue(attributes, oids.contentType, 'content-type'));
  if (contentType !== context.contentType) {
    throw new SmimeError('SMIME_SIGNED_CONTENT_TYPE_MISMATCH', `signed as ${contentType}`);
  }
  const messageDigest = readOctetString(singleValue(attributes, oids.messageDigest, 'message-digest'));
  checkProtection(signer, attributes);
  if (!equalBytes(messageDigest, context.digestOf(digest))) {
    throw new SmimeError('SMIME_DIGEST_MISMATCH', 'the content is not what was signed');
  }
  // Signed under the tag of SET, not under the [0] it travels in.
  const content = contentBytes(attributes.node);
  const received = concatBytes([der.header(0x31, content.length), content]);
  const canonical = derSetOf(attributes.node);
  return equalBytes(received, canonical) ? [received] : [received, canonical];
}

function singleValue(attributes: SignedAttributes, oid: string, name: string): Asn1 {
  const values = attributes.values.get(oid);
  const [value, ...rest] = values ?? [];
  if (value !== undefined && rest.length === 0) return value;
  const code = rest.length > 0 ? 'SMIME_SIGNED_ATTRIBUTE_DUPLICATE' : 'SMIME_SIGNED_ATTRIBUTE_MISSING';
  throw new SmimeError(code, `the signed attribute ${name} has ${values?.length ?? 0} values`);
}

/** RFC 6211 §2: the signed attributes may name the algorithms that the signer info must have. */
function checkProtection(signer: SignerInfo, attributes: SignedAttributes): void {
  if (!attributes.values.has(oids.algorithmProtection)) return;
  const value = singleValue(attributes, oids.algorithmProtection, 'algorithm protection');
  const digest = readAlgorithm(childAt(value, 0));
  const second = value.children[1];
  const isProtected =
    isSameAlgorithm(digest, signer.digestAlgorithm) &&
    isContext(second, 1) &&
    isSameAlgorithm(readAlgorithm(second), signer.signatureAlgorithm);
  if (!isProtected) {
    throw new SmimeError(
      'SMIME_ALGORITHM_PROTECTION_MISMATCH',
      'other algorithms than the signer vouches for',
    );
  }
}

/** RFC 5652 §5.3: attributes may be absent only around plain data. */
export function readBareContent(context: SignedContent): readonly [Uint8Array] {
  if (context.contentType !== oids.data) {
    throw new SmimeError(
      'SMIME_SIGNED_ATTRIBUTE_MISSING',
      'signed attributes are needed for this content type',
    );
  }
  const content = context.wholeContent();
  // A signature over attributes is equally one over their encoding as content, were the attributes taken
  // away.
  if (resemblesAttributes(content)) {
    throw new SmimeError('SMIME_SIGNED_ATTRIBUTES_STRIPPED', 'the content is a set of signed attributes');
  }
  return [content];
}

function resemblesAttributes(content: Uint8Array): boolean {
  if (content[0] !== 0x31) return false;
  try {
    const [first] = readAsn1(content).children;
    return first !== undefined && isUniversal(first.children[0], tags.oid);
  } catch {
    return false;
  }
}

/** As the signer claims it. */
export function readSigningTime(attributes: SignedAttributes | undefined): Date | undefined {
  const value = attributes?.values.get(oids.signingTime)?.[0];
  return value && readTime(value);
}

/**
 * A SET OF in DER (X.690 §10, §11): definite lengths in their shortest form, strings in one piece, the
 * elements in order. The tag is that of SET, whatever tag the node travels under (RFC 5652 §5.4).
 */
function derSetOf(node: Asn1): Uint8Array {
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
