import { sql } from 'kysely';
import type { Clock } from '../../core/index.ts';
import type { Storage } from '../../platform/index.ts';
import type { NotificationState, WebhookTables } from './tables.ts';

export interface NotificationMeasure {
  readonly state: NotificationState;
  readonly count: number;
  /** 0 if there is none. */
  readonly oldestSeconds: number;
}

const states: readonly NotificationState[] = ['waiting', 'held', 'dead'];

/** Notifications that have not been delivered, by state. */
export async function measureNotifications(
  storage: Storage,
  clock: Clock,
): Promise<readonly NotificationMeasure[]> {
  const rows = await storage
    .tables<WebhookTables>()
    .selectFrom('webhook_notification')
    .select(['state', sql<number>`count(*)`.as('count'), sql<number>`min(created_at)`.as('oldest')])
    .groupBy('state')
    .execute();
  const now = clock.now().getTime();
  return states.map((state) => {
    const row = rows.find((one) => one.state === state);
    return {
      state,
      count: Number(row?.count ?? 0),
      oldestSeconds: row === undefined ? 0 : Math.max(0, now - Number(row.oldest)) / 1000,
    };
  });
}
