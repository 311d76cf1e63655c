/** Random directories and queries over HTTP against the plain reference: equal ids, order, counts and distances. */
import type { ProviderRecord } from '../../src/lib/provider-record/index.ts';
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fc } from '../support/fast-check.ts';
import { roundUpMiles } from '../../src/lib/geo/index.ts';
import { parseQuery } from '../../src/service/directory/index.ts';
import { searchPlainly } from '../support/plain-directory.ts';
import { queryArbitrary, recordsOf, rowsArbitrary } from './random-directory.ts';
import { rounds } from '../support/rounds.ts';
import { startTestDirectory, testGazetteer, toCsv, type TestDirectory } from './start-directory.ts';

const queriesPerState = rounds(400, 150);

let world: TestDirectory;
before(async () => {
  world = await startTestDirectory();
});
after(() => world.close());

async function compare(
  target: TestDirectory,
  records: readonly ProviderRecord[],
  seed: number,
): Promise<void> {
  let found = 0;
  for (const query of fc.sample(queryArbitrary, { numRuns: queriesPerState, seed })) {
    const expected = searchPlainly(records, parseQuery(Object.entries(query), testGazetteer()));
    const { status, body, text } = await target.search(query);
    assert.equal(status, 200, text);
    found += expected.totalCount > 0 ? 1 : 0;
    const label = `query ${JSON.stringify(query)}`;
    assert.equal(body.totalCount, String(expected.totalCount), label);
    assert.deepEqual(
      body.providers?.map((record) => record['id']),
      expected.ids,
      label,
    );
    if (expected.distances !== undefined) {
      assert.deepEqual(
        body.providers?.map((record) => record['distance']),
        expected.distances.map(roundUpMiles),
        label,
      );
    }
  }
  assert.ok(found > queriesPerState / 5, `only ${found} queries find anything`);
}

test('random queries equal plain filtering and sorting: after full loads, an increment and a restart from the snapshot', async () => {
  for (const [round, rows] of fc.sample(rowsArbitrary, { numRuns: 4, seed: 20261121 }).entries()) {
    await world.load(toCsv(rows));
    await compare(world, await recordsOf(world, rows), round);
  }

  const [base = [], more = []] = fc.sample(rowsArbitrary, { numRuns: 2, seed: 7 });
  await world.load(toCsv(base));
  const kept = base.filter((_, index) => index % 3 !== 0);
  const removed = base.filter((_, index) => index % 3 === 0);
  const changed = kept.slice(0, 5).map((row) => ({ ...row, prov_last_name: 'Changed', org_city: 'Boston' }));
  const added = more.map((row) => ({ ...row, serv_direct_addr: `new.${row.serv_direct_addr}` }));
  const increment = [...removed.map((row) => ({ ...row, action: 'remove' })), ...changed, ...added];
  const report = await world.load(toCsv(increment, ['action']), 'incremental');
  assert.deepEqual([report.removed, report.added], [removed.length, added.length]);
  const now = [...changed, ...kept.slice(5), ...added];
  const records = await recordsOf(world, now);
  await compare(world, records, 100);

  const again = await startTestDirectory({ sharesWith: world });
  try {
    await compare(again, records, 101);
  } finally {
    await again.close();
  }
});
