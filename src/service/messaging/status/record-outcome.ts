import { addressKey } from '../../../lib/values/index.ts';
import type { AnyTransaction } from '../../../platform/index.ts';
import type { DeliveryOutcome } from '../../delivery/index.ts';
import type { MessagingParts } from '../ports.ts';
import { recipientQueries } from './find-recipient.ts';
import { recordEvent, type EventParts } from './record-event.ts';

export type OutcomeParts = EventParts & Pick<MessagingParts, 'audit'>;

/** Stores what delivery says about recipients of one delivery, in delivery's transaction (MDN-27). */
export async function recordOutcomes(
  tx: AnyTransaction,
  parts: OutcomeParts,
  outcomes: readonly DeliveryOutcome[],
): Promise<void> {
  for (const outcome of outcomes) await recordOutcome(tx, parts, outcome);
}

async function recordOutcome(
  tx: AnyTransaction,
  parts: OutcomeParts,
  outcome: DeliveryOutcome,
): Promise<void> {
  const recipient =
    outcome.kind === 'message'
      ? await recipientQueries(parts.storage).byAddress.first(tx, {
          messageId: outcome.deliveryId,
          addressKey: addressKey(outcome.recipient),
        })
      : undefined;
  await auditOutcome(tx, parts, outcome);
  if (recipient === undefined) return;
  await recordEvent(tx, parts, recipient, {
    event: outcome.outcome === 'sent' ? 'sent' : 'refused',
    at: outcome.at,
    reason: outcome.reason,
    statusCode: outcome.statusCode,
    diagnostic: outcome.text,
  });
}

async function auditOutcome(
  tx: AnyTransaction,
  { audit }: OutcomeParts,
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
