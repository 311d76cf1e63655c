import { sql } from 'kysely';
import type { Storage } from '../../platform/index.ts';
import { readSourceAddresses } from '../directory/index.ts';
import { verifiedStates, type VerificationTables, type VerifiedState } from './tables.ts';

/** Addresses by state; `unverified` have not been looked at yet. */
export type StateCounts = Readonly<Record<VerifiedState | 'unverified', number>>;

export interface DomainFigures {
  readonly domain: string;
  readonly nameServer: string;
  readonly counts: StateCounts;
  /** Questions of the running or last cycle. */
  readonly queries: number;
  readonly checkedAt: string | undefined;
}

export interface VerificationStatus {
  readonly isRunning: boolean;
  readonly domains: number;
  /** Domains that have been through a whole cycle. */
  readonly checkedDomains: number;
  readonly dueDomains: number;
  readonly counts: Omit<StateCounts, 'unverified'>;
  /** Why addresses are not trusted, the most frequent first. */
  readonly reasons: readonly {
    readonly state: VerifiedState;
    readonly reason: string;
    readonly count: number;
  }[];
}

export async function readVerificationStatus(storage: Storage): Promise<VerificationStatus> {
  const db = storage.tables<VerificationTables>();
  const now = storage.clock.now().getTime();
  const [{ is_running }, domains, rows] = await Promise.all([
    db.selectFrom('verification_state').select('is_running').executeTakeFirstOrThrow(),
    db
      .selectFrom('verification_domain')
      .select([
        sql<number>`count(*)`.as('all'),
        sql<number>`count(checked_at)`.as('checked'),
        sql<number>`count(case when next_attempt_at <= ${now} then 1 end)`.as('due'),
      ])
      .executeTakeFirstOrThrow(),
    db
      .selectFrom('verification_address')
      .select(['state', 'reason', sql<number>`count(*)`.as('count')])
      .groupBy(['state', 'reason'])
      .execute(),
  ]);
  const counts = Object.fromEntries(verifiedStates.map((state) => [state, 0])) as Record<
    VerifiedState,
    number
  >;
  for (const { state, count } of rows) counts[state] += Number(count);
  return {
    isRunning: is_running === 1,
    domains: Number(domains.all),
    checkedDomains: Number(domains.checked),
    dueDomains: Number(domains.due),
    counts,
    reasons: rows
      .filter(({ reason }) => reason !== '')
      .map(({ state, reason, count }) => ({ state, reason, count: Number(count) }))
      .toSorted((a, b) => b.count - a.count),
  };
}

/** The domains with the most addresses that are not trusted, at most `limit`. */
export async function readDomainFigures(storage: Storage, limit: number): Promise<readonly DomainFigures[]> {
  const db = storage.tables<VerificationTables>();
  const countOf = (state: VerifiedState) =>
    sql<number>`count(case when a.state = ${state} then 1 end)`.as(state);
  const rows = await db
    .selectFrom('verification_domain as d')
    .innerJoin('verification_address as a', 'a.domain', 'd.id')
    .select(['d.id', 'd.name_server', 'd.queries', 'd.checked_at', ...verifiedStates.map(countOf)])
    .groupBy(['d.id', 'd.name_server', 'd.queries', 'd.checked_at'])
    .orderBy(sql`count(case when a.state <> 'trusted' then 1 end)`, 'desc')
    .orderBy('d.id')
    .limit(limit)
    .execute();
  return rows.map((row) => ({
    domain: row.id,
    nameServer: row.name_server,
    queries: row.queries,
    checkedAt: row.checked_at === null ? undefined : new Date(Number(row.checked_at)).toISOString(),
    counts: {
      ...(Object.fromEntries(
        verifiedStates.map((state) => [state, Number(row[state as keyof typeof row])]),
      ) as Record<VerifiedState, number>),
      unverified: 0,
    },
  }));
}

export interface SourceFigures {
  readonly source: string;
  readonly addresses: number;
  readonly counts: StateCounts;
}

/**
 * For each source of the directory, in order of precedence, counts of its addresses by state. Reads the whole
 * directory.
 */
export async function readSourceFigures(storage: Storage): Promise<readonly SourceFigures[]> {
  const states = await readAllStates(storage);
  const figures: {
    source: string;
    seen: Set<string>;
    counts: Record<VerifiedState | 'unverified', number>;
  }[] = [];
  for await (const { source, addresses } of readSourceAddresses(storage)) {
    let current = figures.at(-1);
    if (current?.source !== source) {
      current?.seen.clear();
      current = { source, seen: new Set(), counts: emptyCounts() };
      figures.push(current);
    }
    for (const address of addresses) {
      const key = address.toLowerCase();
      if (key === '' || current.seen.has(key)) continue;
      current.seen.add(key);
      current.counts[states.get(key) ?? 'unverified']++;
    }
  }
  return figures.map(({ source, counts }) => ({
    source,
    addresses: Object.values(counts).reduce((sum, count) => sum + count, 0),
    counts,
  }));
}

function emptyCounts(): Record<VerifiedState | 'unverified', number> {
  const names = [...verifiedStates, 'unverified'] as const;
  return Object.fromEntries(names.map((name) => [name, 0])) as Record<VerifiedState | 'unverified', number>;
}

/** Rows read at once. */
const rowsAtOnce = 20_000;

async function readAllStates(storage: Storage): Promise<ReadonlyMap<string, VerifiedState>> {
  const states = new Map<string, VerifiedState>();
  const db = storage.tables<VerificationTables>();
  for (let after = ''; ;) {
    const rows = await db
      .selectFrom('verification_address')
      .select(['address_key', 'state'])
      .where('address_key', '>', after)
      .orderBy('address_key')
      .limit(rowsAtOnce)
      .execute();
    for (const row of rows) states.set(row.address_key, row.state);
    if (rows.length < rowsAtOnce) return states;
    after = rows.at(-1)?.address_key ?? '';
  }
}
