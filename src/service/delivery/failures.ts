import { CodedError, errorCode, errorText, isNoSocketCode } from '../../core/index.ts';
import type { RejectedRecipient } from '../../lib/smtp/index.ts';
import { reasonOfRefusal, type RefusedRecipient } from '../agent/index.ts';
import type { DeliveryProblem } from './request.ts';
import { outages, type DeliveryFailureReason } from './tables.ts';

/** Why something failed, and whether a later attempt may end otherwise. */
export interface Failure extends DeliveryProblem {
  readonly isTransient: boolean;
  /** The error's code, or the agent's. */
  readonly code: string;
}

const reasonByCode: Readonly<Record<string, DeliveryFailureReason>> = {
  SMTP_DOMAIN_UNKNOWN: 'domain-not-found',
  DNS_NAME_INVALID: 'domain-not-found',
  SMTP_NO_MAIL_HOST: 'no-mail-host',
  SMTP_NULL_MX: 'no-mail-host',
  SMTP_MAIL_HOST_PRIVATE: 'no-mail-host',
  SMTP_UNREACHABLE: 'unreachable',
  SMTP_TIMEOUT: 'unreachable',
  SMTP_NO_SOCKET: 'internal',
  DNS_NO_SOCKET: 'internal',
  LDAP_NO_SOCKET: 'internal',
  SMTP_PROTOCOL: 'unreachable',
  SMTP_TLS_FAILED: 'tls-failed',
  SMTP_AUTH_FAILED: 'smtp-deferred',
  SMTP_SESSION_DEFERRED: 'smtp-deferred',
  SMTP_SESSION_REFUSED: 'smtp-rejected',
  AGENT_NO_SIGNING_KEY: 'sender-certificate',
  DIRECT_SENDER_CERTIFICATE_UNUSABLE: 'sender-certificate',
};

/** The meaning of an error for the message: from DNS, the mail server, the agent, or this service. */
export function readFailure(error: unknown): Failure {
  const code = errorCode(error) ?? '';
  const statusCode = statusCodeOf(error, code);
  return {
    reason: reasonOf(error, code),
    ...(statusCode === undefined ? {} : { statusCode }),
    text: errorText(error),
    // An unexpected error may be a transient fault of this service.
    isTransient: !(error instanceof CodedError) || error.isTransient,
    code,
  };
}

/**
 * A relay that cannot be found or reached, or turns the session away, says nothing about the message or its
 * destination: its operator and ours can correct that. Its reply and status code are not the recipient's.
 */
export function readRelayFailure(error: unknown): Failure {
  const failure = readFailure(error);
  if (isOwnFault(failure)) return failure;
  const { text, code } = failure;
  const named = `This service's mail gateway: ${text}`;
  return { reason: 'gateway-unavailable', text: named, code, isTransient: true };
}

/** RFC 4954 §6: authentication required, mechanism too weak, credentials invalid, encryption required. */
const credentialCodes: ReadonlySet<number> = new Set([530, 534, 535, 538]);
const credentialTexts: readonly RegExp[] = [
  /\bauthenticat\w* (?:is )?(?:required|needed)|\bmust (?:first )?(?:authenticate|issue a STARTTLS)|\b(?:not|un)[ -]?authenticated/i,
  /\b(?:auth|authenticate) first\b|\bsmtp auth\b|\binvalid credentials\b|\btemporary authentication failure\b|\bnot logged in\b/i,
  /\brelay(?:ing)?\b.{0,40}\b(?:denied|not (?:permitted|allowed)|prohibited|refused)|\b(?:unable|not (?:permitted|allowed)) to relay/i,
  /\ballowed rcpthosts\b|\bclient host rejected\b/i,
  // The account there may not send in the name of this sender.
  /\bpermissions? to send as\b|\bSendAsDenied\b|\bsender address rejected: not owned\b|\bverified sender\b|\baddress is not verified\b/i,
];

/**
 * The same of one that wants credentials or TLS, or does not relay for us, which it says for a recipient: its
 * other mail does not go out either.
 */
export function readRelayRejection(rejection: RejectedRecipient): Failure {
  const { code, text } = rejection;
  if (!credentialCodes.has(code) && !credentialTexts.some((pattern) => pattern.test(text)))
    return readRejection(rejection);
  return {
    reason: 'gateway-unavailable',
    text: `This service's mail gateway does not accept mail from it (credentials, TLS or relaying): ${code} ${text}`,
    code: String(code),
    isTransient: true,
  };
}

function reasonOf(error: unknown, code: string): DeliveryFailureReason {
  const known = reasonByCode[code];
  if (known !== undefined) return known;
  if (code.startsWith('DNS_')) return 'dns-failed';
  return error instanceof CodedError && error.kind === 'untrusted' ? 'untrusted' : 'internal';
}

function statusCodeOf(error: unknown, code: string): string | undefined {
  // RFC 7505 §4.2.
  if (code === 'SMTP_NULL_MX') return '5.1.10';
  const reply = error instanceof CodedError ? error.fields['reply'] : undefined;
  if (typeof reply !== 'object' || reply === null || !('enhancedCode' in reply)) return undefined;
  return typeof reply.enhancedCode === 'string' ? reply.enhancedCode : undefined;
}

/** A recipient that the agent refused. */
export function readRefusal(refusal: RefusedRecipient): Failure {
  const { text, isTransient, code, findings = [] } = refusal;
  const certificates = findings.map((one) => ({ code: one.code, failedAt: one.refused?.failedAt }));
  const reason = reasonOfRefusal(refusal, certificates);
  if (reason === 'dns-failed') return { reason, text, isTransient, code };
  if (reason === 'certificate-expired')
    return { reason, text: "The recipient's certificate is expired.", isTransient, code: 'PKI_EXPIRED' };
  return { reason, statusCode: refusal.statusCode, text, isTransient, code };
}

/** A recipient that the mail server refused. */
export function readRejection(rejection: RejectedRecipient): Failure {
  const { enhancedCode, isTransient } = rejection;
  const text = `${rejection.code} ${rejection.text}`;
  const code = String(rejection.code);
  const statusCode = enhancedCode === undefined ? {} : { statusCode: enhancedCode };
  if (isTransient) return { reason: 'smtp-deferred', ...statusCode, text, isTransient, code };
  const reason = isOfRecipient(enhancedCode) ? 'unknown-recipient' : 'smtp-rejected';
  return { reason, ...statusCode, text, isTransient, code };
}

/** RFC 3463 §3.2: X.1 is about addresses, and of these X.1.7 and X.1.8 about that of the sender. */
function isOfRecipient(enhancedCode = ''): boolean {
  return enhancedCode.startsWith('5.1.') && enhancedCode !== '5.1.7' && enhancedCode !== '5.1.8';
}

export function isOutage({ reason }: DeliveryProblem): boolean {
  return outages.includes(reason);
}

/** This process could ask nobody, so nothing is known about the destination. */
export function isOwnFault({ code }: Failure): boolean {
  return isNoSocketCode(code);
}

/** The failure without the fields that only this module needs. */
export function problemOf({ reason, statusCode, text }: Failure): DeliveryProblem {
  return { reason, ...(statusCode === undefined ? {} : { statusCode }), text };
}
