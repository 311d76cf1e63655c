import { sql } from 'kysely';
import { toHex } from '../../core/index.ts';
import type { Storage } from '../../platform/index.ts';
import type { AuditTables } from './chain.ts';
import { toRecord, type AuditRecord } from './find-events.ts';

/** A span of time: `since` belongs to it, `until` does not. */
export interface AuditPeriod {
  readonly since: Date;
  readonly until: Date;
}

/** How often an action had an outcome in a month. */
export interface EventCount {
  /** In UTC, as `2026-11`. */
  readonly month: string;
  readonly action: string;
  readonly outcome: string;
  readonly count: number;
}

/** Where a period begins and ends in the chain. Hashes are hex. */
export interface PeriodBounds {
  readonly eventCount: number;
  readonly firstSequence: number;
  readonly lastSequence: number;
  readonly lastHash: string;
}

const dayMs = 86_400_000;

/** By month, action and outcome. Reads every row of the period. */
export async function countEvents(storage: Storage, period: AuditPeriod): Promise<readonly EventCount[]> {
  const rows = await within(storage, period)
    // Whole numbers are divided without a rest by both engines.
    .select([sql<number>`recorded_at / ${sql.lit(dayMs)}`.as('day'), 'action', 'outcome'])
    .select(({ fn }) => fn.countAll().as('count'))
    .groupBy(['day', 'action', 'outcome'])
    .execute();
  const counts = new Map<string, EventCount>();
  for (const { day, action, outcome, count } of rows) {
    const month = new Date(Number(day) * dayMs).toISOString().slice(0, 7);
    const key = `${month} ${action} ${outcome}`;
    counts.set(key, { month, action, outcome, count: (counts.get(key)?.count ?? 0) + Number(count) });
  }
  return [...counts.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, count]) => count);
}

/** Rows of some actions, oldest first. */
export async function* readEvents(
  storage: Storage,
  actions: readonly string[],
  period: AuditPeriod,
): AsyncGenerator<AuditRecord> {
  if (actions.length === 0) return;
  const rows = within(storage, period)
    .selectAll()
    .where('action', 'in', [...actions])
    .orderBy('sequence')
    .stream(1000);
  for await (const row of rows) yield toRecord(row);
}

/** Undefined for a period without an event. */
export async function findBounds(storage: Storage, period: AuditPeriod): Promise<PeriodBounds | undefined> {
  const { first, last, count } = await within(storage, period)
    .select(({ fn }) => [
      fn.min('sequence').as('first'),
      fn.max('sequence').as('last'),
      fn.countAll().as('count'),
    ])
    .executeTakeFirstOrThrow();
  if (Number(count) === 0) return undefined;
  const { hash } = await storage
    .tables<AuditTables>()
    .selectFrom('audit_event')
    .select('hash')
    .where('sequence', '=', Number(last))
    .executeTakeFirstOrThrow();
  return {
    eventCount: Number(count),
    firstSequence: Number(first),
    lastSequence: Number(last),
    lastHash: toHex(hash),
  };
}

const within = (storage: Storage, { since, until }: AuditPeriod) =>
  storage
    .tables<AuditTables>()
    .selectFrom('audit_event')
    .where('recorded_at', '>=', since.getTime())
    .where('recorded_at', '<', until.getTime());
