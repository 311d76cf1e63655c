import { concatBytes } from '../../core/index.ts';
import {
  childAt,
  contentBytes,
  der,
  isContext,
  octetStringPieces,
  readBitString,
  readInteger,
  readOctetString,
  readOid,
  sequenceItems,
  setItems,
  type Asn1,
} from '../asn1/index.ts';
import { readReference, type CertificateReference } from './certificate-reference.ts';
import { SmimeError } from './errors.ts';
import { oids } from './oids.ts';
import { limits } from './policy.ts';
import {
  readAlgorithm,
  readContentInfo,
  readFields,
  readingCms,
  readPieces,
  type Algorithm,
  type Pieces,
} from './structure.ts';

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
  /** The originator's ephemeral point; undefined if a certificate stands there, which is not supported. */
  readonly originatorPoint: Uint8Array | undefined;
  readonly keyingMaterial: Uint8Array | undefined;
}

/** Passwords, shared keys and kinds unknown: nobody here has a key for them. */
export interface OtherRecipient {
  readonly kind: 'other';
}

export type Recipient = TransportRecipient | AgreementRecipient | OtherRecipient;

/** EnvelopedData (RFC 5652 §6.1) or AuthEnvelopedData (RFC 5083 §2.1). */
export interface EnvelopedData {
  readonly recipients: readonly Recipient[];
  readonly contentType: string;
  readonly contentAlgorithm: Algorithm;
  readonly encryptedContent: Pieces;
  /** AuthEnvelopedData only. */
  readonly authentication?: { readonly tag: Uint8Array; readonly additionalData: Uint8Array };
}

/**
 * Errors: `SMIME_CMS_MALFORMED`, `SMIME_TRAILING_DATA`, `SMIME_NOT_ENCRYPTED` for signed-data, `SMIME_CONTENT_TYPE_UNEXPECTED`,
 * `SMIME_TOO_MANY_RECIPIENTS`, `SMIME_ENCRYPTED_CONTENT_MISSING`.
 */
export function readEnvelopedData(bytes: Uint8Array): EnvelopedData {
  const { contentType, content } = readContentInfo(bytes);
  if (contentType === oids.signedData)
    throw new SmimeError('SMIME_NOT_ENCRYPTED', 'signed-data that is not encrypted');
  if (contentType !== oids.envelopedData && contentType !== oids.authEnvelopedData) {
    throw new SmimeError(
      'SMIME_CONTENT_TYPE_UNEXPECTED',
      `content type ${contentType} instead of enveloped-data`,
    );
  }
  return readingCms(() => readBody(content, contentType === oids.authEnvelopedData));
}

function readBody(node: Asn1, isAuthenticated: boolean): EnvelopedData {
  const fields = readFields(node);
  readInteger(fields.take());
  fields.takeContext(0); // originatorInfo: certificates that nothing here needs
  const recipients = readRecipients(setItems(fields.take()));
  const encrypted = readEncryptedContent(fields.take());
  if (!isAuthenticated) {
    fields.takeContext(1);
    fields.finish();
    return { recipients, ...encrypted };
  }
  const attributes = fields.takeContext(1);
  const tag = readOctetString(fields.take());
  fields.takeContext(2);
  fields.finish();
  return {
    recipients,
    ...encrypted,
    authentication: { tag, additionalData: readAdditionalData(attributes) },
  };
}

/** RFC 5083 §2.2: the attributes under the tag of SET, or nothing. */
function readAdditionalData(attributes: Asn1 | undefined): Uint8Array {
  return attributes === undefined ? new Uint8Array() : der.tlv(0x31, contentBytes(attributes));
}

function readEncryptedContent(
  node: Asn1,
): Pick<EnvelopedData, 'contentType' | 'contentAlgorithm' | 'encryptedContent'> {
  const fields = readFields(node);
  const contentType = readOid(fields.take());
  const contentAlgorithm = readAlgorithm(fields.take());
  const content = fields.takeContext(0);
  fields.finish();
  if (content === undefined)
    throw new SmimeError('SMIME_ENCRYPTED_CONTENT_MISSING', 'an envelope without content');
  return { contentType, contentAlgorithm, encryptedContent: octetStringPieces(content) };
}

function readRecipients(nodes: readonly Asn1[]): Recipient[] {
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

/** `[1] IMPLICIT OriginatorPublicKey`, the only form that a sender without a certificate for key agreement can use. */
function readOriginatorPoint(node: Asn1): Uint8Array | undefined {
  return isContext(node, 1) ? readBitString(childAt(node, 1)).bytes : undefined;
}

/** Unlike elsewhere, `[0]` holds a sequence that begins with the key identifier. */
function readAgreementReference(node: Asn1): CertificateReference {
  if (!isContext(node, 0)) return readReference(node);
  return { subjectKeyIdentifier: readOctetString(childAt(node, 0)) };
}
