import { viewAsBuffer } from '../../core/index.ts';
import {
  type Asn1,
  Asn1Error,
  childAt,
  der,
  encodedBytes,
  isContext,
  isUniversal,
  readAsn1,
  readOctetString,
  readOid,
  tags,
} from '../asn1/index.ts';
import { readCertificates, signedDataOf } from './certificate-set.ts';
import type { Certificate } from './certificate.ts';
import { PkiError } from './errors.ts';
import { oids } from './oids.ts';
import { isPem, readPem } from './pem.ts';

/** The content of a trust bundle. */
export interface TrustBundle {
  /** Without repetitions, in the order of the bundle. */
  readonly anchors: readonly Certificate[];
  /** Certificates left out because they cannot be read. */
  readonly unreadableCount: number;
  /** The XML next to the certificates (BUNDLE-02), as text. Not interpreted. */
  readonly metadata?: string;
  /** The configured signer's signature was verified. */
  readonly isSigned: boolean;
}

/**
 * Verifies a CMS SignedData with its content inside against one signer and returns the content. Must throw
 * unless a signature of exactly that certificate's key holds over exactly the returned bytes.
 */
export type VerifyBundleSignature = (signedData: Uint8Array, signer: Certificate) => Uint8Array;

export interface TrustBundleOptions {
  /** The configured signing certificate. With it, an unsigned bundle is refused (BUNDLE-03). */
  readonly signer?: Certificate;
  readonly verifySignature?: VerifyBundleSignature;
}

/**
 * Reads a trust bundle: PKCS#7 without signers, DER, BER or PEM (BUNDLE-01, BUNDLE-04), with metadata or not
 * (BUNDLE-02), or signed around such a one (BUNDLE-03). A certificate that cannot be read is left out, so
 * that it keeps no other change of the bundle from taking effect.
 *
 * Errors: `PKI_BUNDLE_MALFORMED`, `PKI_BUNDLE_UNSIGNED`, `PKI_BUNDLE_SIGNATURE`, those of `readCertificates`.
 */
export function readTrustBundle(bytes: Uint8Array, options: TrustBundleOptions = {}): TrustBundle {
  return readingBundle(() => {
    const encoded = withoutArmour(bytes);
    if (encoded === undefined || !isSignedData(readAsn1(encoded))) {
      if (options.signer !== undefined)
        throw new PkiError('PKI_BUNDLE_UNSIGNED', 'a signed bundle was expected');
      return { ...readContent(bytes), isSigned: false };
    }
    // Without a configured signer the signature proves nothing, and the bundle counts as an unsigned one.
    const content = options.signer === undefined ? contentOf(encoded) : verifiedContent(encoded, options);
    return { ...readContent(content), isSigned: options.signer !== undefined };
  });
}

function readingBundle<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    const isUnreadable =
      error instanceof Asn1Error || (error instanceof PkiError && !error.code.startsWith('PKI_BUNDLE_'));
    if (!isUnreadable) throw error;
    throw new PkiError('PKI_BUNDLE_MALFORMED', `not a trust bundle: ${error.message}`, { cause: error });
  }
}

function isSignedData(root: Asn1): boolean {
  const signerInfos = signedDataOf(root).children.at(-1);
  return isUniversal(signerInfos, tags.set) && signerInfos.children.length > 0;
}

function readContent(bytes: Uint8Array): Omit<TrustBundle, 'isSigned'> {
  const encoded = withoutArmour(bytes);
  const metadata = encoded && findMetadata(readAsn1(encoded));
  let unreadableCount = 0;
  const anchors = distinct(readCertificates(bytes, { onUnreadable: () => unreadableCount++ }));
  return { anchors, unreadableCount, ...(metadata !== undefined && { metadata }) };
}

/** The PKCS#7 bytes; undefined if the armour holds plain certificates instead. */
function withoutArmour(bytes: Uint8Array): Uint8Array | undefined {
  if (bytes[0] === 0x30 || !isPem(bytes)) return bytes;
  return readPem(viewAsBuffer(bytes).toString('latin1')).find(
    ({ label }) => label === 'PKCS7' || label === 'CMS',
  )?.der;
}

function verifiedContent(bytes: Uint8Array, { signer, verifySignature }: TrustBundleOptions): Uint8Array {
  if (signer === undefined || verifySignature === undefined)
    throw new TypeError('a signer needs a way to verify signatures');
  try {
    return verifySignature(bytes, signer);
  } catch (error) {
    throw new PkiError('PKI_BUNDLE_SIGNATURE', 'the bundle is not signed by the configured signer', {
      cause: error,
    });
  }
}

/** The octets inside a SignedData's encapsulated content (RFC 5652 §5.2). */
function contentOf(encoded: Uint8Array): Uint8Array {
  const content = findContent(readAsn1(encoded));
  if (content === undefined) throw new PkiError('PKI_BUNDLE_MALFORMED', 'a signed bundle without content');
  return content;
}

function findContent(root: Asn1): Uint8Array | undefined {
  const holder = childAt(signedDataOf(root), 2);
  const part = holder.children.find((child) => isContext(child, 0))?.children[0];
  if (part === undefined) return undefined;
  // Some writers put the inner structure there as it is, without the OCTET STRING.
  return readOid(childAt(holder, 0)) === oids.pkcs7Data || part.tagNumber === tags.octetString
    ? readOctetString(part)
    : encodedBytes(part);
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function findMetadata(root: Asn1): string | undefined {
  const content = findContent(root);
  if (content === undefined || content.length === 0) return undefined;
  try {
    return utf8.decode(content);
  } catch {
    // Nothing depends on it; a bundle with unreadable metadata still has its certificates.
    return undefined;
  }
}

function distinct(certificates: readonly Certificate[]): Certificate[] {
  return [...new Map(certificates.map((one) => [one.fingerprint, one])).values()];
}

/**
 * A trust bundle in its plain form: PKCS#7 with certificates and no signer, DER (BUNDLE-06). Its media type
 * is `application/pkcs7-mime`. Duplicates are dropped; equal anchors give equal bytes in every order.
 */
export function writeTrustBundle(anchors: readonly Pick<Certificate, 'der' | 'fingerprint'>[]): Buffer {
  const distinct = new Map(anchors.map((anchor) => [anchor.fingerprint, Buffer.from(anchor.der)]));
  const certificates = [...distinct.values()].toSorted((a, b) => Buffer.compare(a, b));
  return Buffer.from(
    der.sequence(
      der.oid(oids.pkcs7SignedData),
      der.explicit(
        0,
        der.sequence(
          der.integer(1),
          der.set(),
          der.sequence(der.oid(oids.pkcs7Data)),
          der.implicit(0, true, ...certificates),
          der.set(),
        ),
      ),
    ),
  );
}
