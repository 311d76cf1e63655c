import { concatBytes } from '../../core/index.ts';
import {
  childAt,
  isContext,
  readBitString,
  readInteger,
  readOctetString,
  sequenceItems,
  type Asn1,
} from '../asn1/index.ts';
import { readReference, type CertificateReference } from './certificate-reference.ts';
import { SmimeError } from './errors.ts';
import { limits } from './policy.ts';
import { readAlgorithm, readFields, readPieces, type Algorithm } from './structure.ts';

/** KeyTransRecipientInfo (RFC 5652 §6.2.1). */
export interface TransportRecipient {
  readonly kind: 'transport';
  readonly reference: CertificateReference;
  readonly algorithm: Algorithm;
  readonly encryptedKey: Uint8Array;
}

/** One RecipientEncryptedKey of a KeyAgreeRecipientInfo (RFC 5652 §6.2.2). */
export interface AgreementRecipient {
  readonly kind: 'agreement';
  readonly reference: CertificateReference;
  readonly algorithm: Algorithm;
  readonly encryptedKey: Uint8Array;
  /** The originator's ephemeral point; undefined for a certificate, which is not supported. */
  readonly originatorPoint: Uint8Array | undefined;
  readonly keyingMaterial: Uint8Array | undefined;
}

/** Passwords, shared keys and unknown kinds: not supported. */
interface OtherRecipient {
  readonly kind: 'other';
}

export type Recipient = TransportRecipient | AgreementRecipient | OtherRecipient;

/**
 * The recipients of the given RecipientInfos (RFC 5652 §6.2). Errors: `SMIME_TOO_MANY_RECIPIENTS`, those of
 * `readFields` and lib/asn1.
 */
export function readRecipients(nodes: readonly Asn1[]): Recipient[] {
  const recipients: Recipient[] = [];
  for (const node of nodes) {
    recipients.push(...readRecipient(node));
    if (recipients.length > limits.recipients) {
      throw new SmimeError('SMIME_TOO_MANY_RECIPIENTS', `more than ${limits.recipients} recipients`);
    }
  }
  return recipients;
}

function readRecipient(node: Asn1): Recipient[] {
  if (node.tagClass === 0) return [readTransport(node)];
  return isContext(node, 1) ? readAgreement(node) : [{ kind: 'other' }];
}

function readTransport(node: Asn1): TransportRecipient {
  const fields = readFields(node);
  readInteger(fields.take());
  const reference = readReference(fields.take());
  const algorithm = readAlgorithm(fields.take());
  const encryptedKey = concatBytes(readPieces(fields.take()));
  fields.finish();
  return { kind: 'transport', reference, algorithm, encryptedKey };
}

function readAgreement(node: Asn1): Recipient[] {
  const fields = readFields(node);
  readInteger(fields.take());
  const originatorPoint = readOriginatorPoint(childAt(fields.take(), 0));
  const material = fields.takeContext(1);
  const keyingMaterial = material && readOctetString(childAt(material, 0));
  const algorithm = readAlgorithm(fields.take());
  const encryptedKeys = sequenceItems(fields.take());
  fields.finish();
  return encryptedKeys.map((item) => {
    const key = readFields(item);
    const reference = readAgreementReference(key.take());
    const encryptedKey = readOctetString(key.take());
    key.finish();
    return { kind: 'agreement', reference, algorithm, encryptedKey, originatorPoint, keyingMaterial };
  });
}

/**
 * `[1] IMPLICIT OriginatorPublicKey`, the only form that a sender without a certificate for key agreement can
 * use.
 */
function readOriginatorPoint(node: Asn1): Uint8Array | undefined {
  return isContext(node, 1) ? readBitString(childAt(node, 1)).bytes : undefined;
}

/** Unlike elsewhere, `[0]` holds a sequence that begins with the key identifier. */
function readAgreementReference(node: Asn1): CertificateReference {
  if (!isContext(node, 0)) return readReference(node);
  return { subjectKeyIdentifier: readOctetString(childAt(node, 0)) };
}
