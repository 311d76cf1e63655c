import { countOf } from '../../core/index.ts';
import type { Storage } from '../../platform/index.ts';
import type { OperatedWebhook } from './operator.ts';
import type { WebhookTables } from './tables.ts';

const disabledTexts: Readonly<Record<string, readonly [text: string, advice: string]>> = {
  client: ['Disabled by its client or an operator.', ''],
  gone: [
    'Disabled: its target answered 410 (Gone).',
    'Ask the client for the new address; the client must register or enable the webhook again.',
  ],
  failing: [
    'Disabled after days of failures.',
    'Ask the client to repair its target and to enable the webhook again; held events are then sent.',
  ],
};

/** Whether a webhook needs an operator, the sentence that says so, and advice. */
export function healthOfWebhook({
  isEnabled,
  disabledReason,
  failingSince,
  lastSuccessAt,
  counts,
}: OperatedWebhook): {
  /** `none`: its client or an operator has disabled it. */
  readonly level: 'ok' | 'none' | 'warning' | 'failed';
  readonly text: string;
  readonly whatToDo: string;
} {
  if (!isEnabled) {
    const [text = 'Disabled.', whatToDo = ''] = disabledTexts[disabledReason] ?? [];
    return { level: disabledReason === 'client' ? 'none' : 'failed', text, whatToDo };
  }
  if (failingSince !== undefined)
    return {
      level: 'failed',
      text: 'Its target fails; events are retried automatically.',
      whatToDo: 'Read the last attempts, send a test event, and contact the client.',
    };
  if (counts.dead > 0)
    return {
      level: 'warning',
      text: `Its target responds; ${countOf(counts.dead, 'dead letter')} of earlier failures.`,
      whatToDo: 'Replay them if the client wants them.',
    };
  return {
    level: 'ok',
    text: lastSuccessAt === undefined ? 'Nothing was delivered yet.' : 'Its target responds.',
    whatToDo: '',
  };
}

/**
 * Attempts are stored when they end and have the time when they began: one that took long is not the newest.
 */
const watchedAttempts = 20;

/**
 * The ids of the newest attempts that are listed; empty if there is none. Changes with every failed attempt,
 * on whichever node.
 */
export async function findLastHookAttempts(storage: Storage): Promise<string> {
  const rows = await storage
    .tables<WebhookTables>()
    .selectFrom('webhook_attempt')
    .select('id')
    .orderBy('attempted_at', 'desc')
    .limit(watchedAttempts)
    .execute();
  return rows.map(({ id }) => id).join(' ');
}

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
