import { CodedError, errorCode } from '../../core/index.ts';
import {
  AnswerableError,
  areExpired,
  DirectError,
  RefusedSignerError,
  type AnswerableMessage,
} from '../../lib/direct/index.ts';
import type { PathCertificate, RefusedRecipient, SignerFinding } from './agent.ts';

/**
 * The most exact code of a refusal, for audit and operators: what is wrong with the certificates of a sender
 * that is not trusted, since an anchor helps against only one of these faults, and what is wrong with a
 * signature or an envelope. A recipient without a matching key keeps one code, whatever said so.
 */
export function refusalReason(error: unknown): string {
  return error instanceof DirectError && error.code !== 'DIRECT_UNKNOWN_RECIPIENT'
    ? error.reason
    : errorCode(error);
}

/** The reason of a recipient that the agent refused, by what it found wrong with each certificate. */
export function reasonOfRefusal(
  { reason, isTransient }: Pick<RefusedRecipient, 'reason' | 'isTransient'>,
  certificates: Parameters<typeof areExpired>[0],
): RefusedRecipient['reason'] | 'dns-failed' | 'certificate-expired' {
  if (reason === 'no-certificate' && isTransient) return 'dns-failed';
  return areExpired(certificates) ? 'certificate-expired' : reason;
}

/** The message of a refusal that its trusted sender may be told of; undefined for any other error. */
export function findAnswerable(error: unknown): AnswerableMessage | undefined {
  return error instanceof AnswerableError ? error.answerable : undefined;
}

/** Of one refused mail. Usual certificates have one to three thousand octets. */
const maxFindingBytes = 24 * 1024;
/** The same where no anchor of ours is above the signer: a stranger can make as many as he likes. */
const maxStrangerBytes = 8 * 1024;
const maxStrangerIssuers = 1;

/** The certificates that mail is refused for, to be kept; undefined if it is refused for something else. */
export function findRefusedSigner(error: unknown): SignerFinding | undefined {
  if (!(error instanceof RefusedSignerError)) return undefined;
  const { certificate, issuers, anchor, failedAt } = error.signer;
  const isStranger = anchor === undefined;
  const certificates: PathCertificate[] = [];
  let bytes = 0;
  for (const { fingerprint, der } of [
    certificate,
    ...issuers.slice(0, isStranger ? maxStrangerIssuers : undefined),
  ]) {
    bytes += der.length;
    if (bytes > (isStranger ? maxStrangerBytes : maxFindingBytes)) break;
    certificates.push({ fingerprint, der });
  }
  const { fingerprint, subject, issuer, notBefore, notAfter } = certificate;
  const names = { subject, issuer, notBefore, notAfter };
  return { fingerprint, names, certificates, anchor, failedAt };
}

const maxDetailLength = 200;

/**
 * The words of a refusal next to its code: the certificate, the algorithm, the limit. Only this program's own
 * texts; printable ASCII.
 */
export function refusalDetail(error: unknown): string {
  if (!(error instanceof CodedError)) return '';
  return error.message
    .replaceAll(/[^ -~]+/g, ' ')
    .trim()
    .slice(0, maxDetailLength);
}
