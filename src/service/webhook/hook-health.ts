import type { Kysely } from 'kysely';
import type { Clock } from '../../core/index.ts';
import type { Storage } from '../../platform/index.ts';
import type { HookCache } from './hook-cache.ts';
import type { Attempt, Settled } from './call.ts';
import type { WebhookRow, WebhookTables } from './tables.ts';

/** Write interval of the time of the last success. */
const successEveryMs = 60_000;

export interface HealthDependencies {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly cache: HookCache;
  /** A hook that has only failed for this long is disabled. */
  readonly disableAfterMs: number;
}

/**
 * Stores what attempts say about their webhooks: those that called them. Returns why webhooks were disabled,
 * by the attempt that led to it.
 */
export type StoreHookHealth = (
  tx: Kysely<WebhookTables>,
  attempts: readonly Attempt[],
) => Promise<ReadonlyMap<Attempt, NonNullable<Settled['disabledReason']>>>;

/** Nothing is written, or even read, unless a webhook changes: the cached row tells. */
export function createHookHealth({
  storage,
  clock,
  cache,
  disableAfterMs,
}: HealthDependencies): StoreHookHealth {
  const noteSuccess = storage.prepare<WebhookTables, { id: string; now: number }>((db, { id, now }) =>
    db.updateTable('webhook').set({ failing_since: null, last_success_at: now }).where('id', '=', id),
  );
  const noteFailure = storage.prepare<WebhookTables, { id: string; now: number }>((db, { id, now }) =>
    db
      .updateTable('webhook')
      .set({ failing_since: now })
      .where('id', '=', id)
      .where('failing_since', 'is', null),
  );

  async function write(
    tx: Kysely<WebhookTables>,
    row: WebhookRow,
    statement: typeof noteSuccess,
    changes: Partial<WebhookRow>,
  ): Promise<void> {
    await statement.run(tx, { id: row.id, now: clock.now().getTime() });
    storage.afterCommit(tx, () => cache.patch(row.client_id, row.id, changes));
  }

  async function storeOne(
    tx: Kysely<WebhookTables>,
    row: WebhookRow,
    attempts: readonly Attempt[],
  ): Promise<readonly [Attempt, 'gone' | 'failing'] | undefined> {
    const now = clock.now().getTime();
    const gone = attempts.find(({ result }) => result.outcome === 'gone');
    if (gone !== undefined) return (await disable(tx, row, 'gone')) ? [gone, 'gone'] : undefined;
    if (attempts.some(({ result }) => result.outcome === 'delivered')) {
      if (row.failing_since !== null || now - (row.last_success_at ?? 0) >= successEveryMs)
        await write(tx, row, noteSuccess, { failing_since: null, last_success_at: now });
      return undefined;
    }
    if (row.failing_since === null) {
      await write(tx, row, noteFailure, { failing_since: now });
      return undefined;
    }
    const last = attempts.at(-1);
    if (last === undefined || now - row.failing_since < disableAfterMs) return undefined;
    return (await disable(tx, row, 'failing')) ? [last, 'failing'] : undefined;
  }

  async function disable(
    tx: Kysely<WebhookTables>,
    { id, url }: WebhookRow,
    reason: 'gone' | 'failing',
  ): Promise<boolean> {
    const query = tx.selectFrom('webhook').selectAll().where('id', '=', id);
    const row = await storage.forUpdate(query).executeTakeFirst();
    const now = clock.now().getTime();
    // Its target may have been changed while the former one was called.
    if (row === undefined || row.is_enabled === 0 || row.url !== url) return false;
    if (reason === 'failing' && (row.failing_since === null || now - row.failing_since < disableAfterMs))
      return false;
    await tx
      .updateTable('webhook')
      .set({
        is_enabled: 0,
        disabled_reason: reason,
        failing_since: row.failing_since ?? now,
        updated_at: now,
      })
      .where('id', '=', id)
      .execute();
    cache.announce(tx);
    return true;
  }

  return async (tx, attempts) => {
    const disabled = new Map<Attempt, 'gone' | 'failing'>();
    const called = attempts.filter(({ result }) => result.isUncalled !== true);
    const byHook = Map.groupBy(called, ({ hook }) => hook.row.id);
    // In one order everywhere, so that two transactions never wait for each other.
    for (const id of [...byHook.keys()].toSorted()) {
      const some = byHook.get(id) ?? [];
      const [first] = some;
      const found = first === undefined ? undefined : await storeOne(tx, first.hook.row, some);
      if (found !== undefined) disabled.set(...found);
    }
    return disabled;
  };
}
