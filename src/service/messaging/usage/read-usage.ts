import { sql } from 'kysely';
import type { Storage } from '../../../platform/index.ts';
import { everything, whereOwned, type Owned } from '../../organizations/index.ts';
import { MessagingError } from '../errors.ts';
import type { MessagingTables } from '../tables.ts';

/** By what the rows of an answer are told apart. */
export const usageGroups = ['day', 'month', 'organization', 'client', 'domain'] as const;
export type UsageGroup = (typeof usageGroups)[number];

export interface UsageQuery {
  /** First and last month, `YYYY-MM`, in UTC. */
  readonly from: string;
  readonly to: string;
  readonly by: readonly UsageGroup[];
  readonly organizationId?: string | undefined;
  /** Everything by default. */
  readonly owned?: Owned;
  readonly clientId?: string | undefined;
  readonly domain?: string | undefined;
  /** Rows at most; one more is read by nobody. */
  readonly limit: number;
}

export interface UsageRow {
  /** Each empty unless the rows are told apart by it. */
  readonly day: string;
  readonly month: string;
  readonly organization: string;
  readonly clientId: string;
  readonly domain: string;
  readonly messages: number;
  readonly recipients: number;
  /** Of the messages as they were composed, before they are sealed. */
  readonly octets: number;
  readonly delivered: number;
  readonly failed: number;
  readonly waiting: number;
}

export interface UsageAnswer {
  readonly rows: readonly UsageRow[];
  /** There are more than `limit`. */
  readonly isCut: boolean;
  /** Of the newest count; undefined if nothing was counted yet. */
  readonly countedAt: Date | undefined;
}

const expressions = {
  day: sql<string>`day`,
  month: sql<string>`substr(day, 1, 7)`,
  organization: sql<string>`organization_id`,
  client: sql<string>`client_id`,
  domain: sql<string>`domain`,
} as const satisfies Readonly<Record<UsageGroup, unknown>>;

const sums = ['messages', 'recipients', 'octets', 'delivered', 'failed'] as const;

/**
 * What was sent in a period, in the order of `by`. The figures of the last minutes may still be missing.
 * Throws MESSAGING_REQUEST_INVALID.
 */
export async function readUsage(storage: Storage, query: UsageQuery): Promise<UsageAnswer> {
  const { from, to, by, organizationId, owned = everything, clientId, domain, limit } = query;
  for (const [field, month] of [
    ['from', from],
    ['to', to],
  ] as const)
    if (!/^\d{4}-(?:0[1-9]|1[0-2])$/.test(month)) refuse(field, 'a month is written as 2026-11');
  if (from > to) refuse('from', `${from} is after ${to}`);
  const db = storage.tables<MessagingTables>();
  let select = db
    .selectFrom('usage_day')
    .select((eb) => sums.map((name) => eb.fn.sum(name).as(name)))
    .where('day', '>=', `${from}-01`)
    .where('day', '<=', `${to}-31`);
  select = select.where(whereOwned(owned, 'organizations', sql.ref('organization_id')));
  if (organizationId !== undefined) select = select.where('organization_id', '=', organizationId);
  if (clientId !== undefined) select = select.where('client_id', '=', clientId);
  if (domain !== undefined) select = select.where('domain', '=', domain.toLowerCase());
  for (const group of by)
    select = select
      .select(expressions[group].as(`by_${group}`))
      .groupBy(expressions[group])
      .orderBy(expressions[group]) as typeof select;
  const found = await select.limit(limit + 1).execute();
  const last = await db
    .selectFrom('usage_count')
    .select((eb) => eb.fn.max('counted_at').as('at'))
    .executeTakeFirst();
  return {
    rows: found.slice(0, limit).flatMap((row) => toRow(row as Readonly<Record<string, unknown>>)),
    isCut: found.length > limit,
    countedAt: (last?.at ?? null) === null ? undefined : new Date(Number(last?.at)),
  };
}

/** The sum of no rows is a row of nulls. */
function toRow(row: Readonly<Record<string, unknown>>): readonly UsageRow[] {
  if ((row['messages'] ?? null) === null) return [];
  const text = (group: UsageGroup): string => textOf(row[`by_${group}`]);
  const [messages = 0, recipients = 0, octets = 0, delivered = 0, failed = 0] = sums.map((name) =>
    Number(row[name]),
  );
  return [
    {
      day: text('day'),
      month: text('month'),
      organization: text('organization'),
      clientId: text('client'),
      domain: text('domain'),
      messages,
      recipients,
      octets,
      delivered,
      failed,
      waiting: recipients - delivered - failed,
    },
  ];
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

function refuse(field: string, detail: string): never {
  throw new MessagingError('MESSAGING_REQUEST_INVALID', `${field}: ${detail}`, {
    problems: [{ field, reason: 'invalid', detail }],
  });
}

/** The month so many months before a time, `YYYY-MM`, in UTC. */
export function monthsBefore(now: Date, months: number): string {
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months)).toISOString().slice(0, 7);
}
