import { createHash, randomBytes, type KeyObject } from 'node:crypto';
import { childAt, der, readAsn1, readBitString } from '../asn1/index.ts';
import { readCertificate, type Certificate } from './certificate.ts';
import { signatureAlgorithmDer, signObject, type SignatureDigest } from './sign-object.ts';
import { extensionsDer, type ExtensionRequest } from './write-extensions.ts';
import { nameDer, type NameAttributes } from './write-names.ts';

/** A CA that can sign: its certificate and the private key to it. */
export interface Issuer {
  readonly certificate: Certificate;
  readonly privateKey: KeyObject;
}

export interface CertificateRequest extends ExtensionRequest {
  readonly subject: NameAttributes;
  readonly publicKey: KeyObject;
  /** The issuer. Without it the certificate is self-signed with `privateKey`. */
  readonly issuer?: Issuer;
  readonly privateKey?: KeyObject;
  readonly notBefore: Date;
  readonly notAfter: Date;
  /** Magnitude, big-endian. Default: 16 random bytes. */
  readonly serialNumber?: Uint8Array;
  /** Default SHA-256. */
  readonly digest?: SignatureDigest;
}

/**
 * Makes and signs a certificate (RFC 5280 §4.1) with exactly the extensions asked for, and reads it back. Key
 * identifiers are added unless given: SHA-1 of the key (RFC 5280 §4.2.1.2 (1)), as every other CA does.
 */
export function createCertificate(request: CertificateRequest): Certificate {
  const signingKey = request.issuer?.privateKey ?? request.privateKey;
  if (signingKey === undefined) throw new TypeError('a certificate needs an issuer or a private key');
  const digest = request.digest ?? 'sha256';
  return readCertificate(
    signObject(bodyDer(request, signatureAlgorithmDer(signingKey, digest)), signingKey, digest),
  );
}

function bodyDer(request: CertificateRequest, algorithm: Buffer): Buffer {
  const keyInfo = request.publicKey.export({ type: 'spki', format: 'der' });
  const subject = nameDer(request.subject);
  const authorityKeyIdentifier =
    request.authorityKeyIdentifier ?? request.issuer?.certificate.subjectKeyIdentifier;
  const extensions = extensionsDer({
    ...request,
    subjectKeyIdentifier: request.subjectKeyIdentifier ?? keyIdentifierOf(request.publicKey),
    ...(authorityKeyIdentifier && { authorityKeyIdentifier }),
  });
  return der.sequence(
    der.explicit(0, der.integer(2)),
    der.unsignedInteger(request.serialNumber ?? newSerialNumber()),
    algorithm,
    request.issuer?.certificate.subjectDer ?? subject,
    der.sequence(der.time(request.notBefore), der.time(request.notAfter)),
    subject,
    keyInfo,
    ...(extensions === undefined ? [] : [der.explicit(3, extensions)]),
  );
}

/** Positive and without leading zeros, so that readers that trim and readers that do not agree on it. */
function newSerialNumber(): Buffer {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return bytes;
}

/** SHA-1 over the key bits alone. A name for the key, no proof of anything. */
function keyIdentifierOf(publicKey: KeyObject): Buffer {
  const keyInfo = readAsn1(publicKey.export({ type: 'spki', format: 'der' }));
  return createHash('sha1')
    .update(readBitString(childAt(keyInfo, 1)).bytes)
    .digest();
}
