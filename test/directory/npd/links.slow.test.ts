/** Links of the resources of a release of the national directory: every path by which an address is linked. */
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createWorld } from '../../../bench/npd/world.ts';
import { expectLinks } from '../../../bench/npd/expected-links.ts';
import { writeRelease, type Compression, type Naming } from '../../../bench/npd/write-release.ts';
import { formatReport, type LoadReport, type TaxonomyNames } from '../../../src/service/directory/index.ts';
import { openReleaseFolder } from '../../../src/service/directory/load/npd/open-release.ts';
import { readLines } from '../../../src/service/directory/records/block.ts';
import { textOf } from '../../../src/service/directory/records/record-line.ts';
import type { DirectoryTables } from '../../../src/service/directory/store/tables.ts';
import { startTestDirectory, testGazetteer, toCsv, type TestDirectory } from '../start-directory.ts';
import {
  address,
  endpoint,
  location,
  organization,
  phone,
  practitioner,
  role,
  to,
  writeLines,
  type ReleaseLines,
} from './release-files.ts';

let world: TestDirectory;
before(async () => {
  world = await startTestDirectory();
});
after(() => world.close());

async function loadFolder(folder: string, taxonomy?: TaxonomyNames): Promise<LoadReport> {
  const release = await openReleaseFolder(folder, path.join(world.folder, 'work'));
  // Under the source of the other loads of this file, so that each replaces the one before.
  return world.directory.importFiles({
    files: [],
    release,
    kind: 'full',
    sourceName: 'default',
    taxonomy,
    acceptLoss: true,
  });
}

async function load(lines: ReleaseLines, taxonomy?: TaxonomyNames): Promise<LoadReport> {
  const folder = path.join(world.folder, 'release');
  await writeLines(folder, lines);
  const report = await loadFolder(folder, taxonomy);
  await rm(folder, { recursive: true, maxRetries: 5 });
  return report;
}

type WireRecord = Record<string, unknown>;

async function records(): Promise<WireRecord[]> {
  const reply = await world.search({ limit: 1000, sort_by: 'serv_direct_addr,prov_npi' });
  return (reply.body.providers ?? []).map((record) =>
    Object.fromEntries(Object.entries(record).filter(([name]) => name !== 'id')),
  );
}

/** The only record, with the given fields only. */
async function onlyRecord(...names: string[]): Promise<WireRecord> {
  const [record, ...more] = await records();
  assert.ok(record !== undefined && more.length === 0, 'there is one record');
  return names.length === 0 ? record : Object.fromEntries(names.map((name) => [name, record[name]]));
}

const links = (report: LoadReport) => {
  assert.ok(report.release !== undefined);
  const { person, organization: org, place, unlinked, addresses } = report.release.links;
  const paths = Object.fromEntries(
    Object.entries({ ...person.paths, ...org.paths, ...place.paths }).filter(([, count]) => count > 0),
  );
  return { addresses, person: person.count, organization: org.count, place: place.count, unlinked, paths };
};

const npi = '1245319599';
const sample: ReleaseLines = {
  Endpoint: [
    endpoint('a', 'Alex.Sample@direct.clinic.example', { managingOrganization: to('Organization', 'x') }),
  ],
  PractitionerRole: [
    role('a', {
      practitioner: to('Practitioner', 'a'),
      organization: to('Organization', 'o'),
      location: [to('Location', 'l')],
      specialty: [{ coding: [{ system: 'http://nucc.org/provider-taxonomy', code: '207R00000X' }] }],
      endpoint: [to('Endpoint', 'a')],
    }),
  ],
  Practitioner: [
    practitioner('a', npi, {
      name: [
        { use: 'maiden', family: 'FORMER', given: ['ALEX'] },
        { use: 'official', family: 'SAMPLE', given: ['ALEX', 'K', 'M'], suffix: ['MD', 'PHD'] },
      ],
      telecom: [{ system: 'fax', value: '5185550124', use: 'work' }, phone('5185550123')],
      address: [address('9 HOME RD', { use: 'home' }), address('8 OFFICE RD')],
      qualification: [{ code: { coding: [{ code: '207R00000X', display: 'Internal Medicine Physician' }] } }],
    }),
  ],
  Organization: [
    organization('o', 'EXAMPLE CLINIC PC', {
      telecom: [phone('5185550199')],
      address: [address('3 ORG ST')],
    }),
    organization('x', 'OTHER CLINIC', { address: [address('4 OTHER ST')] }),
  ],
  Location: [
    location('l', {
      address: address('1 MAIN ST', { line: ['1 MAIN ST', 'STE 200'], postalCode: '122071234' }),
      position: { longitude: -73.75, latitude: 42.65 },
      managingOrganization: to('Organization', 'x'),
    }),
  ],
};

describe('a record', () => {
  test('takes each value from the first resource that has it', async () => {
    const report = await load(sample);
    assert.deepEqual(await onlyRecord(), {
      serv_direct_addr: 'Alex.Sample@direct.clinic.example',
      prov_npi: npi,
      prov_first_name: 'ALEX',
      prov_mid_name: 'K M',
      prov_last_name: 'SAMPLE',
      prov_other_names: 'FORMER (maiden)',
      prov_suffix: 'MD PHD',
      prov_spec_text: '2.16.840.1.113883.6.101:NUCC:207R00000X:Internal Medicine Physician',
      org_name: 'EXAMPLE CLINIC PC',
      org_addr_1: '1 MAIN ST, STE 200',
      org_city: 'ALBANY',
      org_state: 'NY',
      org_zip: '12207-1234',
      org_phone: '5185550199',
      lat: 42.65,
      lng: -73.75,
    });
    assert.deepEqual(links(report), {
      addresses: 1,
      person: 1,
      organization: 1,
      place: 1,
      unlinked: 0,
      paths: {
        'PractitionerRole.endpoint': 1,
        'PractitionerRole.organization': 1,
        'PractitionerRole.location': 1,
      },
    });
    assert.deepEqual([report.format, report.source], ['npd', 'national directory of 2026-09-29']);
  });

  test('has no part that means nothing, and takes the value of the next resource instead', async () => {
    const nowhere = address('N/A', { city: 'UNKNOWN', state: '-', postalCode: 'N/A' });
    await load({
      ...sample,
      Organization: [
        organization('o', 'EXAMPLE CLINIC PC', {
          telecom: [phone('N/A'), phone('5185550199')],
        }),
      ],
      Practitioner: [practitioner('a', npi, { address: [address('', { line: ['8 OFFICE RD', 'NONE'] })] })],
      Location: [location('l', { address: nowhere, telecom: [phone('NULL')] })],
    });
    const found = await onlyRecord('org_addr_1', 'org_city', 'org_phone');
    assert.deepEqual(found, { org_addr_1: '8 OFFICE RD', org_city: 'ALBANY', org_phone: '5185550199' });
  });

  test("names the specialty by the operator's table before the release's own words", async () => {
    await load(sample, new Map([['207R00000X', 'Internal Medicine']]));
    assert.deepEqual(await onlyRecord('prov_spec_text'), {
      prov_spec_text: '2.16.840.1.113883.6.101:NUCC:207R00000X:Internal Medicine',
    });
  });

  test('is the same from files with escaped slashes and a byte order mark', async () => {
    await load(sample);
    const plain = await records();
    const escaped = Object.fromEntries(
      Object.entries(sample).map(([type, lines]) => [
        type,
        lines.map((line, at) => (at === 0 ? '\ufeff' : '') + JSON.stringify(line).replaceAll('/', '\\/')),
      ]),
    );
    assert.deepEqual((await load(escaped)).refused, {});
    assert.deepEqual(await records(), plain);
  });

  test('keeps its id when the same address and NPI came from another kind of file', async () => {
    await world.load(toCsv([{ serv_direct_addr: 'alex.sample@DIRECT.clinic.example', prov_npi: npi }]));
    const [before] = (await world.search({})).body.providers ?? [];
    const report = await load(sample);
    assert.deepEqual([report.added, report.changed, report.removed], [0, 1, 0]);
    const [afterwards] = (await world.search({})).body.providers ?? [];
    assert.equal(afterwards?.['id'], before?.['id']);
  });

  test('has the telephone of the role, then the place, the organization, the practitioner; never a fax number', async () => {
    const fax = { system: 'fax', value: '5185550000', use: 'work' };
    const home = { system: 'phone', value: '5185550001', use: 'home' };
    const points = ['5185550010', '5185550020', '5185550030', '5185550040'];
    for (let missing = 0; missing <= points.length; missing++) {
      const telecom = (at: number): object => ({
        telecom: at < missing ? [fax, home] : [fax, home, phone(points[at] ?? '')],
      });
      await load({
        Endpoint: [endpoint('a', 'a@d.example')],
        PractitionerRole: [
          role('a', {
            practitioner: to('Practitioner', 'a'),
            organization: to('Organization', 'o'),
            location: [to('Location', 'l')],
            endpoint: [to('Endpoint', 'a')],
            ...telecom(0),
          }),
        ],
        Location: [location('l', { address: address('1 MAIN ST'), ...telecom(1) })],
        Organization: [organization('o', 'O', telecom(2))],
        Practitioner: [practitioner('a', npi, telecom(3))],
      });
      assert.deepEqual(await onlyRecord('org_phone'), { org_phone: points[missing] ?? '' });
    }
  });

  test('reads the forms of earlier releases: the other NPI system, Medicare specialties, mailto:', async () => {
    await load({
      ...sample,
      Endpoint: [endpoint('a', 'MAILTO:a@d.example')],
      PractitionerRole: [
        role('a', {
          practitioner: {
            reference: 'https://directory.example/fhir/Practitioner/Practitioner-a/_history/2',
          },
          specialty: [{ coding: [{ system: 'https://npd.example/medicare', code: '14-50' }] }],
          endpoint: [to('Endpoint', 'a')],
        }),
      ],
      Practitioner: [
        practitioner('a', '', {
          identifier: [
            { system: 'http://example.org/licence', value: 'L1' },
            { system: 'http://hl7.org/fhir/sid/us-npi', value: npi },
          ],
          qualification: [
            { code: { coding: [{ code: '363LF0000X', display: 'Family Nurse Practitioner' }] } },
          ],
        }),
      ],
    });
    assert.deepEqual(await onlyRecord('serv_direct_addr', 'prov_npi', 'prov_spec_text'), {
      serv_direct_addr: 'a@d.example',
      prov_npi: npi,
      prov_spec_text: '2.16.840.1.113883.6.101:NUCC:363LF0000X:Family Nurse Practitioner',
    });
  });

  test('never shows where a practitioner lives', async () => {
    await load({
      Endpoint: [endpoint('a', 'a@d.example')],
      PractitionerRole: [
        role('a', { practitioner: to('Practitioner', 'a'), endpoint: [to('Endpoint', 'a')] }),
      ],
      Practitioner: [
        practitioner('a', npi, {
          address: [address('9 HOME RD', { use: 'home' })],
          telecom: [{ system: 'phone', value: '5185550001', use: 'home' }],
        }),
      ],
    });
    assert.deepEqual(await onlyRecord('org_addr_1', 'org_zip', 'org_phone'), {
      org_addr_1: '',
      org_zip: '',
      org_phone: '',
    });
  });
});

describe('an address is linked', () => {
  const bare = { Endpoint: [endpoint('a', 'a@d.example')] };
  const managed = {
    Endpoint: [endpoint('a', 'a@d.example', { managingOrganization: to('Organization', 'm') })],
  };
  const roleWith = (more: object): object => role('a', { endpoint: [to('Endpoint', 'a')], ...more });
  const ein = {
    identifier: [{ system: 'https://npd.cms.gov/fhir/sid/us-pseudo-ein', value: '9' }],
    type: [{ text: 'ein' }],
  };

  const cases: Record<string, { lines: ReleaseLines; paths: object; record?: WireRecord }> = {
    'to nothing': {
      lines: bare,
      paths: {},
      record: { serv_direct_addr: 'a@d.example', org_name: '', prov_npi: '' },
    },
    'to a person, with the place of the person': {
      lines: {
        ...bare,
        PractitionerRole: [roleWith({ practitioner: to('Practitioner', 'a') })],
        Practitioner: [practitioner('a', npi, { address: [address('8 OFFICE RD')] })],
      },
      paths: { 'PractitionerRole.endpoint': 1, 'Practitioner.address': 1 },
      record: { prov_npi: npi, org_addr_1: '8 OFFICE RD' },
    },
    'to the organization that manages it, and its place': {
      lines: { ...managed, Organization: [organization('m', 'MANAGER', { address: [address('5 M ST')] })] },
      paths: { 'Endpoint.managingOrganization': 1, 'Organization.address': 1 },
      record: { org_name: 'MANAGER', org_addr_1: '5 M ST' },
    },
    'to the organization that names it': {
      lines: {
        ...bare,
        Organization: [
          organization('n', 'NAMER', { endpoint: [to('Endpoint', 'other'), to('Endpoint', 'a')] }),
          organization('second', 'SECOND', { endpoint: [to('Endpoint', 'a')] }),
        ],
      },
      paths: { 'Organization.endpoint': 1 },
      record: { org_name: 'NAMER' },
    },
    'to the organization of a role without a practitioner': {
      lines: {
        ...bare,
        PractitionerRole: [
          roleWith({ organization: to('Organization', 'o'), location: [to('Location', 'l')] }),
        ],
        Organization: [organization('o', 'DEPARTMENT')],
        Location: [location('l', { address: address('1 MAIN ST') })],
      },
      paths: { 'PractitionerRole.organization': 1, 'PractitionerRole.location': 1 },
      record: { org_name: 'DEPARTMENT', org_addr_1: '1 MAIN ST' },
    },
    'to the address of the organization that manages the place': {
      lines: {
        ...bare,
        PractitionerRole: [roleWith({ location: [to('Location', 'l')] })],
        Location: [
          location('l', {
            managingOrganization: to('Organization', 'm'),
            position: { latitude: 1, longitude: 1 },
          }),
        ],
        Organization: [organization('m', 'MANAGER', { address: [address('5 M ST')] })],
      },
      paths: { 'Location.managingOrganization': 1 },
      record: { org_addr_1: '5 M ST', org_name: '' },
    },
    'to the place that names it': {
      lines: {
        ...bare,
        Location: [location('l', { address: address('1 MAIN ST'), endpoint: [to('Endpoint', 'a')] })],
      },
      paths: { 'Location.endpoint': 1 },
      record: { org_addr_1: '1 MAIN ST' },
    },
    'to no organization that is only a tax number, by none of the paths': {
      lines: {
        ...managed,
        PractitionerRole: [
          roleWith({ organization: to('Organization', 'o'), location: [to('Location', 'l')] }),
        ],
        Location: [location('l', { managingOrganization: to('Organization', 'm') })],
        Organization: [
          organization('o', 'EIN 1', { ...ein, address: [address('6 TAX ST')] }),
          organization('m', 'EIN 2', { ...ein, type: [], address: [address('6 TAX ST')] }),
          organization('n', 'EIN 3', { ...ein, endpoint: [to('Endpoint', 'a')] }),
        ],
      },
      paths: {},
      record: { org_name: '', org_addr_1: '' },
    },
    'to the next organization after one that is only a tax number or not there': {
      lines: {
        ...managed,
        PractitionerRole: [roleWith({ organization: to('Organization', 'gone') })],
        Organization: [
          organization('m', 'EIN 2', ein),
          organization('n', 'NAMER', { endpoint: [to('Endpoint', 'a')] }),
        ],
      },
      paths: { 'Organization.endpoint': 1 },
      record: { org_name: 'NAMER' },
    },
    'by nothing that is not active': {
      lines: {
        ...managed,
        PractitionerRole: [
          { ...roleWith({ practitioner: to('Practitioner', 'a') }), active: false },
          roleWith({ practitioner: to('Practitioner', 'b'), location: [to('Location', 'l')] }),
        ],
        Practitioner: [practitioner('a', npi), practitioner('b', '1000000004', { active: false })],
        Organization: [organization('m', 'CLOSED', { active: false })],
        Location: [location('l', { status: 'inactive', address: address('1 MAIN ST') })],
      },
      paths: {},
    },
    'by nothing that dangles': {
      lines: {
        ...managed,
        PractitionerRole: [
          roleWith({
            practitioner: to('Practitioner', 'gone'),
            organization: to('Organization', 'gone'),
            location: [to('Location', 'gone')],
          }),
        ],
      },
      paths: {},
    },
  };

  for (const [title, { lines, paths, record }] of Object.entries(cases)) {
    test(title, async () => {
      const report = await load(lines);
      const found = links(report);
      assert.deepEqual(found.paths, paths);
      assert.equal(found.addresses, 1);
      assert.equal(found.unlinked, Object.keys(paths).length === 0 ? 1 : 0);
      const shown = await onlyRecord(...Object.keys(record ?? {}));
      if (record !== undefined) assert.deepEqual(shown, record);
    });
  }
});

describe('several resources with one address', () => {
  test('become one record for each practitioner, from the role that says most', async () => {
    const report = await load({
      Endpoint: [
        endpoint('a', 'Shared@d.example'),
        endpoint('b', 'shared@D.example'),
        endpoint('c', 'own@d.example'),
      ],
      PractitionerRole: [
        role('a', { practitioner: to('Practitioner', 'a'), endpoint: [to('Endpoint', 'a')] }),
        role('b', {
          practitioner: to('Practitioner', 'a'),
          organization: to('Organization', 'o'),
          endpoint: [to('Endpoint', 'b')],
        }),
        role('c', {
          practitioner: to('Practitioner', 'a'),
          endpoint: [to('Endpoint', 'a'), to('Endpoint', 'c')],
        }),
        role('d', { practitioner: to('Practitioner', 'b'), endpoint: [to('Endpoint', 'b')] }),
        role('e', { organization: to('Organization', 'p'), endpoint: [to('Endpoint', 'b')] }),
      ],
      Practitioner: [practitioner('a', npi), practitioner('b', '1000000004')],
      Organization: [organization('o', 'FIRST'), organization('p', 'SECOND')],
    });
    assert.deepEqual(
      (await records()).map((record) => [record['serv_direct_addr'], record['prov_npi'], record['org_name']]),
      [
        ['own@d.example', npi, ''],
        ['Shared@d.example', '1000000004', ''],
        ['Shared@d.example', npi, 'FIRST'],
      ],
    );
    assert.deepEqual([report.rowsRead, report.refusedRows, links(report).addresses], [3, 0, 2]);
  });
});

/** The addresses whose stored records are marked as excluded. */
async function storedMarks(): Promise<string[]> {
  const db = world.storage.tables<DirectoryTables>();
  const newest = await db
    .selectFrom('directory_block')
    .selectAll()
    .orderBy('load_id', 'desc')
    .executeTakeFirstOrThrow();
  return readLines(newest)
    .filter((line) => textOf(line, 'excluded') === 'true')
    .map((line) => textOf(line, 'directAddress'));
}

describe('the report', () => {
  test('marks excluded practitioners and counts unused resources by reason', async () => {
    const excluded = (value: unknown): object => ({
      extension: [
        {
          url: 'http://hl7.org/fhir/us/ndh/StructureDefinition/base-ext-cms-identity-verified',
          valueBoolean: true,
        },
        {
          url: 'http://hl7.org/fhir/us/ndh/StructureDefinition/base-ext-hhs-in-exclusion-list',
          valueBoolean: value,
        },
      ],
    });
    const report = await load({
      Endpoint: [
        endpoint('a', 'a@d.example'),
        endpoint('b', 'b@d.example'),
        endpoint('off', 'off@d.example', { status: 'off' }),
        endpoint('fhir', 'https://fhir.example', { connectionType: { code: 'hl7-fhir-rest' } }),
        endpoint('named', 'x', { connectionType: { code: 'hl7-fhir-rest' }, name: 'no direct-project' }),
      ],
      PractitionerRole: [
        role('a', { practitioner: to('Practitioner', 'a'), endpoint: [to('Endpoint', 'a')] }),
        role('b', { practitioner: to('Practitioner', 'b'), endpoint: [to('Endpoint', 'b')] }),
      ],
      Practitioner: [
        practitioner('a', npi, excluded(true)),
        practitioner('b', '1000000004', excluded('true')),
      ],
    });
    assert.equal(report.release?.excluded, 1);
    assert.deepEqual(await storedMarks(), ['a@d.example']);
    const shown = await world.search({ limit: 10 });
    assert.ok(!shown.text.includes('excluded'), 'the answer keeps the shape of the specification');
    assert.equal((await world.search({ prov_excluded: 'true' })).status, 400);
    assert.equal((await world.search({ sort_by: 'prov_excluded' })).status, 400);
    assert.deepEqual(report.release?.unused, {
      otherEndpoints: 2,
      inactiveEndpoints: 1,
      inactiveRoles: 0,
      inactivePractitioners: 0,
      inactiveOrganizations: 0,
      inactiveLocations: 0,
      pseudoOrganizations: 0,
    });
    const text = formatReport(report).join('\n');
    assert.match(text, /to a person: 2 \(PractitionerRole\.endpoint 2\)/);
    assert.match(text, /to nothing: 0/);
    assert.match(text, /1 records of practitioners on the exclusion list/);
    assert.match(text, /not used, inactiveEndpoints: 1/);
  });

  test('reads marks from our own columns, too: anything but a plain no', async () => {
    const marks = ['', 'no', 'FALSE', '0', 'true', 'YES', 'unclear'];
    await world.load(
      toCsv(
        marks.map((prov_excluded, at) => ({
          serv_direct_addr: `m${at}@d.example`,
          org_zip: '12207',
          prov_excluded,
        })),
        ['prov_excluded'],
      ),
    );
    assert.deepEqual(await storedMarks(), ['m4@d.example', 'm5@d.example', 'm6@d.example']);
  });

  test('reports lines that cannot be read, and loads the others', async () => {
    const deep = '['.repeat(200_000);
    const report = await load({
      Endpoint: [
        '{"resourceType":"Endpoint","id":"x","connectionType":{"code":"direct-project"}',
        endpoint('a', 'a@d.example'),
        '"direct-project"',
        `{"resourceType":"Endpoint","id":"y","code":"direct-project","x":${deep}`,
        JSON.stringify(endpoint('b', 'b@d.example')).replace('{', '{"id":"Endpoint-other",'),
        { ...endpoint('c', 'c@d.example'), id: 5 },
        endpoint('d', 'd@d.example', { address: { value: 'x' } }),
        endpoint('e', 'not an address'),
        endpoint('f', 'long@d.example', { name: 'x'.repeat(100_000) }),
      ],
      PractitionerRole: [
        '{"endpoint":[{"reference":"Endpoint/Endpoint-a"}]}',
        role('a', { practitioner: to('Practitioner', 'a'), endpoint: { reference: 'Endpoint/Endpoint-a' } }),
        role('b', { practitioner: to('Practitioner', 'b'), endpoint: [to('Endpoint', 'b'), 7, null, {}] }),
      ],
      Practitioner: [
        JSON.stringify(practitioner('a', npi)).replace('{', '{"id":"Practitioner-other",'),
        practitioner('b', '1000000004', { name: 'no list', identifier: 3, telecom: {}, address: [[]] }),
        'null',
      ],
    });
    const faults = Object.fromEntries(
      (report.release?.files ?? []).map(({ name, faults: { count, lines } }) => [name, [count, lines]]),
    );
    assert.deepEqual(faults, {
      '0-Endpoint.ndjson': [4, [1, 3, 4, 6]],
      '0-PractitionerRole.ndjson': [1, [1]],
      '0-Location.ndjson': [0, []],
      '0-Organization.ndjson': [0, []],
      '0-Practitioner.ndjson': [1, [3]],
    });
    assert.deepEqual(report.refused, {
      direct_address_missing: { count: 1, lines: [7] },
      direct_address_invalid: { count: 1, lines: [8] },
    });
    assert.deepEqual(
      (await records()).map((record) => [
        record['serv_direct_addr'],
        record['prov_npi'],
        record['prov_last_name'],
      ]),
      [
        // The practitioner's line has two ids, and the first one is not wanted.
        ['a@d.example', '', ''],
        ['b@d.example', '', ''],
        ['long@d.example', '', ''],
      ],
    );
    assert.match(formatReport(report).join('\n'), /0-Endpoint\.ndjson: 4 lines cannot be read: 1, 3, 4, 6/);
  });

  test('counts no more bytes of a text than a field may have, and refuses its row', async () => {
    const report = await load({
      Endpoint: [
        endpoint('a', 'a@d.example', { managingOrganization: to('Organization', 'm') }),
        endpoint('b', 'b@d.example'),
      ],
      Organization: [organization('m', 'X'.repeat(3_000_000))],
    });
    assert.deepEqual([report.refused.too_long?.count, report.loaded], [1, 1]);
  });
});

describe('an invented release', () => {
  const forms: readonly (readonly [Naming, Compression])[] = [
    ['plain', 'gzip'],
    ['dated', 'none'],
    ['numbered', 'zstd'],
  ];
  for (const [naming, compression] of forms) {
    test(`named ${naming}, compressed by ${compression}, is linked as its plan says`, async () => {
      const invented = createWorld(0.0005, 7, 300);
      const folder = path.join(world.folder, naming);
      await writeRelease({ folder, world: invented, gazetteer: testGazetteer(), naming, compression });
      const report = await loadFolder(folder);
      const expected = expectLinks(invented);
      assert.ok(
        expected.excludedRecords > 5 && expected.unlinked > 50 && expected.records > expected.addresses,
      );
      assert.equal(
        Object.keys(expected.paths).length,
        8,
        'every path but Location.endpoint, which is never filled',
      );
      const found = links(report);
      assert.deepEqual(
        {
          addresses: found.addresses,
          unlinked: found.unlinked,
          person: found.person,
          organization: found.organization,
          place: found.place,
        },
        {
          addresses: expected.addresses,
          unlinked: expected.unlinked,
          person: expected.person,
          organization: expected.organization,
          place: expected.place,
        },
      );
      assert.deepEqual(
        found.paths,
        Object.fromEntries(
          Object.entries(expected.paths).map(([name, count]) => [name.split(':')[1], count]),
        ),
      );
      assert.equal(report.release?.excluded, expected.excludedRecords);
      assert.deepEqual([report.loaded, report.refusedRows], [expected.records, 0]);
      await rm(folder, { recursive: true, maxRetries: 5 });
    });
  }
});
