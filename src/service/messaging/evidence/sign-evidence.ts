import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import type { DirectAddress } from '../../../lib/values/index.ts';
import { MessagingError } from '../errors.ts';
import type { MessagingDependencies } from '../ports.ts';
import type { EvidenceDocument } from './build-evidence.ts';

/** Evidence in the flattened JSON serialization of a JWS (RFC 7515 §7.2.2). Members are base64url. */
export interface SignedEvidence {
  /** The `EvidenceDocument` as JSON. */
  readonly payload: string;
  /** `alg`, `typ` and `x5c`, the signer's certificate. */
  readonly protected: string;
  readonly signature: string;
}

/** The `typ` that distinguishes this signature from any other by the same key (RFC 8725 §3.11). */
export const evidenceType = 'direct-delivery-evidence+jws';

/**
 * Signs as the sender's domain signs its messages. Throws MESSAGING_EVIDENCE_UNSIGNED without a key that is
 * valid now.
 */
export async function signEvidence(
  {
    trust,
    clock,
  }: { readonly trust: Pick<MessagingDependencies['trust'], 'findSigningKeys'> } & Pick<
    MessagingDependencies,
    'clock'
  >,
  document: EvidenceDocument,
): Promise<SignedEvidence> {
  const now = clock.now();
  const keys = await trust.findSigningKeys(document.fromDirectAddress as DirectAddress);
  const usable = keys.find(({ certificate }) => isValidAt(certificate, now));
  if (usable === undefined)
    throw new MessagingError(
      'MESSAGING_EVIDENCE_UNSIGNED',
      `${document.fromDirectAddress} has no signing key that is valid now`,
    );
  const key = createPrivateKey({ key: Buffer.from(usable.privateKey), format: 'der', type: 'pkcs8' });
  const header = {
    alg: algorithmOf(key),
    typ: evidenceType,
    x5c: [Buffer.from(usable.certificate).toString('base64')],
  };
  const { FlattenedSign } = await import('jose');
  const signing = new FlattenedSign(Buffer.from(JSON.stringify(document))).setProtectedHeader(header);
  const { payload, protected: head = '', signature } = await signing.sign(key);
  return { payload, protected: head, signature };
}

function isValidAt(der: Uint8Array, at: Date): boolean {
  const { validFromDate, validToDate } = new X509Certificate(der);
  return validFromDate <= at && at <= validToDate;
}

const curves: Readonly<Record<string, string>> = {
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512',
};

/** RFC 7518 §3.1. */
function algorithmOf(key: KeyObject): string {
  const { asymmetricKeyType, asymmetricKeyDetails } = key;
  const algorithm = asymmetricKeyType === 'rsa' ? 'RS256' : curves[asymmetricKeyDetails?.namedCurve ?? ''];
  if (algorithm === undefined)
    throw new MessagingError(
      'MESSAGING_EVIDENCE_UNSIGNED',
      `no JWS algorithm for a key of type ${asymmetricKeyType}`,
    );
  return algorithm;
}
