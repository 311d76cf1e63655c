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

/** Loads a row per case; a record and its line by the case's place. */
async function importRows(
  columns: readonly string[],
  rows: readonly (readonly string[])[],
): Promise<{
  report: LoadReport;
  at: (place: number) => Wire;
  hasFinding: (reason: string, place: number) => boolean;
}> {
  const lines = rows.map((row, at) =>
    [`case${String(at).padStart(3, '0')}@t.example`, ...row].map(quoted).join(','),
  );
  const report = await importTexts({
    'rows.csv': `${['serv_direct_addr', ...columns].join(',')}\n${lines.join('\n')}\n`,
  });
  const found = await records();
  const findings = { ...report.refused, ...report.warnings } as Record<string, { lines: readonly number[] }>;
  return {
    report,
    at: (place) =>
      found.find((record) =>
        String(record['serv_direct_addr']).startsWith(`case${String(place).padStart(3, '0')}@`),
      ) ?? {},
    hasFinding: (reason, place) => findings[reason]?.lines.includes(place + 2) ?? false,
  };
}

const zips = [
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
  ['Norwich', 'VT', '5055', '05055'],
  ['Holtsville', 'NY', '501', '00501'],
  ['Buffalo', 'NY', '501', ''],
  ['New York', 'NY', '1001', ''],
  ['Miami', 'FL', '3301', ''],
  ['APO', 'AE', '9366', '09366'],
  ['Boston', 'MA', '2114.00', '02114'],
  ['Boston', 'MA', '2,114', '02114'],
  ['Boston', 'MA', "'2114", '02114'],
  ['Boston', 'MA', '02114-', '02114'],
  ['Boston', 'MA', '02114-12', '02114'],
  ['Boston', 'MA', '02114–1234', '02114-1234'],
  ['Boston', 'MA', '０２１１４', '02114'],
  ['Boston', 'MA', '2114.5', ''],
  ['Boston', 'MA', '2.114E+03', ''],
  ['Boston', 'MA', 'O2114', ''],
  ['Ottawa', '', 'K1A 0B1', ''],
  ['Miami', 'FL', '02114', '02114'],
  ['New York', 'NY', '1001-1', ''],
  ['Hartford', 'CT', '6103-0', '06103'],
  ['Austin', 'TX', '7870-1', ''],
  ['Austin', 'TX', '787-01', ''],
  ['Boston', 'MA', '2114 5', '02114'],
  ['Boston', 'MA', '02114-0000', '02114'],
  ['Richmond', 'VA', '232190000', '23219'],
  ['Boston', 'MA', '21140000', '02114'],
  ['Boston', 'MA', '2114.', '02114'],
  ['Austin', 'TX', '78,701', '78701'],
  ['Boston', 'MA', '21,141,234', '02114-1234'],
  ['Boston', 'MA', '2114-nan', '02114'],
  ['Boston', 'MA', '02114-XXXX', '02114'],
  ['Boston', 'MA', '02114-NULL', '02114'],
  ['Boston', 'MA', '’02114', '02114'],
  ['Boston', 'MA', '"02114"', '02114'],
  ['Boston', 'MA', '=""2114""', '02114'],
  ['Boston', 'MA', '02114 −1234', '02114-1234'],
  ['Boston', 'MA', '02114;02115', ''],
  ['Washington', 'D.C.', '20001-nan', '20001'],
  ['San Juan', 'P.R.', '901', '00901'],
  ['Charlotte Amalie', 'Virgin Islands', '802', '00802'],
  ['Boston', 'US-MA', '2114', '02114'],
  ['Syosset', 'N. Y.', '11791', '11791'],
  ['Boston', 'MA', '02114, USA', '02114'],
  ['Boston', 'MA', 'US-02114', '02114'],
  ['Boston', 'MA', 'MA 2114', '02114'],
  ['Boston', 'MA', 'NH 02114', ''],
  ['Boston', 'MA', 'ZIP: 02114', '02114'],
  ['Boston', 'MA', '(02114),', '02114'],
  ['Boston', 'MA', '02114.1234', '02114-1234'],
  ['Boston', 'MA', '02114_1234', '02114-1234'],
  ['Boston', 'MA', '000002114', '02114'],
  ['Austin', 'TX', '000007870', ''],
  ['Boston', 'MA', '00000-2114', ''],
  ['Boston', 'MA', '2.1141234E7', '02114-1234'],
  ['Boston', 'MA', '2.1141E7', ''],
  ['Boston', 'MA - Massachusetts', '2114', '02114'],
  ['Boston', 'Massachusetts (MA)', '2114', '02114'],
  ['Boston', 'USA_MA', '2114', '02114'],
  ['Aguada', 'Puerto  Rico', '602', '00602'],
  ['Boston', 'ＭＡ', '2114', '02114'],
  ['Charlotte Amalie', 'United States Virgin Islands', '802', '00802'],
  ['Boston', 'Mass.', '2114', '02114'],
  ['Raleigh', 'N. Carolina', '27601', '27601'],
  ['Charleston', 'W. Va.', '25301', '25301'],
  ['Portland', 'State of Maine', '4101', '04101'],
] as const;

test('a ZIP code that lost digits is completed where the place agrees, and else left out', async () => {
  const { at } = await importRows(
    ['org_city', 'org_state', 'org_zip'],
    zips.map(([city, state, zip]) => [city, state, zip]),
  );
  for (const [place, [city, state, zip, right]] of zips.entries()) {
    assert.equal(at(place)['org_zip'], right, `${zip} of ${city} ${state}`);
    assert.equal(at(place)['org_state'] === '', state === '', state);
  }
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

const places = [
  ['Boston', 'MA', '02114', false],
  ['Boston', 'MA', '01101', true],
  ['El Paso', 'TX', '75201', true],
  ['Dallas', 'TX', '75201', false],
  ['Buffalo', 'NY', '10001', true],
  ['Brooklyn', 'NY', '11201', false],
  ['NEW YORK', 'NY', '10001', false],
  ['Chicago', 'IL', '62701', true],
  ['Los Angeles', 'CA', '94103', true],
  ['Hollywood', 'CA', '90028', false],
  ['Auburn', 'CA', '95604', false],
  ['Boise', 'ID', '83716', false],
  ['St. Louis', 'MO', '63101', false],
  ['Nowhereville', 'CA', '94103', false],
  ['', 'MA', '01101', false],
] as const;

test('a ZIP code that is far from its city is warned of, and the record is placed by city and state', async () => {
  const { at, hasFinding } = await importRows(
    ['org_city', 'org_state', 'org_zip'],
    places.map(([city, state, zip]) => [city, state, zip]),
  );
  for (const [place, [city, state, zip, isFar]] of places.entries()) {
    assert.equal(hasFinding('city_zip_disagree', place), isFar, `${zip} of ${city} ${state}`);
    assert.equal(at(place)['org_zip'], zip);
    if (!isFar) continue;
    const near = {
      org_city: city,
      org_state: state,
      radius: '30',
      serv_direct_addr: String(at(place)['serv_direct_addr']),
    };
    assert.equal((await world.search(near)).body.totalCount, '1', city);
  }
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
  'NaN',
  '<NA>',
  '<null>',
  '[null]',
  '(none)',
  '(blank)',
  '#REF!',
  '#VALUE!',
  '#NAME?',
  '#DIV/0!',
);
meaningless.push(
  '####',
  'N\\A',
  'TBD',
  'XXX',
  'None given',
  'not_available',
  'NULL NULL',
  'n/a.',
  '–',
  '—',
  '…',
  '*',
  '/',
  '0',
);
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

meaningless.push(
  '-nan',
  '#N/A N/A',
  '#SPILL!',
  '#GETTING_DATA',
  '<Unknown>',
  "'NULL'",
  '"null"',
  '- none -',
  '*None*',
  'N / A',
  'NOT ON FILE',
  'Not Reported',
  'UNSPECIFIED',
  'unassigned',
  'UNKNOWN, UNKNOWN',
  'unknown/unknown',
  '-, -',
  '−',
  '~',
  'null;',
  'NotAvailable',
  'no_value',
  '[REDACTED]',
  'to be determined',
  '?unknown?',
  'None Specified',
  'not yet assigned',
  'Not Stated',
  'No information available',
  'UNAVAIL',
  'UNKN',
  'TBC',
  'DBNull',
  'Data missing',
  'N-A',
  'Ｎ／Ａ',
  '&nbsp;',
);
const meaningful = [
  '#12',
  'No 7',
  'Nanna',
  'NAN Clinic',
  'Blanke',
  'Null & Void',
  'St. Na',
  '% Clinic',
  '1 N/A St',
];

describe('values that mean nothing', () => {
  test('are not what only looks like them', async () => {
    const { at } = await importRows(
      ['org_name'],
      meaningful.map((text) => [text]),
    );
    for (const [place, text] of meaningful.entries()) assert.equal(at(place)['org_name'], text);
  });

  test('are blank in every format', async () => {
    const names = [
      'prov_first_name',
      'prov_mid_name',
      'prov_last_name',
      'prov_suffix',
      'prov_npi',
      'org_name',
    ];
    names.push('prov_spec_text', 'org_addr_1', 'org_city', 'org_state', 'org_zip', 'org_phone');
    const dt = [
      'provider_first_name,provider_middle_name,provider_last_name,provider_suffix,provider_npi,organization_name',
      'provider_specialty,organization_address_line_1,organization_city,organization_state,organization_postal_code',
      'organization_phone',
    ].join(',');
    for (const header of [`serv_direct_addr,${names.join(',')}`, `service_direct_address,${dt}`]) {
      const rows = meaningless.map((text, at) =>
        [`a${at}@t.example`, ...names.map(() => text)].map(quoted).join(','),
      );
      assert.deepEqual((await importTexts({ 'blank.csv': `${header}\n${rows.join('\n')}\n` })).refused, {});
      const found = await records();
      assert.equal(found.length, meaningless.length);
      for (const record of found) {
        const text = meaningless[Number(/[0-9]+/.exec(String(record['serv_direct_addr']))?.[0])];
        for (const name of names) assert.equal(record[name], '', `${name} ${text}`);
      }
    }
  });

  test('are kept as names of persons who have another part of a name', async () => {
    const people = [
      ['Jo', 'Na'],
      ['Jo', 'Null'],
      ['Unknown', 'Smith'],
      ['None', 'Pham'],
      ['Arthur', 'Blank'],
      ['Nan', 'Goldin'],
      ['Missing', 'Unknown'],
    ] as const;
    const columns = ['prov_first_name', 'prov_last_name', 'org_name'];
    const { at } = await importRows(
      columns,
      people.map((name) => [...name, 'Null Clinic']),
    );
    for (const [place, name] of people.entries())
      assert.deepEqual(
        columns.map((column) => at(place)[column]),
        [...(name[0] === 'Missing' ? ['', ''] : name), 'Null Clinic'],
      );
  });

  const forms = [
    ['prov_npi', '1234567893.0', '1234567893'],
    ['prov_npi', '1.234567893E+09', '1234567893'],
    ['prov_npi', '1,234,567,893', '1234567893'],
    ['prov_npi', "'1234567893", '1234567893'],
    ['prov_npi', '="1234567893"', '1234567893'],
    ['prov_npi', '1111111111', ''],
    ['prov_npi', '9999999999', ''],
    ['org_phone', '6175550123.0', '6175550123'],
    ['org_phone', '6.175550123E9', '6175550123'],
    ['org_phone', '617‑555‑0123', '617-555-0123'],
    ['org_phone', '999-999-9999', ''],
    ['org_phone', '6.1755501230E+9', '6175550123'],
    ['org_phone', '6,175550123e+009', '6175550123'],
    ['org_phone', '16175550123.0', '16175550123'],
    ['org_phone', '1.6175550123E+10', '16175550123'],
    ['prov_npi', '1234567893.', '1234567893'],
    ['prov_npi', '1.2345678930E+09', '1234567893'],
    ['org_phone', '(617) 555-0123 x4', '(617) 555-0123 x4'],
    ['org_phone', '617‑555‑0123 x4', '617-555-0123 x4'],
    ['prov_npi', 'NPI: 1234567893', '1234567893'],
    ['prov_npi', '"1234567893"', '1234567893'],
    ['prov_npi', '808401234567893', '1234567893'],
    ['prov_npi', 'http://hl7.org/fhir/sid/us-npi|1234567893', '1234567893'],
    ['prov_last_name', 'Zero\u200bWidth', 'ZeroWidth'],
  ] as const;

  test('numbers as spreadsheets and programs write them are those numbers', async () => {
    const columns = ['prov_npi', 'org_phone', 'prov_last_name'];
    const { at, report } = await importRows(
      columns,
      forms.map(([column, written]) => columns.map((name) => (name === column ? written : ''))),
    );
    assert.deepEqual(report.refused, {});
    for (const [place, [column, written, right]] of forms.entries())
      assert.equal(at(place)[column], right, `${column} ${JSON.stringify(written)}`);
  });

  test('an address out of a link, brackets or a sentence is that address', async () => {
    const written = [
      'mailto:a0@t.example',
      '<a1@t.example>',
      'a2@t.example;',
      '\ufeffa3@t.example\u200b',
      'a4@t.example.',
      '="a5@t.example"',
      "'a6@t.example'",
      'Jo Doe <a7@t.example>',
      'mailto://a8@t.example',
      'SMTP:a9@t.example',
      '“b0@t.example”',
      '(b1@t.example)',
      'Jo Doe <b2@t.example>;',
      'mailto:b3@t.example?subject=x',
      'Direct: b4@t.example',
      '#mailto:b5@t.example#',
      'b6@t.example#mailto:b6@t.example#',
      'b7＠t.example',
      '[mailto:b8@t.example]',
      'b9@t.example –',
    ];
    const csv = `serv_direct_addr\n${written.map(quoted).join('\n')}\n`;
    assert.deepEqual((await importTexts({ 'addresses.csv': csv })).refused, {});
    assert.deepEqual(
      (await records()).map((record) => record['serv_direct_addr']),
      written.map((_, at) => `${at < 10 ? 'a' : 'b'}${at % 10}@t.example`),
    );
  });

  for (const [written, right] of [
    ['"john smith"@t.example', '"john smith"@t.example'],
    ['"john"@t.example', '"john"@t.example'],
    ['mailto:"john"@t.example', '"john"@t.example'],
    ['"john smith"@t.example.', '"john smith"@t.example'],
    ['`a`@t.example', '`a`@t.example'],
    ['`a@t.example`;', 'a@t.example'],
    ['"a@t.example".', 'a@t.example'],
    ['mailto:a?b@t.example', 'a?b@t.example'],
    ['mailto:?to=a@t.example', undefined],
    ['jo@t.example <jo@t.example>', 'jo@t.example'],
    ['"Doe, Jo" <jo@t.example>;', 'jo@t.example'],
    ['jo@t.example <jo@t.exa', undefined],
  ] as const)
    test(`the address ${written} is ${right ?? 'none'}`, async () => {
      const csv = `serv_direct_addr\nz@z.example\n${quoted(written)}\n`;
      const { refused } = await importTexts({ 'address.csv': csv });
      assert.deepEqual(Object.keys(refused), right === undefined ? ['direct_address_invalid'] : []);
      assert.deepEqual(
        (await records()).map((record) => record['serv_direct_addr']),
        right === undefined ? ['z@z.example'] : [right, 'z@z.example'].toSorted(),
      );
    });

  test('digits that a spreadsheet rounded away are told, and neither kept nor made up', async () => {
    const rounded = [
      '6.17E+09',
      '6.1755501E+09',
      '1.61756E+10',
      '"6,17E+09"',
      '6.17555e9',
      '6.17E 09',
      "'6.17E+09",
    ];
    const rows = rounded.map((phone, at) => `a${at}@t.example,,${phone}`);
    const csv = `serv_direct_addr,prov_npi,org_phone\n${rows.join('\n')}\nb@t.example,1.23457E+09,\n`;
    const { refused, warnings } = await importTexts({ 'lost.csv': csv });
    assert.deepEqual(refused, { npi_rounded: { count: 1, lines: [9] } });
    assert.deepEqual(warnings.phone_rounded?.lines, [2, 3, 4, 5, 6, 7, 8]);
    assert.equal(warnings.phone_form, undefined);
    for (const record of await records()) assert.equal(record['org_phone'], '');
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
  ['sep with the name of a tab', 'sep=\\t\nserv_direct_addr\torg_name\na@t.example\tOne\nbad\tTwo\n', 4],
  ['sep in blanks', 'sep = ;\r\r\nserv_direct_addr;org_name\r\r\na@t.example;One\r\r\nbad;Two\r\r\n', 4],
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

const one = [['a@t.example', 'One']];
const two = [...one, ['b@t.example', 'Two']];
for (const [name, text, right, refused] of [
  [
    'quotes in the header behind a mark',
    '\ufeff"serv_direct_addr","org_name"\r\n"a@t.example","One"\r\n',
    one,
    {},
  ],
  ['a comma behind every row', 'serv_direct_addr,org_name\na@t.example,One,\nb@t.example,Two,\n', two, {}],
  [
    'a comma behind one row',
    'serv_direct_addr,org_name\na@t.example,One\nb@t.example,Two,\n',
    one,
    { columns: { count: 1, lines: [3] } },
  ],
  [
    'a comma in the first value',
    'serv_direct_addr,org_name,org_city\na@t.example,One, Inc,\nb@t.example,Two,\n',
    [['b@t.example', 'Two']],
    { columns: { count: 1, lines: [2] } },
  ],
  ['rows of commas', 'serv_direct_addr,org_name\na@t.example,One\n,\n , \n"",""\n', one, {}],
  ['tabs around quotes', 'serv_direct_addr,org_name\n"a@t.example"\t,\t"One"\n', one, {}],
  [
    'a value where the header has no cell',
    'serv_direct_addr,org_name\na@t.example,One,\nb@t.example,Two,\nc@t.example,Three," Inc"\n',
    two,
    { columns: { count: 1, lines: [4] } },
  ],
  [
    'a word for no value where the header has no cell',
    'serv_direct_addr,org_name\na@t.example,One,\nb@t.example,Two,\nc@t.example,Three,NULL\n',
    [...two, ['c@t.example', 'Three']],
    {},
  ],
  [
    'notes in a column named by Excel',
    'serv_direct_addr,org_name,Column1\na@t.example,One,checked\n',
    one,
    {},
  ],
  [
    'notes in a column named by a program',
    'serv_direct_addr,org_name,Unnamed: 2\na@t.example,One,x\n',
    one,
    {},
  ],
  ['notes in a third column', 'serv_direct_addr,org_name,Column 3,\na@t.example,One,x,\n', one, {}],
  ['blanks around quotes', 'serv_direct_addr,org_name\na@t.example, "One" \nb@t.example,"Two"\n', two, {}],
  [
    'quotes within a value',
    'serv_direct_addr,org_name\na@t.example,The "One" Clinic\n',
    [['a@t.example', 'The "One" Clinic']],
    {},
  ],
  [
    'half a pair of quotes',
    'serv_direct_addr,org_name\na@t.example,5" One\nb@t.example,Two\n',
    [['b@t.example', 'Two']],
    { quoting: { count: 1, lines: [2] } },
  ],
  ['the end mark of DOS', 'serv_direct_addr,org_name\na@t.example,One\r\n\u001a', one, {}],
  [
    'the header again',
    'serv_direct_addr,org_name\na@t.example,One\nserv_direct_addr,org_name\nb@t.example,Two\n',
    two,
    { direct_address_invalid: { count: 1, lines: [3] } },
  ],
  [
    'a count below the rows',
    'serv_direct_addr,org_name\na@t.example,One\n\n(1 row affected)\n',
    one,
    { columns: { count: 1, lines: [4] } },
  ],
] as const)
  test(`${name}: what is whole is read`, async () => {
    assert.deepEqual((await importTexts({ 'form.csv': text })).refused, refused);
    assert.deepEqual(
      (await records()).map((record) => [record['serv_direct_addr'], record['org_name']]),
      right,
    );
  });

test('a value in a column without a name is left out, and the row is warned of', async () => {
  const csv = 'serv_direct_addr,org_name,,\na@t.example,One,,checked\nb@t.example,Two,-,\n';
  const { refused, warnings } = await importTexts({ 'notes.csv': csv });
  assert.deepEqual([refused, warnings.unnamed_value?.lines, (await records()).length], [{}, [2], 2]);
});

test('a value of tens of thousands of signs refuses its row in the time of any other', async () => {
  const columns =
    'serv_direct_addr,prov_npi,prov_first_name,prov_mid_name,prov_last_name,prov_suffix,prov_spec_text,org_name,org_addr_1,' +
    'org_city,org_state,org_zip,org_phone,prov_other_names,prov_excluded,lat,lng,key,action,entity_category';
  const trust =
    'service_direct_address,provider_npi,provider_first_name,provider_last_name,organization_name,organization_npi,' +
    'organization_address_line_1,organization_address_line_2,organization_city,organization_state,' +
    'organization_postal_code,organization_phone,provider_role,latitude,longitude,action';
  const runs = [
    ' ',
    '"',
    '1',
    '(',
    ')',
    '-',
    '.',
    ',',
    '<',
    '>',
    '@',
    '`',
    '0 ',
    'na ',
    '1 ',
    '\u200b',
    '\u2013',
  ];
  const longs = runs.flatMap((run) => {
    const long = run.repeat(20_000 / run.length);
    return [`1${long}x`, `="${long}x`, `mailto:${long}x`];
  });
  for (const header of [columns.split(','), trust.split(',')]) {
    const rows = header.flatMap((_, place) =>
      longs.map((long, at) =>
        header
          .map((__, other) =>
            other === place ? quoted(long) : other === 0 ? `a${place}-${at}@t.example` : '',
          )
          .join(','),
      ),
    );
    const before = process.cpuUsage();
    const csv = [header.join(','), `z@z.example${','.repeat(header.length - 1)}`, ...rows].join('\n');
    await importTexts({ 'runs.csv': csv });
    const { user } = process.cpuUsage(before);
    assert.ok(user < 5e6, `${header[0]}: ${user / 1e6} s`);
  }
});

for (const [name, text] of [
  ['a web page', '<!DOCTYPE html>\n<html><body>Sign in</body></html>\n'],
  ['an error in JSON', '{"error":"expired"}\n'],
  ['nothing', ''],
  ['blank lines', '\n\n\n'],
  ['a header alone', 'serv_direct_addr,org_name\n'],
  ['an index column', ',serv_direct_addr,org_name\n0,a@t.example,One\n'],
] as const)
  test(`${name} instead of a directory changes nothing`, async () => {
    await importTexts({ 'good.csv': 'serv_direct_addr,org_name\na@t.example,One\n' });
    await assert.rejects(importTexts({ 'bad.csv': text }));
    assert.equal((await records()).length, 1);
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

test('the suite of the aggregated directory is kept behind the street', async () => {
  const header = 'service_direct_address,organization_address_line_1,organization_address_line_2';
  const rows = ['a@t.example,1 Main St,Suite 200', 'b@t.example,1 Main St,N/A', 'c@t.example,,Suite 200'];
  await importTexts({ 'suite.csv': `${header}\n${rows.join('\n')}\n` });
  assert.deepEqual(
    (await records()).map((record) => record['org_addr_1']),
    ['1 Main St, Suite 200', '1 Main St', 'Suite 200'],
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
    'NPI Deactivation Date',
    'NPI Reactivation Date',
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

  test('what means nothing is no part of a value', async () => {
    await load({
      'Entity Type Code': '2',
      'Provider Organization Name (Legal Business Name)': 'SUNNYSIDE LLC',
      'Provider Other Organization Name': 'N/A',
      'Provider First Line Business Practice Location Address': '1 MAIN ST',
      'Provider Second Line Business Practice Location Address': 'NONE',
    });
    const [record] = await records();
    assert.deepEqual([record?.['org_name'], record?.['org_addr_1']], ['SUNNYSIDE LLC', '1 MAIN ST']);
  });

  for (const [deactivated, reactivated, isThere] of [
    ['05/01/2026', '06/01/2026', true],
    ['05/01/2026', '2026-06-01', true],
    ['6/1/2025', '12/1/2026', true],
    ['12/1/2025', '6/1/2026', true],
    ['2026-06-01', '05/01/2026', false],
    ['12/1/2026', '6/1/2026', false],
  ] as const)
    test(`deactivated ${deactivated} and reactivated ${reactivated}: ${isThere ? 'served' : 'not served'}`, async () => {
      const dates = { 'NPI Deactivation Date': deactivated, 'NPI Reactivation Date': reactivated };
      if (isThere) await load(dates);
      else await assert.rejects(load(dates), { code: 'DIRECTORY_TOO_MANY_REFUSED' });
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
