/** FHIR searches against the native search for the same question: the same records, in the same order, with exact totals. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fc } from '../../support/fast-check.ts';
import { pick, seededRandom } from '../../support/random-directory.ts';
import { rowsArbitrary } from '../random-directory.ts';
import { startTestDirectory, toCsv, type TestDirectory } from '../start-directory.ts';
import { testFhir, type FhirResource, type TestFhir } from './start-fhir.ts';

let world: TestDirectory;
let fhir: TestFhir;
before(async () => {
  world = await startTestDirectory();
  fhir = testFhir(world);
});
after(() => world.close());

interface Question {
  readonly type: 'Endpoint' | 'PractitionerRole' | 'Practitioner' | 'Organization' | 'Location';
  readonly fhir: Record<string, string>;
  readonly native: Record<string, string>;
}

const parts = ['an', 'Heart', 'jose', 'nu', 'b', 'o', 'st', 'clin', 'ł', 'direct', 'card', '10', '12'];
const states = ['MA', 'TX', 'NY', 'AK'];
const cities = ['bos', 'aus', 'new', 'a'];

function randomQuestion(random: () => number): Question {
  const text = pick(random, parts);
  const city = pick(random, cities);
  const state = pick(random, states);
  const place = pick(random, [
    { fhir: { 'address-state:exact': state }, native: { org_state: state } },
    { fhir: { 'address-city': city }, native: { org_city: city } },
    {
      fhir: { 'address-city': city, 'address-state:exact': state },
      native: { org_city: city, org_state: state },
    },
    { fhir: { 'address-postalcode': '0' }, native: { org_zip: '0' } },
    { fhir: {}, native: {} },
  ]);
  return pick<Question>(random, [
    { type: 'Endpoint', fhir: { 'address:contains': text }, native: { serv_direct_addr: text } },
    { type: 'PractitionerRole', fhir: { 'specialty:text': text }, native: { prov_spec_text: text } },
    {
      type: 'PractitionerRole',
      fhir: { practitioner: 'npi-1000000004' },
      native: { prov_npi: '1000000004' },
    },
    { type: 'Practitioner', fhir: { family: text }, native: { prov_last_name: text } },
    {
      type: 'Practitioner',
      fhir: { 'qualification-code:text': text, family: 'n' },
      native: { prov_spec_text: text, prov_last_name: 'n' },
    },
    { type: 'Practitioner', fhir: { identifier: '1500000009' }, native: { prov_npi: '1500000009' } },
    { type: 'Practitioner', fhir: {}, native: {} },
    {
      type: 'Organization',
      fhir: { 'name:contains': text, ...place.fhir },
      native: { org_name: text, ...place.native },
    },
    { type: 'Organization', fhir: place.fhir, native: place.native },
    { type: 'Location', fhir: place.fhir, native: place.native },
  ]);
}

const elements = {
  Practitioner: 'practitioner',
  Organization: 'organization',
  Location: 'location',
} as const;

async function compare(seed: number, questions: number): Promise<number> {
  const random = seededRandom(seed);
  const roles = new Map((await fhir.all('PractitionerRole?_count=1000')).map((role) => [role.id, role]));
  // The records found by the references of their roles.
  const resourceOf = (type: Question['type'], id: unknown): string | undefined => {
    if (type === 'Endpoint') return `e-${String(id)}`;
    if (type === 'PractitionerRole') return `r-${String(id)}`;
    const role = roles.get(`r-${String(id)}`) as FhirResource;
    const [reference] = [role[elements[type]]].flat() as ({ reference: string } | undefined)[];
    return reference?.reference.split('/')[1];
  };
  let found = 0;
  for (let round = 0; round < questions; round++) {
    const question = randomQuestion(random);
    const { body } = await world.search({ ...question.native, limit: 1000 });
    const expected = [
      ...new Set(
        (body.providers ?? [])
          .map(({ id }) => resourceOf(question.type, id))
          .filter((id) => id !== undefined),
      ),
    ];
    const query = new URLSearchParams({
      ...question.fhir,
      _count: String(pick(random, [3, 7, 1000])),
    }).toString();
    const label = `${question.type}?${query}`;
    const { body: bundle, status } = await fhir.get(label, { prefer: 'handling=strict' });
    assert.equal(status, 200, JSON.stringify(bundle));
    // A role refers to a person only if it names one.
    const isNamed = question.fhir['practitioner'] !== undefined;
    const wanted = isNamed
      ? expected.filter((id) => roles.get(id)?.['practitioner'] !== undefined)
      : expected;
    assert.equal(bundle.total, wanted.length, label);
    const ids = (await fhir.all(label)).map(({ id }) => id);
    if (['Endpoint', 'Practitioner'].includes(question.type)) assert.deepEqual(ids, wanted, label);
    else assert.deepEqual(ids.toSorted(), wanted.toSorted(), label);
    found += wanted.length > 0 ? 1 : 0;
  }
  return found;
}

test('FHIR and native searches agree after full loads and with an increment next to the index', async () => {
  let found = 0;
  for (const [round, rows] of fc.sample(rowsArbitrary, { numRuns: 3, seed: 33 }).entries()) {
    await world.load(toCsv(rows));
    found += await compare(round, 40);
  }
  const [base = [], more = []] = fc.sample(rowsArbitrary, { numRuns: 2, seed: 29 });
  await world.load(toCsv(base));
  const removed = base.filter((_, index) => index % 3 === 0).map((row) => ({ ...row, action: 'remove' }));
  const changed = base
    .filter((_, index) => index % 3 === 1)
    .map((row) => ({ ...row, prov_last_name: 'Nchanged', org_city: 'Boston' }));
  const added = more.map((row) => ({ ...row, serv_direct_addr: `new.${row.serv_direct_addr}` }));
  await world.load(toCsv([...removed, ...changed, ...added], ['action']), 'incremental');
  found += await compare(100, 80);
  assert.ok(found > 30, `only ${found} questions have answers`);
});

test('ids stay over full loads of the same records in another order', async () => {
  const [rows = []] = fc.sample(rowsArbitrary, { numRuns: 1, seed: 30 });
  await world.load(toCsv(rows));
  const former = await everything();
  await world.load(toCsv(rows.toReversed()));
  assert.deepEqual(await everything(), former);
});

async function everything(): Promise<FhirResource[]> {
  const found: FhirResource[] = [];
  for (const type of ['Endpoint', 'PractitionerRole', 'Practitioner', 'Organization', 'Location'])
    found.push(...(await fhir.all(`${type}?_count=1000`)));
  return found;
}
