import {
  createValidationBudget,
  PkiError,
  validatePath,
  type Certificate,
  type ValidatedPath,
  type TrustContext,
} from '../pki/index.ts';
import { checkEnvelopeRecipient, SmimeError } from '../smime/index.ts';
import type { DirectAddress } from '../values/index.ts';
import type { Discovery } from './discovery/discovery.ts';
import type { DiscoveryResult } from './discovery/discovery-result.ts';
import { isDomainMissing, type DiscoverySource, type DiscoveryStep } from './discovery/steps.ts';
import type { DirectErrorCode } from './errors.ts';

/**
 * Trust for messages that go out from one local domain or address (TRUST-03); `anchors` are those of that
 * direction.
 */
export interface RecipientTrust extends Omit<TrustContext, 'address' | 'budget'> {
  readonly discovery: Discovery;
}

/** Why one discovered certificate is not used. */
export interface RefusedCertificate {
  readonly fingerprint: string;
  readonly subject: string;
  readonly issuer: string;
  readonly notBefore: Date;
  readonly notAfter: Date;
  /** The fingerprint of the certificate that failed, if it is another one on the path. */
  readonly failedAt?: string;
  /** A `PKI_*` code, or `SMIME_RECIPIENT_*` for a key that nothing can be encrypted to. */
  readonly code: string;
  readonly text: string;
  readonly isTransient: boolean;
}

interface Findings {
  readonly address: DirectAddress;
  readonly source?: DiscoverySource;
  /** The answer of the source was cached. */
  readonly isFromCache: boolean;
  readonly steps: readonly DiscoveryStep[];
  readonly refused: readonly RefusedCertificate[];
}

export interface UsableRecipient extends Findings {
  readonly outcome: 'usable';
  /** At least one, all validated for encryption and bound to the address. */
  readonly certificates: readonly [ValidatedPath, ...ValidatedPath[]];
}

export interface RefusedRecipient extends Findings {
  readonly outcome: 'refused';
  readonly code: DirectErrorCode;
  /** The stable word of the API. */
  readonly reason: 'no-certificate' | 'untrusted';
  /** Enhanced status code (RFC 3463) of the reason. */
  readonly statusCode: '5.7.31' | '5.7.11';
  /** One sentence for operators and senders; names no certificate content. */
  readonly text: string;
  /** Trying again later can end otherwise. */
  readonly isTransient: boolean;
}

/**
 * Finds out whether a message can be encrypted to the address, and to which certificates: discovery, then for
 * each certificate found the validated path of TRUST-01 at this moment (DISC-09, DISC-10, DISC-12, TRUST-09).
 * Refusal is a normal outcome, not an error.
 */
export async function resolveRecipient(
  address: DirectAddress,
  trust: RecipientTrust,
): Promise<UsableRecipient | RefusedRecipient> {
  // One budget per recipient: the certificates of one recipient do not use the budget of another.
  const budgeted = { ...trust, budget: createValidationBudget() };
  const first = await trust.discovery.discover(address);
  const resolved = await judge(address, first, budgeted);
  // A cached certificate may have been replaced before its time; ask once more before refusing.
  if (resolved.outcome === 'usable' || !first.isFromCache || first.outcome === 'absent') return resolved;
  return judge(address, await trust.discovery.discover(address, { isFresh: true }), budgeted);
}

async function judge(
  address: DirectAddress,
  found: DiscoveryResult,
  trust: RecipientTrust,
): Promise<UsableRecipient | RefusedRecipient> {
  const validations = await Promise.all(
    found.certificates.map((certificate) => tryValidate(certificate, address, trust)),
  );
  const [usable, ...others] = validations
    .filter((validation) => 'path' in validation)
    .map(({ path }) => path);
  const refused = validations.flatMap((validation) => ('refusal' in validation ? [validation.refusal] : []));
  const { source, isFromCache, steps } = found;
  const findings = { address, ...(source && { source }), isFromCache, steps, refused };
  if (usable !== undefined) return { outcome: 'usable', certificates: [usable, ...others], ...findings };
  return { outcome: 'refused', ...refusalOf(found, refused), ...findings };
}

type Validation = { readonly path: ValidatedPath } | { readonly refusal: RefusedCertificate };

async function tryValidate(
  certificate: Certificate,
  address: DirectAddress,
  trust: RecipientTrust,
): Promise<Validation> {
  try {
    const path = await validatePath(certificate, 'encryption', { ...trust, address });
    checkEnvelopeRecipient(certificate);
    return { path };
  } catch (error) {
    if (!(error instanceof PkiError || error instanceof SmimeError)) throw error;
    const { fingerprint, subject, issuer, notBefore, notAfter } = certificate;
    const failedAt = error.fields['certificate'];
    return {
      refusal: {
        fingerprint,
        subject,
        issuer,
        notBefore,
        notAfter,
        ...(typeof failedAt === 'string' && failedAt !== fingerprint && { failedAt }),
        code: error.code,
        text: error.message,
        isTransient: error.isTransient,
      },
    };
  }
}

type Verdict = Pick<RefusedRecipient, 'code' | 'reason' | 'statusCode' | 'text' | 'isTransient'>;

const noCertificate = { reason: 'no-certificate', statusCode: '5.7.31' } as const;
const untrusted = { reason: 'untrusted', statusCode: '5.7.11' } as const;

/** Findings about the way up to an anchor; all others are about the certificate itself. */
const pathCodes: ReadonlySet<string> = new Set([
  'PKI_NO_ANCHORS',
  'PKI_ISSUER_NOT_FOUND',
  'PKI_SIGNATURE_INVALID',
  'PKI_ISSUER_NOT_CA',
  'PKI_ISSUER_KEY_USAGE',
  'PKI_PATH_LENGTH',
  'PKI_PATH_TOO_LONG',
  'PKI_PATH_TOO_BROAD',
  'PKI_NAME_CONSTRAINT',
]);

/** What is wrong with a certificate, after its name. */
const faults: Readonly<Record<string, string>> = {
  PKI_EXPIRED: 'is expired',
  PKI_NOT_YET_VALID: 'is not valid yet',
  PKI_REVOKED: 'is revoked',
  PKI_NOT_BOUND: 'is not bound to the address',
  PKI_KEY_USAGE: 'is not for encryption',
  PKI_EXTENDED_KEY_USAGE: 'is not for e-mail',
  SMIME_RECIPIENT_KEY_USAGE: 'is not for encryption',
  PKI_KEY_ALGORITHM: 'has a key of a kind that is not accepted',
  PKI_KEY_TOO_WEAK: 'has a key that is too short',
  PKI_KEY_INVALID: 'has a key that is not valid',
  SMIME_RECIPIENT_KEY_NOT_ALLOWED: 'has a key that is not accepted',
  PKI_END_ENTITY_IS_CA: 'is that of a certificate authority',
  PKI_CRITICAL_EXTENSION: 'has a critical extension that is not supported',
  PKI_POLICY_MISSING: 'lacks a certificate policy that is required',
};

function describeInvalid(refused: readonly RefusedCertificate[]): string {
  const [first, ...others] = refused;
  if (first === undefined) return 'The published certificate cannot be read.';
  const isAbove = first.failedAt !== undefined;
  if (others.some(({ code, failedAt }) => code !== first.code || (failedAt !== undefined) !== isAbove))
    return 'None of the published certificates is valid for the address.';
  const which = isAbove ? 'A CA certificate above the published one' : 'The published certificate';
  return `${which} ${faults[first.code] ?? 'is not valid for the address'}.`;
}

/**
 * True if the recipient's own certificates are expired, and not a CA certificate above them, which the
 * recipient cannot renew.
 */
export function areExpired(
  refused: readonly { readonly code?: string | undefined; readonly failedAt?: string | undefined }[],
): boolean {
  return (
    refused.length > 0 &&
    refused.every(({ code, failedAt }) => code === 'PKI_EXPIRED' && failedAt === undefined)
  );
}

function refusalOf(found: DiscoveryResult, refused: readonly RefusedCertificate[]): Verdict {
  // A certificate of a later place that is refused says nothing about the place that did not answer.
  if (found.outcome === 'absent' || found.isTransient) {
    const { isTransient } = found;
    const code = isTransient ? 'DIRECT_RECIPIENT_UNDECIDED' : 'DIRECT_RECIPIENT_CERTIFICATE_MISSING';
    const text = isTransient
      ? 'Not every DNS or LDAP server that may publish the certificate answered.'
      : isDomainMissing(found.steps)
        ? 'No certificate is published for the address: its domain does not exist.'
        : 'No certificate is published for the address.';
    return { code, ...noCertificate, text, isTransient };
  }
  if (refused.some(({ isTransient }) => isTransient)) {
    return {
      code: 'DIRECT_RECIPIENT_UNDECIDED',
      ...untrusted,
      text: 'Trust could not be decided at present.',
      isTransient: true,
    };
  }
  if (refused.some(({ code }) => pathCodes.has(code))) {
    return {
      code: 'DIRECT_RECIPIENT_UNTRUSTED',
      ...untrusted,
      text: 'The certificate does not lead to a trusted anchor.',
      isTransient: false,
    };
  }
  return {
    code: 'DIRECT_RECIPIENT_CERTIFICATES_INVALID',
    ...untrusted,
    text: describeInvalid(refused),
    isTransient: false,
  };
}
