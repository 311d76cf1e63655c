import { describeAlgorithm } from './algorithm-names.ts';
import { Asn1Error, type Asn1 } from '../asn1/index.ts';
import { nameCertificate, type Certificate } from '../pki/index.ts';
import {
  findSignerDigest,
  readSignatureAlgorithm,
  type DigestName,
  type SignatureAlgorithm,
} from './algorithms.ts';
import { describeReference, refersTo } from './certificate-reference.ts';
import {
  checkAttributes,
  readBareContent,
  readSigningTime,
  type SignedContent,
} from './check-signed-attributes.ts';
import { SmimeError, type SmimeErrorCode } from './errors.ts';
import type { CryptoPolicy } from './policy.ts';
import { findSigningCertificate } from './find-signing-certificate.ts';
import { readSignerInfo, type SignerInfo } from './signer-info.ts';

/**
 * A signer whose signature over exactly these bytes was verified. Whether its certificate is trusted is
 * another question.
 */
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

/** The inputs for the check of one signer. */
export interface SignedContext extends SignedContent {
  readonly certificates: readonly Certificate[];
  readonly hasUnreadableCertificate: boolean;
  readonly policy: CryptoPolicy;
  /**
   * Called before each verification of a signature, of the content itself or of attributes. Throws
   * `SMIME_TOO_MANY_SIGNERS`.
   */
  beforeVerification(isOfContent: boolean): void;
}

/** Checks one SignerInfo by itself (RFC 5652 §5.4, §5.6). Never throws for the contents of a message. */
export function verifySigner(node: Asn1, context: SignedContext): SignerResult {
  let certificate: Certificate | undefined;
  try {
    const signer = readSignerInfo(node);
    const named = context.certificates.filter((candidate) => refersTo(signer.reference, candidate));
    certificate = named[0];
    return checkSigner(signer, named, context);
  } catch (error) {
    const refusal = readRefusal(error);
    if (certificate === undefined) return refusal;
    return { ...refusal, text: `${refusal.text} (signer ${nameCertificate(certificate)})`, certificate };
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
      `the signature uses ${algorithm.digest}, and the signer names ${digest}`,
    );
  }
  if (named.length === 0 && context.hasUnreadableCertificate) {
    throw new SmimeError(
      'SMIME_CERTIFICATE_MALFORMED',
      `the certificate that the signer names (${describeReference(signer.reference)}) is not among those that can be read`,
    );
  }
  if (named.length === 0) {
    throw new SmimeError(
      'SMIME_SIGNER_CERTIFICATE_MISSING',
      `no enclosed certificate is the one that the signer names (${describeReference(signer.reference)})`,
    );
  }
  const signed = signer.signedAttributes
    ? checkAttributes(signer, signer.signedAttributes, digest, context)
    : readBareContent(context);
  const beforeVerify = (): void => context.beforeVerification(signer.signedAttributes === undefined);
  const claim = { algorithm, digest, signed, signature: signer.signature, beforeVerify };
  const certificate = findSigningCertificate(named, claim, context.policy);
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
  const digest = findSignerDigest(digestAlgorithm.oid);
  if (digest === undefined)
    throw new SmimeError('SMIME_DIGEST_UNSUPPORTED', `digest ${describeAlgorithm(digestAlgorithm.oid)}`);
  if ((digest === 'md5' || digest === 'sha1') && !policy.weakDigests.has(digest)) {
    throw new SmimeError('SMIME_DIGEST_NOT_ALLOWED', `digest ${digest}`);
  }
  return digest;
}
