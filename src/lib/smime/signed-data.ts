import {
  contentBytes,
  isUniversal,
  encodedBytes,
  readOid,
  setItems,
  tags,
  type Asn1,
} from '../asn1/index.ts';
import { PkiError, readCertificate, type Certificate } from '../pki/index.ts';
import { SmimeError } from './errors.ts';
import { oids } from './oids.ts';
import { limits } from './policy.ts';
import { malformed, readContentInfo, readFields, readingCms, readPieces, type Pieces } from './structure.ts';

/** SignedData (RFC 5652 §5.1), read but not verified. */
export interface SignedData {
  /** The OID of the encapsulated content's type. */
  readonly contentType: string;
  /** What is signed; undefined for a detached signature. */
  readonly content: Pieces | undefined;
  /** The whole content where only the inside of it is signed: see `readEncapsulated`. */
  readonly wholeContent?: Uint8Array;
  /** Those that could be read, in order; the rest cannot have signed anything here. */
  readonly certificates: readonly Certificate[];
  /** True if an enclosed certificate is malformed. */
  readonly hasUnreadableCertificate: boolean;
  readonly signerInfos: readonly Asn1[];
}

/**
 * Reads a ContentInfo that holds SignedData, BER or DER. It may have no signers (a bare
 * certificate set) and no certificates.
 *
 * Errors: `SMIME_CMS_MALFORMED`, `SMIME_TRAILING_DATA`, `SMIME_CONTENT_TYPE_UNEXPECTED`,
 * `SMIME_TOO_MANY_SIGNERS`, `SMIME_TOO_MANY_CERTIFICATES`.
 */
export function readSignedData(bytes: Uint8Array): SignedData {
  const { contentType, content } = readContentInfo(bytes);
  if (contentType !== oids.signedData) {
    throw new SmimeError(
      'SMIME_CONTENT_TYPE_UNEXPECTED',
      `content type ${contentType} instead of signed-data`,
    );
  }
  return readingCms(() => readBody(content));
}

function readBody(node: Asn1): SignedData {
  const fields = readFields(node);
  fields.take(); // version: follows from the rest
  setItems(fields.take()); // digestAlgorithms: each signer names its own
  const encapsulated = readEncapsulated(fields.take());
  const certificates = readCertificateSet(fields.takeContext(0));
  const readable = certificates.filter((certificate) => certificate !== undefined);
  fields.takeContext(1); // CRLs: CRLs enclosed by the sender do not decide revocation
  const signerInfos = setItems(fields.take());
  fields.finish();
  if (signerInfos.length > limits.signers) {
    throw new SmimeError('SMIME_TOO_MANY_SIGNERS', `more than ${limits.signers} signers`);
  }
  return {
    ...encapsulated,
    certificates: readable,
    hasUnreadableCertificate: readable.length < certificates.length,
    signerInfos,
  };
}

/** RFC 5652 §5.2.1: PKCS #7 put a SignedData there as it is, and signed it without its tag and length. */
function readEncapsulated(node: Asn1): Pick<SignedData, 'contentType' | 'content' | 'wholeContent'> {
  const fields = readFields(node);
  const contentType = readOid(fields.take());
  const wrapper = fields.takeContext(0);
  fields.finish();
  if (wrapper === undefined) return { contentType, content: undefined };
  const [content, ...rest] = wrapper.children;
  if (content === undefined || rest.length > 0)
    throw malformed('encapsulated content of other than one value');
  if (contentType === oids.signedData && isUniversal(content, tags.sequence))
    return { contentType, content: [contentBytes(content)], wholeContent: encodedBytes(content) };
  return { contentType, content: readPieces(content) };
}

function readCertificateSet(set: Asn1 | undefined): readonly (Certificate | undefined)[] {
  const nodes = (set?.children ?? []).filter((choice) => isUniversal(choice, tags.sequence));
  if (nodes.length > limits.certificates) {
    throw new SmimeError('SMIME_TOO_MANY_CERTIFICATES', `more than ${limits.certificates} certificates`);
  }
  if (nodes.reduce((sum, { start, end }) => sum + end - start, 0) > limits.certificateBytes) {
    throw new SmimeError(
      'SMIME_TOO_MANY_CERTIFICATES',
      `more than ${limits.certificateBytes} bytes of certificates`,
    );
  }
  return nodes.map((node) => {
    try {
      return readCertificate(encodedBytes(node));
    } catch (error) {
      if (error instanceof PkiError) return undefined;
      throw error;
    }
  });
}
