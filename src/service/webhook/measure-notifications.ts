import { sql, type SelectQueryBuilder } from 'kysely';
import type { Clock } from '../../core/index.ts';
import type { Storage } from '../../platform/index.ts';
import type { NotificationRow, NotificationState, WebhookKind, WebhookTables } from './tables.ts';

export interface NotificationMeasure {
  readonly state: NotificationState;
  readonly count: number;
  /** 0 if there is none. */
  readonly oldestSeconds: number;
}

/**
 * Rows counted of each kind that waits, and of the others; with more the numbers are those of rows that came
 * first.
 */
const maxCounted = 20_000;

/** Notifications that have not been delivered, by state. */
export async function measureNotifications(
  storage: Storage,
  clock: Clock,
): Promise<readonly NotificationMeasure[]> {
  const found = await Promise.all([
    ...kinds.map((kind) => count(storage, (rows) => waitingOf(rows, kind))),
    count(storage, (rows) => rows.where('settled_at', 'is not', null).orderBy('settled_at')),
  ]);
  const now = clock.now().getTime();
  return states.map((state) => {
    const rows = found.flat().filter((row) => row.state === state);
    const oldestAt = Math.min(now, ...rows.map(({ oldest }) => Number(oldest)));
    return {
      state,
      count: rows.reduce((sum, row) => sum + Number(row.count), 0),
      oldestSeconds: (now - oldestAt) / 1000,
    };
  });
}

const kinds: readonly WebhookKind[] = ['status', 'inbound'];
const states: readonly NotificationState[] = ['waiting', 'held', 'dead'];

type Rows = SelectQueryBuilder<
  WebhookTables,
  'webhook_notification',
  Pick<NotificationRow, 'state' | 'created_at'>
>;

// Literals, because a partial index is not used for a parameter.
const waitingOf = (rows: Rows, kind: WebhookKind): Rows =>
  rows.where('state', '=', sql.lit('waiting')).where('kind', '=', kind).orderBy('next_attempt_at');

function count(storage: Storage, select: (rows: Rows) => Rows) {
  const db = storage.tables<WebhookTables>();
  const rows = select(db.selectFrom('webhook_notification').select(['state', 'created_at']));
  return db
    .selectFrom(rows.limit(maxCounted).as('n'))
    .select(['state', sql<number>`count(*)`.as('count'), sql<number>`min(created_at)`.as('oldest')])
    .groupBy('state')
    .execute();
}
