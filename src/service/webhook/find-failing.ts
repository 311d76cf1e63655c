import type { Storage } from '../../platform/index.ts';
import type { WebhookTables } from './tables.ts';

export interface FailingHook {
  readonly id: string;
  readonly clientId: string;
  /** Since when every attempt has failed. */
  readonly failingSince: Date | undefined;
  /** `failing` or `gone` if the service switched it off, else empty. */
  readonly disabledReason: string;
  /** Notifications whose attempts are exhausted. */
  readonly deadLetterCount: number;
}

/**
 * The webhooks of all clients that fail, were disabled by the service, or have undelivered notifications. By
 * id.
 */
export async function findFailingHooks(storage: Storage): Promise<readonly FailingHook[]> {
  const db = storage.tables<WebhookTables>();
  // For each webhook its dead ones alone: millions may be waiting.
  const hooks = await db
    .selectFrom('webhook')
    .select(({ selectFrom }) => [
      'id',
      'client_id',
      'failing_since',
      'disabled_reason',
      selectFrom('webhook_notification')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .whereRef('webhook_id', '=', 'webhook.id')
        .where('state', '=', 'dead')
        .as('dead'),
    ])
    .orderBy('id')
    .execute();
  return hooks
    .map((row) => ({
      id: row.id,
      clientId: row.client_id,
      failingSince: row.failing_since === null ? undefined : new Date(row.failing_since),
      disabledReason: row.disabled_reason === 'client' ? '' : row.disabled_reason,
      deadLetterCount: Number(row.dead),
    }))
    .filter(
      (hook) => hook.failingSince !== undefined || hook.disabledReason !== '' || hook.deadLetterCount > 0,
    );
}
