import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createTestDatabase, isPostgres } from '../../../test/support/storage.ts';
import { createManualClock, silentLog } from '../../core/index.ts';
import { PlatformError } from '../errors.ts';
import { joinNodes, listLiveNodes, listNodes } from './nodes.ts';

const options = { log: silentLog, version: '1.0.0', heartbeatMs: 20, waitMs: 300 };

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await sleep(10);
}

test('nodes know how many they are, from joining to leaving', async () => {
  const database = await createTestDatabase();
  const [one, two] = [await database.open(), await database.open()];
  await one.migrate();
  const a = await joinNodes({ ...options, storage: one, id: randomUUID() });
  assert.equal(a.liveCount, 1);
  const b = await joinNodes({ ...options, storage: two, id: randomUUID() });
  assert.equal(b.liveCount, 2);
  await until(() => a.liveCount === 2);
  assert.deepEqual(
    (await listLiveNodes(one)).map(({ id }) => id),
    [a.id, b.id].toSorted((left, right) => (left < right ? -1 : 1)),
  );
  await b.close();
  await until(() => a.liveCount === 1);
  await a.close();
  assert.deepEqual(await listLiveNodes(one), []);
  await one.close();
  await two.close();
});

test('a node id that is in use is refused, and free once its node has ended', async () => {
  const database = await createTestDatabase();
  // On SQLite two processes cannot share a data folder; the lock of the id is one process's.
  const one = await database.open();
  const two = isPostgres ? await database.open() : one;
  await one.migrate();
  const id = randomUUID();
  const first = await joinNodes({ ...options, storage: one, id });
  await assert.rejects(
    joinNodes({ ...options, storage: two, id }),
    (error) => error instanceof PlatformError && error.code === 'PLATFORM_NODE_ID_TAKEN',
  );
  const second = joinNodes({ ...options, storage: two, id, waitMs: 30_000 });
  await first.close();
  await (await second).close();
  await one.close();
  if (isPostgres) await two.close();
});

test('a node that shows no life counts while it holds its id, and no longer once that is gone', async () => {
  const clock = createManualClock(new Date('2026-05-01T00:00:00Z'));
  const database = await createTestDatabase();
  const [one, two] = [await database.open({ clock }), await database.open({ clock })];
  await one.migrate();
  const a = await joinNodes({ ...options, heartbeatMs: 3_600_000, storage: one, id: randomUUID() });
  const b = await joinNodes({ ...options, heartbeatMs: 3_600_000, storage: two, id: randomUUID() });
  clock.advance(120_000);
  const idsSeenBy = async (storage: typeof one): Promise<string[]> =>
    (await listLiveNodes(storage)).map(({ id }) => id);
  if (isPostgres) assert.equal((await idsSeenBy(one)).length, 2);
  else assert.deepEqual(await idsSeenBy(one), [a.id]);
  // As after kill -9: the connection is gone, the row stays.
  await two.close();
  await until(async () => (await idsSeenBy(one)).length === 1);
  const states = new Map((await listNodes(one)).map(({ id, isRunning }) => [id, isRunning]));
  assert.deepEqual([states.get(a.id), states.get(b.id)], [true, false]);
  await assert.rejects(b.close());
  await a.close();
  await one.close();
});

test('a node that the others have forgotten enters itself again', async () => {
  const database = await createTestDatabase();
  const storage = await database.open();
  await storage.migrate();
  const node = await joinNodes({ ...options, storage, id: randomUUID() });
  await database.runRaw('delete from node');
  await until(async () => (await listLiveNodes(storage)).some(({ id }) => id === node.id));
  await node.close();
  await storage.close();
});

for (const [what, minutes] of [
  ['ahead', 5],
  ['back', -5],
] as const)
  test(
    `the clock of the database is set ${what} by minutes: a node that starts has the time of the others`,
    { skip: !isPostgres && 'several nodes need PostgreSQL' },
    async () => {
      const database = await createTestDatabase();
      const one = await database.open();
      await one.migrate();
      const a = await joinNodes({ ...options, heartbeatMs: 500, storage: one, id: randomUUID() });
      // Found before the server's own function by connections made from now on.
      const name = new URL(database.location.url ?? '').pathname.slice(1);
      await database.runRaw(`create schema shifted;
        create function shifted.clock_timestamp() returns timestamptz language sql volatile
          as $$ select pg_catalog.clock_timestamp() + interval '${minutes} minutes' $$;
        alter database ${name} set search_path = shifted, pg_catalog, public`);
      const problems: string[] = [];
      const two = await database.open({ onProblem: (text) => problems.push(text) });
      assert.match(
        problems.join(),
        /the clock of this machine differs from that of the database by -?(299|300|301)\.?\d* s/,
      );
      assert.ok(Math.abs(two.clock.now().getTime() - one.clock.now().getTime()) > 290_000);
      const b = await joinNodes({ ...options, heartbeatMs: 4_000, storage: two, id: randomUUID() });
      const differsMs = two.clock.now().getTime() - one.clock.now().getTime();
      assert.ok(Math.abs(differsMs) < 2_000, `differs by ${differsMs} ms`);
      // And follows the database as slowly as they do.
      await sleep(1_000);
      assert.ok(Math.abs(two.clock.now().getTime() - one.clock.now().getTime()) < 3_000);
      await b.close();
      await a.close();
      await two.close();
      await one.close();
    },
  );
