/** `GET /provider-directory/v2/suggestions` over HTTP: what is found, in which order, and what it counts as. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Storage } from '../../src/platform/index.ts';
import type { SuggestionAnswer } from '../../src/service/directory/index.ts';
import { createAddressStates } from '../../src/service/verification/index.ts';
import type { VerificationTables } from '../../src/service/verification/tables.ts';
import { startTestDirectory, toCsv, type Reply, type TestDirectory } from './start-directory.ts';

const path = '/provider-directory/v2/suggestions';
const cardiology = '2.16.840.1.113883.6.101:NUCC:207RC0000X:Cardiovascular Disease';

/** NPIs with right check digits. */
const records = [
  {
    key: 'smith',
    prov_npi: '1000000004',
    prov_first_name: 'Anna',
    prov_last_name: 'Smith',
    prov_suffix: 'MD',
    prov_spec_text: cardiology,
    serv_direct_addr: 'anna.smith@direct.heart.example',
    org_name: 'Lakeside Heart Ctr',
    org_addr_1: '12 N Main St',
    org_city: 'Chicago',
    org_state: 'IL',
    org_zip: '60601',
    org_phone: '(312) 555-0101',
  },
  {
    key: 'smith again',
    prov_npi: '1000000004',
    prov_first_name: 'Anna',
    prov_last_name: 'Smith',
    serv_direct_addr: 'asmith@direct.other.example',
    org_name: 'Evanston Clinic',
    org_city: 'Evanston',
    org_state: 'IL',
    org_zip: '60201',
  },
  {
    key: 'obrien',
    prov_npi: '1000000012',
    prov_first_name: 'Róisín',
    prov_last_name: 'O’Brien-Núñez',
    serv_direct_addr: 'robrien@direct.heart.example',
    org_name: 'St. Mary’s Hosp.',
    org_city: 'Springfield',
    org_state: 'IL',
    org_zip: '62701',
  },
  {
    key: 'garcia',
    prov_npi: '1000000020',
    prov_first_name: 'Robert',
    prov_last_name: 'Garcia Lopez',
    prov_spec_text: 'Otolaryngology',
    serv_direct_addr: 'rgarcia@direct.west.example',
    org_name: 'West & Sons Medical Group',
    org_addr_1: '5 Saint Louis Avenue',
    org_city: 'Fort Worth',
    org_state: 'TX',
    org_zip: '76102',
    org_phone: '1-817-555-0142',
  },
  {
    key: 'desk',
    serv_direct_addr: 'referrals@direct.smithfield.example',
    org_name: 'Smithfield Family Practice',
    org_city: 'Smithfield',
    org_state: 'NC',
    org_zip: '27577',
  },
  {
    key: 'line',
    serv_direct_addr: 'nurses@direct.line.example',
    org_name: 'Nurse Line (212) 555 0177',
    org_city: 'Albany',
    org_state: 'NY',
    org_zip: '12207',
  },
];

let world: TestDirectory;
before(async () => {
  world = await startTestDirectory({ states: (storage: Storage) => createAddressStates(storage) });
  await world.load(toCsv(records, ['key']));
});
after(() => world.close());

interface Suggested extends Reply {
  readonly list: SuggestionAnswer;
}

async function suggest(query: Record<string, string>): Promise<Suggested> {
  const reply = await world.get(`${path}?${new URLSearchParams(query).toString()}`);
  return { ...reply, list: JSON.parse(reply.text) as SuggestionAnswer };
}

async function namesFor(q: string, more: Record<string, string> = {}): Promise<string[]> {
  const { list, status, text } = await suggest({ q, ...more });
  assert.equal(status, 200, text);
  return list.suggestions.map((one) => one.prov_last_name || one.org_name);
}

describe('what people type', () => {
  const smith = 'Smith';
  const obrien = 'O’Brien-Núñez';
  const garcia = 'Garcia Lopez';
  const desk = 'Smithfield Family Practice';
  const line = 'Nurse Line (212) 555 0177';
  const cases: readonly (readonly [string, readonly string[]])[] = [
    ['(212) 555-0177', [line]],
    ['nurse 212.555.0177', [line]],
    ['+1 212 555 0177', [line]],
    ['(212) 555-01', [line]],
    ['smith cardio chicago', [smith]],
    ['chicago smith', [smith]],
    ['Dr. Smith MD', [smith, desk]],
    ['smi', [smith, desk]],
    ['heart doctor chicago', [smith]],
    ['cardiologist', [smith]],
    ['207RC0000X', [smith]],
    ['lakeside center', [smith]],
    ['12 north main street', [smith]],
    ['312 555 0101', [smith]],
    ['+1 (312) 555-01', [smith]],
    ['1000000004', [smith]],
    ['60601', [smith]],
    ['anna.smith@direct.heart.example', [smith]],
    ['smith illinois', [smith]],
    ['obrien', [obrien]],
    ["o'brien", [obrien]],
    ['O‘BRIEN nunez', [obrien]],
    ['nunez obrien', [obrien]],
    ['obriennunez', [obrien]],
    ['saint marys hospital', [obrien]],
    ['st mary', [obrien]],
    ['bob lopez garcia', [garcia]],
    ['ent ft worth', [garcia]],
    ['st louis ave', [garcia]],
    ['west and sons', [garcia]],
    ['8175550142', [garcia]],
    ['smtih chicgo', [smith]],
    ['cardiovasculra', [smith]],
    ['referrals', [desk]],
    ['smith texas', []],
    ['60602', []],
  ];
  test('is found, whatever the order and spelling', async () => {
    for (const [q, expected] of cases) assert.deepEqual(await namesFor(q), expected, q);
  });

  test('names one person once, with all addresses, the fitting one first, and tells which words fit where', async () => {
    const { list } = await suggest({ q: 'smith evanston' });
    const [first] = list.suggestions;
    assert.deepEqual(
      first?.addresses.map((one) => one.serv_direct_addr),
      ['asmith@direct.other.example', 'anna.smith@direct.heart.example'],
    );
    assert.deepEqual([first?.addressCount, list.totalCount], [2, '1']);
    const marked = first?.matched.map(({ field, start, length, match }) => [
      field,
      String(first[field as 'org_city']).slice(start, start + length),
      match,
    ]);
    assert.deepEqual(marked, [
      ['prov_last_name', 'Smith', 'exact'],
      ['org_name', 'Evanston', 'exact'],
      ['org_city', 'Evanston', 'exact'],
    ]);
  });

  test('says that words are taken as misspelt, and what was nearly meant', async () => {
    assert.equal((await suggest({ q: 'smtih' })).list.misspelt, true);
    const { list } = await suggest({ q: 'smith garcia' });
    assert.deepEqual([list.suggestions, list.nearlyMeant], [[], ['garcia', 'smith']]);
  });

  test('filters by state, specialty and kind, and counts facets', async () => {
    assert.deepEqual(await namesFor('smith', { state: 'nc' }), [desk]);
    assert.deepEqual(await namesFor('smith', { kind: 'person' }), [smith]);
    assert.deepEqual(await namesFor('smith', { specialty: '207R' }), [smith]);
    assert.deepEqual(await namesFor('smith', { specialty: 'heart' }), [smith]);
    const { facets } = (await suggest({ q: 'smith' })).list;
    assert.deepEqual(facets.state, [
      { value: 'IL', label: 'Illinois', count: 2 },
      { value: 'NC', label: 'North Carolina', count: 1 },
    ]);
    assert.deepEqual(facets.specialty, [{ value: '207R', label: 'Internal Medicine', count: 1 }]);
    // The group and what is only called so are two facets with different names.
    const uncoded = { key: 'text', prov_last_name: 'Smith', prov_spec_text: 'Internal Medicine' };
    await world.load(toCsv([uncoded], ['key']), 'incremental');
    assert.deepEqual(
      (await suggest({ q: 'smith' })).list.facets.specialty.map(({ label }) => label),
      ['Internal Medicine', 'Internal Medicine, not coded'],
    );
    assert.equal((await suggest({ q: 'smith', specialty: 'internal medicine' })).list.totalCount, '1');
    await world.load(toCsv(records, ['key']));
  });

  test('tells distances from a place', async () => {
    const { list } = await suggest({ q: 'il', org_zip: '62701' });
    assert.deepEqual(
      list.suggestions.map((one) => one.prov_last_name),
      [obrien, smith],
    );
    assert.equal(list.suggestions[0]?.distance, 0);
  });
});

test('verified addresses come first among equals, and alone on request', async () => {
  const row = {
    address_key: 'referrals@direct.smithfield.example',
    domain: 'direct.smithfield.example',
    state: 'trusted' as const,
    reason: '',
    checked_at: Date.now(),
    changed_at: world.storage.clock.now().getTime(),
  };
  assert.equal((await suggest({ q: 'smith', verified: 'true' })).list.totalCount, '0');
  await world.storage.tables<VerificationTables>().insertInto('verification_address').values(row).execute();
  // States are read again after a second.
  await assert.doesNotReject(async () => {
    for (let tries = 0; tries < 50; tries++) {
      if ((await namesFor('smith', { verified: 'true' })).length === 1) return;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    throw new Error('the verified address is not found');
  });
  const { list } = await suggest({ q: 'example' });
  assert.equal(list.suggestions[0]?.org_name, 'Smithfield Family Practice');
  assert.equal(list.suggestions[0]?.addresses[0]?.verification?.state, 'trusted');
  assert.equal(list.facets.verified[0]?.count, 1);
});

test('faulty parameters are 400 and named', async () => {
  const cases: readonly (readonly [Record<string, string>, string])[] = [
    [{}, 'q'],
    [{ q: ' ' }, 'q'],
    [{ q: '&' }, 'q'],
    [{ q: 'a'.repeat(201) }, 'q'],
    [{ q: 'a', limit: '0' }, 'limit'],
    [{ q: 'a', limit: 'x' }, 'limit'],
    [{ q: 'a', state: 'QQ' }, 'state'],
    [{ q: 'a', verified: 'yes' }, 'verified'],
    [{ q: 'a', kind: 'robot' }, 'kind'],
    [{ q: 'a', specialty: '-' }, 'specialty'],
    [{ q: 'a', org_city: 'Chicago' }, 'org_state'],
    [{ q: 'a', org_zip: '6060' }, 'org_zip'],
    [{ q: 'a', org_zip: '00000' }, 'org_zip'],
    [{ q: 'a', offset: '1' }, 'offset'],
  ];
  for (const [query, field] of cases) {
    const { status, body } = await suggest(query);
    assert.equal(status, 400, JSON.stringify(query));
    assert.equal(body.errors?.[0]?.field, field);
  }
});

test('tokens, data-use rule, rate limit, quota and audit are those of a search', async () => {
  assert.equal((await world.get(`${path}?q=smith`, { authorization: '' })).status, 401);
  const other = await world.createToken({ scopes: ['messaging.api'] });
  assert.equal((await world.get(`${path}?q=smith`, { authorization: `Bearer ${other}` })).status, 403);
  const stranger = await world.createToken({ acceptsDataUse: false });
  assert.equal((await world.get(`${path}?q=smith`, { authorization: `Bearer ${stranger}` })).status, 403);
  const small = await world.createToken({ limits: { directoryRecordsPerDay: 3 } });
  const ask = (): Promise<Reply> => world.get(`${path}?q=smith`, { authorization: `Bearer ${small}` });
  // Three addresses of two suggestions.
  assert.deepEqual([(await ask()).status, (await ask()).status], [200, 429]);
});

test('increments are found, and words of removed records are gone, also from what was nearly meant', async () => {
  const added = {
    key: 'new',
    prov_last_name: 'Quetzal',
    org_name: 'Zeppelin Clinic',
    serv_direct_addr: 'q@z.example',
  };
  await world.load(toCsv([added], ['key']), 'incremental');
  assert.deepEqual(await namesFor('quetzal'), ['Quetzal']);
  assert.deepEqual(await namesFor('quetzla'), ['Quetzal']);
  const { list } = await suggest({ q: 'quetzal nosuchword' });
  assert.deepEqual(list.nearlyMeant, ['quetzal']);
  await world.load(toCsv(records, ['key']));
  const gone = await suggest({ q: 'quetzal nosuchword' });
  assert.deepEqual([gone.list.nearlyMeant, gone.list.totalCount], [[], '0']);
});
