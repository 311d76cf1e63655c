/** Files as other programs write them: cut ZIP codes, words for no value, marks of spreadsheets, the columns of NPPES. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { openInput, readTaxonomy, type LoadReport } from '../../src/service/directory/index.ts';
import { startTestDirectory, type TestDirectory } from './start-directory.ts';

let world: TestDirectory;
before(async () => {
  world = await startTestDirectory({ pollIntervalMs: 60_000 });
});
after(() => world.close());

type Wire = Record<string, unknown>;

async function records(): Promise<Wire[]> {
  await world.directory.refresh();
  return (await world.search({ limit: 1000, sort_by: 'serv_direct_addr' })).body.providers ?? [];
}

async function importTexts(texts: Record<string, string>, more = {}): Promise<LoadReport> {
  const files = [];
  for (const [name, text] of Object.entries(texts)) {
    const file = path.join(world.folder, name);
    await writeFile(file, text);
    files.push(...(await openInput(file)));
  }
  return world.directory.importFiles({ files, kind: 'full', acceptLoss: true, ...more });
}

const quoted = (value: string): string => `"${value.replaceAll('"', '""')}"`;

for (const [city, state, zip, right] of [
  ['Austin', 'TX', '7870', ''],
  ['Austin', 'TX', '78701', '78701'],
  ['Aguada', 'PR', '602', '00602'],
  ['Aguada', 'PR', '0602', '00602'],
  ['Aguada', 'Puerto Rico', '602', '00602'],
  ['Mayaguez', 'PR', '6814041', '00681-4041'],
  ['Mayaguez', 'PR', '681-4041', '00681-4041'],
  ['Charlotte Amalie', 'VI', '802', '00802'],
  ['Boston', 'MA', '2114', '02114'],
  ['Boston', 'MA', '2114.0', '02114'],
  ['Boston', 'MA', '="02114"', '02114'],
  ['Boston', 'MA', '="2114"', '02114'],
  ['Boston', 'MA', "'02114", '02114'],
  ['Boston', 'MA', '2114-1234', '02114-1234'],
  ['Boston', 'MA', '21141234', '02114-1234'],
  ['Boston', 'MA', '021141234', '02114-1234'],
  ['Boston', 'MA', '2114 1234', '02114-1234'],
  ['Boston', 'MA', '602', ''],
  ['Boston', '', '2114', ''],
  ['Boston', 'MA', '211', ''],
  ['Boston', 'MA', '21', ''],
  ['Boston', 'MA', '211412', ''],
  ['Boston', 'MA', '0', ''],
  ['Boston', 'MA', '00000', ''],
  ['Newark', 'NJ', '7102', '07102'],
  ['Houston', 'TX', '7700', ''],
  ['Miami', 'FL', '02114', '02114'],
] as const)
  test(`the ZIP code ${zip} of ${city} ${state} is ${right === '' ? 'left out' : right}`, async () => {
    await importTexts({
      'zip.csv': `serv_direct_addr,org_city,org_state,org_zip\na@t.example,${city},${state},${quoted(zip)}\n`,
    });
    assert.equal((await records())[0]?.['org_zip'], right);
  });

test('a ZIP code of another state is warned of, and the record is found by its city', async () => {
  const report = await importTexts({
    'zip.csv': 'serv_direct_addr,org_city,org_state,org_zip\nf@t.example,Miami,FL,02114\n',
  });
  assert.equal(report.warnings.state_zip_disagree?.count, 1);
  await world.directory.refresh();
  const found = async (query: Record<string, string>) => (await world.search(query)).body.totalCount;
  assert.equal(await found({ org_city: 'Miami', org_state: 'FL', radius: '20' }), '1');
  assert.equal(await found({ org_zip: '02114', radius: '20' }), '0');
});

const meaningless = [
  'n/a',
  'N/A',
  'NA',
  'na',
  'NULL',
  'null',
  'None',
  '-',
  '--',
  '<UNAVAIL>',
  'unknown',
  'Unknown',
];
meaningless.push(
  '#N/A',
  '(null)',
  'N.A.',
  '?',
  'Not Available',
  'undefined',
  '.',
  'nil',
  '\\N',
  'Not Provided',
);

describe('values that mean nothing', () => {
  for (const text of meaningless)
    test(`${text} is blank in every format`, async () => {
      const names = [
        'prov_first_name',
        'prov_mid_name',
        'prov_last_name',
        'prov_suffix',
        'prov_npi',
        'org_name',
      ];
      names.push('prov_spec_text', 'org_addr_1', 'org_city', 'org_state', 'org_zip', 'org_phone');
      const own = `serv_direct_addr,${names.join(',')}\na@t.example${`,${text}`.repeat(names.length)}\n`;
      const dt = [
        'provider_first_name,provider_middle_name,provider_last_name,provider_suffix,provider_npi,organization_name',
        'provider_specialty,organization_address_line_1,organization_city,organization_state,organization_postal_code',
        'organization_phone',
      ].join(',');
      const trust = `service_direct_address,${dt}\na@t.example${`,${text}`.repeat(names.length)}\n`;
      for (const csv of [own, trust]) {
        assert.deepEqual((await importTexts({ 'blank.csv': csv })).refused, {});
        const [record] = await records();
        for (const name of names) assert.equal(record?.[name], '', name);
      }
    });

  for (const [first, last] of [
    ['Jo', 'Na'],
    ['Jo', 'Null'],
    ['Unknown', 'Smith'],
    ['None', 'Pham'],
  ] as const)
    test(`${first} ${last} keeps the name`, async () => {
      await importTexts({
        'n.csv': `serv_direct_addr,prov_first_name,prov_last_name,org_name\na@t.example,${first},${last},Null Clinic\n`,
      });
      const [record] = await records();
      assert.deepEqual(
        [record?.['prov_first_name'], record?.['prov_last_name'], record?.['org_name']],
        [first, last, 'Null Clinic'],
      );
    });

  test('a telephone number or an NPI of zeros is blank, and an increment removes such a record', async () => {
    const csv = 'serv_direct_addr,prov_npi,org_phone,action\na@t.example,0000000000,000-000-0000,';
    await importTexts({ 'zero.csv': `${csv}\n` });
    const [record] = await records();
    assert.deepEqual([record?.['prov_npi'], record?.['org_phone']], ['', '']);
    await importTexts({ 'zero.csv': `${csv}add\nb@t.example,,,add\n` });
    const report = await importTexts({ 'zero.csv': `${csv}remove\n` }, { kind: 'incremental' });
    assert.equal(report.removed, 1);
  });
});

for (const [name, text, firstLine] of [
  ['sep=,', 'sep=,\nserv_direct_addr,org_name\na@t.example,One\nbad,Two\n', 4],
  [
    'SEP=; with a byte order mark',
    '\ufeffSEP=;\r\nserv_direct_addr;org_name\r\na@t.example;One\r\nbad;Two\r\n',
    4,
  ],
  ['sep of a tab', 'sep=\t\nserv_direct_addr\torg_name\na@t.example\tOne\nbad\tTwo\n', 4],
  ['quoted sep', '"sep=,"\nserv_direct_addr,org_name\na@t.example,One\nbad,Two\n', 4],
  [
    'sep with the commas of a spreadsheet',
    'sep=,,,\nserv_direct_addr,org_name\na@t.example,One\nbad,Two\n',
    4,
  ],
  ['two columns without a name at the end', 'serv_direct_addr,org_name,,\na@t.example,One,,\nbad,Two,,\n', 3],
  ['a last comma', 'serv_direct_addr,org_name,\r\na@t.example,One,\r\nbad,Two,\r\n', 3],
] as const)
  test(`${name}: the rows are read, and lines are numbered as in the file`, async () => {
    const report = await importTexts({ 'marks.csv': text });
    assert.deepEqual(report.refused, { direct_address_invalid: { count: 1, lines: [firstLine] } });
    assert.deepEqual(
      (await records()).map((record) => [record['serv_direct_addr'], record['org_name']]),
      [['a@t.example', 'One']],
    );
  });

test('a column without a name between others is refused: a value of it would be lost', async () => {
  await assert.rejects(importTexts({ 'gap.csv': 'serv_direct_addr,,org_name\na@t.example,x,One\n' }), {
    code: 'DIRECTORY_FORMAT_UNKNOWN',
  });
});

test('the NPI of an organization is that of its own address, and of no provider', async () => {
  await importTexts({
    'dt.csv': [
      'service_direct_address,provider_npi,provider_last_name,organization_name,organization_npi',
      'desk@t.example,N/A,N/A,Example Clinic,1234567893',
      'jo@t.example,,Jones,Example Clinic,1234567893',
      'pat@t.example,1245319599,Doe,Example Clinic,1234567893',
    ].join('\n'),
  });
  assert.deepEqual(
    (await records()).map((record) => record['prov_npi']),
    ['1234567893', '', '1245319599'],
  );
});

describe('NPPES', () => {
  const columns = [
    'NPI',
    'Entity Type Code',
    'Provider Organization Name (Legal Business Name)',
    'Provider Other Organization Name',
    'Provider Last Name (Legal Name)',
    'Provider First Line Business Practice Location Address',
    'Provider Second Line Business Practice Location Address',
    ...Array.from({ length: 15 }, (_, at) => [
      `Healthcare Provider Taxonomy Code_${at + 1}`,
      `Healthcare Provider Primary Taxonomy Switch_${at + 1}`,
    ]).flat(),
  ];
  const load = (row: Record<string, string>, endpoint = 'a@t.example', more = {}) =>
    importTexts(
      {
        'main.csv': `${columns.map(quoted).join(',')}\n${columns
          .map((name) =>
            quoted(
              ({ NPI: '1234567018', 'Entity Type Code': '1', ...row } as Record<string, string>)[name] ?? '',
            ),
          )
          .join(',')}\n`,
        'endpoint.csv': `NPI,Endpoint Type,Endpoint\n1234567018,DIRECT,${quoted(endpoint)}\n`,
      },
      more,
    );
  const code = (at: number): string => `Healthcare Provider Taxonomy Code_${at}`;
  const primary = (at: number): string => `Healthcare Provider Primary Taxonomy Switch_${at}`;
  const specialty = async (): Promise<unknown> => (await records())[0]?.['prov_spec_text'];

  for (const [slots, right] of [
    [
      { [code(1)]: '208D00000X', [primary(1)]: 'N', [code(2)]: '207RC0000X', [primary(2)]: 'Y' },
      '207RC0000X',
    ],
    [{ [code(1)]: '208D00000X', [primary(1)]: 'Y', [code(2)]: '207RC0000X' }, '208D00000X'],
    [{ [code(1)]: '208D00000X', [code(15)]: '207RC0000X', [primary(15)]: 'Y' }, '207RC0000X'],
    [
      { [code(1)]: '208D00000X', [primary(1)]: 'X', [code(2)]: '207RC0000X', [primary(2)]: 'X' },
      '208D00000X',
    ],
    [{ [code(2)]: '207RC0000X' }, '207RC0000X'],
    [{ [code(1)]: '208D00000X', [primary(2)]: 'Y' }, '208D00000X'],
  ] as const)
    test(`of ${JSON.stringify(slots)} the primary taxonomy is ${right}`, async () => {
      await load(slots);
      assert.equal(await specialty(), `2.16.840.1.113883.6.101:NUCC:${right}:`);
    });

  test('the name of the primary taxonomy comes from the code set', async () => {
    const file = path.join(world.folder, 'nucc.csv');
    await writeFile(file, 'Code,Display Name\n207RC0000X,Cardiovascular Disease Physician\n');
    const [input] = await openInput(file);
    assert.ok(input);
    await load({ [code(3)]: '207RC0000X', [primary(3)]: 'Y' }, 'a@t.example', {
      taxonomy: await readTaxonomy(input),
    });
    assert.equal(
      await specialty(),
      '2.16.840.1.113883.6.101:NUCC:207RC0000X:Cardiovascular Disease Physician',
    );
  });

  for (const name of ['LEGAL HOLDING', 'sunnyside'])
    test(`an organization is found by ${name}: its legal name and the one of its business`, async () => {
      await load({
        'Entity Type Code': '2',
        'Provider Organization Name (Legal Business Name)': 'THE LEGAL HOLDING CO LLC',
        'Provider Other Organization Name': 'SUNNYSIDE FAMILY CLINIC',
      });
      await world.directory.refresh();
      assert.equal((await world.search({ org_name: name })).body.totalCount, '1');
    });

  test('the suite is kept behind the street', async () => {
    await load({
      'Provider First Line Business Practice Location Address': '1 MAIN ST',
      'Provider Second Line Business Practice Location Address': 'SUITE 200',
    });
    assert.equal((await records())[0]?.['org_addr_1'], '1 MAIN ST, SUITE 200');
  });

  for (const [endpoint, addresses] of [
    ['mailto:a@t.example', ['a@t.example']],
    ['MAILTO:a@t.example', ['a@t.example']],
    ['a@t.example.', ['a@t.example']],
    [' a@t.example ', ['a@t.example']],
    ['a@t.example,b@t.example', ['a@t.example', 'b@t.example']],
    ['a@t.example; b@t.example', ['a@t.example', 'b@t.example']],
    ['a@t.example, A@T.EXAMPLE', ['a@t.example']],
  ] as const)
    test(`the endpoint "${endpoint}" is ${addresses.join(' and ')}`, async () => {
      await load({}, endpoint);
      assert.deepEqual(
        (await records()).map((record) => record['serv_direct_addr']),
        addresses,
      );
    });
});
