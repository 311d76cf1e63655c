/** Webhooks with more notifications than are stored one by one in a test. */
import { CompiledQuery, type Kysely } from 'kysely';
import { createVault, type Storage } from '../../src/platform/index.ts';
import { createWebhookGuard } from '../../src/service/webhook/guard.ts';
import type { NotificationRow, WebhookRow, WebhookTables } from '../../src/service/webhook/index.ts';
import { isPostgres } from '../support/storage.ts';
import { vaultKey } from './webhook-world.ts';

const hook: Omit<WebhookRow, 'mac'> = {
  id: 'h',
  client_id: 'c',
  kind: 'status',
  url: 'https://receiver.example/',
  description: '',
  event_types: 'message.sent',
  is_xdm: 0,
  edge_account: null,
  is_enabled: 1,
  disabled_reason: '',
  sealed_secret: Buffer.of(1),
  sealed_previous_secret: null,
  previous_secret_until: null,
  sealed_basic: null,
  failing_since: null,
  last_success_at: null,
  created_at: 1,
  updated_at: 1,
};

// Nothing is refused here, so nobody is told.
const { withMac } = createWebhookGuard({ vault: createVault(vaultKey), audit: undefined as never });
const notification: Omit<NotificationRow, 'id'> = {
  webhook_id: hook.id,
  client_id: hook.client_id,
  kind: 'status',
  event_type: 'message.sent',
  subject: 'm',
  payload: '{}',
  state: 'waiting',
  attempts: 0,
  next_attempt_at: 0,
  lease_token: null,
  lease_until: 0,
  last_status: null,
  last_error: '',
  created_at: 1,
  settled_at: null,
};

/** The webhook `h` of the client `c`. */
export async function storeHook(storage: Storage, changes: Partial<WebhookRow> = {}): Promise<void> {
  await storage
    .tables<WebhookTables>()
    .insertInto('webhook')
    .values({ ...withMac({ ...hook, ...changes }), ...changes })
    .execute();
}

/** As the service does when a webhook fails for long, or is enabled again. */
export async function changeHook(storage: Storage, changes: Partial<WebhookRow>): Promise<void> {
  await storage.tables<WebhookTables>().deleteFrom('webhook').execute();
  await storeHook(storage, changes);
}

/** The notifications `n0`, `n1`, … of the webhook `h`, each with its changes. */
export async function storeMany(
  storage: Storage,
  count: number,
  changesOf: (at: number) => Partial<NotificationRow>,
): Promise<void> {
  const columns = ['id', ...Object.keys(notification)];
  await storage.transaction((tx: Kysely<WebhookTables>) =>
    storage.bulkInsert(tx, {
      table: 'webhook_notification',
      columns,
      rows: Array.from({ length: count }, (_, at) => {
        const row = { id: `n${at}`, ...notification, ...changesOf(at) };
        return columns.map((column) => row[column as keyof NotificationRow]);
      }),
    }),
  );
  if (isPostgres) await storage.tables().executeQuery(CompiledQuery.raw('analyze'));
}

/** How many notifications there are of each state. */
export async function countStates(storage: Storage): Promise<Readonly<Record<string, number>>> {
  const rows = await storage
    .tables<WebhookTables>()
    .selectFrom('webhook_notification')
    .select(({ fn }) => ['state', fn.countAll<number>().as('count')])
    .groupBy('state')
    .execute();
  return Object.fromEntries(rows.map(({ state, count }) => [state, Number(count)]));
}
