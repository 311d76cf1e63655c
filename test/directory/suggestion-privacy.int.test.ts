/** Suggestions tell nothing that a search does not, and nobody computes for a client that has gone. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createAddressStates } from '../../src/service/verification/index.ts';
import { removeSource, type AddressStates } from '../../src/service/directory/index.ts';
import { startTestDirectory, toCsv, type TestDirectory } from './start-directory.ts';

const path = '/provider-directory/v2/suggestions';

const smith = {
  key: 'smith',
  prov_npi: '1000000004',
  prov_first_name: 'Anna',
  prov_last_name: 'Smith',
  serv_direct_addr: 'anna.smith@direct.heart.example',
  org_name: 'Lakeside Heart Ctr',
  org_city: 'Chicago',
  org_state: 'IL',
  org_zip: '60601',
};
const jones = {
  ...smith,
  key: 'jones',
  prov_npi: '1000000012',
  prov_last_name: 'Jones',
  serv_direct_addr: 'anna.jones@direct.heart.example',
};
/** What must be told nowhere: a person of their own, one who shares a word, and what completes Smith. */
const hidden = [
  {
    key: 'quetzal',
    prov_npi: '1000000020',
    prov_first_name: 'Anna',
    prov_last_name: 'Quetzal',
    prov_spec_text: 'Xenobiology',
    serv_direct_addr: 'q@direct.zeppelin.example',
    org_name: 'Zeppelin Heart Clinic',
    org_city: 'Yonderville',
    org_state: 'WY',
    org_zip: '82001',
    org_phone: '3075550199',
  },
  { ...smith, key: 'smith again', serv_direct_addr: 'smith@direct.zeppelin.example', org_name: 'Zeppelin' },
  { ...smith, org_phone: '3075550142', prov_spec_text: 'Xenobiology' },
];
const words = [
  'anna',
  'smith',
  'quetzal',
  'zeppelin',
  'heart',
  'xenobiology',
  'yonderville',
  'wy',
  'wyoming',
];
const queries: readonly Record<string, string>[] = [
  ...[...words, 'a', 'q', '3075550142', '307', '82001', '1000000020', 'quetzla', 'xenobiolgy', 'zepelin'].map(
    (q) => ({ q }),
  ),
  ...words.flatMap((word) => [
    { q: `anna ${word}` },
    { q: `${word} nosuchword` },
    { q: `smith ${word} lakeside` },
  ]),
  { q: 'anna', state: 'WY' },
  { q: 'smith zeppelin', state: 'WY' },
  { q: 'anna', specialty: 'xenobiology' },
  { q: 'anna', kind: 'person', org_zip: '82001' },
  { q: 'heart', org_zip: '82001' },
  { q: 'quetzal smith', verified: 'true' },
];

let plain: TestDirectory;
let other: TestDirectory;
before(async () => {
  plain = await startTestDirectory();
  other = await startTestDirectory();
  await plain.load(toCsv([smith, jones], ['key']), 'full', { sourceName: 'one' });
});
after(async () => {
  await plain.close();
  await other.close();
});

async function answersOf({ get }: TestDirectory): Promise<unknown[]> {
  const answers: unknown[] = [];
  for (const query of queries) {
    const { text, status } = await get(`${path}?${new URLSearchParams(query).toString()}`);
    assert.equal(status, 200, text);
    answers.push([query, JSON.parse(text)]);
  }
  return answers;
}

test('what was taken out leaves no count, facet, mark, order or word behind', async () => {
  const expected = await answersOf(plain);
  await other.load(toCsv([smith, jones], ['key']), 'full', { sourceName: 'one' });
  await other.load(toCsv(hidden, ['key']), 'full', { sourceName: 'two' });
  assert.notDeepEqual(await answersOf(other), expected);
  await removeSource(other, 'two');
  await other.directory.refresh();
  assert.deepEqual(await answersOf(other), expected);

  // The index of before is searched next to its changes.
  await other.load(toCsv(hidden.slice(0, 2), ['key']), 'incremental', { sourceName: 'one' });
  assert.notDeepEqual(await answersOf(other), expected);
  const gone = hidden.slice(0, 2).map((row) => ({ ...row, action: 'remove' }));
  await other.load(toCsv(gone, ['key', 'action']), 'incremental', { sourceName: 'one' });
  assert.deepEqual(await answersOf(other), expected);
});

test('the audit trail has the client, the counts and no word of what was typed', async () => {
  await plain.get(`${path}?q=quetzal+smith&state=IL&kind=person&limit=3`);
  await plain.get(`${path}?q=smith`);
  await plain.get(`${path}?q=smith&state=Quetzal`);
  const [refused, found, none] = await plain.audit.find({ action: 'directory.search', limit: 3 });
  const { q, state, ...objects } = none?.objects ?? {};
  assert.deepEqual(objects, { limit: '3', kind: 'person', resource: 'suggestions', shown: 0, total: 0 });
  assert.match(`${String(q)} ${String(state)}`, /^[0-9a-f]{16} [0-9a-f]{16}$/);
  assert.deepEqual([found?.objects['shown'], found?.objects['total']], [1, 1]);
  assert.equal(refused?.objects['code'], 'DIRECTORY_QUERY_INVALID');
  assert.doesNotMatch(JSON.stringify([refused, found, none]), /quetzal|smith/i);
});

test('a client that closes its connection has its request dropped, booked as nothing shown', async () => {
  // The database is slow: requests wait for what is known of addresses.
  let gate = Promise.withResolvers<void>();
  gate.resolve();
  const slow = await startTestDirectory({
    sharesWith: plain,
    states: (storage) => {
      const states = createAddressStates(storage);
      return Object.create(states, {
        refresh: { value: () => gate.promise.then(() => states.refresh()) },
      }) as AddressStates;
    },
  });
  try {
    gate = Promise.withResolvers();
    const { baseUrl, token } = await slow.serve();
    const { port, hostname } = new URL(baseUrl);
    const socket = connect(Number(port), hostname);
    const served = slow.get(`${path}?q=jones`);
    socket.write(`GET ${path}?q=smith HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n\r\n`);
    await sleep(300);
    socket.destroy();
    await sleep(300);
    gate.resolve();
    assert.equal((await served).status, 200);
    const rows = await slow.audit.find({ action: 'directory.search', limit: 2 });
    assert.deepEqual(
      rows.map(({ outcome, objects }) => [outcome, objects['code'], objects['shown']].join(' ')).toSorted(),
      ['ok  1', 'refused DIRECTORY_ABANDONED '],
    );
  } finally {
    gate.resolve();
    await slow.close();
  }
});
