/** Random searches by verification state, with every other condition and order, against the plain reference. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fc } from '../support/fast-check.ts';
import { roundUpMiles } from '../../src/lib/geo/index.ts';
import type { ProviderRecord } from '../../src/lib/provider-record/index.ts';
import { parseQuery } from '../../src/service/directory/index.ts';
import { createAddressStates } from '../../src/service/verification/index.ts';
import {
  verifiedStates,
  type VerificationTables,
  type VerifiedState,
} from '../../src/service/verification/tables.ts';
import { queryArbitrary, recordsOf, rowsArbitrary, type Row } from '../directory/random-directory.ts';
import {
  startTestDirectory,
  testGazetteer,
  toCsv,
  type TestDirectory,
} from '../directory/start-directory.ts';
import { searchPlainly } from '../support/plain-directory.ts';
import { statesFreshMs } from './stored-states.ts';

const names = [...verifiedStates, 'unverified'];
const queriesPerStep = 150;

let world: TestDirectory;
before(async () => {
  world = await startTestDirectory({ states: createAddressStates });
});
after(() => world.close());

/** By address in lower case. */
const stored = new Map<string, VerifiedState>();

async function store(states: ReadonlyMap<string, VerifiedState>): Promise<void> {
  for (const [address_key, state] of states) {
    stored.set(address_key, state);
    const row = { address_key, domain: address_key.split('@')[1] ?? '', state, reason: '', checked_at: 1 };
    const changed_at = world.storage.clock.now().getTime();
    await world.storage
      .tables<VerificationTables>()
      .insertInto('verification_address')
      .values({ ...row, changed_at })
      .onConflict((conflict) => conflict.column('address_key').doUpdateSet({ ...row, changed_at }))
      .execute();
  }
}

/** States of every second row or so. */
function drawStates(rows: readonly Row[], seed: number): Map<string, VerifiedState> {
  const picks = fc.sample(fc.nat({ max: 9 }), { numRuns: rows.length, seed });
  return new Map(
    rows.flatMap(({ serv_direct_addr: address }, at) => {
      const state = verifiedStates[picks[at] ?? 9];
      return state === undefined ? [] : [[address.toLowerCase(), state] as const];
    }),
  );
}

const rankOf = ({ directAddress }: ProviderRecord): number =>
  names.indexOf(stored.get(directAddress.toLowerCase()) ?? 'unverified');

const asked = fc.record({
  query: queryArbitrary,
  states: fc.oneof(fc.constant(['show']), fc.uniqueArray(fc.constantFrom(...names), { minLength: 1 })),
  direction: fc.option(fc.constantFrom('ascending', 'descending')),
});

type Asked = typeof asked extends fc.Arbitrary<infer Value> ? Value : never;

/** The parameters to send, and those without the verification. */
function parametersOf({ query, states, direction }: Asked): {
  readonly sent: Record<string, string>;
  readonly rest: Record<string, string>;
  readonly order: string | null;
} {
  const verification = states.join(',');
  if (direction === null) return { sent: { ...query, verification }, rest: query, order: null };
  const { sort_by: names = '', sort_order: orders = '', ...others } = query;
  if (names === '')
    return {
      sent: { ...others, verification, sort_by: 'verification', sort_order: direction },
      rest: others,
      order: direction,
    };
  const isOne = !orders.includes(',') && names.includes(',');
  return {
    sent: {
      ...others,
      verification,
      sort_by: `verification,${names}`,
      sort_order: isOne ? orders : `${direction},${orders}`,
    },
    rest: query,
    order: isOne ? orders : direction,
  };
}

async function compare(records: readonly ProviderRecord[], seed: number): Promise<void> {
  const byId = new Map(records.map((record) => [record.id, record]));
  let found = 0;
  for (const one of fc.sample(asked, { numRuns: queriesPerStep, seed })) {
    const { sent, rest, order } = parametersOf(one);
    const query = parseQuery(Object.entries(rest), testGazetteer());
    const all = searchPlainly(records, { ...query, offset: 0, limit: records.length });
    const states: readonly string[] = one.states;
    const rows = all.ids.map((id, at) => ({
      id,
      rank: rankOf(byId.get(id) as ProviderRecord),
      distance: all.distances?.[at],
    }));
    const kept = rows.filter(({ rank }) => states[0] === 'show' || states.includes(names[rank] ?? ''));
    if (order !== null) kept.sort((a, b) => (a.rank - b.rank) * (order === 'descending' ? -1 : 1));
    const page = kept.slice(query.offset, query.offset + query.limit);
    const { status, body, text } = await world.search(sent);
    const label = JSON.stringify(sent);
    assert.equal(status, 200, `${label} ${text}`);
    assert.equal(body.totalCount, String(kept.length), label);
    assert.deepEqual(
      body.providers?.map((record) => [record['id'], record['distance']]),
      page.map(({ id, distance }) => [id, distance === undefined ? undefined : roundUpMiles(distance)]),
      label,
    );
    assert.deepEqual(
      body.providers?.map((record) => (record['verification'] as { state: string }).state),
      page.map(({ rank }) => names[rank]),
      label,
    );
    found += kept.length > 0 ? 1 : 0;
  }
  assert.ok(found > queriesPerStep / 5, `only ${found} queries find anything`);
}

test('searches by state equal plain filtering and sorting: after loads, changes of states, removals and returns', async () => {
  const [rows = [], more = []] = fc.sample(rowsArbitrary, { numRuns: 2, seed: 27 });
  await store(drawStates(rows, 1));
  await sleep(statesFreshMs);
  await world.load(toCsv(rows));
  await compare(await recordsOf(world, rows), 1);

  // Some rows go, others come next to the index.
  const gone = rows.filter((_, index) => index % 3 === 0);
  const kept = rows.filter((_, index) => index % 3 !== 0);
  const added = more.map((row) => ({ ...row, serv_direct_addr: `new.${row.serv_direct_addr}` }));
  await world.load(
    toCsv([...gone.map((row) => ({ ...row, action: 'remove' })), ...added], ['action']),
    'incremental',
  );
  await store(drawStates([...added, ...kept], 2));
  await sleep(statesFreshMs);
  await compare(await recordsOf(world, [...kept, ...added]), 2);

  // What went comes back, in a whole new generation.
  await world.load(toCsv([...added, ...rows]));
  await compare(await recordsOf(world, [...added, ...rows]), 3);
});
