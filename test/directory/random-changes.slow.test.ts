/** Random increments, hosted addresses, rollbacks and restarts: the same bytes as from an index built again. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fc } from '../support/fast-check.ts';
import { errorCode } from '../../src/core/index.ts';
import { recordFields, rollBack } from '../../src/service/directory/index.ts';
import { queryArbitrary, rowsArbitrary, toRecord, type Row } from './random-directory.ts';
import { snapshotsOf, startTestDirectory, toCsv, type TestDirectory } from './start-directory.ts';

const roundsPerRun = 6;
const queriesPerRound = 120;
/** Everything in every order, and on its own pages around a place. */
const wholeQueries: readonly Record<string, string>[] = [
  ...recordFields.flatMap(({ wireName }) =>
    ['ascending', 'descending'].map((order) => ({ sort_by: wireName, sort_order: order, limit: '1000' })),
  ),
  ...['0', '40', '80'].map((offset) => ({ radius: '', org_zip: '02114', offset, limit: '40' })),
  { radius: '', org_zip: '02114', sort_by: 'radius,org_name', sort_order: 'descending', limit: '1000' },
];
const caller = {
  client: { clientId: 'random-changes', limits: {}, dataUseAcceptedAt: new Date() },
};

type Random = (below: number) => number;

function randomFrom(seed: number): Random {
  const numbers = fc.sample(fc.nat({ max: 1_000_000 }), { numRuns: 20_000, seed });
  let next = 0;
  return (below) => (numbers[next++ % numbers.length] ?? 0) % below;
}

/** The pool of the operations: rows that are or were in the directory, some with a key. */
interface Pool {
  readonly rows: readonly (Row & { readonly key: string })[];
}

function poolOf(seed: number): Pool {
  const rows = fc.sample(rowsArbitrary, { numRuns: 60, seed }).flatMap((some, part) =>
    some.map((row, index) => ({
      ...row,
      serv_direct_addr: `${part}.${row.serv_direct_addr}`,
      key: index % 4 === 0 ? `key-${part}-${index}` : '',
    })),
  );
  return { rows };
}

const columns = ['key', 'action'];

function pickRow({ rows }: Pool, random: Random): Row & { readonly key: string } {
  return rows[random(rows.length)] as Row & { readonly key: string };
}

/** An increment of few rows: puts as they were or with other texts, and removals. */
async function increment(world: TestDirectory, pool: Pool, random: Random): Promise<void> {
  const rows = Array.from({ length: 1 + random(8) }, () => {
    const row = pickRow(pool, random);
    const other = pickRow(pool, random);
    const action = random(3) === 0 ? 'remove' : '';
    // A key outlives its record's address; without one, another address or NPI is another record.
    const address = row.key === '' || random(2) === 0 ? row.serv_direct_addr : other.serv_direct_addr;
    return random(2) === 0
      ? { ...row, action, serv_direct_addr: address }
      : { ...other, action, key: row.key, serv_direct_addr: address, prov_npi: row.prov_npi };
  });
  await world.load(toCsv(rows, columns), 'incremental');
}

/** Lists an address of a load, with its NPI and so instead of it, or with another one and so next to it. */
async function provision(world: TestDirectory, pool: Pool, random: Random): Promise<void> {
  const row = pickRow(pool, random);
  const record = toRecord(random(2) === 0 ? row : pickRow(pool, random), 0);
  await world.directory.provision({
    ...record,
    directAddress: row.serv_direct_addr,
    npi: random(3) === 0 ? '' : row.prov_npi,
  });
}

async function unprovision(world: TestDirectory, pool: Pool, random: Random): Promise<void> {
  for (let tries = 0; tries < 40; tries++)
    if (await world.directory.unprovision(pickRow(pool, random).serv_direct_addr)) return;
}

async function goBack(world: TestDirectory): Promise<void> {
  await rollBack(world).catch((error: unknown) => {
    assert.equal(errorCode(error), 'DIRECTORY_NOTHING_TO_ROLL_BACK');
  });
}

/** Another program with the same database and no snapshots: it must build its index from the blocks. */
async function compareWithRebuilt(world: TestDirectory, seed: number): Promise<number> {
  const rebuilt = await startTestDirectory({ sharesWith: world, snapshotFolder: `rebuilt-${seed}` });
  let shown = 0;
  try {
    for (const query of [...wholeQueries, ...fc.sample(queryArbitrary, { numRuns: queriesPerRound, seed })]) {
      const parameters = Object.entries(query);
      const [found, expected] = await Promise.all(
        [world, rebuilt].map(async ({ directory }) =>
          Buffer.from((await directory.search(parameters, caller)).json).toString(),
        ),
      );
      assert.equal(found, expected, JSON.stringify(query));
      shown += found?.includes('"prov_npi"') === true ? 1 : 0;
    }
    const [here, there] = await Promise.all([world, rebuilt].map(({ directory }) => directory.status()));
    assert.equal(here?.served?.recordCount, there?.served?.recordCount);
  } finally {
    await rebuilt.close();
  }
  return shown;
}

async function randomRun(seed: number): Promise<void> {
  const random = randomFrom(seed);
  const pool = poolOf(seed);
  let world = await startTestDirectory({ changesBeforeRebuild: 1000, pollIntervalMs: 60_000 });
  const first = world;
  try {
    for (let count = 0; count < 5; count++) await provision(world, pool, random);
    const base = pool.rows.filter((_, index) => index % 2 === 0);
    await world.load(toCsv(base, columns));
    const snapshots = await snapshotsOf(world);
    let shown = 0;
    for (let round = 0; round < roundsPerRun; round++) {
      for (let step = 0; step < 1 + random(6); step++) {
        const operation =
          [increment, increment, provision, provision, unprovision, goBack][random(6)] ?? increment;
        await operation(world, pool, random);
      }
      if (random(4) === 0) {
        const again = await startTestDirectory({
          sharesWith: first,
          changesBeforeRebuild: 1000,
          pollIntervalMs: 60_000,
        });
        if (world !== first) await world.close();
        world = again;
      }
      await world.directory.refresh();
      shown += await compareWithRebuilt(world, seed * 100 + round);
    }
    assert.ok(shown > roundsPerRun * (wholeQueries.length + 10), `only ${shown} queries show anything`);
    assert.deepEqual(await snapshotsOf(world), snapshots, 'no index was rebuilt');
  } finally {
    if (world !== first) await world.close();
    await first.close();
  }
}

for (const seed of [11, 12, 13])
  test(`random changes answer as an index built again (seed ${seed})`, () => randomRun(seed));
