/** Several sources, one address: a record without NPI is one with the owner's, where only one can be meant (Decision 0025). */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  orderSources,
  readOpenRecords,
  removeSource,
  rollBack,
  showRecords,
} from '../../src/service/directory/index.ts';
import { claimSources } from '../../src/service/directory/store/claim-generation.ts';
import { startTestDirectory, toCsv, type TestDirectory } from './start-directory.ts';

type Row = Readonly<Record<string, string>>;

const [one, two] = ['1234567893', '1245319599'];
const sample = { prov_npi: one, prov_first_name: 'Alex', prov_last_name: 'Sample' };
const clinic = { org_name: 'Example Clinic', org_city: 'Albany', org_state: 'NY' };

/** A case: what each source says of one address, and the records to be served: NPI, last name, organization, phone. */
const cases: Record<string, { says: Readonly<Record<string, readonly Row[]>>; served: readonly string[] }> = {
  'one knows the owner, the other the rest': {
    says: { directtrust: [clinic], npd: [{ prov_npi: one }] },
    served: [`${one}||Example Clinic|`],
  },
  'the first knows the owner': {
    says: { directtrust: [{ ...sample }], nppes: [{ ...clinic, org_phone: '518-555-0100' }] },
    served: [`${one}|Sample|Example Clinic|518-555-0100`],
  },
  'a nearly blank entry adds nothing': {
    says: { directtrust: [{}], nppes: [{ ...sample, ...clinic }] },
    served: [`${one}|Sample|Example Clinic|`],
  },
  'the address in other letters': {
    says: { directtrust: [{ ...clinic, serv_direct_addr: 'UPPER' }], npd: [{ ...sample }] },
    served: [`${one}|Sample|Example Clinic|`],
  },
  'three sources, two of them without the owner': {
    says: { directtrust: [clinic], npd: [{ org_phone: '518-555-0100' }], nppes: [sample] },
    served: [`${one}|Sample|Example Clinic|518-555-0100`],
  },
  'three sources, two of them with the owner': {
    says: { directtrust: [{ prov_npi: one }], npd: [{ ...clinic }], nppes: [sample] },
    served: [`${one}|Sample|Example Clinic|`],
  },
  'two owners: whose the third entry is, nobody says': {
    says: { directtrust: [clinic], npd: [{ prov_npi: one }], nppes: [{ prov_npi: two }] },
    served: ['||Example Clinic|', `${one}|||`, `${two}|||`],
  },
  'two owners in one source': {
    says: { directtrust: [clinic], nppes: [{ prov_npi: one }, { prov_npi: two }] },
    served: ['||Example Clinic|', `${one}|||`, `${two}|||`],
  },
  'a source that has the address with and without an owner tells them apart': {
    says: { directtrust: [clinic, sample], npd: [{ prov_npi: one, org_phone: '518-555-0100' }] },
    served: ['||Example Clinic|', `${one}|Sample||518-555-0100`],
  },
  'another last name': {
    says: { directtrust: [{ prov_last_name: 'Other', ...clinic }], npd: [sample] },
    served: ['|Other|Example Clinic|', `${one}|Sample||`],
  },
  'the same name in other letters': {
    says: { directtrust: [{ prov_first_name: 'ALEX', prov_last_name: 'Sámple' }], npd: [sample] },
    served: [`${one}|Sámple||`],
  },
  'the same name without its apostrophe, and an initial': {
    says: {
      directtrust: [{ prov_first_name: 'A.', prov_last_name: "O'Brien" }],
      npd: [{ prov_npi: one, prov_first_name: 'ALEX K', prov_last_name: 'OBRIEN' }],
    },
    served: [`${one}|O'Brien||`],
  },
  'another first name': {
    says: { directtrust: [{ prov_first_name: 'Ann', prov_last_name: 'Sample' }], npd: [sample] },
    served: ['|Sample||', `${one}|Sample||`],
  },
  'the NPI of an organization is not that of a person': {
    says: { directtrust: [{ prov_last_name: 'Sample' }], nppes: [{ prov_npi: one, ...clinic }] },
    served: ['|Sample||', `${one}||Example Clinic|`],
  },
  'a department without NPI and its organization': {
    says: { directtrust: [{ ...clinic, org_phone: '518-555-0100' }], nppes: [{ prov_npi: one, ...clinic }] },
    served: [`${one}||Example Clinic|518-555-0100`],
  },
  'no owner at all': {
    says: { directtrust: [clinic], npd: [{ org_phone: '518-555-0100' }] },
    served: ['||Example Clinic|518-555-0100'],
  },
  'one owner everywhere': {
    says: { directtrust: [{ ...sample }], npd: [{ prov_npi: one, ...clinic }] },
    served: [`${one}|Sample|Example Clinic|`],
  },
};
/** Names as two programs write one person's, and names of two persons: first, middle, last, suffix. */
const persons: Readonly<Record<string, readonly [Name, Name, 'one' | 'two']>> = {
  'a title before the first name': [['Dr. Alex', '', 'Sample'], ['ALEX', '', 'SAMPLE'], 'one'],
  'degrees in the last name': [['Alex', '', 'Sample, M.D.'], ['ALEX', '', 'SAMPLE', 'MD'], 'one'],
  'the generation in the last name': [['Alex', '', 'Sample Jr.'], ['ALEX', '', 'SAMPLE', 'JR'], 'one'],
  'the generation in one alone': [['Alex', '', 'Sample'], ['ALEX', '', 'SAMPLE', 'III'], 'one'],
  'father and son': [['Alex', '', 'Sample', 'Sr'], ['ALEX', '', 'SAMPLE JR'], 'two'],
  'second and third of a name': [['Alex', '', 'Sample', 'MD, II'], ['ALEX', '', 'SAMPLE', 'III'], 'two'],
  'a short form of the first name': [['Bob', '', 'Sample'], ['ROBERT', '', 'SAMPLE'], 'one'],
  'two short forms': [['Bill', '', 'Sample'], ['WILL', '', 'SAMPLE'], 'one'],
  'the middle name as first name': [['Robert', '', 'Sample'], ['JAMES', 'ROBERT', 'SAMPLE'], 'one'],
  'an initial before the name': [['J. Robert', '', 'Sample'], ['ROBERT', 'J', 'SAMPLE'], 'one'],
  'the middle initial in the first name': [['Alex K.', '', 'Sample'], ['ALEX', 'K', 'SAMPLE'], 'one'],
  'half of a double first name': [['Jean', '', 'Sample'], ['BILLY-JEAN', '', 'SAMPLE'], 'one'],
  'a double first name in one word': [['Mary Ann', '', 'Sample'], ['MARYANN', '', 'SAMPLE'], 'one'],
  'a double last name with a hyphen and without': [
    ['Ana', '', 'Garcia-Lopez'],
    ['ANA', '', 'GARCIA LOPEZ'],
    'one',
  ],
  'half of a double last name': [['Ana', '', 'Lopez'], ['ANA', '', 'GARCIA-LOPEZ'], 'one'],
  'a particle with a blank and without': [['Jan', '', 'van der Berg'], ['JAN', '', 'VANDERBERG'], 'one'],
  'a last name with a blank inside': [['Al', '', 'Mc Donald'], ['AL', '', 'MCDONALD'], 'one'],
  'letters that have no accent': [['Søren', '', 'Strauß'], ['SOREN', '', 'STRAUSS'], 'one'],
  'a typographic apostrophe': [['Pat', '', 'O’Dell'], ['PAT', '', "O'DELL"], 'one'],
  'first and last name changed': [['Sample', '', 'Alex'], ['ALEX', '', 'SAMPLE'], 'one'],
  'both names in one field': [['', '', 'Sample, Alex'], ['ALEX', '', 'SAMPLE'], 'one'],
  'a husband and his wife': [['Ann', '', 'Sample'], ['BOB', '', 'SAMPLE'], 'two'],
  'a last name that begins like another': [['Alex', '', 'Sam'], ['ALEX', '', 'SAMPLE'], 'two'],
  'a particle is no half of a name': [['Jan', '', 'de'], ['JAN', '', 'DE GROOT'], 'two'],
  'siblings with one initial': [['Ann', '', 'Sample'], ['AMY', '', 'SAMPLE'], 'two'],
  'a surname that is a degree': [['Lan', '', 'Do'], ['LAN', '', 'DO'], 'one'],
  'another person with the middle name': [['Lee', '', 'Other'], ['ALEX', 'LEE', 'SAMPLE'], 'two'],
};
type Name = readonly [first: string, middle: string, last: string, suffix?: string];

function rowOf([first, middle, last, suffix = '']: Name): Row {
  return { prov_first_name: first, prov_mid_name: middle, prov_last_name: last, prov_suffix: suffix };
}

for (const [name, [ownerless, owner, count]] of Object.entries(persons))
  cases[name] = {
    says: { directtrust: [rowOf(ownerless)], nppes: [{ ...rowOf(owner), prov_npi: one }] },
    served: count === 'one' ? [`${one}|${ownerless[2]}||`] : [`|${ownerless[2]}||`, `${one}|${owner[2]}||`],
  };

const names = Object.keys(cases);
const sources = ['directtrust', 'npd', 'nppes'];

/** The rows of a source; the address tells the case. */
function rowsOf(source: string): Row[] {
  return names.flatMap((name, at) =>
    (cases[name]?.says[source] ?? []).map((row) => ({
      ...row,
      serv_direct_addr: `${row['serv_direct_addr'] === 'UPPER' ? 'CASE' : 'case'}${at}@direct.one.example`,
    })),
  );
}

/** A few people of whom only the national files know, so that a case is a small part of the whole. */
const crowd = Array.from({ length: 200 }, (_, index): Row => ({
  serv_direct_addr: `p${index}@direct.crowd.example`,
}));

function into(world: TestDirectory, source: string, rows: readonly Row[], kind: 'full' | 'incremental') {
  return world.load(toCsv(rows, ['action']), kind, { sourceName: source });
}

const fields = ['prov_npi', 'prov_last_name', 'org_name', 'org_phone'];
const addressOf = (row: Record<string, unknown>): string => String(row['serv_direct_addr']).toLowerCase();

async function find(world: TestDirectory, address: string): Promise<Record<string, unknown>[]> {
  await world.directory.refresh();
  return (await world.search({ serv_direct_addr: address, limit: 1000 })).body.providers ?? [];
}

function textsOf(rows: readonly Record<string, unknown>[]): string[] {
  return rows.map((row) => fields.map((field) => row[field]).join('|')).toSorted();
}

async function assertCases(world: TestDirectory): Promise<void> {
  const found = Map.groupBy(await find(world, '@direct.one.example'), addressOf);
  for (const [at, name] of names.entries())
    assert.deepEqual(
      textsOf(found.get(`case${at}@direct.one.example`) ?? []),
      cases[name]?.served.toSorted(),
      name,
    );
}

const ways: Readonly<Record<string, (world: TestDirectory) => Promise<unknown>>> = {
  async 'whole files, the first source first'(world) {
    for (const source of sources) await into(world, source, [...rowsOf(source), ...crowd], 'full');
  },
  async 'whole files, the last source first'(world) {
    for (const source of sources.toReversed())
      await into(world, source, [...rowsOf(source), ...crowd], 'full');
  },
  async 'row by row, on top of a merge'(world) {
    for (const source of sources) await into(world, source, crowd, 'full');
    for (const source of ['npd', 'nppes', 'directtrust'])
      await into(world, source, rowsOf(source), 'incremental');
  },
  async 'in another order of precedence, and back'(world) {
    await orderSources(world, ['nppes', 'npd', 'directtrust']);
    await orderSources(world, sources);
  },
  async 'without one source, and with it again'(world) {
    await removeSource(world, 'npd');
    await into(world, 'npd', [...rowsOf('npd'), ...crowd], 'full');
  },
  async 'after an increment that is rolled back'(world) {
    const rows = rowsOf('nppes').map((row) => ({ ...row, action: 'remove' }));
    await into(world, 'nppes', rows, 'incremental');
    await rollBack(world, 'nppes');
  },
};

describe('the records of one address', () => {
  let world: TestDirectory;
  before(async () => {
    world = await startTestDirectory({ pollIntervalMs: 60_000 });
  });
  after(() => world.close());

  for (const [way, load] of Object.entries(ways))
    test(`are those of its owners: ${way}`, async () => {
      await load(world);
      await assertCases(world);
    });

  test('have the same ids while an owner comes, goes and changes', async () => {
    const address = 'steps@direct.one.example';
    const says = (source: string, row: Row, action = '') =>
      into(world, source, [{ serv_direct_addr: address, action, ...row }], 'incremental');
    const steps: [() => Promise<unknown>, readonly string[]][] = [
      [() => says('directtrust', clinic), ['||Example Clinic|']],
      [() => says('nppes', { prov_npi: one }), [`${one}||Example Clinic|`]],
      [() => says('npd', { prov_npi: two }), ['||Example Clinic|', `${one}|||`, `${two}|||`]],
      [() => says('nppes', { prov_npi: one }, 'remove'), [`${two}||Example Clinic|`]],
      [() => says('directtrust', {}, 'remove'), [`${two}|||`]],
      [() => says('directtrust', { ...clinic, prov_last_name: 'Sample' }), [`${two}|Sample|Example Clinic|`]],
      [
        () => says('npd', { prov_npi: two, prov_last_name: 'Other' }),
        [`${two}|Other||`, '|Sample|Example Clinic|'],
      ],
    ];
    const ids = new Set<unknown>();
    for (const [step, expected] of steps) {
      await step();
      const found = await find(world, address);
      assert.deepEqual(textsOf(found), expected.toSorted());
      assert.equal(new Set(found.map(({ id }) => id)).size, found.length);
      ids.add(found.find((row) => row['org_name'] === 'Example Clinic')?.['id'] ?? 'none');
    }
    assert.ok(ids.size <= 4, 'the record of the clinic keeps its id');
  });

  test('are shown to the operator with what each source says', async () => {
    for (const [at, said] of [
      [4, 3],
      [6, 1],
    ] as const) {
      const shown = await showRecords(world.storage, { directAddress: `case${at}@direct.one.example` });
      assert.equal(shown.length, cases[names[at] ?? '']?.served.length);
      assert.ok(shown.every((record) => record.said.length === said));
    }
  });

  test('have nothing of a closed source in the open records', async () => {
    const open = await openRecords(world);
    const without = await startTestDirectory({ pollIntervalMs: 60_000 });
    try {
      for (const source of ['npd', 'nppes'])
        await into(without, source, [...rowsOf(source), ...crowd], 'full');
      assert.deepEqual(open, await openRecords(without));
    } finally {
      await without.close();
    }
    assert.ok(open.includes(`case0@direct.one.example ${one}   `));
  });
});

async function openRecords(world: TestDirectory): Promise<string[]> {
  const claimed = await claimSources(world.storage, undefined);
  const open: string[] = [];
  const ids = new Set<number>();
  await readOpenRecords(world.storage, claimed, async (records) => {
    for (const { id, directAddress, npi, lastName, organization, phone } of records) {
      ids.add(id);
      if (directAddress.startsWith('case') || directAddress.startsWith('CASE'))
        open.push([directAddress, npi, lastName, organization, phone].join(' '));
    }
  });
  await claimed.release();
  assert.ok(ids.size >= open.length, 'an id is there twice');
  return open.toSorted();
}
