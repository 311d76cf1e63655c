/** Organizations with NPIs of their own: found by them, shown with them, and owners of their addresses. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { openInput } from '../../../src/service/directory/index.ts';
import { assertValidResource } from '../../support/fhir-validator.ts';
import { toCsv } from '../start-directory.ts';
import { startTestFhir, type FhirBody, type FhirResource, type TestFhir } from './start-fhir.ts';

const place = { org_addr_1: '1 Main St', org_city: 'Boston', org_state: 'MA', org_zip: '02114-1234' };
const clinic = { ...place, org_name: 'Sunnyside Family Clinic' };
const rows = [
  // The lowest NPI of the organization is that of a person.
  {
    ...clinic,
    prov_npi: '1003000001',
    prov_first_name: 'Ana',
    prov_last_name: 'Smith',
    serv_direct_addr: 'ana@t.example',
  },
  { ...clinic, prov_npi: '1234567059', serv_direct_addr: 'clinic@t.example' },
  // A part of it with another NPI, written differently.
  {
    ...clinic,
    org_name: 'SUNNYSIDE FAMILY CLINIC',
    org_zip: '02114',
    prov_npi: '1234567893',
    serv_direct_addr: 'lab@t.example',
  },
  { ...clinic, serv_direct_addr: 'desk@t.example' },
  // The same NPI in another place.
  { ...clinic, org_addr_1: '9 Elm St', prov_npi: '1234567059', serv_direct_addr: 'branch@t.example' },
  // No organization has these NPIs: a person's, and that of a record without a name.
  {
    ...place,
    org_name: 'Other Group',
    prov_npi: '1245319599',
    prov_last_name: 'Doe',
    serv_direct_addr: 'doe@t.example',
  },
  { ...place, prov_npi: '1999999992', serv_direct_addr: 'nobody@t.example' },
  {
    prov_first_name: 'Kim',
    prov_last_name: 'Obrador',
    org_name: 'Other Group',
    serv_direct_addr: 'kim@t.example',
  },
];

let fhir: TestFhir;
before(async () => {
  fhir = await startTestFhir(rows);
});
after(() => fhir.world.close());

const strict = { prefer: 'handling=strict' };
const npiSystem = 'http://hl7.org/fhir/sid/us-npi';

function matches(body: FhirBody, mode = 'match'): FhirResource[] {
  return (body.entry ?? []).filter(({ search }) => search.mode === mode).map(({ resource }) => resource);
}

async function search(query: string): Promise<FhirResource[]> {
  const { status, body } = await fhir.get(query, strict);
  assert.equal(status, 200, JSON.stringify(body));
  assertValidResource(body);
  for (const resource of matches(body)) {
    assertValidResource(resource);
    assert.deepEqual((await fhir.get(`${resource.resourceType}/${resource.id}`)).body, resource);
  }
  assert.equal(body.total, matches(body).length);
  return matches(body);
}

const streets = (found: FhirResource[]): string[] =>
  found.map((organization) => organization['address'][0].line[0] as string).toSorted();

for (const [query, expected] of [
  ['identifier=1234567059', ['1 Main St', '9 Elm St']],
  ['identifier=1234567893', ['1 Main St']],
  [`identifier=${npiSystem}|1234567059`, ['1 Main St', '9 Elm St']],
  [`identifier=${npiSystem}|1234567893`, ['1 Main St']],
  ['identifier=urn:oid:2.16.840.1.113883.4.6|1234567893', ['1 Main St']],
  ['identifier=2.16.840.1.113883.4.6|1234567893', ['1 Main St']],
  ['identifier=https://hl7.org/fhir/sid/us-npi/|1234567893', ['1 Main St']],
  ['identifier=1234567893,1234567059', ['1 Main St', '9 Elm St']],
  ['identifier=1234567893&identifier=1234567059', ['1 Main St']],
  ['identifier=1234567059&address=9', ['9 Elm St']],
  ['identifier=1234567059&name=sunny&active=true&type=prov', ['1 Main St', '9 Elm St']],
  ['identifier=1234567059&active=false', []],
  ['identifier=1234567059&name=other', []],
  ['identifier=1234567059&_lastUpdated=gt2020', ['1 Main St', '9 Elm St']],
  ['identifier=1234567059&_lastUpdated=lt2020', []],
  ['identifier=1003000001', []],
  ['identifier=1245319599', []],
  ['identifier=1999999992', []],
  ['identifier=123456705', []],
  ['identifier=0000000000', []],
  ['identifier=nonsense', []],
  ['identifier=|1234567059', []],
  ['identifier=http://hl7.org/fhir/sid/us-ssn|1234567059', []],
] as const)
  test(`Organization?${query} finds ${expected.length}`, async () => {
    assert.deepEqual(streets(await search(`Organization?${query}`)), expected);
  });

test('all organizations with an NPI cannot be asked for, and that is said', async () => {
  const { status, body } = await fhir.get(`Organization?identifier=${npiSystem}|`);
  assert.equal(status, 400);
  assert.match(body.issue?.[0]?.diagnostics ?? '', /^identifier: /);
});

test('an organization has all NPIs of its own and none of its persons', async () => {
  const identifiers = new Map(
    (await search('Organization?_count=100')).map((one) => [
      `${String(one['name'])}, ${String(one['address']?.[0]?.line[0])}`,
      one['identifier'],
    ]),
  );
  const npi = (value: string): object => ({ system: npiSystem, value });
  assert.deepEqual(
    identifiers,
    new Map([
      ['Sunnyside Family Clinic, 1 Main St', [npi('1234567059'), npi('1234567893')]],
      ['Sunnyside Family Clinic, 9 Elm St', [npi('1234567059')]],
      ['Other Group, 1 Main St', undefined],
      ['Other Group, undefined', undefined],
    ]),
  );
});

test('the address of an organization names it, that of a person does not', async () => {
  const [organization] = await search('Organization?identifier=1234567893');
  const reference = `Organization/${organization?.id}`;
  const owners = new Map(
    (await search('Endpoint?_count=100')).map((one) => [
      one['address'] as string,
      one['managingOrganization']?.reference as string | undefined,
    ]),
  );
  for (const [address, isOwned] of [
    ['clinic@t.example', true],
    ['lab@t.example', true],
    ['desk@t.example', true],
    ['ana@t.example', false],
    ['branch@t.example', false],
  ] as const)
    assert.equal(owners.get(address) === reference, isOwned, address);
  assert.deepEqual(
    [...owners]
      .filter(([, owner]) => owner === undefined)
      .map(([address]) => address)
      .toSorted(),
    ['ana@t.example', 'doe@t.example', 'nobody@t.example'],
  );
  const found = await search(`Endpoint?organization=${reference}`);
  assert.deepEqual(found.map((endpoint) => endpoint['address'] as string).toSorted(), [
    'clinic@t.example',
    'desk@t.example',
    'lab@t.example',
  ]);
  const { body } = await fhir.get(
    'Organization?identifier=1234567893&_revinclude=Endpoint:organization&_revinclude=PractitionerRole:organization',
    strict,
  );
  const included = matches(body, 'include').map(({ resourceType }) => resourceType);
  assert.equal(included.filter((type) => type === 'Endpoint').length, 3);
  assert.equal(included.filter((type) => type === 'PractitionerRole').length, 4);
  const { body: back } = await fhir.get('Endpoint?address=lab@&_include=Endpoint:organization', strict);
  assert.deepEqual(matches(back, 'include'), [organization]);
});

test('an NPI that an increment brings or takes is found, shown, and gone at once', async () => {
  const added = { ...clinic, prov_npi: '1993999998', serv_direct_addr: 'new@t.example' };
  const lab = rows[2] as Record<string, string>;
  for (const [row, action, npis] of [
    [added, 'add', ['1234567059', '1234567893', '1993999998']],
    [lab, 'remove', ['1234567059', '1993999998']],
    [added, 'remove', ['1234567059']],
    [{ ...lab, prov_last_name: 'Doe' }, 'add', ['1234567059']],
    [lab, 'add', ['1234567059', '1234567893']],
  ] as const) {
    await fhir.world.load(toCsv([{ ...row, action }], ['action']), 'incremental');
    for (const npi of ['1234567893', '1993999998'])
      assert.equal(
        (await search(`Organization?identifier=${npi}`)).length,
        npis.some((one) => one === npi) ? 1 : 0,
      );
    const [organization] = await search('Organization?identifier=1234567059&address=1%20Main');
    assert.deepEqual(
      organization?.['identifier'].map(({ value }: { value: string }) => value),
      npis,
    );
  }
});

test('an export has the same organizations and addresses', async () => {
  const { world } = fhir;
  const { baseUrl, token } = await world.serve();
  const call = async (url: string, prefer = ''): Promise<Response> =>
    fetch(url, { headers: { authorization: `Bearer ${token}`, prefer } });
  await world.load(toCsv(rows), 'full', { sourceName: 'open', exportRight: 'open' });
  const begun = await call(`${baseUrl}/fhir/$export?_type=Organization,Endpoint`, 'respond-async');
  const status = begun.headers.get('content-location') ?? '';
  const { output } = (await (await call(status)).json()) as { output: { url: string }[] };
  const lines = await Promise.all(output.map(async ({ url }) => (await call(url)).text()));
  const exported = lines
    .join('')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as FhirResource);
  const served = [...(await fhir.all('Endpoint?_count=100')), ...(await fhir.all('Organization?_count=100'))];
  const partOf = (all: readonly FhirResource[]): unknown =>
    all
      .map((one) =>
        JSON.stringify([one['identifier'], one['managingOrganization'], one['name'], one['address']]),
      )
      .toSorted();
  assert.deepEqual(partOf(exported), partOf(served));
});

test('a row of NPPES for an organization is found by its NPI', async () => {
  const columns = {
    NPI: '1234567059',
    'Entity Type Code': '2',
    'Provider Organization Name (Legal Business Name)': 'THE LEGAL HOLDING CO LLC',
    'Provider Last Name (Legal Name)': '',
    'Provider First Name': '',
    'Provider Other Organization Name': 'SUNNYSIDE FAMILY CLINIC',
    'Provider Other Organization Name Type Code': '3',
    'Provider First Line Business Practice Location Address': '1 MAIN ST',
    'Provider Business Practice Location Address City Name': 'BOSTON',
    'Provider Business Practice Location Address State Name': 'MA',
    'Provider Business Practice Location Address Postal Code': '021141234',
  };
  const texts = {
    'main.csv': [Object.keys(columns), Object.values(columns)]
      .map((values) => values.map((value) => `"${value}"`).join(','))
      .join('\n'),
    'endpoint.csv': 'NPI,Endpoint Type,Endpoint\n1234567059,DIRECT,office@t.example',
  };
  const { world } = fhir;
  const files = [];
  for (const [name, text] of Object.entries(texts)) {
    const file = path.join(world.folder, name);
    await writeFile(file, `${text}\n`);
    files.push(...(await openInput(file)));
  }
  await world.directory.importFiles({ files, kind: 'full', acceptLoss: true, sourceName: 'nppes' });
  await world.directory.refresh();
  const found = await search('Organization?identifier=1234567059&address=1%20MAIN&name=the');
  assert.deepEqual(
    found.map((one) => one['name']),
    ['THE LEGAL HOLDING CO LLC (SUNNYSIDE FAMILY CLINIC)'],
  );
  const endpoints = await search(`Endpoint?organization=Organization/${found[0]?.id}`);
  assert.deepEqual(
    endpoints.map((one) => one['address']),
    ['office@t.example'],
  );
});
