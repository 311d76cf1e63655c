import { constants, verify, type KeyObject } from 'node:crypto';
import {
  Asn1Error,
  childAt,
  encodedBytes,
  isContext,
  isUniversal,
  readOid,
  readSmallInteger,
  tags,
  type Asn1,
} from '../asn1/index.ts';
import type { KeyType } from './public-key-info.ts';
import { PkiError } from './errors.ts';
import { oids } from './oids.ts';

/** Signed bytes with their signature and the AlgorithmIdentifier given for it: a certificate or a CRL. */
export interface SignedObject {
  readonly signedBytes: Uint8Array;
  readonly signature: Uint8Array;
  readonly signatureAlgorithm: Asn1;
}

/** The key that is said to have signed. */
export interface VerificationKey {
  readonly publicKey: KeyObject;
  readonly keyType: KeyType;
  /** Of a certificate: the fault of its key. No signature of such a key is valid. */
  readonly keyFault?: string | undefined;
}

interface Scheme {
  readonly keyType: KeyType;
  readonly digest: string;
  readonly saltLength?: number;
}

const schemes: Readonly<Record<string, Scheme>> = {
  [oids.sha1WithRsa]: { keyType: 'rsa', digest: 'sha1' },
  [oids.sha256WithRsa]: { keyType: 'rsa', digest: 'sha256' },
  [oids.sha384WithRsa]: { keyType: 'rsa', digest: 'sha384' },
  [oids.sha512WithRsa]: { keyType: 'rsa', digest: 'sha512' },
  [oids.ecdsaWithSha1]: { keyType: 'ec', digest: 'sha1' },
  [oids.ecdsaWithSha256]: { keyType: 'ec', digest: 'sha256' },
  [oids.ecdsaWithSha384]: { keyType: 'ec', digest: 'sha384' },
  [oids.ecdsaWithSha512]: { keyType: 'ec', digest: 'sha512' },
};

const digests: Readonly<Record<string, string>> = {
  [oids.sha256]: 'sha256',
  [oids.sha384]: 'sha384',
  [oids.sha512]: 'sha512',
};

/**
 * Returns only if the key made the signature over exactly these bytes.
 * Errors: `PKI_SIGNATURE_ALGORITHM` for an algorithm that proves nothing (MD5, SHA-1 unless allowed, unknown
 * ones), `PKI_SIGNATURE_INVALID`.
 */
export function verifySignature(
  object: SignedObject,
  key: VerificationKey,
  options: { allowSha1: boolean },
): void {
  const scheme = findScheme(object.signatureAlgorithm);
  if (scheme === undefined || (scheme.digest === 'sha1' && !options.allowSha1)) {
    throw new PkiError(
      'PKI_SIGNATURE_ALGORITHM',
      `signed with ${describeScheme(object.signatureAlgorithm, scheme)}, which is not accepted`,
    );
  }
  if (scheme.keyType !== key.keyType || key.keyFault !== undefined || !verifiesOnce(object, scheme, key)) {
    throw new PkiError('PKI_SIGNATURE_INVALID', 'the signature is not by the key of the issuer');
  }
}

function describeScheme(algorithm: Asn1, scheme: Scheme | undefined): string {
  const oid = readOid(childAt(algorithm, 0));
  return scheme === undefined ? `algorithm ${oid}` : `${scheme.keyType} and ${scheme.digest} (${oid})`;
}

/**
 * True if the key made the signature, with any supported algorithm, SHA-1 included. Not a statement about
 * trust.
 */
export function isSignedBy(object: SignedObject, key: VerificationKey): boolean {
  try {
    verifySignature(object, key, { allowSha1: true });
    return true;
  } catch (error) {
    if (error instanceof PkiError) return false;
    throw error;
  }
}

/**
 * The result of verifying a signature never changes, so it is cached as long as both objects live; the other
 * checks (dates, revocation, anchors, policy) are made each time.
 */
const verdicts = new WeakMap<SignedObject, WeakMap<VerificationKey, boolean>>();

function verifiesOnce(object: SignedObject, scheme: Scheme, key: VerificationKey): boolean {
  const ofObject = verdicts.get(object) ?? new WeakMap<VerificationKey, boolean>();
  const known = ofObject.get(key);
  if (known !== undefined) return known;
  const verdict = verifies(object, scheme, key.publicKey);
  ofObject.set(key, verdict);
  verdicts.set(object, ofObject);
  return verdict;
}

function verifies(object: SignedObject, scheme: Scheme, publicKey: KeyObject): boolean {
  const padding =
    scheme.saltLength === undefined ? constants.RSA_PKCS1_PADDING : constants.RSA_PKCS1_PSS_PADDING;
  const key = {
    key: publicKey,
    ...(scheme.keyType === 'rsa' && { padding }),
    ...(scheme.saltLength !== undefined && { saltLength: scheme.saltLength }),
  };
  try {
    return verify(scheme.digest, object.signedBytes, key, object.signature);
  } catch {
    // A key that cannot verify (wrong kind, limits inside OpenSSL) has verified nothing.
    return false;
  }
}

function findScheme(algorithm: Asn1): Scheme | undefined {
  try {
    return readScheme(algorithm);
  } catch (error) {
    if (error instanceof Asn1Error) return undefined;
    throw error;
  }
}

function readScheme(algorithm: Asn1): Scheme | undefined {
  const oid = readOid(childAt(algorithm, 0));
  const parameters = algorithm.children[1];
  if (oid === oids.rsaPss) return readPssScheme(parameters);
  // RFC 4055 §5 and RFC 5758 §3.2: NULL for RSA, nothing for ECDSA; both are accepted absent.
  const isPlain =
    parameters === undefined || (isUniversal(parameters, tags.null) && algorithm.children.length === 2);
  return isPlain ? schemes[oid] : undefined;
}

/**
 * RFC 4055 §3.1: one digest for hash and mask, given explicitly (the defaults are SHA-1, which is refused).
 */
function readPssScheme(parameters: Asn1 | undefined): Scheme | undefined {
  const field = (tag: number): Asn1 | undefined =>
    parameters?.children.find((part) => isContext(part, tag))?.children[0];
  const [hash, mask, salt, trailer] = [field(0), field(1), field(2), field(3)];
  if (hash === undefined || mask === undefined) return undefined;
  const maskHash = mask.children[1];
  if (readOid(childAt(mask, 0)) !== oids.mgf1 || maskHash === undefined) return undefined;
  if (trailer !== undefined && readSmallInteger(trailer) !== 1) return undefined;
  const digest = digests[readOid(childAt(hash, 0))];
  const isSameHash = Buffer.compare(encodedBytes(childAt(hash, 0)), encodedBytes(childAt(maskHash, 0))) === 0;
  const saltLength = salt === undefined ? 20 : readSmallInteger(salt);
  if (digest === undefined || !isSameHash || saltLength < 0 || saltLength > 512) return undefined;
  return { keyType: 'rsa', digest, saltLength };
}
