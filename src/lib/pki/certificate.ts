import { createPublicKey, hash, type KeyObject } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { toHex } from '../../core/index.ts';
import {
  type Asn1,
  Asn1Error,
  childAt,
  contentBytes,
  encodedBytes,
  isContext,
  readAsn1,
  readBitString,
  readInteger,
  readOid,
  readSmallInteger,
  readTime,
  sequenceItems,
} from '../asn1/index.ts';
import { formatName, nameKey, readRelativeNames, type RelativeNames } from './distinguished-name.ts';
import { PkiError } from './errors.ts';
import { type ExtensionValues, type KeyUsage, readExtensionList, readExtensionValues } from './extensions.ts';
import type { GeneralNames } from './general-names.ts';
import type { NameConstraints } from './name-constraints.ts';
import { derOf } from './pem.ts';
import type { PolicyRules } from './policy-rules.ts';
import { type KeyType, readPublicKeyInfo } from './public-key-info.ts';

/**
 * An X.509 certificate as it was received, read but not verified. Immutable; `der` alone carries it to
 * another thread.
 */
export interface Certificate {
  readonly der: Uint8Array;
  /** SHA-256 of `der`, hex in lower case. */
  readonly fingerprint: string;
  readonly version: number;
  /** Hex in lower case, without a leading zero byte. */
  readonly serialNumber: string;
  /** The content bytes of the INTEGER, as CMS and CRLs repeat them. */
  readonly serialNumberDer: Uint8Array;
  readonly issuerDer: Uint8Array;
  readonly subjectDer: Uint8Array;
  /** For people: `CN=alpha anchor, O=alpha`. Never compared. */
  readonly issuer: string;
  readonly subject: string;
  /** Keys of the names under RFC 5280 §7.1. */
  readonly issuerKey: string;
  readonly subjectKey: string;
  readonly subjectNames: RelativeNames;
  readonly notBefore: Date;
  readonly notAfter: Date;
  /** Built at first use. Errors then: `PKI_KEY_ALGORITHM` for a key that cannot be used here. */
  readonly publicKey: KeyObject;
  readonly publicKeyDer: Uint8Array;
  readonly publicKeyAlgorithmOid: string;
  readonly keyType: KeyType;
  readonly keyBits: number;
  readonly curve?: string;
  /**
   * The fault of an RSA key's numbers; undefined if there is none, and for other keys. Computed at first use.
   */
  readonly keyFault: string | undefined;
  /** The signature, the bytes that it covers, and its AlgorithmIdentifier. */
  readonly signature: Uint8Array;
  readonly signedBytes: Uint8Array;
  readonly signatureAlgorithm: Asn1;
  readonly signatureAlgorithmOid: string;
  /** Subject and issuer are the same name. The signing key may be another one. */
  readonly isSelfIssued: boolean;
  /** Clean names of subjectAltName, in order, case kept. */
  readonly rfc822Names: readonly string[];
  readonly dnsNames: readonly string[];
  readonly alternativeNames: GeneralNames;
  readonly hasMalformedNames: boolean;
  readonly keyUsage?: ReadonlySet<KeyUsage>;
  readonly extendedKeyUsage?: readonly string[];
  readonly isCa: boolean;
  readonly pathLength?: number;
  readonly nameConstraints?: NameConstraints;
  readonly subjectKeyIdentifier?: Uint8Array;
  readonly authorityKeyIdentifier?: Uint8Array;
  readonly crlUrls: readonly string[];
  readonly partialCrlUrls: readonly string[];
  readonly crlPointKeys: readonly string[];
  readonly caIssuerUrls: readonly string[];
  readonly policyOids: readonly string[];
  readonly policyRules: PolicyRules;
  readonly unknownCriticalOids: readonly string[];
}

/**
 * Largest certificate read. Real ones have 1 to 4 kB; the limit leaves room for long policy texts and name
 * lists.
 */
const maxCertificateBytes = 256 * 1024;

/**
 * Bytes of certificates whose parsed form is cached, by their SHA-256; reading one takes as long as a tenth
 * of a signature.
 */
const maxCachedBytes = 2 * 1024 * 1024;
/** Larger ones are rare, and a few of them would evict all others. */
const maxCachedCertificateBytes = 16 * 1024;
const cached = new LRUCache<string, Certificate>({ maxSize: maxCachedBytes });

/**
 * Reads one certificate from DER or from PEM (RFC 5280 §4.1). The encoding must be DER: others (an overlong
 * length, bytes after the end, an extension given twice) cannot be distinguished from a forgery attempt. The
 * same bytes give the same object while it is cached; nothing of it depends on the time or on anybody's
 * trust.
 *
 * Errors: `PKI_CERTIFICATE_MALFORMED`, `PKI_TOO_LARGE`.
 */
export function readCertificate(bytes: Uint8Array | string): Certificate {
  const encoded = derOf(bytes, 'CERTIFICATE');
  if (encoded.length > maxCertificateBytes)
    throw new PkiError(
      'PKI_TOO_LARGE',
      `a certificate of ${encoded.length} bytes, more than ${maxCertificateBytes}`,
    );
  const fingerprint = hash('sha256', encoded, 'hex');
  const known = cached.get(fingerprint);
  if (known !== undefined) return known;
  const certificate = readCopy(encoded, fingerprint);
  if (encoded.length <= maxCachedCertificateBytes)
    cached.set(fingerprint, certificate, { size: encoded.length });
  return certificate;
}

function readCopy(encoded: Uint8Array, fingerprint: string): Certificate {
  // A copy, so that a certificate kept for long does not keep the message it came in, and nobody changes it
  // afterwards. Not from the shared pool, since a whole pool goes along when the certificate is sent to
  // another thread.
  const bytes = Buffer.allocUnsafeSlow(encoded.length);
  bytes.set(encoded);
  try {
    return readFields(bytes, fingerprint);
  } catch (error) {
    if (!(error instanceof Asn1Error)) throw error;
    throw new PkiError('PKI_CERTIFICATE_MALFORMED', `not a certificate: ${error.message}`, { cause: error });
  }
}

function readFields(bytes: Uint8Array, fingerprint: string): Certificate {
  const root = readAsn1(bytes, { strictDer: true, maxDepth: 32, maxNodes: 20_000 });
  const [body, signatureAlgorithm, signatureNode, ...rest] = sequenceItems(root);
  if (
    body === undefined ||
    signatureAlgorithm === undefined ||
    signatureNode === undefined ||
    rest.length > 0
  ) {
    throw malformed('not the three parts of a certificate');
  }
  const fields = readBody(body);
  // RFC 5280 §4.1.1.2: the algorithm outside the signed bytes must repeat the one inside.
  if (Buffer.compare(encodedBytes(fields.algorithm), encodedBytes(signatureAlgorithm)) !== 0) {
    throw malformed('two different signature algorithms');
  }
  const { unusedBits, bytes: signature } = readBitString(signatureNode);
  if (unusedBits !== 0) throw malformed('a signature that is not whole bytes');
  return assemble({ der: bytes, fingerprint }, fields, {
    signature,
    signedBytes: encodedBytes(body),
    signatureAlgorithm,
  });
}

interface BodyFields {
  readonly version: number;
  readonly serial: Asn1;
  readonly algorithm: Asn1;
  readonly issuer: Asn1;
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly subject: Asn1;
  readonly keyInfo: Asn1;
  readonly extensions: ExtensionValues;
}

function readBody(body: Asn1): BodyFields {
  const items = sequenceItems(body);
  const hasVersion = isContext(items[0], 0);
  const version = hasVersion ? readSmallInteger(childAt(childAt(body, 0), 0)) + 1 : 1;
  if (version < 1 || version > 3) throw malformed(`version ${version}`);
  const first = hasVersion ? 1 : 0;
  const validity = childAt(body, first + 3);
  const trailing = items.slice(first + 6);
  if (trailing.some((part) => !isContext(part, 1) && !isContext(part, 2) && !isContext(part, 3))) {
    throw malformed('an unknown field');
  }
  const extensionsPart = trailing.find((part) => isContext(part, 3));
  if (extensionsPart !== undefined && version !== 3) throw malformed('extensions outside version 3');
  if (validity.children.length !== 2) throw malformed('a validity that is not two times');
  return {
    version,
    serial: childAt(body, first),
    algorithm: childAt(body, first + 1),
    issuer: childAt(body, first + 2),
    notBefore: readTime(childAt(validity, 0)),
    notAfter: readTime(childAt(validity, 1)),
    subject: childAt(body, first + 4),
    keyInfo: childAt(body, first + 5),
    extensions: readExtensionValues(readExtensionList(extensionsPart && childAt(extensionsPart, 0))),
  };
}

type SignedFields = Pick<Certificate, 'signature' | 'signedBytes' | 'signatureAlgorithm'>;

function assemble(
  encoded: Pick<Certificate, 'der' | 'fingerprint'>,
  fields: BodyFields,
  signed: SignedFields,
): Certificate {
  const issuerNames = readRelativeNames(fields.issuer);
  const subjectNames = readRelativeNames(fields.subject);
  const issuerKey = nameKey(issuerNames);
  const subjectKey = nameKey(subjectNames);
  const keyInfo = readPublicKeyInfo(fields.keyInfo);
  const { names, ...extensions } = fields.extensions;
  let publicKey: KeyObject | undefined;
  let keyFault: { readonly text: string | undefined } | undefined;
  return {
    ...encoded,
    version: fields.version,
    serialNumber: readSerial(fields.serial),
    serialNumberDer: contentBytes(fields.serial),
    issuerDer: encodedBytes(fields.issuer),
    subjectDer: encodedBytes(fields.subject),
    issuer: formatName(issuerNames),
    subject: formatName(subjectNames),
    issuerKey,
    subjectKey,
    subjectNames,
    notBefore: fields.notBefore,
    notAfter: fields.notAfter,
    get publicKey() {
      return (publicKey ??= buildPublicKey(keyInfo.der));
    },
    get keyFault() {
      return (keyFault ??= {
        text: keyInfo.keyType === 'rsa' ? describeRsaFault(keyInfo.keyBytes) : undefined,
      }).text;
    },
    publicKeyDer: keyInfo.der,
    publicKeyAlgorithmOid: keyInfo.algorithmOid,
    keyType: keyInfo.keyType,
    keyBits: keyInfo.keyBits,
    ...(keyInfo.curve !== undefined && { curve: keyInfo.curve }),
    ...signed,
    signatureAlgorithmOid: readOid(childAt(signed.signatureAlgorithm, 0)),
    isSelfIssued: issuerKey === subjectKey,
    rfc822Names: names.rfc822Names,
    dnsNames: names.dnsNames,
    alternativeNames: names,
    hasMalformedNames: names.malformedCount > 0,
    ...extensions,
  };
}

function readSerial(node: Asn1): string {
  readInteger(node);
  const bytes = contentBytes(node);
  return toHex(bytes.length > 1 && bytes[0] === 0 ? bytes.subarray(1) : bytes);
}

function buildPublicKey(keyInfo: Uint8Array): KeyObject {
  try {
    return createPublicKey({ key: Buffer.from(keyInfo), format: 'der', type: 'spki' });
  } catch (error) {
    throw new PkiError('PKI_KEY_ALGORITHM', 'a public key that cannot be used', { cause: error });
  }
}

function describeRsaFault(keyBytes: Uint8Array): string | undefined {
  try {
    return findRsaFault(keyBytes);
  } catch (error) {
    if (error instanceof Asn1Error) return 'not two numbers in DER';
    throw error;
  }
}

function malformed(what: string): PkiError {
  return new PkiError('PKI_CERTIFICATE_MALFORMED', what);
}

const minExponent = 3n;
const maxExponent = 1n << 256n;

/** NIST SP 800-89 §5.3.3: no prime below 752 divides the modulus of a key that was made as RSA keys are. */
const smallPrimes = listPrimes(752);

/**
 * The fault of the numbers of an RSAPublicKey (RFC 8017 §A.1.1) of any length; undefined if there is none. An
 * exponent of 1 makes encryption and signatures the identity; an even one, or an even modulus, is not an RSA
 * key at all (NIST SP 800-89 §5.3.3). Errors: those of lib/asn1.
 */
function findRsaFault(keyDer: Uint8Array): string | undefined {
  const numbers = sequenceItems(readAsn1(keyDer, { strictDer: true, maxDepth: 4, maxNodes: 8 }));
  const [modulus = 0n, exponent = 0n] = numbers.map(readInteger);
  if (numbers.length !== 2) return 'not two numbers';
  if (exponent < minExponent || exponent >= maxExponent || isEven(exponent))
    return 'an exponent that is not allowed';
  if (modulus <= 0n || isEven(modulus)) return 'a modulus that is not a product of two primes';
  if (smallPrimes.some((prime) => modulus % prime === 0n)) return 'a modulus with a small factor';
  return undefined;
}

function isEven(value: bigint): boolean {
  return (value & 1n) === 0n;
}

function listPrimes(limit: number): bigint[] {
  const primes: number[] = [];
  for (let candidate = 3; candidate < limit; candidate += 2) {
    if (!primes.some((prime) => candidate % prime === 0)) primes.push(candidate);
  }
  return primes.map(BigInt);
}
