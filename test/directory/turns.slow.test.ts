/** Length of the event-loop turns of a load: loads run in a process that serves meanwhile. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { mergeAll } from '../../src/service/directory/merge/merge-all.ts';
import { mergeChanged } from '../../src/service/directory/merge/merge-changed.ts';
import { findAllAddresses } from '../../src/service/directory/merge/find-changed-addresses.ts';
import { readServedTimes } from '../../src/service/directory/merge/served-times.ts';
import type { MergedEntry } from '../../src/service/directory/merge/merge-writer.ts';
import { entriesPerTurn } from '../../src/service/directory/limits.ts';
import { openStream } from '../../src/service/directory/index.ts';
import { seedOf } from '../../src/service/directory/store/provisioned.ts';
import { listSources, readChains } from '../../src/service/directory/store/sources.ts';
import { loadState, readChain } from '../../src/service/directory/store/state.ts';
import type { DirectoryTables } from '../../src/service/directory/store/tables.ts';
import { Readable } from 'node:stream';
import { startTestDirectory, toCsv, type TestDirectory } from './start-directory.ts';

const count = entriesPerTurn * 5;

let world: TestDirectory;
beforeEach(async () => {
  world = await startTestDirectory({ pollIntervalMs: 60_000 });
});
afterEach(() => world.close());

/** The most that was counted in one turn, and in all. */
async function countPerTurn(
  work: (add: (units: number) => void) => Promise<unknown>,
): Promise<{ most: number; all: number }> {
  let [now, most, all, isOver] = [0, 0, 0, false];
  const tick = (): void => {
    now = 0;
    if (!isOver) setImmediate(tick);
  };
  tick();
  await work((units) => {
    now += units;
    all += units;
    most = Math.max(most, now);
  });
  isOver = true;
  return { most, all };
}

const crowd = (phone: string): string =>
  toCsv(
    Array.from({ length: count }, (_, index) => ({
      serv_direct_addr: `p${index}@d.example`,
      org_phone: phone,
    })),
  );

async function openMerge() {
  await world.load(crowd('1'), 'full', { sourceName: 'county' });
  await world.load(crowd('2'), 'full', { sourceName: 'state' });
  const db = world.storage.tables<DirectoryTables>();
  const sources = await readChains(db, await listSources(db));
  const state = await loadState(world.storage);
  const served = await readChain(db, state.active_load_id as number);
  return { db, sources, served, seed: seedOf(state.secret) };
}

test('rows of a portion are read in several turns', async () => {
  // One portion, as a file gives them by the megabyte.
  const files = openStream(Readable.from([Buffer.from(crowd('1'))]));
  let before = 0;
  const { most, all } = await countPerTurn((add) =>
    world.directory.importFiles({
      files,
      kind: 'full',
      onProgress({ rowsRead }) {
        add(rowsRead - before);
        before = rowsRead;
      },
    }),
  );
  assert.equal(all, count);
  assert.ok(most <= entriesPerTurn, `${most} rows in one turn`);
});

test('a whole merge passes on its entries in several turns', async () => {
  const { db, sources, seed } = await openMerge();
  const { most, all } = await countPerTurn((add) =>
    mergeAll({ db, sources, seed, sink: { add: () => add(1), drain: async () => {} } }),
  );
  assert.equal(all, count);
  assert.ok(most <= entriesPerTurn, `${most} entries in one turn`);
});

test('a merge that changes nothing looks at its pairs in several turns', async () => {
  const { db, sources, served, seed } = await openMerge();
  const addresses = await findAllAddresses(
    db,
    sources.flatMap(({ chain }) => chain),
    seed,
  );
  const times = await readServedTimes(db, served, seed);
  const emitted: MergedEntry[] = [];
  const { most, all } = await countPerTurn((add) =>
    mergeChanged({
      db,
      sources,
      base: served,
      addresses,
      seed,
      sink: { add: (entry) => void emitted.push(entry), drain: async () => {} },
      served: {
        timeOf(entry) {
          add(1);
          return times.timeOf(entry);
        },
      },
    }),
  );
  assert.deepEqual(emitted, []);
  assert.equal(all, count);
  assert.ok(most <= entriesPerTurn, `${most} entries in one turn`);
});
