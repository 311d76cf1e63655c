import { CodedError } from '../../core/index.ts';
import { createRowGuard, type GuardedTable, type RowGuard } from '../integrity/index.ts';
import type { WebhookRow } from './tables.ts';

/**
 * The guarded columns of a webhook: target, events and secrets; not its enabled state and delivery results.
 */
const webhooks: GuardedTable = {
  table: 'webhook',
  key: 'id',
  columns: [
    'id',
    'client_id',
    'kind',
    'url',
    'event_types',
    'is_xdm',
    'sealed_secret',
    'sealed_previous_secret',
    'previous_secret_until',
    'sealed_basic',
    'edge_account',
  ],
};

/** The tables whose rows carry a MAC (Decision 0024). */
export const webhookGuardedTables: readonly GuardedTable[] = [webhooks];

export function createWebhookGuard(deps: Parameters<typeof createRowGuard>[0]): RowGuard<WebhookRow> {
  return createRowGuard(deps, webhooks);
}

/**
 * A webhook whose row was changed by hand is off: its notifications are held; those of the client's other
 * webhooks are not.
 */
export async function isOn(guard: RowGuard<WebhookRow>, row: WebhookRow): Promise<boolean> {
  try {
    await guard.check(row);
    return row.is_enabled === 1;
  } catch (error) {
    if (error instanceof CodedError && error.code === 'INTEGRITY_ROW_CHANGED') return false;
    throw error;
  }
}
