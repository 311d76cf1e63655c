/** A person is found by a former, professional or other name, and the record says so: NPPES, our own files, merges, FHIR. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { openInput } from '../../src/service/directory/index.ts';
import { startTestDirectory, type TestDirectory } from './start-directory.ts';

let world: TestDirectory;
before(async () => {
  world = await startTestDirectory({ pollIntervalMs: 60_000 });
});
after(() => world.close());

type Wire = Record<string, unknown>;

async function importTexts(texts: Record<string, string>, more = {}) {
  const files = [];
  for (const [name, text] of Object.entries(texts)) {
    const file = path.join(world.folder, name);
    await writeFile(file, text);
    files.push(...(await openInput(file)));
  }
  const report = await world.directory.importFiles({ files, kind: 'full', acceptLoss: true, ...more });
  await world.directory.refresh();
  return report;
}

async function found(query: Record<string, string | number>): Promise<string[]> {
  const { body } = await world.search({ sort_by: 'serv_direct_addr', ...query });
  return (body.providers ?? []).map((record) => String(record['serv_direct_addr']).replace(/@.*/, ''));
}

async function recordOf(local: string): Promise<Wire> {
  const { body } = await world.search({ serv_direct_addr: `${local}@` });
  return body.providers?.[0] ?? {};
}

const nppesHeader = [
  'NPI',
  'Entity Type Code',
  'Provider Organization Name (Legal Business Name)',
  'Provider Last Name (Legal Name)',
  'Provider First Name',
  'Provider Middle Name',
  'Provider Other Organization Name',
  'Provider Other Organization Name Type Code',
  'Provider Other Last Name',
  'Provider Other First Name',
  'Provider Other Middle Name',
  'Provider Other Last Name Type Code',
];

// Last, first, middle; other last, first, middle, code; what the record says.
const persons = [
  ['SAMPLE', 'ALEX', 'K', 'FORMER', 'ALEX', 'K', '1', 'FORMER (former)'],
  ['SAMPLE', 'ROBERT', '', 'SAMPLE', 'BOB', 'J', '2', 'SAMPLE, BOB J (professional)'],
  ['SAMPLE', 'JO', '', "O'DELL-VAN DER BERG", '', '', '5', "O'DELL-VAN DER BERG (other)"],
  ['SAMPLE', 'ANN', '', '', 'ANNIE', '', '2', 'SAMPLE, ANNIE (professional)'],
  ['SAMPLE', 'SAME', 'M', 'Sample', 'Same', '', '1', undefined],
  ['SAMPLE', 'HIDDEN', '', '<UNAVAIL>', '<UNAVAIL>', '', '', undefined],
  ['SAMPLE', 'SIGNS', '', 'A;B, (C)', 'SIGNS', '', '1', 'A B C (former)'],
  ['SAMPLE', 'CODELESS', '', 'BLANK', 'CODELESS', '', '', 'BLANK (other)'],
  ['FORMER', 'OTHER', '', '', '', '', '', undefined],
] as const;
const npiAt = (at: number): string => String(1_234_567_000 + at);

describe('NPPES', () => {
  before(async () => {
    const rows = persons.map(([last, first, middle, ...other], at) => [
      npiAt(at),
      '1',
      '',
      last,
      first,
      middle,
      '',
      '',
      ...other.slice(0, 4),
    ]);
    rows.push([npiAt(50), '2', 'LEGAL CO', '', '', '', 'SUNNY CLINIC', '3', '', '', '', '']);
    const line = (values: readonly unknown[]): string =>
      values.map((value) => `"${String(value)}"`).join(',');
    const endpoints = rows.map(([npi]) => [
      npi,
      'DIRECT',
      `p${String(Number(npi) - 1_234_567_000)}@direct.t.example`,
    ]);
    const report = await importTexts(
      {
        // Before the endpoints, as in an archive.
        'othername_pfile.csv': [
          ['NPI', 'Provider Other Organization Name', 'Provider Other Organization Name Type Code'],
          [npiAt(50), 'MOON CLINIC', '4'],
          [npiAt(50), 'Sunny Clinic', '3'],
          [npiAt(50), 'STAR CLINIC', '5'],
          [npiAt(99), 'NOBODY', '3'],
          [npiAt(50), 'too few'],
        ]
          .map((row) => `${line(row)}\n`)
          .join(''),
        'endpoint_pfile.csv': [['NPI', 'Endpoint Type', 'Endpoint'], ...endpoints]
          .map((row) => `${line(row)}\n`)
          .join(''),
        'npidata_pfile.csv': [nppesHeader, ...rows].map((row) => `${line(row)}\n`).join(''),
      },
      { sourceName: 'nppes' },
    );
    assert.deepEqual([report.loaded, report.warnings.other_name_row?.count], [persons.length + 1, 1]);
  });

  test('the record says which other name it has', async () => {
    for (const [at, person] of persons.entries())
      assert.equal((await recordOf(`p${at}`))['prov_other_names'], person[7], person[1]);
  });

  test('a person is found by either name', async () => {
    for (const [query, expected] of [
      [{ prov_last_name: 'former' }, ['p0', 'p8']],
      [{ prov_last_name: 'form' }, ['p0', 'p8']],
      [{ prov_last_name: 'FORMER', prov_first_name: 'alex', prov_mid_name: 'k' }, ['p0']],
      [{ prov_last_name: 'former', prov_first_name: 'Bob' }, []],
      [{ prov_first_name: 'bob' }, ['p1']],
      [{ prov_first_name: 'robert' }, ['p1']],
      [{ prov_last_name: "o'dell" }, ['p2']],
      [{ prov_last_name: 'o’dell-van d' }, ['p2']],
      [{ prov_last_name: 'odell van' }, ['p2']],
      [{ prov_last_name: 'van der' }, []],
      [{ prov_first_name: 'annie', prov_last_name: 'sample' }, ['p3']],
      [{ prov_last_name: '(former)' }, []],
      [{ prov_last_name: 'sample', limit: 100 }, persons.slice(0, 8).map((_, at) => `p${at}`)],
    ] as const)
      assert.deepEqual(await found(query as never), expected, JSON.stringify(query));
  });

  test('an organization is found by all of its names', async () => {
    for (const name of ['legal', 'sunny', 'moon', 'star'])
      assert.deepEqual(await found({ org_name: name }), ['p50']);
    assert.equal((await recordOf('p50'))['org_name'], 'LEGAL CO (SUNNY CLINIC; MOON CLINIC; STAR CLINIC)');
  });

  test('suggestions find it and say where, but not by the kind of the name', async () => {
    const suggest = async (q: string): Promise<Wire[]> =>
      (
        (await world.get(`/provider-directory/v2/suggestions?q=${encodeURIComponent(q)}`))
          .body as unknown as {
          suggestions: Wire[];
        }
      ).suggestions;
    const [first, ...others] = await suggest('alex former');
    assert.deepEqual(others, []);
    assert.equal(first?.['prov_other_names'], 'FORMER (former)');
    assert.deepEqual(
      ((first?.['matched'] ?? []) as Wire[]).map(({ field, start, length }) => [field, start, length]),
      [
        ['prov_first_name', 0, 4],
        ['prov_other_names', 0, 6],
      ],
    );
    const names = async (q: string) =>
      (await suggest(q)).map((one) => String(one['prov_first_name'])).toSorted();
    assert.deepEqual(await names('former'), ['ALEX', 'OTHER']);
    assert.deepEqual(await names('professional'), []);
    assert.deepEqual(await names('formr'), ['ALEX', 'OTHER']);
    assert.deepEqual(await names('vanderberg jo'), []);
    assert.deepEqual(await names('berg jo'), ['JO']);
  });

  test('FHIR has them as further names of the practitioner, and finds by them', async () => {
    const search = async (query: string) =>
      (
        (await world.get(`/fhir/Practitioner?${query}`)).body as unknown as {
          entry?: { resource: { name: unknown[] } }[];
        }
      ).entry ?? [];
    assert.deepEqual((await search('family=former&given=alex'))[0]?.resource.name, [
      { use: 'official', family: 'SAMPLE', given: ['ALEX', 'K'] },
      { use: 'old', family: 'FORMER', given: ['ALEX', 'K'] },
    ]);
    assert.deepEqual((await search('name=bob'))[0]?.resource.name, [
      { use: 'official', family: 'SAMPLE', given: ['ROBERT'] },
      { use: 'usual', family: 'SAMPLE', given: ['BOB', 'J'] },
    ]);
    assert.equal((await search('family:exact=former')).length, 2);
    assert.equal((await search('family:contains=dell')).length, 1);
    assert.deepEqual((await search('family=former&given=other'))[0]?.resource.name, [
      { family: 'FORMER', given: ['OTHER'] },
    ]);
  });

  test('an increment that takes the name away takes the person out of its results', async () => {
    const row = [npiAt(0), '1', '', 'SAMPLE', 'ALEX', 'K', '', '', '', '', '', ''];
    await importTexts(
      {
        'npidata_pfile.csv': `${nppesHeader.join(',')}\n${row.join(',')}\n`,
        'endpoint_pfile.csv': `NPI,Endpoint Type,Endpoint\n${npiAt(0)},DIRECT,p0@direct.t.example\n`,
      },
      { sourceName: 'nppes', kind: 'incremental' },
    );
    assert.deepEqual(await found({ prov_last_name: 'former' }), ['p8']);
    assert.equal((await recordOf('p0'))['prov_other_names'], undefined);
  });
});

test('our own column takes them as people write them, of persons alone', async () => {
  const rows = [
    ['own1', 'Jo', 'Sample', 'Smith'],
    ['own2', 'Jo', 'Sample', 'Smith (Former); Doe, Joanna ( other ) ;; '],
    ['own3', '', '', 'Smith (former)'],
    ['own4', 'Jo', 'Sample', 'n/a'],
    ['own5', 'Jo', 'Sample', 'sample (former); Smith; SMITH (maiden)'],
  ];
  await importTexts({
    'own.csv': `serv_direct_addr,prov_first_name,prov_last_name,prov_other_names\n${rows
      .map(([local, ...rest]) => [`${local}@own.example`, ...rest].map((text) => `"${text}"`).join(','))
      .join('\n')}\n`,
  });
  const said = [];
  for (const [local] of rows) said.push((await recordOf(String(local)))['prov_other_names']);
  assert.deepEqual(said, [
    'Smith (other)',
    'Smith (former); Doe, Joanna (other)',
    undefined,
    undefined,
    'Smith (other)',
  ]);
});

test('a source that has the former name and one that has both are one person', async () => {
  const header = 'serv_direct_addr,prov_npi,prov_first_name,prov_last_name,prov_other_names,org_phone';
  const load = (sourceName: string, rows: readonly string[]) =>
    importTexts({ 'merge.csv': `${header}\n${rows.join('\n')}\n` }, { sourceName });
  await load('directtrust', [
    'm1@m.example,,Alex,Former,,',
    'm2@m.example,1234567893,Alex,Former,,',
    'm3@m.example,1245319599,Jo,Sample,,',
  ]);
  await load('npd', [
    'm1@m.example,1234567893,Alex,Sample,Former (maiden),518-555-0100',
    'm2@m.example,1234567893,Alex,Sample,Former (maiden),',
    'm3@m.example,1245319599,Jo,Sample,Smith (maiden),',
  ]);
  const shown = async (local: string) => {
    const { body } = await world.search({ serv_direct_addr: `${local}@m.example` });
    return (body.providers ?? []).map((record) =>
      ['prov_npi', 'prov_last_name', 'prov_other_names', 'org_phone'].map((name) => record[name]).join('|'),
    );
  };
  assert.deepEqual(await shown('m1'), ['1234567893|Former|Sample (other)|518-555-0100']);
  assert.deepEqual(await shown('m2'), ['1234567893|Former|Sample (other)|']);
  assert.deepEqual(await shown('m3'), ['1245319599|Sample|Smith (maiden)|']);
});
