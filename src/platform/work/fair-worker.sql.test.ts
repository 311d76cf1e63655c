import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { silentLog } from '../../core/index.ts';
import { createTestDatabase, openTestStorage } from '../../../test/support/storage.ts';
import type { Migration } from '../storage/migrate.ts';
import type { Storage } from '../storage/storage.ts';
import { startFairWorker, type FairWorker } from './fair-worker.ts';
import type { AttemptVerdict, FairItem, FairLimits } from './parties.ts';
import { createLeases, requireLease, type LeaseColumns, type Leases } from './leases.ts';
import { createDeadline } from '../../../test/support/time-scale.ts';

interface Tables {
  work: LeaseColumns & { party: string; next_attempt_at: number };
}

const table: Migration = {
  name: '0001-work',
  async up(db) {
    await db.schema
      .createTable('work')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('party', 'text', (column) => column.notNull())
      .addColumn('next_attempt_at', 'bigint', (column) => column.notNull())
      .addColumn('lease_token', 'text')
      .addColumn('lease_until', 'bigint', (column) => column.notNull())
      .execute();
  },
};

const limits: FairLimits = {
  slots: 4,
  share: 2,
  slowSlots: 2,
  slowShare: 1,
  slowAfterMs: 50,
  waiting: 100,
  failuresBeforeBackOff: 3,
  backOffMs: 100,
  maxBackOffMs: 1000,
};

/** On a busy machine a commit may take a second; its party must not turn slow by that. */
const longerThanACommit = 2000;

interface World {
  readonly storage: Storage;
  add(...parties: readonly string[]): Promise<readonly string[]>;
  start(
    handle: (item: FairItem) => Promise<AttemptVerdict>,
    changes?: Partial<FairLimits>,
    /** The worker renews three times in it. */
    leaseMs?: number,
  ): FairWorker<FairItem>;
  finish(item: FairItem): Promise<void>;
  left(): Promise<readonly string[]>;
  until(condition: () => boolean | Promise<boolean>): Promise<void>;
  /**
   * Holds attempts until it is opened. It opens at the latest when the test ends, so that a failed test
   * closes its workers.
   */
  gate(): Gate;
}

interface Gate {
  readonly opened: Promise<void>;
  open(): void;
}

async function withWorld(work: (world: World) => Promise<void>): Promise<void> {
  const storage = await openTestStorage({ migrations: [table] });
  const db = storage.tables<Tables>();
  const workers: FairWorker<FairItem>[] = [];
  const gates: Gate[] = [];
  let ids = 0;
  try {
    await work({
      storage,
      async add(...parties) {
        const rows = parties.map((party) => ({
          id: `${String(++ids).padStart(4, '0')}`,
          party,
          next_attempt_at: 0,
          lease_token: null,
          lease_until: 0,
        }));
        await db.insertInto('work').values(rows).execute();
        return rows.map(({ id }) => id);
      },
      start(handle, changes = {}, leaseMs = 60_000) {
        // Longer than any standstill of a busy machine.
        const leases = createLeases({ storage, table: 'work', leaseMs: 60_000 });
        const worker = startFairWorker<FairItem>({
          name: 'test',
          limits: { ...limits, ...changes },
          leases,
          leaseMs,
          idleMs: 20,
          log: silentLog,
          dueAfter: (ms) => storage.clock.now().getTime() + ms,
          handle,
          async claim(limit, excluded) {
            const nowMs = storage.clock.now().getTime();
            const rows = await db
              .with('due', (query) =>
                query
                  .selectFrom('work')
                  .select('id')
                  .where('next_attempt_at', '<=', nowMs)
                  .where('lease_until', '<=', nowMs)
                  .where('party', 'not in', [...excluded, ''])
                  .orderBy('id')
                  .limit(limit),
              )
              .updateTable('work')
              .set(leases.begin())
              .where('id', 'in', (query) => query.selectFrom('due').select('id'))
              .returning(['id', 'party', 'lease_token'])
              .execute();
            return rows.map(({ id, party, lease_token: token }) => ({ id, party, token: token ?? '' }));
          },
        });
        workers.push(worker);
        return worker;
      },
      async finish({ id, token }) {
        await storage.transaction(async (tx) => {
          const result = await (tx as typeof db)
            .deleteFrom('work')
            .where('id', '=', id)
            .where('lease_token', '=', token)
            .executeTakeFirst();
          requireLease(result.numDeletedRows, id);
        });
      },
      left: async () =>
        (await db.selectFrom('work').select('id').orderBy('id').execute()).map(({ id }) => id),
      async until(condition) {
        const deadline = createDeadline(20_000);
        while (!(await condition())) {
          assert.ok(!deadline.isOver(), 'the condition did not come true');
          await sleep(5);
        }
      },
      gate() {
        const { promise, resolve } = Promise.withResolvers<void>();
        const gate = { opened: promise, open: resolve };
        gates.push(gate);
        return gate;
      },
    });
  } finally {
    for (const gate of gates) gate.open();
    await Promise.all(workers.map((worker) => worker.close()));
    await storage.close();
  }
}

test('serves parties in turn, and one party never holds more than its share', () =>
  withWorld(async ({ add, start, finish, left, until }) => {
    await add(...Array.from({ length: 12 }, () => 'many'), 'few', 'few', 'one');
    const order: string[] = [];
    const now = new Map<string, number>();
    let most = 0;
    start(
      async (item) => {
        order.push(item.party);
        now.set(item.party, (now.get(item.party) ?? 0) + 1);
        most = Math.max(most, now.get('many') ?? 0);
        await sleep(10);
        now.set(item.party, (now.get(item.party) ?? 0) - 1);
        await finish(item);
        return 'ok';
      },
      { slowAfterMs: 5000 },
    );
    await until(async () => (await left()).length === 0);
    assert.equal(most, 2);
    assert.ok(order.indexOf('one') < 8, order.join(' '));
  }));

/**
 * Serves `quick` at once and holds the attempts of all others; all that is served before they are released
 * must be `quick`.
 */
async function serveQuickFirst(
  { add, start, finish, left, until, gate }: World,
  { held, quick, ...changes }: { held: number; quick: number } & Partial<FairLimits>,
): Promise<void> {
  const others = gate();
  const done: string[] = [];
  const worker = start(
    async (item) => {
      if (item.party !== 'quick') await others.opened;
      done.push(item.party);
      await finish(item);
      return 'ok';
    },
    { ...changes, slowAfterMs: longerThanACommit },
  );
  await until(() => worker.held >= held);
  await add(...Array.from({ length: quick }, () => 'quick'));
  worker.wake();
  await until(() => done.length === quick);
  assert.deepEqual([...new Set(done)], ['quick']);
  others.open();
  await until(async () => (await left()).length === 0);
}

test('a party whose attempts take long moves to the slow slots while they are still running', () =>
  withWorld(async (world) => {
    await world.add('slow', 'slow', 'slow', 'dull', 'dull', 'dull');
    await serveQuickFirst(world, { held: 4, quick: 5 });
  }));

test('many parties that turn slow at once leave room in memory for the others', () =>
  withWorld(async (world) => {
    await world.add(...Array.from({ length: 120 }, (_, index) => `slow-${index % 15}`));
    await serveQuickFirst(world, { held: 20, quick: 3, slots: 15, waiting: 40 });
  }));

test('a party that only fails is left alone for a while, and gets its mail when it is back', () =>
  withWorld(async ({ add, start, finish, left, until, storage }) => {
    await add(...Array.from({ length: 6 }, () => 'dead'));
    let isUp = false;
    let attempts = 0;
    const worker = start(async (item) => {
      attempts++;
      if (isUp || item.party === 'alive') {
        await finish(item);
        return 'ok';
      }
      await createLeases({ storage, table: 'work', leaseMs: 1000 }).release(
        [item],
        storage.clock.now().getTime(),
      );
      return 'failing';
    });
    await until(() => worker.backingOff().length === 1);
    const before = attempts;
    await add('alive');
    worker.wake();
    await until(async () => !(await left()).includes('0007'));
    assert.ok(attempts - before <= 4, `${attempts - before} attempts while it backs off`);
    isUp = true;
    await until(async () => (await left()).length === 0);
  }));

test('renews the rows that are held, so that no other node takes them', () =>
  withWorld(async ({ add, start, storage, finish, left, until }) => {
    await add('a', 'b');
    const seen: string[] = [];
    const handle = async (item: FairItem): Promise<AttemptVerdict> => {
      seen.push(item.id);
      const leasedUntil = async (): Promise<number> => {
        const row = storage
          .tables<Tables>()
          .selectFrom('work')
          .select('lease_until')
          .where('id', '=', item.id);
        return Number((await row.executeTakeFirstOrThrow()).lease_until);
      };
      const first = await leasedUntil();
      await until(async () => (await leasedUntil()) > first + 400);
      await finish(item);
      return 'ok';
    };
    start(handle, {}, 400);
    start(handle, {}, 400);
    await until(async () => (await left()).length === 0);
    assert.deepEqual(seen.toSorted(), ['0001', '0002']);
  }));

test('refuses a result whose lease another node has claimed', () =>
  withWorld(async ({ add, start, storage, left, until, finish }) => {
    await add('a');
    const lost = Promise.withResolvers<unknown>();
    start(async (item) => {
      await storage.tables<Tables>().updateTable('work').set({ lease_token: 'of another node' }).execute();
      await finish(item).catch(lost.resolve);
      return 'ok';
    });
    assert.match(String(await lost.promise), /was lost; nothing was written/);
    await until(async () => (await left()).length === 1);
  }));

test('work stored with a lease starts from memory, without being claimed', () =>
  withWorld(async ({ start, storage, left, until, finish }) => {
    const handled: string[] = [];
    const leases = createLeases({ storage, table: 'work', leaseMs: 60_000 });
    const worker = start(async (item) => {
      handled.push(item.token);
      await finish(item);
      return 'ok';
    });
    const lease = leases.begin();
    assert.equal(worker.hasRoom('a'), true);
    await storage.transaction(async (tx) => {
      await (tx as ReturnType<typeof storage.tables<Tables>>)
        .insertInto('work')
        .values({ id: 'x', party: 'a', next_attempt_at: 0, ...lease })
        .execute();
      storage.afterCommit(tx, () => worker.offer({ id: 'x', party: 'a', token: lease.lease_token }));
    });
    await until(async () => (await left()).length === 0);
    assert.deepEqual(handled, [lease.lease_token]);
  }));

test('rows of a claim whose answer was lost are free at the next claim, and no others are', () =>
  withWorld(async ({ add, storage }) => {
    const leases = createLeases({ storage, table: 'work', leaseMs: 60_000 });
    const db = storage.tables<Tables>();
    const [lost = '', kept = ''] = await add('a', 'a');
    const claim = async (id: string, lease: ReturnType<typeof leases.begin>): Promise<void> => {
      await db.updateTable('work').set(lease).where('id', '=', id).execute();
    };
    await leases.claim((lease) => claim(kept, lease));
    const away = new Error('the answer of the database is lost');
    await assert.rejects(
      leases.claim(async (lease) => {
        await claim(lost, lease);
        throw away;
      }),
      away,
    );
    const free = (): Promise<readonly { id: string }[]> =>
      db.selectFrom('work').select('id').where('lease_token', 'is', null).execute();
    assert.deepEqual(await free(), []);
    assert.deepEqual(await leases.claim(free), [{ id: lost }]);
  }));

test('a restarted node immediately takes back the rows of its previous run and changed ones, and none of another node', async () => {
  const database = await createTestDatabase();
  const open = (nodeId: string): Promise<Storage> => database.open({ nodeId, migrations: [table] });
  const [former, other, restarted] = [await open('node-1'), await open('node-2'), await open('node-1')];
  await former.migrate();
  const insert = async (storage: Storage, id: string, changes = {}): Promise<void> => {
    const lease = createLeases({ storage, table: 'work', leaseMs: 60_000 }).begin();
    const row = { id, party: 'a', next_attempt_at: 0, ...lease, ...changes };
    await storage.tables<Tables>().insertInto('work').values(row).execute();
  };
  await insert(former, 'of the former run');
  await insert(other, 'of another node');
  await insert(restarted, 'of this run');
  const years = Date.now() + 3_000 * 86_400_000;
  await insert(other, 'leased for years', { lease_until: years });
  const days = (count: number): number => Date.now() + count * 86_400_000;
  await insert(other, 'leased for a day, by longer leases', { lease_until: days(1) });
  await insert(other, 'due in a year', { next_attempt_at: days(400), lease_token: null, lease_until: 0 });
  await insert(other, 'due in years', { next_attempt_at: years, lease_token: null, lease_until: 0 });
  await createLeases({ storage: restarted, table: 'work', leaseMs: 60_000 }).releaseFormer();
  const free = await restarted
    .tables<Tables>()
    .selectFrom('work')
    .select('id')
    .where('lease_token', 'is', null)
    .where('next_attempt_at', '<=', Date.now() + 60_000)
    .orderBy('id')
    .execute();
  const expected = ['due in years', 'leased for years', 'of the former run'];
  assert.deepEqual(
    free.map(({ id }) => id),
    expected,
  );
  for (const storage of [former, other, restarted]) await storage.close();
});

test('releases the items that wait in memory when the worker closes', () =>
  withWorld(async ({ add, start, storage, until, finish, gate }) => {
    await add('a', 'a', 'a', 'a');
    const held = gate();
    const worker = start(
      async (item) => {
        await held.opened;
        await finish(item);
        return 'ok';
      },
      { share: 1, slowAfterMs: 60_000 },
    );
    await until(() => worker.held === 4);
    const closed = worker.close();
    held.open();
    await closed;
    const rows = await storage.tables<Tables>().selectFrom('work').selectAll().execute();
    assert.deepEqual(
      rows.map((row) => row.lease_token),
      [null, null, null],
    );
  }));

/** Leases of items that are in no table. */
const noLeases: Omit<Leases, 'claim'> = {
  free: { lease_token: null, lease_until: 0 },
  begin: () => ({ lease_token: 't', lease_until: 0 }),
  renew: async () => [],
  releaseFormer: async () => {},
  release: async () => {},
};

test('a backlog larger than a claim goes on when a slot becomes free, and not at the next look', async () => {
  const { promise: done, resolve } = Promise.withResolvers<void>();
  const due = Array.from({ length: 60 }, (_, id) => ({ id: `i${id}`, token: 't', party: `p${id}` }));
  let left = due.length;
  const worker = startFairWorker<FairItem>({
    name: 'test',
    limits: { ...limits, waiting: 8 },
    leases: noLeases,
    leaseMs: 60_000,
    claim: async (limit) => due.splice(0, limit),
    handle: async () => {
      await sleep(2);
      if (--left === 0) resolve();
      return 'ok';
    },
    dueAfter: (ms) => ms,
    idleMs: 60_000,
    log: silentLog,
  });
  const timer = setTimeout(resolve, 20_000);
  await done;
  clearTimeout(timer);
  await worker.close();
  assert.equal(left, 0);
});

test('a group that has enough in progress does not make the worker claim without a pause', async () => {
  let claims = 0;
  let finish = (): void => {};
  const finished = new Promise<void>((resolve) => (finish = resolve));
  const worker = startFairWorker<FairItem>({
    name: 'test',
    limits: { ...limits, groupShare: 1, slowGroupShare: 1 },
    leases: noLeases,
    leaseMs: 60_000,
    claim: async () =>
      claims++ === 0
        ? [1, 2, 3, 4, 5].map((id) => ({ id: `i${id}`, token: 't', party: `p${id}`, group: 'g' }))
        : [],
    handle: async () => {
      await finished;
      return 'ok';
    },
    dueAfter: (ms) => ms,
    idleMs: 60_000,
    log: silentLog,
  });
  // A loop that never sleeps keeps the event loop from coming here.
  await sleep(100);
  assert.ok(claims < 10, String(claims));
  finish();
  await worker.close();
});
