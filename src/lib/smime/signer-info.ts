import { childAt, readInteger, readOctetString, readOid, setItems, type Asn1 } from '../asn1/index.ts';
import { readReference, type CertificateReference } from './certificate-reference.ts';
import { SmimeError } from './errors.ts';
import { readAlgorithm, readFields, type Algorithm } from './structure.ts';

/** SignerInfo (RFC 5652 §5.3). */
export interface SignerInfo {
  readonly reference: CertificateReference;
  readonly digestAlgorithm: Algorithm;
  readonly signatureAlgorithm: Algorithm;
  readonly signature: Uint8Array;
  readonly signedAttributes: SignedAttributes | undefined;
}

export interface SignedAttributes {
  /** `[0] IMPLICIT SET OF Attribute` as received. */
  readonly node: Asn1;
  /** Each type once, with its values in order. */
  readonly values: ReadonlyMap<string, readonly Asn1[]>;
}

/** Errors: `SMIME_SIGNED_ATTRIBUTE_DUPLICATE`, `SMIME_CMS_MALFORMED`, those of lib/asn1. */
export function readSignerInfo(node: Asn1): SignerInfo {
  const fields = readFields(node);
  readInteger(fields.take());
  const reference = readReference(fields.take());
  const digestAlgorithm = readAlgorithm(fields.take());
  const attributes = fields.takeContext(0);
  const signatureAlgorithm = readAlgorithm(fields.take());
  const signature = readOctetString(fields.take());
  fields.takeContext(1); // unsigned attributes prove nothing
  fields.finish();
  const signedAttributes = attributes && { node: attributes, values: readAttributes(attributes) };
  return { reference, digestAlgorithm, signatureAlgorithm, signature, signedAttributes };
}

function readAttributes(node: Asn1): ReadonlyMap<string, readonly Asn1[]> {
  const values = new Map<string, readonly Asn1[]>();
  for (const attribute of node.children) {
    const type = readOid(childAt(attribute, 0));
    // RFC 5652 §5.3 forbids the same attribute twice: which of them was meant would be anybody's guess.
    if (values.has(type))
      throw new SmimeError('SMIME_SIGNED_ATTRIBUTE_DUPLICATE', `attribute ${type} occurs twice`);
    values.set(type, setItems(childAt(attribute, 1)));
  }
  return values;
}
