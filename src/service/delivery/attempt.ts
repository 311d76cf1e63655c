import { errorCode, errorText, type Log } from '../../core/index.ts';
import { resolveMailHosts, type MailHost, type SendOutcome, type SmtpClient } from '../../lib/smtp/index.ts';
import type { DnsResolver } from '../../lib/dns/index.ts';
import { addressKey, domainOf, type DirectAddress } from '../../lib/values/index.ts';
import type { Agent, UsableRecipient } from '../agent/index.ts';
import type { ClaimedDelivery, RecipientDecision } from './queue.ts';

export interface AttemptParts {
  readonly agent: Agent;
  readonly dns: DnsResolver;
  readonly log: Log;
  readonly smtp: SmtpClient;
  /** The port of every peer's mail server: 25, unless this is a sandbox. */
  readonly peerPort: number;
  openMessage(delivery: ClaimedDelivery): Promise<Uint8Array>;
}

/** What one attempt brought: decisions for some recipients, and the last problem of those that wait. */
export interface AttemptResult {
  readonly decisions: readonly RecipientDecision[];
  readonly lastError: string;
}

/**
 * Makes one attempt: resolve and trust every pending recipient, seal once for all usable ones (AS-41, AS-42), then hand
 * the message to the mail servers of each domain. Recipients without a decision are to be tried again.
 */
export async function attemptDelivery(
  delivery: ClaimedDelivery,
  parts: AttemptParts,
): Promise<AttemptResult> {
  const resolved = await parts.agent.resolveRecipients(delivery.sender, delivery.pending);
  const decisions: RecipientDecision[] = resolved.refused
    .filter((refusal) => !refusal.isTransient)
    .map((refusal) => ({
      recipient: refusal.recipient,
      outcome: 'failed',
      reason: refusal.reason,
      statusCode: refusal.statusCode,
      text: refusal.text,
    }));
  let lastError = resolved.refused.find((refusal) => refusal.isTransient)?.text ?? '';
  if (resolved.usable.length > 0) {
    const message = await parts.openMessage(delivery);
    const sealed = await parts.agent.seal(delivery.sender, message, resolved.usable);
    for (const group of groupByDomain(resolved.usable)) {
      const result = await carryToDomain(delivery.sender, sealed, group, parts);
      decisions.push(...result.decisions);
      lastError = result.lastError || lastError;
    }
  }
  return { decisions, lastError };
}

function groupByDomain(usable: readonly UsableRecipient[]): DirectAddress[][] {
  const groups = new Map<string, DirectAddress[]>();
  for (const { address } of usable) {
    const group = groups.get(domainOf(address)) ?? [];
    group.push(address);
    groups.set(domainOf(address), group);
  }
  return [...groups.values()];
}

async function carryToDomain(
  sender: DirectAddress,
  message: Uint8Array,
  recipients: readonly DirectAddress[],
  parts: AttemptParts,
): Promise<AttemptResult> {
  const domain = domainOf(recipients[0] as DirectAddress);
  let hosts: readonly MailHost[];
  try {
    hosts = await resolveMailHosts(domain, parts.dns);
  } catch (error) {
    return hostFailure(recipients, error);
  }
  let last: AttemptResult = { decisions: [], lastError: `no mail server of ${domain} answered` };
  for (const host of hosts) {
    try {
      return readOutcome(
        recipients,
        await parts.smtp.send({
          host: host.address,
          port: parts.peerPort,
          mailFrom: sender,
          recipients,
          message,
        }),
      );
    } catch (error) {
      parts.log.warn({ host: host.name, problem: errorText(error) }, 'a mail server could not be reached');
      // Even a server that refuses everything speaks for itself only: the domain's next one is asked.
      last = hostFailure(recipients, error);
    }
  }
  return last;
}

function hostFailure(recipients: readonly DirectAddress[], error: unknown): AttemptResult {
  const lastError = errorText(error);
  if (isTransientError(error)) return { decisions: [], lastError };
  return {
    decisions: recipients.map((recipient) => ({
      recipient,
      outcome: 'failed',
      reason: 'smtp-rejected',
      // RFC 7505 §4.2 for a null MX, else RFC 3463: no way to route the mail.
      statusCode: errorCode(error) === 'SMTP_NULL_MX' ? '5.1.10' : '5.4.4',
      text: lastError,
    })),
    lastError,
  };
}

function isTransientError(error: unknown): boolean {
  return (
    !(typeof error === 'object' && error !== null && 'isTransient' in error) || error.isTransient === true
  );
}

function readOutcome(recipients: readonly DirectAddress[], result: SendOutcome): AttemptResult {
  const decisions: RecipientDecision[] = [];
  let lastError = '';
  const rejected = new Map(result.rejected.map((entry) => [entry.address.toLowerCase(), entry]));
  for (const recipient of recipients) {
    const refusal = rejected.get(addressKey(recipient));
    if (refusal === undefined) {
      decisions.push({ recipient, outcome: 'sent' });
    } else if (refusal.isTransient) {
      lastError = `${refusal.code} ${refusal.text}`;
    } else {
      const statusCode = refusal.enhancedCode ?? '5.0.0';
      decisions.push({
        recipient,
        outcome: 'failed',
        reason: statusCode.startsWith('5.1.') ? 'unknown-recipient' : 'smtp-rejected',
        statusCode,
        text: `${refusal.code} ${refusal.text}`,
      });
    }
  }
  return { decisions, lastError };
}
