import { constants, verify } from 'node:crypto';
import { concatBytes, equalBytes } from '../../core/index.ts';
import {
  Asn1Error,
  childAt,
  contentBytes,
  der,
  isContext,
  isUniversal,
  readAsn1,
  readOctetString,
  readOid,
  readTime,
  tags,
  type Asn1,
} from '../asn1/index.ts';
import { PkiError, type Certificate } from '../pki/index.ts';
import {
  findDigest,
  readSignatureAlgorithm,
  type DigestName,
  type SignatureAlgorithm,
} from './algorithms.ts';
import { SmimeError, type SmimeErrorCode } from './errors.ts';
import { oids } from './oids.ts';
import { allowedCurves, limits, type CryptoPolicy } from './policy.ts';
import { readSignerInfo, refersTo, type SignedAttributes, type SignerInfo } from './signer-info.ts';
import { isSameAlgorithm, readAlgorithm, type Pieces } from './structure.ts';

/** A signer whose signature over exactly these bytes was proved. Whether its certificate is trusted is another question. */
export interface ValidSigner {
  readonly outcome: 'valid';
  readonly certificate: Certificate;
  readonly digestAlgorithm: DigestName;
  readonly signatureAlgorithm: SignatureAlgorithm['scheme'];
  /** As the signer claims it; absent if it claims nothing. */
  readonly signingTime?: Date;
  readonly hasSignedAttributes: boolean;
}

export interface InvalidSigner {
  readonly outcome: 'invalid';
  readonly code: SmimeErrorCode;
  /** For operators. */
  readonly text: string;
  /** The certificate that the signer names, if it is in the message. */
  readonly certificate?: Certificate;
}

export type SignerResult = ValidSigner | InvalidSigner;

/** What one signer is checked against. */
export interface SignedContext {
  readonly contentType: string;
  readonly content: Pieces;
  readonly certificates: readonly Certificate[];
  readonly policy: CryptoPolicy;
  /** The digest of the content, computed once for all signers that use it. */
  digestOf(digest: DigestName): Uint8Array;
}

/** Checks one SignerInfo by itself (RFC 5652 §5.4, §5.6). Never throws for what the message contains. */
export function verifySigner(node: Asn1, context: SignedContext): SignerResult {
  let certificate: Certificate | undefined;
  try {
    const signer = readSignerInfo(node);
    const named = context.certificates.filter((candidate) => refersTo(signer.reference, candidate));
    certificate = named[0];
    return checkSigner(signer, named, context);
  } catch (error) {
    return { ...readRefusal(error), ...(certificate && { certificate }) };
  }
}

function readRefusal(error: unknown): InvalidSigner {
  if (error instanceof SmimeError) {
    const code = error.code === 'SMIME_CMS_MALFORMED' ? 'SMIME_SIGNER_MALFORMED' : error.code;
    return { outcome: 'invalid', code, text: error.message };
  }
  if (error instanceof Asn1Error)
    return { outcome: 'invalid', code: 'SMIME_SIGNER_MALFORMED', text: error.message };
  throw error;
}

function checkSigner(signer: SignerInfo, named: readonly Certificate[], context: SignedContext): ValidSigner {
  const digest = readDigest(signer, context.policy);
  const algorithm = readSignatureAlgorithm(signer.signatureAlgorithm);
  if ((algorithm.digest ?? digest) !== digest) {
    throw new SmimeError(
      'SMIME_SIGNATURE_ALGORITHM_MISMATCH',
      'the signature uses another digest than the signer names',
    );
  }
  if (named.length === 0) {
    throw new SmimeError(
      'SMIME_SIGNER_CERTIFICATE_MISSING',
      'no enclosed certificate is the one that the signer names',
    );
  }
  const signed = signer.signedAttributes
    ? checkAttributes(signer, signer.signedAttributes, digest, context)
    : readBareContent(context);
  const proof: Proof = { algorithm, digest, signed, signature: signer.signature };
  const certificate = findProver(named, proof, context.policy);
  const signingTime = readSigningTime(signer.signedAttributes);
  return {
    outcome: 'valid',
    certificate,
    digestAlgorithm: digest,
    signatureAlgorithm: algorithm.scheme,
    ...(signingTime && { signingTime }),
    hasSignedAttributes: signer.signedAttributes !== undefined,
  };
}

function readDigest({ digestAlgorithm }: SignerInfo, policy: CryptoPolicy): DigestName {
  const digest = findDigest(digestAlgorithm.oid);
  if (digest === undefined) throw new SmimeError('SMIME_DIGEST_UNSUPPORTED', `digest ${digestAlgorithm.oid}`);
  if ((digest === 'md5' || digest === 'sha1') && !policy.weakDigests.has(digest)) {
    throw new SmimeError('SMIME_DIGEST_NOT_ALLOWED', `digest ${digest}`);
  }
  return digest;
}

/** RFC 5652 §5.4: checks the attributes and gives the bytes that were signed, which are theirs. */
function checkAttributes(
  signer: SignerInfo,
  attributes: SignedAttributes,
  digest: DigestName,
  context: SignedContext,
): Uint8Array {
  const contentType = readOid(singleValue(attributes, oids.contentType, 'content-type'));
  if (contentType !== context.contentType) {
    throw new SmimeError('SMIME_SIGNED_CONTENT_TYPE_MISMATCH', `signed as ${contentType}`);
  }
  const messageDigest = readOctetString(singleValue(attributes, oids.messageDigest, 'message-digest'));
  checkProtection(signer, attributes);
  if (!equalBytes(messageDigest, context.digestOf(digest))) {
    throw new SmimeError('SMIME_DIGEST_MISMATCH', 'the content is not what was signed');
  }
  // Signed under the tag of SET, not under the [0] it travels in; the rest exactly as received.
  const content = contentBytes(attributes.node);
  return concatBytes([der.header(0x31, content.length), content]);
}

function singleValue(attributes: SignedAttributes, oid: string, name: string): Asn1 {
  const values = attributes.values.get(oid);
  const [value, ...rest] = values ?? [];
  if (value !== undefined && rest.length === 0) return value;
  const code = rest.length > 0 ? 'SMIME_SIGNED_ATTRIBUTE_DUPLICATE' : 'SMIME_SIGNED_ATTRIBUTE_MISSING';
  throw new SmimeError(code, `the signed attribute ${name} has ${values?.length ?? 0} values`);
}

/** RFC 6211 §2: whoever signs the attributes may name in them the algorithms that must stand outside. */
function checkProtection(signer: SignerInfo, attributes: SignedAttributes): void {
  if (!attributes.values.has(oids.algorithmProtection)) return;
  const value = singleValue(attributes, oids.algorithmProtection, 'algorithm protection');
  const digest = readAlgorithm(childAt(value, 0));
  const second = value.children[1];
  const isProtected =
    isSameAlgorithm(digest, signer.digestAlgorithm) &&
    isContext(second, 1) &&
    isSameAlgorithm(readAlgorithm(second), signer.signatureAlgorithm);
  if (!isProtected) {
    throw new SmimeError(
      'SMIME_ALGORITHM_PROTECTION_MISMATCH',
      'other algorithms than the signer vouches for',
    );
  }
}

/** RFC 5652 §5.3: attributes may be absent only around plain data. */
function readBareContent(context: SignedContext): Uint8Array {
  if (context.contentType !== oids.data) {
    throw new SmimeError(
      'SMIME_SIGNED_ATTRIBUTE_MISSING',
      'signed attributes are needed for this content type',
    );
  }
  const [only, ...rest] = context.content;
  const content = only !== undefined && rest.length === 0 ? only : concatBytes(context.content);
  // A signature over attributes is equally one over their encoding as content, were the attributes taken away.
  if (looksLikeAttributes(content)) {
    throw new SmimeError('SMIME_SIGNED_ATTRIBUTES_STRIPPED', 'the content is a set of signed attributes');
  }
  return content;
}

function looksLikeAttributes(content: Uint8Array): boolean {
  if (content[0] !== 0x31) return false;
  try {
    const [first] = readAsn1(content).children;
    return first !== undefined && isUniversal(first.children[0], tags.oid);
  } catch {
    return false;
  }
}

interface Proof {
  readonly algorithm: SignatureAlgorithm;
  readonly digest: DigestName;
  /** The bytes that were signed. */
  readonly signed: Uint8Array;
  readonly signature: Uint8Array;
}

/** The one of the named certificates under whose key the signature verifies; a message can enclose several of one name. */
function findProver(named: readonly Certificate[], proof: Proof, policy: CryptoPolicy): Certificate {
  let refusal: SmimeError | undefined;
  for (const certificate of named.slice(0, limits.certificatesPerSigner)) {
    try {
      checkKey(certificate, policy);
      if (isProved(proof, certificate)) return certificate;
    } catch (error) {
      if (error instanceof PkiError) refusal ??= notAllowed(error.message);
      else if (error instanceof SmimeError) refusal ??= error;
      else throw error;
    }
  }
  throw refusal ?? new SmimeError('SMIME_SIGNATURE_INVALID', 'the signature does not verify');
}

function isProved(
  { algorithm, digest, signed, signature }: Proof,
  { keyType, publicKey }: Certificate,
): boolean {
  const { scheme, saltLength = 0 } = algorithm;
  if (keyType !== (scheme === 'ecdsa' ? 'ec' : 'rsa')) {
    throw new SmimeError(
      'SMIME_SIGNATURE_ALGORITHM_MISMATCH',
      `a signature of ${scheme} under a key of type ${keyType}`,
    );
  }
  const pss = { key: publicKey, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength };
  try {
    return verify(digest, signed, scheme === 'rsa-pss' ? pss : publicKey, signature);
  } catch {
    // OpenSSL throws for some signatures that cannot be right, such as a key bound to other parameters.
    return false;
  }
}

function checkKey(certificate: Certificate, policy: CryptoPolicy): void {
  const { keyType, keyBits, curve = '' } = certificate;
  if (keyType === 'rsa' && keyBits >= policy.minimumRsaBits && keyBits <= limits.rsaBits) return;
  if (keyType === 'ec' && allowedCurves.has(curve)) return;
  throw notAllowed(`a key of type ${keyType} ${curve} with ${keyBits} bits`);
}

function notAllowed(text: string): SmimeError {
  return new SmimeError('SMIME_SIGNER_KEY_NOT_ALLOWED', text);
}

function readSigningTime(attributes: SignedAttributes | undefined): Date | undefined {
  const value = attributes?.values.get(oids.signingTime)?.[0];
  return value && readTime(value);
}
