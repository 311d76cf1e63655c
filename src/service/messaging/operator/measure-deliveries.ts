import { sql } from 'kysely';
import type { RecipientState } from '../../../lib/recipient-states/index.ts';
import type { Storage } from '../../../platform/index.ts';
import type { MessagingTables } from '../tables.ts';

/** The recipients of the messages accepted in one month. */
export interface DeliveryMonth {
  /** In UTC, as `2026-11`. */
  readonly month: string;
  readonly recipients: number;
  /** By the state that they have now. */
  readonly states: Readonly<Partial<Record<RecipientState, number>>>;
  /** Seconds from acceptance to the last state of those delivered; absent if there is none. */
  readonly delivered: { readonly median: number; readonly p95: number; readonly slowest: number } | undefined;
}

/**
 * Outcomes and times by month of acceptance, from the messages that are still kept
 * (`messaging.messageDays`). Reads each recipient of the period.
 */
export async function measureDeliveries(
  storage: Storage,
  { since, until }: { readonly since: Date; readonly until: Date },
): Promise<readonly DeliveryMonth[]> {
  const months = new Map<string, { states: Map<RecipientState, number>; seconds: Map<number, number> }>();
  const rows = storage
    .tables<MessagingTables>()
    .selectFrom('message_recipient')
    .select(['state', 'created_at', 'status_at'])
    .where('created_at', '>=', since.getTime())
    .where('created_at', '<', until.getTime())
    .stream(1000);
  for await (const { state, created_at: createdAt, status_at: statusAt } of rows) {
    const name = new Date(Number(createdAt)).toISOString().slice(0, 7);
    const month = months.get(name) ?? { states: new Map(), seconds: new Map() };
    months.set(name, month);
    add(month.states, state);
    const isDelivered = state === 'processed' || state === 'dispatched';
    if (isDelivered)
      add(month.seconds, Math.max(0, Math.ceil((Number(statusAt) - Number(createdAt)) / 1000)));
  }
  return [...months.entries()]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([month, { states, seconds }]) => ({
      month,
      recipients: total(states),
      states: Object.fromEntries([...states.entries()].sort(([a], [b]) => (a < b ? -1 : 1))),
      delivered: seconds.size === 0 ? undefined : describe(seconds),
    }));
}

function add<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

const total = (counts: ReadonlyMap<unknown, number>): number =>
  [...counts.values()].reduce((sum, count) => sum + count, 0);

/** `seconds` counts deliveries by their whole seconds. */
function describe(seconds: ReadonlyMap<number, number>): NonNullable<DeliveryMonth['delivered']> {
  const sorted = [...seconds.entries()].sort(([a], [b]) => a - b);
  const count = total(seconds);
  const at = (share: number): number => {
    let left = Math.ceil(share * count);
    return sorted.find(([, number]) => (left -= number) <= 0)?.[0] ?? 0;
  };
  return { median: at(0.5), p95: at(0.95), slowest: sorted.at(-1)?.[0] ?? 0 };
}

/** Counted at most. */
const maxCounted = 100_000;

interface SentCount {
  readonly count: number;
  readonly lastAt: Date | undefined;
}

/**
 * By client, the number of its sends since a time, at most 100,000, and the time of the last one. For a few
 * hundred clients at once.
 */
export async function countSent(
  storage: Storage,
  clientIds: readonly string[],
  since: Date,
): Promise<ReadonlyMap<string, SentCount>> {
  if (clientIds.length === 0) return new Map();
  const db = storage.tables<MessagingTables>();
  const clients = sql.join(clientIds.map((id) => sql`(cast(${id} as text))`));
  // One statement for all of them, and for each two looks into the index of clients and times.
  const { rows } = await sql<{ client_id: string; count: number; last_at: number | null }>`
    select client.column1 as client_id,
      (select count(*) from (select 1 from message
        where client_id = client.column1 and created_at >= ${since.getTime()} limit ${sql.lit(maxCounted)}) as sent) as count,
      (select max(created_at) from message where client_id = client.column1) as last_at
    from (values ${clients}) as client`.execute(db);
  return new Map(
    rows.map((row) => [
      row.client_id,
      {
        count: Number(row.count),
        lastAt: row.last_at === null ? undefined : new Date(Number(row.last_at)),
      },
    ]),
  );
}
