import type { Clock, Closable, Log } from '../../core/index.ts';
import { sql } from 'kysely';
import { startRounds, tablesOf, type Config, type Storage } from '../../platform/index.ts';
import { deleteOldRows, isNotificationOnHold, type OldRows } from '../legal-hold/index.ts';
import type { WebhookTables } from './tables.ts';

/** `deadLetterDays` also of notifications that are held for a disabled webhook. */
export type Retention = Pick<Config['webhook'], 'deadLetterDays' | 'attemptDays'>;

export interface PurgeDependencies {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly log: Log;
  readonly retention: Retention;
}

const everyMs = 3_600_000;

/** Deletes rows older than their retention, in batches, on one node at a time. */
export async function runPurge(deps: PurgeDependencies): Promise<void> {
  await deps.storage.tryRunExclusive('webhook-purge', async () => {
    await purgeSettled(deps);
    await purgeAttempts(deps);
  });
}

async function purgeSettled({ storage, clock, retention }: PurgeDependencies): Promise<void> {
  const beforeMs = clock.now().getTime() - retention.deadLetterDays * 86_400_000;
  const rows: OldRows = {
    name: 'webhook-notifications',
    table: 'webhook_notification',
    order: ['settled_at', 'id'],
    // With the condition of the partial index.
    isOld: sql<boolean>`webhook_notification.settled_at is not null
      and webhook_notification.settled_at < ${beforeMs}`,
    isOnHold: isNotificationOnHold(
      sql.ref('webhook_notification.webhook_id'),
      sql.ref('webhook_notification.subject'),
    ),
  };
  await deleteOldRows(storage, rows, (tx, ids) =>
    tablesOf<WebhookTables>(tx).deleteFrom('webhook_notification').where('id', 'in', ids).execute(),
  );
}

async function purgeAttempts({ storage, clock, retention }: PurgeDependencies): Promise<void> {
  const beforeMs = clock.now().getTime() - retention.attemptDays * 86_400_000;
  const rows: OldRows = {
    name: 'webhook-attempts',
    table: 'webhook_attempt',
    order: ['attempted_at', 'id'],
    isOld: sql<boolean>`webhook_attempt.attempted_at < ${beforeMs}`,
    isOnHold: isNotificationOnHold(
      sql.ref('webhook_attempt.webhook_id'),
      sql.ref('webhook_attempt.message_id'),
    ),
  };
  await deleteOldRows(storage, rows, (tx, ids) =>
    tablesOf<WebhookTables>(tx).deleteFrom('webhook_attempt').where('id', 'in', ids).execute(),
  );
}

/** Purges now and then every hour. */
export function startPurge(deps: PurgeDependencies): Closable {
  return startRounds({ name: 'webhook-purge', everyMs, log: deps.log, work: () => runPurge(deps) });
}
