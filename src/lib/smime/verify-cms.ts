import { createHash } from 'node:crypto';
import type { Certificate } from '../pki/index.ts';
import type { DigestName } from './algorithms.ts';
import { SmimeError } from './errors.ts';
import { oids } from './oids.ts';
import { defaultCryptoPolicy, limits, type CryptoPolicy } from './policy.ts';
import { readSignedData } from './signed-data.ts';
import { joinPieces, piecesOf, type Pieces } from './structure.ts';
import { verifySigner, type SignerResult, type ValidSigner } from './verify-signer.ts';

export interface VerifyCmsOptions {
  /** The signed bytes of a detached signature. Left out for content that is inside the CMS. */
  readonly content?: Uint8Array | Pieces;
  /** The OIDs of which the content must have one. Default id-data. */
  readonly contentTypes?: readonly string[];
  readonly policy?: CryptoPolicy;
  /** Certificates of signers that the caller has; they need not be enclosed (RFC 5652 §5.1). */
  readonly knownCertificates?: readonly Certificate[];
}

export interface VerifiedCms {
  /** The signed content: views on the given bytes. */
  readonly content: Pieces;
  /** Every readable certificate in it, none of them trusted. */
  readonly certificates: readonly Certificate[];
  /** In the order of the message; at least one is valid. */
  readonly signers: readonly SignerResult[];
}

/**
 * Verifies that at least one signer signed the content (RFC 5652 §5.6), each signer being verified separately
 * (AS-76).
 *
 * Errors: with no valid signer the code of the first one's fault; `SMIME_NOT_SIGNED` without any signer,
 * `SMIME_CERTIFICATES_MISSING` (AS-73), `SMIME_CERTIFICATE_MALFORMED`, `SMIME_SIGNED_CONTENT_TYPE_MISMATCH`,
 * `SMIME_SIGNED_CONTENT_MISSING`, `SMIME_SIGNED_CONTENT_AMBIGUOUS`, and those of reading CMS. The error's
 * `fields.signers` lists every signer's code.
 */
export function verifyCms(cms: Uint8Array, options: VerifyCmsOptions = {}): VerifiedCms {
  const signed = readSignedData(cms);
  const { contentType, hasUnreadableCertificate, signerInfos } = signed;
  const { knownCertificates = [] } = options;
  const certificates = [...signed.certificates, ...knownCertificates];
  if (!(options.contentTypes ?? [oids.data]).includes(contentType)) {
    throw new SmimeError('SMIME_SIGNED_CONTENT_TYPE_MISMATCH', `signed content of type ${contentType}`);
  }
  const content = chooseContent(signed.content, options.content && piecesOf(options.content));
  if (signerInfos.length === 0) throw new SmimeError('SMIME_NOT_SIGNED', 'signed-data without a signer');
  if (certificates.length === 0 && !hasUnreadableCertificate) {
    throw new SmimeError('SMIME_CERTIFICATES_MISSING', 'signed-data without a certificate');
  }
  const policy = options.policy ?? defaultCryptoPolicy;
  const context = {
    contentType,
    certificates,
    hasUnreadableCertificate,
    policy,
    digestOf: createDigester(content),
    wholeContent: createJoiner(content),
    beforeVerification: createVerificationLimit(),
  };
  const signers = signerInfos.map((node) => verifySigner(node, context));
  if (!signers.some(isValid)) throw refusalOf(signers);
  const { wholeContent } = signed;
  return { content: wholeContent ? [wholeContent] : content, certificates: signed.certificates, signers };
}

function isValid(signer: SignerResult): signer is ValidSigner {
  return signer.outcome === 'valid';
}

function chooseContent(inside: Pieces | undefined, outside: Pieces | undefined): Pieces {
  // With two contents it would be ambiguous which one is signed.
  if (inside !== undefined && outside !== undefined) {
    throw new SmimeError('SMIME_SIGNED_CONTENT_AMBIGUOUS', 'a detached signature that contains content');
  }
  const content = inside ?? outside;
  if (content === undefined)
    throw new SmimeError('SMIME_SIGNED_CONTENT_MISSING', 'signed-data without content');
  return content;
}

function createDigester(content: Pieces): (digest: DigestName) => Uint8Array {
  const known = new Map<DigestName, Uint8Array>();
  return (digest) => {
    const value = known.get(digest) ?? digestPieces(digest, content);
    known.set(digest, value);
    return value;
  };
}

function createJoiner(content: Pieces): () => Uint8Array {
  let whole: Uint8Array | undefined;
  return () => (whole ??= joinPieces(content));
}

function createVerificationLimit(): (isOfContent: boolean) => void {
  let left: number = limits.verifications;
  let leftOfContent: number = limits.contentVerifications;
  return (isOfContent) => {
    if ((isOfContent && --leftOfContent < 0) || --left < 0)
      throw new SmimeError(
        'SMIME_TOO_MANY_SIGNERS',
        `more than ${limits.verifications} signatures to verify, or ${limits.contentVerifications} over the content`,
      );
  };
}

export function digestPieces(digest: DigestName, pieces: Pieces): Buffer {
  const hash = createHash(digest);
  for (const piece of pieces) hash.update(piece);
  return hash.digest();
}

function refusalOf(signers: readonly SignerResult[]): SmimeError {
  const refusals = signers.filter((signer) => signer.outcome === 'invalid');
  const { code, text } = refusals[0] ?? { code: 'SMIME_NOT_SIGNED' as const, text: 'no signer' };
  return new SmimeError(code, text, { fields: { signers: refusals.map((refusal) => refusal.code) } });
}
