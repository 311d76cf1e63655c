import { addressKey, type DirectAddress } from '../../../lib/values/index.ts';
import { tablesOf, type AnyTransaction } from '../../../platform/index.ts';
import type { DeliveryOutcome } from '../../delivery/index.ts';
import type { MessagingDependencies } from '../ports.ts';
import { recipientQueries } from './find-recipient.ts';
import { recordEvent, type EventDependencies } from './record-event.ts';
import type { MessagingTables } from '../tables.ts';

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
  await auditOutcome(tx, deps, outcome);
  if (outcome.kind !== 'message') return;
  const { byAddress } = recipientQueries(deps.storage);
  for (const address of await listAddresses(tx, outcome)) {
    const recipient = await byAddress.first(tx, { messageId: outcome.deliveryId, addressKey: address });
    if (recipient !== undefined)
      await recordEvent(tx, deps, recipient, {
        event: outcome.outcome === 'sent' ? 'sent' : 'refused',
        at: outcome.at,
        reason: outcome.reason,
        statusCode: outcome.statusCode,
        diagnostic: outcome.text,
      });
  }
}

async function listAddresses(
  tx: AnyTransaction,
  { deliveryId, recipient }: DeliveryOutcome,
): Promise<readonly string[]> {
  if (!recipient.startsWith('@')) return [addressKey(recipient as DirectAddress)];
  const rows = await tablesOf<MessagingTables>(tx)
    .selectFrom('message_recipient')
    .select('address_key')
    .where('message_id', '=', deliveryId)
    .where('state', '=', 'queued')
    .execute();
  return rows.map((row) => row.address_key).filter((key) => key.endsWith(recipient));
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
      from: outcome.sender,
      to: outcome.recipient,
      ...(outcome.reason === undefined ? {} : { reason: outcome.reason }),
    },
  });
}
