import type { Kysely } from 'kysely';
import { createGrowingCache } from '../../core/index.ts';
import type { AnyTransaction, Storage } from '../../platform/index.ts';
import type { RowGuard } from '../integrity/index.ts';
import { isOn } from './guard.ts';
import type { WebhookRow, WebhookTables } from './tables.ts';

/** Announced to all nodes when a webhook is created, changed, disabled or removed. */
const topic = 'webhook';
const maxClients = 10_000;
/** An announcement can be lost; after this time webhooks are read again. */
const maxAgeMs = 5000;

/** A webhook, and the event types that it wants. */
export interface CachedHook {
  readonly row: WebhookRow;
  readonly eventTypes: ReadonlySet<string>;
}

/** The webhooks of clients in memory, so that an event costs no query. */
export interface HookCache {
  /** `tx` is the transaction that the caller is in, if any. */
  ofClient(clientId: string, tx?: AnyTransaction): Promise<readonly CachedHook[]>;
  /** The webhook; undefined if it is gone. */
  find(clientId: string, id: string): Promise<CachedHook | undefined>;
  /** Ids of clients with an enabled webhook for received messages. */
  receivers(): Promise<readonly string[]>;
  /** Changes that this node has just stored and that need no announcement to other nodes. */
  patch(clientId: string, id: string, changes: Partial<WebhookRow>): void;
  /** Everybody reads the webhooks again once the transaction is committed. */
  announce(tx: AnyTransaction): void;
  close(): void;
}

interface Entry {
  readonly hooks: CachedHook[];
  readonly readAt: number;
}

export function createHookCache(storage: Storage, guard: RowGuard<WebhookRow>): HookCache {
  let clients = createGrowingCache<Entry>(maxClients);
  let receivers: { readonly ids: readonly string[]; readonly readAt: number } | undefined;
  // A value read before an announcement is not cached: it may be older than the change.
  let generation = 0;
  const stop = storage.onAnnounced(topic, () => {
    generation++;
    clients = createGrowingCache<Entry>(maxClients);
    receivers = undefined;
  });
  const readHooks = storage.prepare<WebhookTables, { clientId: string }, WebhookRow>((db, { clientId }) =>
    db
      .selectFrom('webhook')
      .selectAll()
      .where('client_id', '=', clientId)
      .orderBy('created_at')
      .orderBy('id'),
  );
  const isFresh = (entry: { readonly readAt: number }): boolean =>
    performance.now() - entry.readAt < maxAgeMs;

  async function ofClient(clientId: string, tx?: AnyTransaction): Promise<readonly CachedHook[]> {
    const known = clients.get(clientId);
    if (known !== undefined && isFresh(known)) return known.hooks;
    const [startedIn, readAt] = [generation, performance.now()];
    const rows: WebhookRow[] = [];
    for (const row of await readHooks.all(tx ?? storage.db, { clientId }))
      rows.push({ ...row, is_enabled: (await isOn(guard, row)) ? 1 : 0 });
    const hooks = rows.map((row) => ({ row, eventTypes: new Set(row.event_types.split(',')) }));
    if (startedIn === generation) clients.set(clientId, { hooks, readAt });
    return hooks;
  }

  return {
    ofClient,
    async find(clientId, id) {
      return (await ofClient(clientId)).find(({ row }) => row.id === id);
    },
    async receivers() {
      if (receivers !== undefined && isFresh(receivers)) return receivers.ids;
      const [startedIn, readAt] = [generation, performance.now()];
      const ids = await listReceivers(storage.tables<WebhookTables>());
      if (startedIn === generation) receivers = { ids, readAt };
      return ids;
    },
    patch(clientId, id, changes) {
      const hooks = clients.get(clientId)?.hooks ?? [];
      const at = hooks.findIndex(({ row }) => row.id === id);
      const found = hooks[at];
      if (found !== undefined) hooks[at] = { ...found, row: { ...found.row, ...changes } };
    },
    announce: (tx) => storage.announce(tx, topic),
    close: stop,
  };
}

async function listReceivers(db: Kysely<WebhookTables>): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('webhook')
    .select('client_id')
    .distinct()
    .where('is_enabled', '=', 1)
    .where('event_types', 'like', '%message.received%')
    .execute();
  return rows.map((row) => row.client_id);
}
