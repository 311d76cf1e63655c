import { addressKey } from '../../../lib/values/index.ts';
import type { AnyTransaction } from '../../../platform/index.ts';
import type { DeliveryOutcome } from '../../delivery/index.ts';
import type { MessagingDependencies } from '../ports.ts';
import { recipientQueries } from './find-recipient.ts';
import { recordEvent, type EventDependencies } from './record-event.ts';

export type OutcomeDependencies = EventDependencies & Pick<MessagingDependencies, 'audit'>;

/** Stores the outcomes for recipients of one delivery, in delivery's transaction (MDN-27). */
export async function recordOutcomes(
  tx: AnyTransaction,
  deps: OutcomeDependencies,
  outcomes: readonly DeliveryOutcome[],
): Promise<void> {
  for (const outcome of outcomes) await recordOutcome(tx, deps, outcome);
}

async function recordOutcome(
  tx: AnyTransaction,
  deps: OutcomeDependencies,
  outcome: DeliveryOutcome,
): Promise<void> {
  const recipient =
    outcome.kind === 'message'
      ? await recipientQueries(deps.storage).byAddress.first(tx, {
          messageId: outcome.deliveryId,
          addressKey: addressKey(outcome.recipient),
        })
      : undefined;
  await auditOutcome(tx, deps, outcome);
  if (recipient === undefined) return;
  await recordEvent(tx, deps, recipient, {
    event: outcome.outcome === 'sent' ? 'sent' : 'refused',
    at: outcome.at,
    reason: outcome.reason,
    statusCode: outcome.statusCode,
    diagnostic: outcome.text,
  });
}

async function auditOutcome(
  tx: AnyTransaction,
  { audit }: OutcomeDependencies,
  outcome: DeliveryOutcome,
): Promise<void> {
  await audit.recordIn(tx, {
    action: outcome.outcome === 'sent' ? `${outcome.kind}.sent` : `${outcome.kind}.undeliverable`,
    actor: 'system',
    outcome: outcome.outcome === 'sent' ? 'ok' : 'failed',
    objects: {
      deliveryId: outcome.deliveryId,
      messageId: outcome.messageId,
      to: outcome.recipient,
      ...(outcome.reason === undefined ? {} : { reason: outcome.reason }),
    },
  });
}
