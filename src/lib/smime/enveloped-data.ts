import {
  contentBytes,
  der,
  octetStringPieces,
  readInteger,
  readOctetString,
  readOid,
  setItems,
  type Asn1,
} from '../asn1/index.ts';
import { SmimeError } from './errors.ts';
import { oids } from './oids.ts';
import { readRecipients, type Recipient } from './recipient-info.ts';
import {
  readAlgorithm,
  readContentInfo,
  readFields,
  readingCms,
  type Algorithm,
  type Pieces,
} from './structure.ts';

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
 * Errors: `SMIME_CMS_MALFORMED`, `SMIME_TRAILING_DATA`, `SMIME_NOT_ENCRYPTED` for signed-data,
 * `SMIME_CONTENT_TYPE_UNEXPECTED`, `SMIME_TOO_MANY_RECIPIENTS`, `SMIME_ENCRYPTED_CONTENT_MISSING`.
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
