import { addressKey } from '../../../lib/values/index.ts';
import { tablesOf, type AnyTransaction } from '../../../platform/index.ts';
import type { DeliveryOutcome } from '../../delivery/index.ts';
import { recordEvent } from './record-event.ts';
import type { MessagingParts } from '../ports.ts';
import type { MessagingTables } from '../tables.ts';

/** Stores what delivery says about recipients, in delivery's transaction (MDN-27). */
export async function recordOutcomes(
  tx: AnyTransaction,
  parts: MessagingParts,
  outcomes: readonly DeliveryOutcome[],
): Promise<void> {
  const db = tablesOf<MessagingTables>(tx);
  for (const outcome of outcomes) {
    await auditOutcome(tx, parts, outcome);
    if (outcome.kind !== 'message') continue;
    await recordEvent(
      db,
      parts,
      { messageId: outcome.deliveryId, addressKey: addressKey(outcome.recipient) },
      {
        event: outcome.outcome === 'sent' ? 'sent' : 'refused',
        at: outcome.at,
        reason: outcome.reason,
        statusCode: outcome.statusCode,
        diagnostic: outcome.text,
      },
    );
  }
}

async function auditOutcome(
  tx: AnyTransaction,
  { audit }: MessagingParts,
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
