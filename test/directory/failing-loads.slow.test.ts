/** Loads of which one step fails, each step in turn: refused by the database, or done although its answer never came. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { silentLog } from '../../src/core/index.ts';
import type { Storage } from '../../src/platform/index.ts';
import { importDirectory, openInput, type LoadReport } from '../../src/service/directory/index.ts';
import type { DirectoryTables } from '../../src/service/directory/store/tables.ts';
import { startTestDirectory, testGazetteer, toCsv, type TestDirectory } from './start-directory.ts';

/** When the failing transaction fails. */
type Moment = 'before' | 'after';

/** The storage, of which one transaction fails, by its number from 1. */
function failAt(storage: Storage, failing: number, moment: Moment): { storage: Storage; count(): number } {
  let count = 0;
  const faulty: Storage = {
    ...storage,
    async transaction(work, options) {
      const isFailing = ++count === failing;
      if (isFailing && moment === 'before') throw new Error('the connection was lost');
      const result = await storage.transaction(work, options);
      if (isFailing) throw new Error('the answer was lost');
      return result;
    },
  };
  return { storage: faulty, count: () => count };
}

const addresses = async (world: TestDirectory): Promise<string> => {
  await world.directory.refresh();
  const { body } = await world.search({ limit: 1000, sort_by: 'serv_direct_addr' });
  return (body.providers ?? []).map((record) => String(record['serv_direct_addr'])).join(' ');
};

async function load(
  world: TestDirectory,
  storage: Storage,
  names: readonly string[],
  { kind = 'full', sourceName = 'two' }: { kind?: 'full' | 'incremental'; sourceName?: string } = {},
): Promise<LoadReport> {
  const { clock, audit, snapshotDir } = world;
  const file = path.join(world.folder, 'rows.csv');
  await writeFile(file, toCsv(names.map((name) => ({ serv_direct_addr: `${name}@d.example` }))));
  return importDirectory(
    { storage, clock, audit, snapshotDir, log: silentLog, gazetteer: testGazetteer() },
    { files: await openInput(file), kind, sourceName },
  );
}

async function assertWhole(world: TestDirectory): Promise<void> {
  const db = world.storage.tables<DirectoryTables>();
  const loads = await db.selectFrom('directory_load').select(['id', 'state']).execute();
  const ready = new Set(loads.filter(({ state }) => state === 'ready').map(({ id }) => id));
  const blocks = await db.selectFrom('directory_block').select('load_id').execute();
  const lookups = await db.selectFrom('directory_lookup').select('load_id').execute();
  for (const { load_id: id } of [...blocks, ...lookups]) assert.ok(ready.has(id), `load ${id} has left rows`);
  assert.deepEqual(
    loads.filter(({ state }) => state === 'loading' || state === 'merging'),
    [],
  );
}

for (const kind of ['full', 'incremental'] as const)
  for (const moment of ['before', 'after'] as const)
    test(`a ${kind} load of one of two sources, with each transaction lost ${moment} its end`, async () => {
      const world = await startTestDirectory({ pollIntervalMs: 60_000 });
      try {
        await load(world, world.storage, ['a', 'b'], { sourceName: 'one' });
        await load(world, world.storage, ['m', 'n']);
        let last = await addresses(world);
        let steps = 0;
        let failures = 0;
        for (let failing = 1; failing <= Math.max(1, steps); failing++) {
          const faulty = failAt(world.storage, failing, moment);
          const name = `n${failing}`;
          const outcome = await load(world, faulty.storage, [name], { kind }).then(
            () => 'done',
            () => 'failed',
          );
          steps = Math.max(steps, faulty.count());
          if (outcome === 'failed') failures++;
          const now = await addresses(world);
          const whole = kind === 'full' ? `a@d.example b@d.example ${name}@d.example` : undefined;
          if (outcome === 'done' || now !== last) {
            assert.ok(now.includes(`${name}@d.example`), `${failing}: ${now}`);
            if (whole !== undefined) assert.equal(now, whole, String(failing));
          }
          if (moment === 'before' && outcome === 'failed') assert.equal(now, last, String(failing));
          // What was left is cleared by the next load at the latest.
          await load(world, world.storage, [`next${failing}`], { kind });
          await assertWhole(world);
          last = await addresses(world);
          assert.ok(last.includes(`next${failing}@d.example`));
          assert.equal(last.split(' ')[0], 'a@d.example');
        }
        assert.ok(steps > 5 && failures > 3, `${steps} transactions, ${failures} failures`);
      } finally {
        await world.close();
      }
    });

test('a load that fails while the database goes away tells why it failed, and the next one clears it away', async () => {
  const world = await startTestDirectory({ pollIntervalMs: 60_000 });
  try {
    await load(world, world.storage, ['a', 'b'], { sourceName: 'one' });
    await load(world, world.storage, ['m', 'n']);
    const before = await addresses(world);
    let left = 4;
    const faulty: Storage = {
      ...world.storage,
      tables() {
        if (left <= 0) throw new Error('the database is away');
        return world.storage.tables();
      },
      async transaction(work, options) {
        if (--left <= 0) throw new Error(left === 0 ? 'the disk is full' : 'the database is away');
        return world.storage.transaction(work, options);
      },
    };
    await assert.rejects(load(world, faulty, ['x']), { message: 'the disk is full' });
    assert.equal(await addresses(world), before);
    await load(world, world.storage, ['y']);
    await assertWhole(world);
    assert.equal(await addresses(world), 'a@d.example b@d.example y@d.example');
  } finally {
    await world.close();
  }
});
