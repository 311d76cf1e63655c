import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { after, before, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { ZipFile } from 'yazl';
import { openInput, openStream, type InputFile, type LoadReport } from '../../src/service/directory/index.ts';
import { startTestDirectory, toCsv, type TestDirectory } from './start-directory.ts';

let world: TestDirectory;
before(async () => {
  world = await startTestDirectory();
});
after(() => world.close());

async function records(query: Record<string, string | number> = {}): Promise<Record<string, unknown>[]> {
  const reply = await world.search({ limit: 1000, sort_by: 'serv_direct_addr', ...query });
  assert.equal(reply.status, 200, reply.text);
  return reply.body.providers ?? [];
}

async function idsByAddress(): Promise<Record<string, unknown>> {
  return Object.fromEntries((await records()).map((record) => [record['serv_direct_addr'], record['id']]));
}

function load(files: readonly InputFile[], kind: 'full' | 'incremental' = 'full'): Promise<LoadReport> {
  return world.directory.importFiles({ files, kind });
}

function zipOf(files: Readonly<Record<string, string>>): Promise<Buffer> {
  const zip = new ZipFile();
  for (const [name, text] of Object.entries(files)) zip.addBuffer(Buffer.from(text), name);
  zip.end();
  return new Response(Readable.toWeb(Readable.from(zip.outputStream)) as ReadableStream)
    .arrayBuffer()
    .then((bytes) => Buffer.from(bytes));
}

describe('a full load', () => {
  test('replaces the directory; records with the same key keep their id', async () => {
    const first = await world.load(
      toCsv([
        { serv_direct_addr: 'a@d.example' },
        { serv_direct_addr: 'b@d.example' },
        { serv_direct_addr: 'c@d.example' },
      ]),
    );
    assert.deepEqual([first.added, first.changed, first.unchanged, first.removed], [3, 0, 0, 0]);
    const before = await idsByAddress();
    const second = await world.load(
      toCsv([
        { serv_direct_addr: 'd@d.example' },
        { serv_direct_addr: 'C@d.example', prov_last_name: 'New' },
        { serv_direct_addr: 'a@d.example' },
      ]),
    );
    assert.deepEqual([second.added, second.changed, second.unchanged, second.removed], [1, 1, 1, 1]);
    const afterwards = await idsByAddress();
    assert.deepEqual(Object.keys(afterwards), ['a@d.example', 'C@d.example', 'd@d.example']);
    assert.equal(afterwards['a@d.example'], before['a@d.example']);
    assert.equal(afterwards['C@d.example'], before['c@d.example']);
    assert.equal(afterwards['d@d.example'], 4);
  });

  test('reads .gz, .zip and standard input, distinguished by content', async () => {
    const csv = toCsv([{ serv_direct_addr: 'packed@d.example', prov_last_name: 'Packed' }]);
    const gzip = path.join(world.folder, 'packed.bin');
    const zip = path.join(world.folder, 'packed.dat');
    await writeFile(gzip, gzipSync(csv));
    await writeFile(zip, await zipOf({ 'readme.md': 'no table', 'data/providers.csv': csv }));
    const inputs = {
      gzip: await openInput(gzip),
      zip: await openInput(zip),
      plain: openStream(Readable.from([Buffer.from(csv)])),
      packed: openStream(Readable.from([gzipSync(csv)])),
      'in small pieces': openStream(Readable.from(Array.from(gzipSync(csv), (byte) => Buffer.from([byte])))),
    };
    for (const [name, files] of Object.entries(inputs)) {
      await world.load(toCsv([{ serv_direct_addr: 'other@d.example' }]));
      assert.equal((await load(files)).loaded, 1, name);
      assert.deepEqual(
        (await records()).map((record) => record['prov_last_name']),
        ['Packed'],
        name,
      );
    }
  });

  test('reads a pipe that is named as a file, as process substitution of a shell does', async () => {
    const file = path.join(world.folder, 'pipe.csv');
    execFileSync('mkfifo', [file]);
    const csv = toCsv([{ serv_direct_addr: 'piped@d.example' }]);
    for (const bytes of [Buffer.from(csv), gzipSync(csv)]) {
      const [report] = await Promise.all([openInput(file).then(load), writeFile(file, bytes)]);
      assert.deepEqual([report.loaded, report.source], [1, 'pipe.csv']);
      assert.deepEqual(Object.keys(await idsByAddress()), ['piped@d.example']);
    }
    await Promise.all([
      assert.rejects(openInput(file).then(load), {
        message: 'A .zip cannot be read from a pipe; name the file',
      }),
      writeFile(file, await zipOf({ 'directory.csv': csv })).catch(() => {}),
    ]);
  });

  test('of a .zip made by macOS the files with attributes are not read', async () => {
    const zip = path.join(world.folder, 'mac.zip');
    await writeFile(
      zip,
      await zipOf({
        'directory.csv': toCsv([{ serv_direct_addr: 'mac@d.example' }]),
        '__MACOSX/._directory.csv': '\0\x05\x16\x07\0\x02\0\0Mac OS X        ',
      }),
    );
    assert.equal((await load(await openInput(zip))).loaded, 1);
    assert.deepEqual(Object.keys(await idsByAddress()), ['mac@d.example']);
  });

  test('a semicolon, tab or bar between columns and a byte order mark are understood', async () => {
    for (const delimiter of [';', '\t', '|']) {
      const csv = `\ufeffserv_direct_addr${delimiter}prov_last_name\r\nx@d.example${delimiter}"Bar${delimiter}ley"\r\n`;
      await world.load(csv);
      assert.deepEqual(
        (await records()).map((record) => record['prov_last_name']),
        [`Bar${delimiter.replace('\t', ' ')}ley`],
      );
    }
  });

  test('missing coordinates come from the ZIP code, else from the city', async () => {
    await world.load(
      toCsv([
        { serv_direct_addr: '1@d.example', org_zip: '96813' },
        { serv_direct_addr: '2@d.example', org_city: 'Honolulu', org_state: 'HI' },
        { serv_direct_addr: '3@d.example', org_zip: '96813', lat: 10.5, lng: -20.25 },
        { serv_direct_addr: '4@d.example', org_zip: '96813', lat: 0, lng: 0 },
        { serv_direct_addr: '5@d.example' },
      ]),
    );
    const [zip, city, own, zero, none] = await records();
    for (const record of [zip, city, zero])
      assert.ok(
        Math.abs(Number(record?.['lat']) - 21.3) < 0.5 && Math.abs(Number(record?.['lng']) + 157.8) < 0.5,
      );
    assert.deepEqual([own?.['lat'], own?.['lng']], [10.5, -20.25]);
    assert.ok(!Number.isFinite(none?.['lat']));
  });
});

describe('an incremental load', () => {
  test('adds, changes and removes by Direct address and NPI', async () => {
    await world.load(
      toCsv([
        { serv_direct_addr: 'keep@d.example', prov_npi: '1000000004' },
        { serv_direct_addr: 'change@d.example', prov_last_name: 'Old' },
        { serv_direct_addr: 'remove@d.example', prov_npi: '1000000004' },
      ]),
    );
    const before = await idsByAddress();
    const report = await world.load(
      toCsv(
        [
          { serv_direct_addr: 'add@d.example', action: 'add' },
          { serv_direct_addr: 'CHANGE@d.example', prov_last_name: 'New' },
          { serv_direct_addr: 'remove@d.example', prov_npi: '1000000004', action: 'remove' },
          { serv_direct_addr: 'remove@d.example', prov_npi: '', action: 'remove' },
        ],
        ['action'],
      ),
      'incremental',
    );
    assert.deepEqual([report.added, report.changed, report.removed, report.recordCount], [1, 1, 1, 3]);
    assert.deepEqual(report.refused, { removal_unknown: { count: 1, lines: [5] } });
    const now = await records();
    assert.deepEqual(
      now.map((record) => record['serv_direct_addr']),
      ['add@d.example', 'CHANGE@d.example', 'keep@d.example'],
    );
    assert.equal(now[1]?.['id'], before['change@d.example']);
    assert.equal(now[1]?.['prov_last_name'], 'New');
  });

  test('with a key column a record keeps its id when its address changes', async () => {
    await world.load(
      toCsv(
        [
          { key: 'k1', serv_direct_addr: 'first@d.example' },
          { key: 'k2', serv_direct_addr: 'second@d.example' },
        ],
        ['key'],
      ),
    );
    const { 'first@d.example': id } = await idsByAddress();
    await world.load(
      toCsv(
        [
          { key: 'k1', serv_direct_addr: 'moved@d.example' },
          { key: 'k2', serv_direct_addr: '', action: 'remove' },
        ],
        ['key', 'action'],
      ),
      'incremental',
    );
    assert.deepEqual(await idsByAddress(), { 'moved@d.example': id });
  });

  test('works without an earlier directory, and many of them in a row keep every change', async () => {
    const own = await startTestDirectory();
    try {
      await own.load(toCsv([{ serv_direct_addr: 'n0@d.example' }]), 'incremental');
      for (let round = 1; round <= 30; round++) {
        const rows = [
          { serv_direct_addr: `n${round}@d.example` },
          {
            serv_direct_addr: `n${round - 1}@d.example`,
            action: round % 3 === 0 ? 'remove' : '',
            prov_last_name: 'Seen',
          },
        ];
        await own.load(toCsv(rows, ['action']), 'incremental');
      }
      const { body } = await own.search({ limit: 1000, sort_by: 'serv_direct_addr' });
      const expected = Array.from({ length: 31 }, (_, round) => `n${round}@d.example`).filter(
        (_, round) => round === 30 || (round + 1) % 3 !== 0,
      );
      assert.deepEqual(
        body.providers?.map((record) => record['serv_direct_addr']),
        expected.toSorted(),
      );
      assert.equal(body.totalCount, String(expected.length));
      const blocks = await own.storage
        .tables<{ directory_block: { load_id: number } }>()
        .selectFrom('directory_block')
        .select('load_id')
        .execute();
      assert.ok(blocks.length < 30, 'old increments are merged and cleared away');
    } finally {
      await own.close();
    }
  });
});

describe('the aggregated directory of a trust organization (DIR-01)', () => {
  test('its columns are mapped to the record, N/A is blank, patients are refused (DIR-03)', async () => {
    const columns = [
      'hisp_operator',
      'service_direct_address',
      'service_description',
      'provider_uid',
      'provider_npi',
      'provider_first_name',
      'provider_middle_name',
      'provider_last_name',
      'provider_suffix',
      'provider_healthcare_service_class',
      'provider_specialty',
      'provider_role',
      'organization_uid',
      'organization_npi',
      'organization_name',
      'organization_address_line_1',
      'organization_address_line_2',
      'organization_city',
      'organization_state',
      'organization_postal_code',
      'organization_phone',
      'organization_healthcare_service_class',
      'organization_specialty',
    ];
    const doctor = [
      'HISP',
      'dora@direct.hisp.example',
      'Inbox',
      'u1',
      '1000000004',
      'Dora',
      'N/A',
      'Doe',
      'MD',
      'N/A',
      'Cardiology',
      'Physician',
      'o1',
      '1999999992',
      'Hisp Clinic',
      '1 Main St',
      'Suite 2',
      'Boston',
      'MA',
      '021141234',
      '+16175550101',
      'N/A',
      'Hospital',
    ];
    const desk = [
      'HISP',
      'desk@direct.hisp.example',
      'Referrals',
      'N/A',
      'N/A',
      'N/A',
      'N/A',
      'N/A',
      'N/A',
      'N/A',
      'N/A',
      'N/A',
      'o1',
      '1999999992',
      'Hisp Clinic',
      '1 Main St',
      '',
      'Boston',
      'MA',
      '02114',
      '',
      'N/A',
      'Hospital',
    ];
    const patient = doctor.with(1, 'pat@direct.hisp.example').with(9, '1.3.6.1.4.1.41179.2.4');
    const report = await world.load(
      [columns, doctor, desk, patient].map((row) => row.join(',')).join('\n') + '\n',
    );
    assert.equal(report.format, 'directtrust');
    assert.deepEqual(report.refused, { patient_address: { count: 1, lines: [4] } });
    const [first, second] = await records();
    assert.deepEqual(
      [first?.['prov_npi'], first?.['org_name'], first?.['prov_spec_text'], first?.['serv_direct_addr']],
      ['1999999992', 'Hisp Clinic', 'Hospital', 'desk@direct.hisp.example'],
    );
    const { id: _id, lat: _lat, lng: _lng, ...texts } = second ?? {};
    assert.deepEqual(texts, {
      prov_npi: '1000000004',
      prov_first_name: 'Dora',
      prov_mid_name: '',
      prov_last_name: 'Doe',
      prov_suffix: 'MD',
      serv_direct_addr: 'dora@direct.hisp.example',
      org_name: 'Hisp Clinic',
      prov_spec_text: 'Cardiology',
      org_addr_1: '1 Main St, Suite 2',
      org_city: 'Boston',
      org_state: 'MA',
      org_zip: '02114-1234',
      org_phone: '+16175550101',
    });
  });

  test('blanks around N/A do not make it a value, and N/A for coordinates is not reported as invalid', async () => {
    const report = await world.load(
      [
        'service_direct_address,provider_npi,provider_specialty,organization_specialty,latitude,longitude',
        'one@d.example, N/A ,  ,Hospital,N/A,N/A',
        'two@d.example,N/A,N/A ,Clinic,41.5,-87.25',
      ].join('\n') + '\n',
    );
    assert.deepEqual([report.loaded, report.refused], [2, {}]);
    assert.deepEqual(report.warnings, { coordinates_missing: { count: 1, lines: [2] } });
    assert.deepEqual(
      (await records()).map((record) => [record['prov_npi'], record['prov_spec_text'], record['lat']]),
      [
        ['', 'Hospital', null],
        ['', 'Clinic', 41.5],
      ],
    );
  });
});

describe('the public NPPES files', () => {
  const practice = 'Provider Business Practice Location Address';
  const mainHeader = [
    'NPI',
    'Entity Type Code',
    'Provider Organization Name (Legal Business Name)',
    'Provider Last Name (Legal Name)',
    'Provider First Name',
    'Provider Middle Name',
    'Provider Name Suffix Text',
    'Provider Credential Text',
    'Provider First Line Business Practice Location Address',
    `${practice} City Name`,
    `${practice} State Name`,
    `${practice} Postal Code`,
    `${practice} Telephone Number`,
    'NPI Deactivation Date',
    'NPI Reactivation Date',
    'Healthcare Provider Taxonomy Code_1',
  ];
  const endpointHeader = [
    'NPI',
    'Endpoint Type',
    'Endpoint',
    'Affiliation Legal Business Name',
    'Affiliation Address Line One',
    'Affiliation Address City',
    'Affiliation Address State',
    'Affiliation Address Postal Code',
  ];
  const quoted = (rows: string[][]): string =>
    rows.map((row) => row.map((value) => `"${value}"`).join(',')).join('\n') + '\n';
  const main = quoted([
    mainHeader,
    [
      '1000000004',
      '1',
      '',
      'DOE',
      'JANE',
      'Q',
      '',
      'MD',
      '1 MAIN ST',
      'BOSTON',
      'MA',
      '021141234',
      '6175550101',
      '',
      '',
      '207RC0000X',
    ],
    [
      '1999999992',
      '2',
      'NO DIRECT HOSPITAL',
      '',
      '',
      '',
      '',
      '',
      '2 MAIN ST',
      'BOSTON',
      'MA',
      '02114',
      '',
      '',
      '',
      '282N00000X',
    ],
    [
      '1500000009',
      '1',
      '',
      'GONE',
      'GUS',
      '',
      '',
      '',
      '3 MAIN ST',
      'BOSTON',
      'MA',
      '02114',
      '',
      '01/02/2024',
      '',
      '',
    ],
  ]);
  const endpoints = quoted([
    endpointHeader,
    ['1000000004', 'DIRECT', 'jane@direct.one.example', '', '', '', '', ''],
    ['1000000004', 'FHIR', 'https://fhir.example/r4', '', '', '', '', ''],
    ['1000000004', 'DIRECT', 'jane@direct.two.example', 'TWO CLINIC', '9 ELM ST', 'CHICAGO', 'IL', '60611'],
    ['1000000004', 'DIRECT', 'Jane@direct.one.example', '', '', '', '', ''],
    ['1500000009', 'DIRECT', 'gus@direct.one.example', '', '', '', '', ''],
  ]);

  test('entries of type Direct become records, with the affiliation as place; others are skipped', async () => {
    const zip = path.join(world.folder, 'nppes.zip');
    await writeFile(
      zip,
      await zipOf({
        'npidata_pfile_1.csv': main,
        'endpoint_pfile_1.csv': endpoints,
        'npidata_pfile_1_fileheader.csv': mainHeader.join(','),
      }),
    );
    const report = await load(await openInput(zip));
    assert.equal(report.format, 'nppes');
    assert.deepEqual([report.rowsRead, report.loaded, report.skipped, report.refusedRows], [3, 2, 2, 0]);
    const [one, two] = await records();
    assert.deepEqual(
      [
        one?.['serv_direct_addr'],
        one?.['prov_last_name'],
        one?.['prov_suffix'],
        one?.['org_city'],
        one?.['org_zip'],
        one?.['prov_spec_text'],
      ],
      [
        'jane@direct.one.example',
        'DOE',
        'MD',
        'BOSTON',
        '02114-1234',
        '2.16.840.1.113883.6.101:NUCC:207RC0000X:',
      ],
    );
    assert.deepEqual(
      [two?.['org_name'], two?.['org_addr_1'], two?.['org_city'], two?.['prov_npi']],
      ['TWO CLINIC', '9 ELM ST', 'CHICAGO', '1000000004'],
    );
  });

  test('an increment removes the addresses that a provider of its file no longer has, and deactivated providers', async () => {
    const files = async (mainText: string, endpointText: string): Promise<InputFile[]> => {
      const names = ['main.csv', 'endpoints.csv'].map((name) => path.join(world.folder, name));
      await writeFile(names[0] ?? '', mainText);
      await writeFile(names[1] ?? '', endpointText);
      return [...(await openInput(names[0] ?? '')), ...(await openInput(names[1] ?? ''))];
    };
    const provider = (npi: string, deactivatedAt = ''): string[] => [
      npi,
      '1',
      '',
      'DOE',
      'JANE',
      '',
      '',
      '',
      '',
      'BOSTON',
      'MA',
      '02114',
      '',
      deactivatedAt,
      '',
      '',
    ];
    const endpoint = (npi: string, address: string): string[] => [npi, 'DIRECT', address, '', '', '', '', ''];
    const [first, second, third] = ['1000000004', '1999999992', '1500000009'];
    await load(
      await files(
        quoted([mainHeader, provider(first), provider(second), provider(third)]),
        quoted([
          endpointHeader,
          endpoint(first, 'a1@d.example'),
          endpoint(first, 'a2@d.example'),
          endpoint(second, 'b@d.example'),
          endpoint(third, 'c@d.example'),
        ]),
      ),
    );
    const report = await load(
      await files(
        quoted([mainHeader, provider(first), provider(second, '01/02/2024')]),
        quoted([endpointHeader, endpoint(first, 'a2@d.example')]),
      ),
      'incremental',
    );
    assert.deepEqual([report.removed, report.unchanged, report.recordCount], [2, 1, 2]);
    assert.deepEqual(Object.keys(await idsByAddress()), ['a2@d.example', 'c@d.example']);
    // Without an NPI of a person: a row without one does not stand for it.
    await world.load(toCsv([{ serv_direct_addr: 'clinic@d.example' }]), 'incremental');
    const padded = await load(
      await files(
        quoted([mainHeader, provider(' '), provider('0'), provider(`${first} `)]),
        quoted([endpointHeader, endpoint(` ${first}`, 'a3@d.example')]),
      ),
      'incremental',
    );
    assert.deepEqual([padded.removed, padded.added, padded.recordCount], [1, 1, 3]);
    assert.deepEqual(Object.keys(await idsByAddress()), ['a3@d.example', 'c@d.example', 'clinic@d.example']);
  });

  test('an endpoint file that is cut short aborts the load; its rows that cannot be read are reported', async () => {
    const zip = path.join(world.folder, 'broken-nppes.zip');
    const loadWith = async (endpointText: string, more: Record<string, string> = {}): Promise<LoadReport> => {
      await writeFile(zip, await zipOf({ 'main.csv': main, 'endpoints.csv': endpointText, ...more }));
      return load(await openInput(zip));
    };
    await loadWith(endpoints);
    const before = Object.keys(await idsByAddress());
    assert.deepEqual(before, ['jane@direct.one.example', 'jane@direct.two.example']);
    const cut = endpoints.indexOf('TWO CLINIC');
    await assert.rejects(loadWith(endpoints.slice(0, cut - 2)), {
      code: 'DIRECTORY_FILE_BROKEN',
      message: 'The file ends within line 4',
    });
    await assert.rejects(loadWith(endpoints, { 'older.csv': endpoints }), {
      code: 'DIRECTORY_FORMAT_UNKNOWN',
      message: 'endpoints.csv and older.csv both hold NPPES endpoints',
    });
    assert.deepEqual(Object.keys(await idsByAddress()), before);
    const odd = '"1000000004","DIRECT"\n"1000000004",DIR"ECT,"x@direct.three.example","","","","",""\n';
    const report = await loadWith(endpoints + odd);
    assert.deepEqual(report.refused, { endpoint_row: { count: 2, lines: [7, 8] } });
    assert.deepEqual([report.loaded, report.refusedRows], [2, 2]);
    // Two of the seven rows of that file; the other one has three.
    const within = (maxRefusedShare: number): Promise<LoadReport> =>
      openInput(zip).then((files) => world.directory.importFiles({ files, kind: 'full', maxRefusedShare }));
    assert.equal((await within(0.3)).refusedRows, 2);
    await assert.rejects(within(0.25), {
      code: 'DIRECTORY_TOO_MANY_REFUSED',
      message: '28.6 % of the rows are refused, more than allowed',
    });
  });

  test('the main file alone is refused, because it has no Direct addresses', async () => {
    await assert.rejects(world.load(main), { code: 'DIRECTORY_FORMAT_UNKNOWN' });
  });

  test('names of taxonomy codes come from the code set of the operator', async () => {
    const files = ['npidata.csv', 'endpoint.csv'].map((name) => path.join(world.folder, name));
    await writeFile(files[0] ?? '', main);
    await writeFile(files[1] ?? '', endpoints);
    const inputs = [...(await openInput(files[0] ?? '')), ...(await openInput(files[1] ?? ''))];
    await world.directory.importFiles({
      files: inputs,
      kind: 'full',
      taxonomy: new Map([['207RC0000X', 'Cardiovascular Disease']]),
    });
    assert.equal(
      (await records())[0]?.['prov_spec_text'],
      '2.16.840.1.113883.6.101:NUCC:207RC0000X:Cardiovascular Disease',
    );
  });
});
