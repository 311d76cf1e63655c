import { constants, verify } from 'node:crypto';
import { PkiError, type Certificate } from '../pki/index.ts';
import type { DigestName, SignatureAlgorithm } from './algorithms.ts';
import { SmimeError } from './errors.ts';
import { allowedCurves, limits, type CryptoPolicy } from './policy.ts';
import { withoutStackTraces } from './without-stack-traces.ts';

/** A signature and the bytes that it claims to cover. */
export interface SignedBytes {
  readonly algorithm: SignatureAlgorithm;
  readonly digest: DigestName;
  /** The bytes that were signed: one of these. */
  readonly signed: readonly Uint8Array[];
  readonly signature: Uint8Array;
  /** Called before each verification. Throws if there were too many. */
  readonly beforeVerify: () => void;
}

/**
 * The one of the named certificates under whose key the signature verifies; a message can enclose several of
 * one name. Errors: `SMIME_SIGNATURE_INVALID`, `SMIME_SIGNER_KEY_NOT_ALLOWED`,
 * `SMIME_SIGNATURE_ALGORITHM_MISMATCH`, those of `beforeVerify`.
 */
export function findSigningCertificate(
  named: readonly Certificate[],
  signed: SignedBytes,
  policy: CryptoPolicy,
): Certificate {
  let refusal: SmimeError | undefined;
  for (const certificate of named.slice(0, limits.certificatesPerSigner)) {
    try {
      checkKey(certificate, policy);
      if (isSignedBy(signed, certificate)) return certificate;
    } catch (error) {
      if (error instanceof PkiError) refusal ??= notAllowed(error.message);
      else if (error instanceof SmimeError) refusal ??= error;
      else throw error;
    }
  }
  throw (
    refusal ?? new SmimeError('SMIME_SIGNATURE_INVALID', 'the signature is not by the key of the certificate')
  );
}

function isSignedBy(
  { algorithm, digest, signed, signature, beforeVerify }: SignedBytes,
  { keyType, publicKey }: Certificate,
): boolean {
  const { scheme, saltLength = 0 } = algorithm;
  if (keyType !== (scheme === 'ecdsa' ? 'ec' : 'rsa')) {
    throw new SmimeError(
      'SMIME_SIGNATURE_ALGORITHM_MISMATCH',
      `a signature of ${scheme} under a key of type ${keyType}`,
    );
  }
  // Said outright, for with a key bound to RSASSA-PSS the default would be PSS, whatever the message names.
  // For any other RSA key it is PKCS #1, and a key without options is taken faster.
  const padding = scheme === 'rsa-pss' ? constants.RSA_PKCS1_PSS_PADDING : constants.RSA_PKCS1_PADDING;
  const isUsual = scheme === 'ecdsa' || (scheme === 'rsa' && publicKey.asymmetricKeyType === 'rsa');
  const key = isUsual ? publicKey : { key: publicKey, padding, saltLength };
  return signed.some((bytes) => {
    beforeVerify();
    try {
      return withoutStackTraces(() => verify(digest, bytes, key, signature));
    } catch {
      // OpenSSL throws for some signatures that cannot be right, such as a key bound to other parameters.
      return false;
    }
  });
}

function checkKey(certificate: Certificate, policy: CryptoPolicy): void {
  const { keyType, keyBits, keyFault, curve = '' } = certificate;
  if (keyFault !== undefined) throw notAllowed(`an RSA key with ${keyFault}`);
  if (keyType === 'rsa' && keyBits >= policy.minimumRsaBits && keyBits <= limits.rsaBits) return;
  if (keyType === 'ec' && allowedCurves.has(curve)) return;
  throw notAllowed(`a key of type ${keyType} ${curve} with ${keyBits} bits`);
}

function notAllowed(text: string): SmimeError {
  return new SmimeError('SMIME_SIGNER_KEY_NOT_ALLOWED', text);
}
