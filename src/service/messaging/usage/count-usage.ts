/**
 * What clients send, by day: counted from the messages, so that the figures equal them whatever was killed,
 * repeated or late, and a send writes nothing more.
 * Used by `service/messaging`.
 * Begin with this file; `read-usage.ts` sums it up.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql, type Kysely } from 'kysely';
import { isFailedState, recipientStatesOf } from '../../../lib/recipient-states/index.ts';
import { orWords, startRounds, type Rounds, type Storage } from '../../../platform/index.ts';
import { readClientOwners } from '../../oauth/index.ts';
import { operatorOrganization } from '../../organizations/index.ts';
import type { MessagingDependencies } from '../ports.ts';
import type { MessagingTables, UsageDayRow } from '../tables.ts';

const dayMs = 86_400_000;
/** Clocks of nodes differ, and a transaction takes a while: a day is not final before. */
const graceMs = 3_600_000;
/** Read at once; other requests wait so long. */
const messagesPerSlice = 1000;
const rowsPerInsert = 500;
/** Months that are kept, the running one among them. */
const keepMonths = 36;

export interface UsageDependencies {
  readonly storage: Storage;
  readonly clock: { now(): Date };
}

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
const startOf = (day: string): number => Date.parse(`${day}T00:00:00Z`);

/**
 * Counts each day that is not final: today, days with recipients that wait, and days not counted so far.
 * Days of which messages were deleted stay as they are. One node does it at a time.
 */
export async function countUsage(
  { storage, clock }: UsageDependencies,
  keepMessagesMs: number,
): Promise<void> {
  const db = storage.tables<MessagingTables>();
  const nowMs = clock.now().getTime();
  const oldest = await findOldest(db);
  if (oldest === undefined) return deleteOld(db, nowMs);
  const whole = dayOf(nowMs - keepMessagesMs + dayMs - 1);
  const openMs = Math.min((await firstOpen(db)) ?? nowMs, nowMs);
  const first = dayOf(oldest) > whole ? dayOf(oldest) : whole;
  const finals = await db
    .selectFrom('usage_count')
    .select('day')
    .where('day', '>=', first)
    .where('is_final', '=', 1)
    .execute();
  const isFinal = new Set(finals.map(({ day }) => day));
  const organizations = await readClientOwners(storage);
  for (let day = first; startOf(day) <= nowMs; day = dayOf(startOf(day) + dayMs)) {
    if (isFinal.has(day) && startOf(day) + dayMs <= openMs) continue;
    const counted = await countDay(db, startOf(day));
    const rows = counted.map((row) => ({
      ...row,
      organization_id: organizations.get(row.client_id) ?? operatorOrganization,
    }));
    const isDone = startOf(day) + dayMs <= openMs && startOf(day) + dayMs + graceMs <= nowMs;
    await storage.transaction((tx: Kysely<MessagingTables>) => storeDay(tx, day, rows, { nowMs, isDone }));
  }
  await deleteOld(db, nowMs);
}

async function deleteOld(db: Kysely<MessagingTables>, nowMs: number): Promise<void> {
  const now = new Date(nowMs);
  const before = dayOf(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - keepMonths + 1, 1));
  await db.deleteFrom('usage_day').where('day', '<', before).execute();
  await db.deleteFrom('usage_count').where('day', '<', before).execute();
}

async function findOldest(db: Kysely<MessagingTables>): Promise<number | undefined> {
  const row = await db
    .selectFrom('message')
    .select('created_at')
    .orderBy('created_at')
    .limit(1)
    .executeTakeFirst();
  return row === undefined ? undefined : Number(row.created_at);
}

/** The oldest time of acceptance of a recipient whose state can change. */
async function firstOpen(db: Kysely<MessagingTables>): Promise<number | undefined> {
  const recipients = db.selectFrom('message_recipient').select((eb) => eb.fn.min('created_at').as('at'));
  const found = await Promise.all([
    // Literals, by which SQLite sees that the partial index has all of them.
    ...recipientStatesOf('waiting').map((state) =>
      recipients.where(sql<boolean>`(${sql.raw(orWords('state', [state]))})`).executeTakeFirst(),
    ),
    // Processed, and waiting for the MDN of the final destination.
    recipients.where('deadline_at', 'is not', null).executeTakeFirst(),
  ]);
  const times = found.flatMap((row) => ((row?.at ?? null) === null ? [] : [Number(row?.at)]));
  return times.length === 0 ? undefined : Math.min(...times);
}

type Counted = Omit<UsageDayRow, 'day' | 'organization_id'>;

async function countDay(db: Kysely<MessagingTables>, dayStartMs: number): Promise<readonly Counted[]> {
  const sums = new Map<string, Counted>();
  const sumOf = (clientId: string, domain: string): Counted => {
    const key = JSON.stringify([clientId, domain]);
    const sum = sums.get(key) ?? {
      client_id: clientId,
      domain,
      messages: 0,
      recipients: 0,
      octets: 0,
      delivered: 0,
      failed: 0,
    };
    sums.set(key, sum);
    return sum;
  };
  const endMs = dayStartMs + dayMs;
  for (let fromMs = dayStartMs; fromMs < endMs;) {
    const toMs = await endOfSlice(db, fromMs, endMs);
    const counted = await countSlice(db, fromMs, toMs);
    for (const row of counted.messages) {
      const sum = sumOf(row.client_id, row.domain);
      sum.messages += Number(row.messages);
      sum.octets += Number(row.octets);
    }
    for (const row of counted.recipients) {
      const sum = sumOf(row.client_id, row.domain);
      const count = Number(row.count);
      sum.recipients += count;
      if (isFailedState(row.state)) sum.failed += count;
      else if (recipientStatesOf('delivered').includes(row.state)) sum.delivered += count;
    }
    fromMs = toMs;
    await nextTurn();
  }
  return [...sums.values()];
}

async function endOfSlice(db: Kysely<MessagingTables>, fromMs: number, endMs: number): Promise<number> {
  const last = await db
    .selectFrom('message')
    .select('created_at')
    .where('created_at', '>=', fromMs)
    .where('created_at', '<', endMs)
    .orderBy('created_at')
    .offset(messagesPerSlice)
    .limit(1)
    .executeTakeFirst();
  return last === undefined ? endMs : Math.max(Number(last.created_at), fromMs + 1);
}

async function countSlice(db: Kysely<MessagingTables>, fromMs: number, toMs: number) {
  const domain = sql<string>`(replace(m.sender_key, rtrim(m.sender_key, replace(m.sender_key, '@', '')), ''))`;
  const slice = db
    .selectFrom('message as m')
    .where('m.created_at', '>=', fromMs)
    .where('m.created_at', '<', toMs);
  return {
    messages: await slice
      .select((eb) => [
        'm.client_id',
        domain.as('domain'),
        eb.fn.countAll().as('messages'),
        eb.fn.sum('m.size_bytes').as('octets'),
      ])
      .groupBy(['m.client_id', domain])
      .execute(),
    recipients: await slice
      .innerJoin('message_recipient as r', 'r.message_id', 'm.id')
      .select((eb) => ['m.client_id', domain.as('domain'), 'r.state', eb.fn.countAll().as('count')])
      .groupBy(['m.client_id', domain, 'r.state'])
      .execute(),
  };
}

async function storeDay(
  tx: Kysely<MessagingTables>,
  day: string,
  rows: readonly Omit<UsageDayRow, 'day'>[],
  { nowMs, isDone }: { readonly nowMs: number; readonly isDone: boolean },
): Promise<void> {
  await tx.deleteFrom('usage_day').where('day', '=', day).execute();
  for (let at = 0; at < rows.length; at += rowsPerInsert)
    await tx
      .insertInto('usage_day')
      .values(rows.slice(at, at + rowsPerInsert).map((row) => ({ ...row, day })))
      .execute();
  const mark = { counted_at: nowMs, is_final: isDone ? 1 : 0 };
  await tx
    .insertInto('usage_count')
    .values({ day, ...mark })
    .onConflict((conflict) => conflict.column('day').doUpdateSet(mark))
    .execute();
}

const everyMs = 60_000;
/** A count that took long waits longer for the next: it takes at most a twentieth of the time. */
const restFactor = 20;

/** Counts once per minute until it is closed. */
export function startUsageCount(deps: MessagingDependencies, keepMessagesMs: number): Rounds {
  let dueMs = 0;
  return startRounds({
    name: 'messaging-usage',
    everyMs,
    log: deps.log,
    async work() {
      const begunMs = performance.now();
      if (begunMs < dueMs) return;
      await deps.storage.tryRunExclusive('messaging-usage', () => countUsage(deps, keepMessagesMs));
      const endedMs = performance.now();
      dueMs = endedMs + Math.max(everyMs / 2, restFactor * (endedMs - begunMs));
    },
  });
}
