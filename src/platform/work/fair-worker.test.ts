/**
 * Two workers over one table in memory, whose statements fail before or after their effect, and whose items
 * are taken from them.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fc } from '../../../test/support/fast-check.ts';
import { createDeadline } from '../../../test/support/time-scale.ts';
import { silentLog } from '../../core/index.ts';
import type { AttemptVerdict, FairItem, FairLimits } from './parties.ts';
import { startFairWorker, type FairWorker } from './fair-worker.ts';
import { requireLease, type Leased, type Leases } from './leases.ts';

const leaseMs = 90;
const common = { slowAfterMs: 30, failuresBeforeBackOff: 3, backOffMs: 20, maxBackOffMs: 40 };
const kinds: Readonly<Record<string, FairLimits>> = {
  destinations: {
    ...common,
    slots: 3,
    share: 2,
    slowSlots: 2,
    slowShare: 1,
    isSlowUntilAnswered: true,
    waiting: 16,
  },
  webhooks: {
    ...common,
    slots: 4,
    share: 2,
    groupShare: 3,
    slowSlots: 2,
    slowShare: 2,
    slowGroupShare: 1,
    waiting: 12,
  },
};

interface Row {
  readonly id: string;
  readonly party: string;
  readonly group: string | undefined;
  nextAttemptAt: number;
  token: string | null;
  until: number;
}

const plan = fc.record({
  /** By item: its party, and how its attempts go, the last of which goes well. */
  items: fc.array(
    fc.record({
      party: fc.nat(5),
      isOffered: fc.boolean(),
      afterMs: fc.nat(60),
      attempts: fc.array(
        fc.record({
          ms: fc.constantFrom(0, 0, 1, 5, 40, 120),
          ends: fc.constantFrom('ok', 'failing', 'untried', 'throws', 'stolen'),
        } as const),
        { maxLength: 3 },
      ),
    }),
    { minLength: 5, maxLength: 40, size: 'max' },
  ),
  /** Whether the statements of a node fail, in turn. */
  faults: fc.array(fc.constantFrom('no', 'no', 'no', 'before', 'after'), {
    minLength: 1,
    maxLength: 40,
    size: 'max',
  }),
  standstillMs: fc.constantFrom(0, 0, 200),
  /** When the second node closes. */
  closesAfterMs: fc.constantFrom(undefined, 0, 10, 40, 90),
} as const);
type Plan = typeof plan extends fc.Arbitrary<infer T> ? T : never;

for (const [kind, limits] of Object.entries(kinds))
  test(`whatever fails and in which order: each item is finished once, none is forgotten, and nothing stays held (${kind})`, () =>
    fc.assert(
      fc.asyncProperty(plan, (one) => runPlan(limits, one)),
      { numRuns: 10, endOnFailure: true },
    ));

async function runPlan(
  limits: FairLimits,
  { items, faults, standstillMs, closesAfterMs }: Plan,
): Promise<void> {
  const rows = new Map<string, Row>();
  const finished: string[] = [];
  let tokens = 0;
  let statements = 0;
  let isFaulty = true;
  const nowMs = (): number => performance.now();

  /** A statement of a node: it has its effect or not, and its caller learns of it or not. */
  async function statement<T>(effect: () => T): Promise<T> {
    const fault = isFaulty ? faults[statements++ % faults.length] : 'no';
    if (statements % 3 === 0) await sleep(statements % 4);
    else await new Promise(setImmediate);
    if (fault === 'before') throw new Error('the database is away');
    const result = effect();
    if (fault === 'after') throw new Error('the answer of the database is lost');
    await new Promise(setImmediate);
    return result;
  }

  const held = (leased: readonly Leased[]): Row[] =>
    leased.flatMap(({ id, token }) => {
      const row = rows.get(id);
      return row?.token === token ? [row] : [];
    });

  function free(row: Row): void {
    row.token = null;
    row.until = 0;
  }

  const leases: Omit<Leases, 'claim'> = {
    free: { lease_token: null, lease_until: 0 },
    begin: () => ({ lease_token: `${++tokens}`, lease_until: nowMs() + leaseMs }),
    renew: (leased) =>
      statement(() => {
        const kept = held(leased);
        for (const row of kept) row.until = nowMs() + leaseMs;
        const ids = new Set(kept.map(({ id }) => id));
        return leased.filter(({ id }) => !ids.has(id)).map(({ id }) => id);
      }),
    release: (leased, nextAttemptAt) =>
      statement(() => {
        for (const row of held(leased)) {
          free(row);
          row.nextAttemptAt = nextAttemptAt ?? row.nextAttemptAt;
        }
      }),
    releaseFormer: () => statement(() => {}),
  };

  const attemptsOf = new Map(items.map(({ attempts }, index) => [`i${index}`, [...attempts]]));

  function start(): FairWorker<FairItem> {
    const inProgress = new Set<string>();
    const ofParty = new Map<string, number>();
    return startFairWorker<FairItem>({
      name: 'test',
      limits,
      leases,
      leaseMs,
      idleMs: 10,
      log: silentLog,
      dueAfter: (ms) => nowMs() + ms,
      claim: (limit, excluded, excludedGroups, only) =>
        statement(() => {
          const now = nowMs();
          const due = [...rows.values()]
            .filter(({ nextAttemptAt, until }) => nextAttemptAt <= now && until <= now)
            .filter(({ party, group }) => !excluded.includes(party) && !excludedGroups.includes(group ?? ''))
            .filter(({ party }) => only?.includes(party) ?? true)
            .slice(0, limit);
          return due.map((row) => {
            row.token = `${++tokens}`;
            row.until = now + leaseMs;
            return itemOf(row);
          });
        }),
      handle: (item) => handle(item, inProgress, ofParty),
    });
  }

  async function handle(
    item: FairItem,
    inProgress: Set<string>,
    ofParty: Map<string, number>,
  ): Promise<AttemptVerdict> {
    assert.ok(!inProgress.has(item.id), 'one attempt at a time on a node');
    inProgress.add(item.id);
    const count = (change: number): void =>
      void ofParty.set(item.party, (ofParty.get(item.party) ?? 0) + change);
    count(1);
    faultsFound.push(
      ...((ofParty.get(item.party) ?? 0) > limits.share ? [`${item.party} exceeds its share`] : []),
    );
    try {
      const { ms = 0, ends = 'ok' } = attemptsOf.get(item.id)?.shift() ?? {};
      if (ms > 0) await sleep(ms);
      const row = rows.get(item.id);
      if (ends === 'throws') throw new Error('a fault of the handler');
      if (ends === 'stolen' && row !== undefined) {
        row.token = `${++tokens}`;
        row.until = nowMs() + leaseMs;
      }
      if (ends === 'untried') {
        await leases.release([item], nowMs() + 5);
        return 'untried';
      }
      await statement(() => {
        requireLease(held([item]).length, item.id);
        if (ends === 'failing') {
          const [one] = held([item]);
          if (one === undefined) return;
          free(one);
          one.nextAttemptAt = nowMs() + 5;
          return;
        }
        rows.delete(item.id);
        finished.push(item.id);
      });
      return ends === 'failing' ? 'failing' : 'ok';
    } finally {
      count(-1);
      inProgress.delete(item.id);
    }
  }

  const faultsFound: string[] = [];
  const workers = [start(), start()];
  const startedAt = nowMs();
  const adding = items.map(async ({ party, isOffered, afterMs }, index) => {
    if (afterMs > 0) await sleep(afterMs);
    const worker = workers[index % 2];
    const name = `p${party}`;
    const group = limits.groupShare === undefined ? undefined : `g${party % 2}`;
    const row: Row = { id: `i${index}`, party: name, group, nextAttemptAt: nowMs(), token: null, until: 0 };
    rows.set(row.id, row);
    if (!isOffered || !worker?.hasRoom(name, group)) return worker?.wake();
    row.token = `${++tokens}`;
    row.until = nowMs() + leaseMs;
    worker.offer(itemOf(row));
  });
  const closing =
    closesAfterMs === undefined ? undefined : sleep(closesAfterMs).then(() => workers[1]?.close());
  await Promise.all([...adding, closing]);
  assert.ok(closing === undefined || workers[1]?.held === 0, 'a closed worker holds nothing');
  await sleep(Math.max(0, 100 - (nowMs() - startedAt)));
  for (const until = nowMs() + standstillMs; nowMs() < until;);
  isFaulty = false;
  const deadline = createDeadline(5_000);
  while (rows.size > 0 || workers.some((worker) => worker.held > 0)) {
    assert.ok(
      !deadline.isOver(),
      `left: ${JSON.stringify([...rows.values()])}, held: ${workers.map(({ held: count }) => count).join(' ')}`,
    );
    await sleep(5);
  }
  await Promise.all(workers.map((worker) => worker.close()));
  assert.deepEqual(faultsFound, []);
  assert.deepEqual(finished.toSorted(), items.map((_, index) => `i${index}`).toSorted());
}

const itemOf = ({ id, token, party, group }: Row): FairItem => ({
  id,
  token: token ?? '',
  party,
  ...(group === undefined ? {} : { group }),
});
