/**
 * A PostgreSQL behind a network that takes everything and answers nothing: nobody waits for ever, nothing is
 * stored twice.
 */
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql, type Kysely } from 'kysely';
import { createTcpProxy, type TcpProxy } from '../../../../test/support/tcp-proxy.ts';
import { createTestDatabase, needsBothEngines, type TestDatabase } from '../../../../test/support/storage.ts';
import { timeScale } from '../../../../test/support/time-scale.ts';
import { PlatformError } from '../../errors.ts';
import type { Migration } from '../migrate.ts';
import type { Storage } from '../storage.ts';
import { openPostgresStorage } from './open-postgres.ts';

interface Tables {
  thing: { id: string; size: number };
}

const things: Migration = {
  name: '0001-things',
  async up(db) {
    await db.schema
      .createTable('thing')
      .addColumn('id', 'text')
      .addColumn('size', 'bigint', (column) => column.notNull())
      .execute();
  },
};

const { skip } = needsBothEngines();
const ids = ['a', 'b', 'c', 'd', 'e'];
const [answerMs, promptMs] = [1_000, 500];
let database: TestDatabase;
let proxy: TcpProxy;
/** Its connections go through the proxy. */
let node: Storage;
let other: Storage;

before(async () => {
  if (skip !== false) return;
  database = await createTestDatabase('postgresql');
  proxy = await createTcpProxy(database.location.url ?? '');
  other = await database.open({ migrations: [things] });
  await other.migrate();
});
after(async () => {
  if (skip !== false) return;
  await other.close();
  await proxy.close();
});
beforeEach(async () => {
  if (skip !== false) return;
  node = await openPostgresStorage({ url: proxy.url, migrations: [things], answerMs, promptMs });
});
afterEach(async () => {
  if (skip !== false) return;
  proxy.relay();
  await node.close();
  await other.tables<Tables>().deleteFrom('thing').execute();
});

const insert = (tx: Kysely<Tables>, id: string) => tx.insertInto('thing').values({ id, size: 1 }).execute();

/** One transaction for each name, in shared commits. */
async function runTogether(extra?: (tx: Kysely<Tables>) => Promise<unknown>): Promise<string[]> {
  const results = await Promise.allSettled(
    ids.map((id) =>
      node.transaction(
        async (tx: Kysely<Tables>) => {
          await insert(tx, id);
          if (id === 'c') await extra?.(tx);
          return id;
        },
        { shareBy: id },
      ),
    ),
  );
  return results.map(outcomeOf);
}

function outcomeOf(result: PromiseSettledResult<unknown>): string {
  if (result.status === 'fulfilled') return String(result.value);
  return result.reason instanceof PlatformError ? result.reason.code : String(result.reason);
}

async function within<R>(ms: number, work: Promise<R>): Promise<R> {
  const startedAt = performance.now();
  const result = await work;
  const tookMs = performance.now() - startedAt;
  assert.ok(tookMs < ms * timeScale(), `took ${tookMs} ms`);
  return result;
}

async function stored(): Promise<string[]> {
  const rows = await other.tables<Tables>().selectFrom('thing').select('id').orderBy('id').execute();
  return rows.map(({ id }) => id);
}

async function untilStored(expected: readonly string[]): Promise<void> {
  for (let tries = 0; tries < 100 && (await stored()).length < expected.length; tries++) await sleep(20);
  assert.deepEqual(await stored(), expected);
}

const unavailable = ids.map(() => 'PLATFORM_STORAGE_UNAVAILABLE');

for (const when of ['asked', 'answered'] as const)
  test(
    `silence ${when === 'asked' ? 'before' : 'after'} COMMIT arrives: all waiters get an error, nothing runs again, the next transactions use new connections`,
    { skip },
    async () => {
      await runTogether();
      await other.tables<Tables>().deleteFrom('thing').execute();
      proxy.stall({ at: 'commit\0', when });
      assert.deepEqual(await within(5_000, runTogether()), unavailable);
      if (when === 'asked') assert.deepEqual(await stored(), []);
      // COMMIT may still arrive: whoever asked for it knows that it may have happened.
      proxy.relay();
      await untilStored(ids);
      assert.deepEqual(await within(5_000, runTogether()), ids);
      assert.deepEqual(
        await stored(),
        ids.flatMap((id) => [id, id]),
      );
    },
  );

test('silence in the middle of a group: all waiters get an error', { skip }, async () => {
  await runTogether();
  await other.tables<Tables>().deleteFrom('thing').execute();
  proxy.stall({ at: 'in the middle', when: 'asked' });
  const extra = (tx: Kysely<Tables>) => sql`select 1 as ${sql.id('in the middle')}`.execute(tx);
  assert.deepEqual(await within(10_000, runTogether(extra)), unavailable);
  proxy.relay();
  assert.deepEqual(await within(5_000, runTogether()), ids);
  assert.deepEqual(await stored(), ids);
});

test(
  'an idle connection that has gone silent, and new ones: each statement fails in bounded time',
  { skip },
  async () => {
    await runTogether();
    await node.tables<Tables>().selectFrom('thing').select('id').execute();
    await node.check();
    const lock = await node.hold('a name');
    proxy.stallNow();
    const waiters = Promise.allSettled([
      runTogether().then((outcomes) => assert.deepEqual(outcomes, unavailable)),
      assert.rejects(node.check(), { code: 'PLATFORM_STORAGE_UNAVAILABLE' }),
      assert.rejects(node.tables<Tables>().selectFrom('thing').select('id').execute(), {
        code: 'PLATFORM_STORAGE_UNAVAILABLE',
      }),
      assert.rejects(
        node.transaction((tx: Kysely<Tables>) => insert(tx, 'x')),
        {
          code: 'PLATFORM_STORAGE_UNAVAILABLE',
        },
      ),
    ]);
    const failed = (await within(8_000, waiters)).find(({ status }) => status === 'rejected');
    assert.equal(failed, undefined);
    // Again, now with no connection left: the server accepts, and never greets.
    await within(8_000, assert.rejects(node.check(), { code: 'PLATFORM_STORAGE_UNAVAILABLE' }));
    for (let tries = 0; tries < 200 && lock?.isHeld === true; tries++) await sleep(20);
    assert.equal(lock?.isHeld, false);
    proxy.relay();
    await within(5_000, node.check());
  },
);

test('a storage whose server is silent closes in bounded time', { skip }, async () => {
  await runTogether();
  const lock = await node.hold('another name');
  assert.equal(lock?.isHeld, true);
  proxy.stallNow();
  await within(5_000, node.close());
});

test(
  'a node that falls silent while it writes what it has collected: the others wait no longer than a transaction may pause',
  { skip },
  async () => {
    const columns = ['id', 'size'];
    const collectorOf = (storage: Storage) =>
      storage.collector<string>('chain', async (tx, rows) => {
        await storage.bulkInsert(tx, { table: 'thing', columns, rows: rows.map((id) => [id, 1]) });
      });
    const append = (storage: Storage, names: readonly string[]) => {
      const collector = collectorOf(storage);
      return storage.transaction(async (tx) => names.forEach((name) => collector.add(tx, name)));
    };
    const many = Array.from({ length: 100 }, (_, index) => `n${index}`);
    const url = proxy.url;
    const silent = await openPostgresStorage({
      url,
      migrations: [things],
      answerMs,
      promptMs,
      lockTimeoutMs: 6_000,
    });
    try {
      proxy.stall({ at: '"thing" (', when: 'answered' });
      await assert.rejects(append(silent, many), { code: 'PLATFORM_STORAGE_UNAVAILABLE' });
      await within(8_000, append(other, ['after']));
    } finally {
      await silent.close();
    }
  },
);

test('a migration may take longer than any other statement', { skip }, async () => {
  const long: Migration = {
    name: '0002-long',
    async up(db) {
      await sql`select pg_sleep(${(2.5 * answerMs) / 1000})`.execute(db);
    },
  };
  const fresh = await createTestDatabase('postgresql');
  const storage = await openPostgresStorage({
    url: fresh.location.url ?? '',
    migrations: [things, long],
    statementTimeoutMs: answerMs,
    answerMs,
    promptMs,
  });
  try {
    assert.deepEqual(await storage.migrate(), ['0001-things', '0002-long']);
    // The limit is back.
    await assert.rejects(sql`select pg_sleep(${(2.5 * answerMs) / 1000})`.execute(storage.tables()));
  } finally {
    await storage.close();
  }
});
