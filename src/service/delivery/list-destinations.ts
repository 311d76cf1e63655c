import { sql } from 'kysely';
import type { Storage } from '../../platform/index.ts';
import type { DeliveryFailureReason, DeliveryTables } from './tables.ts';

/** All that waits for one destination. */
export interface WaitingDestination {
  readonly domain: string;
  /** Of edge clients; `reports` are MDNs and DSNs. */
  readonly messages: number;
  readonly reports: number;
  /** Being tried at this moment. */
  readonly running: number;
  readonly oldestAt: Date;
  /** The most of any. */
  readonly attempts: number;
  /** The most frequent one of last attempts; undefined before the first. */
  readonly reason: DeliveryFailureReason | undefined;
  /** The last reason, of the oldest item. */
  readonly lastError: string;
  /** Undefined if all is being tried. */
  readonly nextAttemptAt: Date | undefined;
}

export interface DestinationQuery {
  readonly domain?: string | undefined;
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/**
 * The destination whose oldest delivery waits longest comes first. `nowMs` is by the machine's clock, for
 * dates that people read.
 */
export async function listDestinations(
  storage: Storage,
  nowMs: number,
  { domain, limit, cursor }: DestinationQuery,
): Promise<{ readonly items: readonly WaitingDestination[]; readonly next?: string }> {
  const db = storage.tables<DeliveryTables>();
  const steadyNow = storage.clock.now().getTime();
  const oldest = sql<string>`min(o.id)`;
  const rows = await db
    .selectFrom('delivery_destination as o')
    .innerJoin('delivery as d', 'd.id', 'o.delivery_id')
    .select([
      'o.domain',
      oldest.as('oldest'),
      sql<number>`min(d.created_at)`.as('created'),
      sql<number>`max(o.attempts)`.as('attempts'),
      sql<number>`sum(case when d.kind = 'message' then 1 else 0 end)`.as('messages'),
      sql<number>`sum(case when d.kind = 'message' then 0 else 1 end)`.as('reports'),
      sql<number>`sum(case when o.lease_until > ${steadyNow} then 1 else 0 end)`.as('running'),
      sql<number | null>`min(case when o.lease_until > ${steadyNow} then null else o.next_attempt_at end)`.as(
        'due',
      ),
    ])
    .$if(domain !== undefined, (query) => query.where('o.domain', '=', (domain ?? '').toLowerCase()))
    .groupBy('o.domain')
    .$if(cursor !== undefined, (query) => query.having(oldest, '>', cursor ?? ''))
    .orderBy(oldest)
    .limit(limit + 1)
    .execute();
  const page = rows.slice(0, limit);
  const problems = await findProblems(
    storage,
    page.map((row) => row.domain),
  );
  const items = page.map((row): WaitingDestination => {
    const problem = problems.get(row.domain);
    return {
      domain: row.domain,
      messages: Number(row.messages),
      reports: Number(row.reports),
      running: Number(row.running),
      oldestAt: new Date(Number(row.created)),
      attempts: Number(row.attempts),
      reason: problem?.reason,
      lastError: problem?.lastError ?? '',
      nextAttemptAt:
        row.due === null ? undefined : new Date(Math.max(Number(row.due), steadyNow) + nowMs - steadyNow),
    };
  });
  const last = rows.length > limit ? page.at(-1) : undefined;
  return { items, ...(last !== undefined && { next: last.oldest }) };
}

interface Problem {
  readonly reason: DeliveryFailureReason;
  readonly lastError: string;
}

async function findProblems(
  storage: Storage,
  domains: readonly string[],
): Promise<ReadonlyMap<string, Problem>> {
  if (domains.length === 0) return new Map();
  const db = storage.tables<DeliveryTables>();
  const counts = await db
    .selectFrom('delivery_destination')
    .select(['domain', 'last_reason', sql<number>`count(*)`.as('count'), sql<string>`min(id)`.as('first')])
    .where('domain', 'in', domains)
    .where('last_reason', '<>', '')
    .groupBy(['domain', 'last_reason'])
    .execute();
  const most = new Map<string, (typeof counts)[number]>();
  for (const row of counts) {
    if (Number(row.count) > Number(most.get(row.domain)?.count ?? 0)) most.set(row.domain, row);
  }
  const firsts = [...most.values()].map(({ first }) => first);
  if (firsts.length === 0) return new Map();
  const errors = await db
    .selectFrom('delivery_destination')
    .select(['domain', 'last_reason', 'last_error'])
    .where('id', 'in', firsts)
    .execute();
  return new Map(
    errors.flatMap(({ domain, last_reason: reason, last_error: lastError }) =>
      reason === '' ? [] : [[domain, { reason, lastError }] as const],
    ),
  );
}
