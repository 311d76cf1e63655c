import { createPublicKey, sign, type KeyObject } from 'node:crypto';
import { der } from '../asn1/index.ts';
import type { Certificate } from '../pki/index.ts';
import { writeDigestAlgorithm, type DigestName } from './algorithms.ts';
import { writeIssuerAndSerial } from './certificate-reference.ts';
import { SmimeError } from './errors.ts';
import { oids } from './oids.ts';
import { allowedCurves, minimumSendingRsaBits } from './policy.ts';
import type { Pieces } from './structure.ts';
import { digestPieces } from './verify-cms.ts';

/** A certificate and the private key of its public key. */
export interface SigningKey {
  readonly certificate: Certificate;
  readonly privateKey: KeyObject;
}

export type SigningDigest = 'sha256' | 'sha384' | 'sha512';

export interface SignOptions {
  /** The value of the signing-time attribute, in seconds. */
  readonly at: Date;
  /** Default SHA-256 (AS-50), and SHA-384 for a P-384 key (AS-51). */
  readonly digest?: SigningDigest;
  /** Further certificates to enclose, for example intermediate ones. */
  readonly extraCertificates?: readonly Certificate[];
}

/**
 * A detached signature: ContentInfo with SignedData in DER, one SignerInfo per key, each with the signed
 * attributes content-type, signing-time and message-digest (RFC 5652 §5, §11).
 *
 * Errors: `SMIME_NO_SIGNERS`, `SMIME_SIGNING_KEY_NOT_ALLOWED` (RSA below 2048 bits, another kind of key or
 * curve), `SMIME_SIGNING_KEY_MISMATCH`, `SMIME_SIGNING_KEY_USAGE`. Never a message without a signer.
 */
export function signCms(content: Pieces, keys: readonly SigningKey[], options: SignOptions): Buffer {
  if (keys.length === 0) throw new SmimeError('SMIME_NO_SIGNERS', 'no key to sign with');
  for (const key of keys) checkSigningKey(key);
  const digests = digestsFor(keys, options);
  const values = new Map([...new Set(digests)].map((digest) => [digest, digestPieces(digest, content)]));
  const signers = keys.map((key, index) => writeSigner(key, digests[index] ?? 'sha256', values, options.at));
  const signedData = der.sequence(
    der.integer(1),
    der.set(...[...values.keys()].map(writeDigestAlgorithm)),
    der.sequence(der.oid(oids.data)),
    der.implicit(0, true, ...uniqueCertificates(keys, options)),
    der.set(...signers),
  );
  return der.sequence(der.oid(oids.signedData), der.explicit(0, signedData));
}

/** The digest that each of the keys signs with, in their order. */
export function digestsFor(keys: readonly SigningKey[], options: SignOptions): SigningDigest[] {
  return keys.map(
    ({ certificate }) => options.digest ?? (certificate.curve === 'P-384' ? 'sha384' : 'sha256'),
  );
}

function checkSigningKey({ certificate, privateKey }: SigningKey): void {
  const { keyType, keyBits, keyFault, curve = '', keyUsage } = certificate;
  // A key bound to RSASSA-PSS could not make the PKCS#1 v1.5 signature that is sent.
  const isStrongRsa =
    certificate.publicKeyAlgorithmOid === oids.rsaEncryption && keyBits >= minimumSendingRsaBits;
  if (keyFault !== undefined)
    throw new SmimeError('SMIME_SIGNING_KEY_NOT_ALLOWED', `an RSA key with ${keyFault}`);
  if (!isStrongRsa && !(keyType === 'ec' && allowedCurves.has(curve))) {
    throw new SmimeError(
      'SMIME_SIGNING_KEY_NOT_ALLOWED',
      `a key of type ${keyType} ${curve} with ${keyBits} bits`,
    );
  }
  // RFC 8550 §4.4.2: one of the two bits, where the extension is present at all.
  if (keyUsage !== undefined && !keyUsage.has('digitalSignature') && !keyUsage.has('nonRepudiation')) {
    throw new SmimeError(
      'SMIME_SIGNING_KEY_USAGE',
      `the certificate of ${certificate.subject} is not for signatures`,
    );
  }
  if (!isKnownPair(privateKey, certificate)) {
    throw new SmimeError(
      'SMIME_SIGNING_KEY_MISMATCH',
      `the key is not that of the certificate of ${certificate.subject}`,
    );
  }
}

/** Pairs that were compared: neither a key nor a certificate changes. */
const knownPairs = new WeakMap<KeyObject, WeakSet<Certificate>>();

function isKnownPair(privateKey: KeyObject, certificate: Certificate): boolean {
  const pairs = knownPairs.get(privateKey) ?? new WeakSet<Certificate>();
  if (pairs.has(certificate)) return true;
  if (!isKeyOf(privateKey, certificate.publicKey)) return false;
  knownPairs.set(privateKey, pairs.add(certificate));
  return true;
}

function isKeyOf(privateKey: KeyObject, publicKey: KeyObject): boolean {
  // Comparing keys of different types would leave an error in OpenSSL's queue that makes the next key import
  // fail.
  if (privateKey.type !== 'private' || privateKey.asymmetricKeyType !== publicKey.asymmetricKeyType)
    return false;
  return createPublicKey(privateKey).equals(publicKey);
}

function writeSigner(
  { certificate, privateKey }: SigningKey,
  digest: SigningDigest,
  values: ReadonlyMap<DigestName, Uint8Array>,
  at: Date,
): Buffer {
  const attributes = der.set(
    writeAttribute(oids.contentType, der.oid(oids.data)),
    writeAttribute(oids.signingTime, der.time(at)),
    writeAttribute(oids.messageDigest, der.octetString(values.get(digest) ?? new Uint8Array())),
  );
  const signature = trySign(digest, attributes, privateKey);
  // Signed as a SET; in the message the same bytes carry the tag [0] (RFC 5652 §5.4).
  attributes[0] = 0xa0;
  return der.sequence(
    der.integer(1),
    writeIssuerAndSerial(certificate),
    writeDigestAlgorithm(digest),
    attributes,
    writeSignatureAlgorithm(certificate, digest),
    der.octetString(signature),
  );
}

/** OpenSSL can refuse a well-formed key; its error has none of our codes. */
function trySign(digest: SigningDigest, bytes: Uint8Array, privateKey: KeyObject): Buffer {
  try {
    return sign(digest, bytes, privateKey);
  } catch (error) {
    throw new SmimeError('SMIME_SIGNING_KEY_NOT_ALLOWED', 'the key could not sign', { cause: error });
  }
}

function writeAttribute(oid: string, value: Uint8Array): Buffer {
  return der.sequence(der.oid(oid), der.set(value));
}

const signatureOids = {
  rsa: { sha256: oids.sha256WithRsa, sha384: oids.sha384WithRsa, sha512: oids.sha512WithRsa },
  ec: { sha256: oids.ecdsaWithSha256, sha384: oids.ecdsaWithSha384, sha512: oids.ecdsaWithSha512 },
} as const;

/** RFC 5754 §3: NULL parameters for RSA, none for ECDSA. */
function writeSignatureAlgorithm({ keyType }: Certificate, digest: SigningDigest): Buffer {
  return keyType === 'ec'
    ? der.sequence(der.oid(signatureOids.ec[digest]))
    : der.sequence(der.oid(signatureOids.rsa[digest]), der.null());
}

/** In the order of DER, each once. */
function uniqueCertificates(
  keys: readonly SigningKey[],
  { extraCertificates = [] }: SignOptions,
): Uint8Array[] {
  const all = [...keys.map(({ certificate }) => certificate), ...extraCertificates];
  const unique = new Map(all.map((certificate) => [certificate.fingerprint, certificate.der]));
  return [...unique.values()].toSorted(Buffer.compare);
}
