import type { Kysely } from 'kysely';
import { createTimedUuid } from '../../../core/index.ts';
import { buildDsn, buildMdn } from '../../../lib/mdn/index.ts';
import { domainOf, parseDirectAddress, type DirectAddress } from '../../../lib/values/index.ts';
import type { MessagingDependencies } from '../ports.ts';
import type { MessagingTables } from '../tables.ts';

/** Product name in Reporting-UA; letters only, because old test tools allow no more (MDN-06). */
const product = 'openhisp';

/** The message that an MDN answers. */
export interface Original {
  readonly sender: DirectAddress;
  /** With angle brackets; undefined if the message had none. */
  readonly wireId: string | undefined;
}

/** Queues one MDN by one local recipient, signed as that recipient (MDN-01a, MDN-03, MDN-10). */
export async function enqueueMdn(
  tx: Kysely<MessagingTables>,
  deps: MessagingDependencies,
  recipient: DirectAddress,
  original: Original,
  disposition: 'processed' | 'dispatched',
): Promise<void> {
  const at = deps.clock.now();
  const id = createTimedUuid(at);
  const message = buildMdn({
    disposition,
    finalRecipient: recipient,
    originalSender: original.sender,
    originalMessageId: original.wireId,
    reportingUa: { host: deps.identity.hostname, product },
    date: at,
    messageId: `<${id}@${domainOf(recipient)}>`,
    isFinalDelivery: disposition === 'dispatched',
  });
  await deps.delivery.enqueue(tx, {
    deliveryId: id,
    ...(original.wireId === undefined ? {} : { messageId: original.wireId.slice(0, 255) }),
    kind: 'mdn',
    from: recipient,
    recipients: [original.sender],
    message,
  });
  await auditMdn(tx, deps, `mdn.${disposition}`, { id, from: recipient, original });
}

/** Why a message could not be delivered here. */
export interface Failure {
  /** RFC 3463. */
  readonly status: string;
  readonly diagnostic: string;
}

/** Queues one failure report for the recipients of one of our domains, secured like a message (DSN-05, MDN-12). */
export async function enqueueFailure(
  tx: Kysely<MessagingTables>,
  deps: MessagingDependencies,
  recipients: readonly DirectAddress[],
  original: Original,
  failure: Failure,
): Promise<void> {
  const [first] = recipients;
  if (first === undefined) return;
  const at = deps.clock.now();
  const id = createTimedUuid(at);
  const from = parseDirectAddress(`postmaster@${domainOf(first)}`);
  const message = buildDsn({
    reportingMta: deps.identity.hostname,
    from,
    to: original.sender,
    date: at,
    messageId: `<${id}@${domainOf(first)}>`,
    originalMessageId: original.wireId,
    recipients: recipients.map((finalRecipient) => ({
      finalRecipient,
      action: 'failed',
      ...failure,
    })),
  });
  await deps.delivery.enqueue(tx, {
    deliveryId: id,
    ...(original.wireId === undefined ? {} : { messageId: original.wireId.slice(0, 255) }),
    kind: 'dsn',
    from,
    recipients: [original.sender],
    message,
  });
  await auditMdn(tx, deps, 'dsn.failed', { id, from, original });
}

async function auditMdn(
  tx: Kysely<MessagingTables>,
  deps: MessagingDependencies,
  action: string,
  { id, from, original }: { id: string; from: DirectAddress; original: Original },
): Promise<void> {
  await deps.audit.recordIn(tx, {
    action,
    actor: 'system',
    outcome: 'ok',
    objects: { deliveryId: id, from, to: original.sender, messageId: original.wireId?.slice(0, 255) ?? '' },
  });
}
