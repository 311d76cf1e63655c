import { addressKey } from '../../../lib/values/index.ts';
import { tablesOf, type AnyTransaction } from '../../../platform/index.ts';
import type { DeliveryOutcome } from '../../delivery/index.ts';
import { recordEvent } from './record-event.ts';
import type { MessagingParts } from '../ports.ts';
import type { MessagingTables } from '../tables.ts';

/** Stores what delivery says about one recipient, in delivery's transaction (MDN-27). */
export async function recordOutcome(
  tx: AnyTransaction,
  parts: MessagingParts,
  outcome: DeliveryOutcome,
): Promise<void> {
  await auditOutcome(tx, parts, outcome);
  if (outcome.kind !== 'message') return;
  const db = tablesOf<MessagingTables>(tx);
  const recipient = await db
    .selectFrom('message_recipient')
    .select('id')
    .where('message_id', '=', outcome.deliveryId)
    .where('address_key', '=', addressKey(outcome.recipient))
    .executeTakeFirst();
  if (recipient === undefined) return;
  await recordEvent(db, parts, recipient.id, {
    event: outcome.outcome === 'sent' ? 'sent' : 'refused',
    at: outcome.at,
    reason: outcome.reason,
    statusCode: outcome.statusCode,
    diagnostic: outcome.text,
  });
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
      to: outcome.recipient,
      ...(outcome.reason === undefined ? {} : { reason: outcome.reason }),
    },
  });
}
