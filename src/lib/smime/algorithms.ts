import { describeAlgorithm } from './algorithm-names.ts';
import { childAt, der, readInteger, readOctetString, type Asn1 } from '../asn1/index.ts';
import { SmimeError } from './errors.ts';
import { oids } from './oids.ts';
import { malformed, readAlgorithm, readFields, type Algorithm } from './structure.ts';

/** Digests that are read. Which of them are accepted is the policy's matter. */
export type DigestName = 'md5' | 'sha1' | 'sha256' | 'sha384' | 'sha512';

const digestNames: ReadonlyMap<string, DigestName> = new Map([
  [oids.md5, 'md5'],
  [oids.sha1, 'sha1'],
  [oids.sha256, 'sha256'],
  [oids.sha384, 'sha384'],
  [oids.sha512, 'sha512'],
]);

function findDigest(oid: string): DigestName | undefined {
  return digestNames.get(oid);
}

/** RFC 5754 §2: written without parameters. */
export function writeDigestAlgorithm(digest: DigestName): Uint8Array {
  return der.sequence(der.oid(oids[digest]));
}

export interface SignatureAlgorithm {
  readonly scheme: 'rsa' | 'rsa-pss' | 'ecdsa';
  /** Undefined where the identifier leaves it to the signer's digest algorithm. */
  readonly digest: DigestName | undefined;
  /** RSASSA-PSS only. */
  readonly saltLength?: number;
}

const signatureAlgorithms: ReadonlyMap<string, SignatureAlgorithm> = new Map<string, SignatureAlgorithm>([
  [oids.rsaEncryption, { scheme: 'rsa', digest: undefined }],
  [oids.md5WithRsa, { scheme: 'rsa', digest: 'md5' }],
  [oids.sha1WithRsa, { scheme: 'rsa', digest: 'sha1' }],
  [oids.sha1WithRsaOiw, { scheme: 'rsa', digest: 'sha1' }],
  [oids.sha256WithRsa, { scheme: 'rsa', digest: 'sha256' }],
  [oids.sha384WithRsa, { scheme: 'rsa', digest: 'sha384' }],
  [oids.sha512WithRsa, { scheme: 'rsa', digest: 'sha512' }],
  // The kind of key, which some programs write there.
  [oids.ecPublicKey, { scheme: 'ecdsa', digest: undefined }],
  [oids.ecdsaWithSha1, { scheme: 'ecdsa', digest: 'sha1' }],
  [oids.ecdsaWithSha256, { scheme: 'ecdsa', digest: 'sha256' }],
  [oids.ecdsaWithSha384, { scheme: 'ecdsa', digest: 'sha384' }],
  [oids.ecdsaWithSha512, { scheme: 'ecdsa', digest: 'sha512' }],
]);

/** The digest that a signer names, some by the algorithm of its signature. */
export function findSignerDigest(oid: string): DigestName | undefined {
  return findDigest(oid) ?? signatureAlgorithms.get(oid)?.digest;
}

/** Errors: `SMIME_SIGNATURE_ALGORITHM_UNSUPPORTED`, those of lib/asn1. */
export function readSignatureAlgorithm(algorithm: Algorithm): SignatureAlgorithm {
  const found =
    algorithm.oid === oids.rsaPss ? readPss(algorithm.parameters) : signatureAlgorithms.get(algorithm.oid);
  if (found === undefined) {
    throw new SmimeError(
      'SMIME_SIGNATURE_ALGORITHM_UNSUPPORTED',
      `signature algorithm ${describeAlgorithm(algorithm.oid)}`,
    );
  }
  return found;
}

/**
 * RFC 4055 §3.1; undefined for combinations that are not supported: another mask function or another hash in
 * it.
 */
function readPss(parameters: Asn1 | undefined): SignatureAlgorithm | undefined {
  if (parameters === undefined) return undefined;
  const fields = readFields(parameters);
  const digest = readHash(fields.takeContext(0));
  const maskDigest = readMaskHash(fields.takeContext(1));
  const salt = fields.takeContext(2);
  const trailer = fields.takeContext(3);
  fields.finish();
  const saltLength = salt === undefined ? 20n : readInteger(childAt(salt, 0));
  const isCommon = digest === maskDigest && saltLength >= 0n && saltLength <= 512n;
  if (!isCommon || (trailer !== undefined && readInteger(childAt(trailer, 0)) !== 1n)) return undefined;
  return digest === undefined ? undefined : { scheme: 'rsa-pss', digest, saltLength: Number(saltLength) };
}

export interface OaepParameters {
  readonly digest: DigestName;
  readonly maskDigest: DigestName;
  readonly label: Uint8Array;
}

/** RFC 4055 §4.1; undefined if a hash or the mask function is not supported. Errors: those of lib/asn1. */
export function readOaep(parameters: Asn1 | undefined): OaepParameters | undefined {
  if (parameters === undefined) return { digest: 'sha1', maskDigest: 'sha1', label: new Uint8Array() };
  const fields = readFields(parameters);
  const digest = readHash(fields.takeContext(0));
  const maskDigest = readMaskHash(fields.takeContext(1));
  const labelSource = fields.takeContext(2);
  fields.finish();
  const label = labelSource === undefined ? new Uint8Array() : readLabel(childAt(labelSource, 0));
  if (digest === undefined || maskDigest === undefined || label === undefined) return undefined;
  return { digest, maskDigest, label };
}

function readHash(wrapper: Asn1 | undefined): DigestName | undefined {
  return wrapper === undefined ? 'sha1' : findDigest(readAlgorithm(childAt(wrapper, 0)).oid);
}

function readMaskHash(wrapper: Asn1 | undefined): DigestName | undefined {
  if (wrapper === undefined) return 'sha1';
  const mask = readAlgorithm(childAt(wrapper, 0));
  if (mask.oid !== oids.mgf1) return undefined;
  if (mask.parameters === undefined) throw malformed('a mask function without its hash');
  return findDigest(readAlgorithm(mask.parameters).oid);
}

function readLabel(node: Asn1): Uint8Array | undefined {
  const source = readAlgorithm(node);
  if (source.oid !== oids.pSpecified) return undefined;
  return source.parameters === undefined ? new Uint8Array() : readOctetString(source.parameters);
}

/** The hash and mask hash the same; SHA-1 is the default of both and is therefore left out (X.690 §11.5). */
export function writeOaep(digest: 'sha1' | 'sha256'): Uint8Array {
  const name = der.oid(oids.rsaOaep);
  if (digest === 'sha1') return der.sequence(name, der.sequence());
  // RFC 4055 §2.1: these hash identifiers are written with NULL.
  const hash = der.sequence(der.oid(oids[digest]), der.null());
  const mask = der.sequence(der.oid(oids.mgf1), hash);
  return der.sequence(name, der.sequence(der.explicit(0, hash), der.explicit(1, mask)));
}
