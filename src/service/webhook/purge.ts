import type { Clock, Closable, Log } from '../../core/index.ts';
import { startWorker, type Config, type Storage } from '../../platform/index.ts';
import type { WebhookTables } from './tables.ts';

export interface Retention {
  /** Dead notifications, and those held for a disabled webhook. */
  readonly keepDeadLettersMs: number;
  /** Attempts. */
  readonly keepAttemptsMs: number;
}

export function notificationRetentionOf(settings: Config['webhook']): Retention {
  return {
    keepDeadLettersMs: settings.deadLetterDays * 86_400_000,
    keepAttemptsMs: settings.attemptDays * 86_400_000,
  };
}

export interface PurgeDependencies {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly log: Log;
  readonly retention: Retention;
}

const everyMs = 3_600_000;
const batch = 500;

/** Deletes rows older than their retention, in batches, on one node at a time. */
async function purge(deps: PurgeDependencies): Promise<void> {
  await deps.storage.tryRunExclusive('webhook-purge', async () => {
    while ((await purgeSettled(deps)) === batch);
    while ((await purgeAttempts(deps)) === batch);
  });
}

async function purgeSettled({ storage, clock, retention }: PurgeDependencies): Promise<number> {
  const before = clock.now().getTime() - retention.keepDeadLettersMs;
  const result = await storage
    .tables<WebhookTables>()
    .deleteFrom('webhook_notification')
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('webhook_notification')
        .select('id')
        .where('settled_at', 'is not', null)
        .where('settled_at', '<', before)
        .limit(batch),
    )
    .executeTakeFirst();
  return Number(result.numDeletedRows);
}

async function purgeAttempts({ storage, clock, retention }: PurgeDependencies): Promise<number> {
  const before = clock.now().getTime() - retention.keepAttemptsMs;
  const result = await storage
    .tables<WebhookTables>()
    .deleteFrom('webhook_attempt')
    .where('id', 'in', (eb) =>
      eb.selectFrom('webhook_attempt').select('id').where('attempted_at', '<', before).limit(batch),
    )
    .executeTakeFirst();
  return Number(result.numDeletedRows);
}

/** Purges now and then every hour. */
export function startPurge(deps: PurgeDependencies): Closable {
  return startWorker<never>({
    name: 'webhook-purge',
    claim: async () => {
      await purge(deps);
      return [];
    },
    handle: async () => {},
    idleMs: everyMs,
    concurrency: 1,
    log: deps.log,
  });
}
