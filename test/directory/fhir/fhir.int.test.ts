/** The directory as FHIR: resources, parameters, paging, errors; validated and read by independent software. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Client } from 'fhir-kit-client';
import { assertValidResource } from '../../support/fhir-validator.ts';
import { startTestFhir, type FhirBody, type FhirResource, type TestFhir } from './start-fhir.ts';

const cardiology = '2.16.840.1.113883.6.101:NUCC:207RC0000X:Cardiovascular Disease Physician';

const clinic = {
  org_name: 'Alpha "Heart" Clinic',
  org_addr_1: '12 Main St',
  org_city: 'Boston',
  org_state: 'MA',
  org_zip: '02114-1234',
};

const records = [
  {
    ...clinic,
    prov_npi: '1234567893',
    prov_first_name: 'Renée',
    prov_mid_name: 'Q',
    prov_last_name: "O'Brien",
    prov_suffix: 'MD',
    prov_spec_text: cardiology,
    org_phone: '(617) 555-0123',
  },
  // The same person elsewhere, and under another name.
  {
    prov_npi: '1234567893',
    prov_first_name: 'Renee',
    prov_last_name: 'Baker',
    prov_spec_text: 'Family practice',
    org_name: 'Beta Group',
    org_addr_1: '1 Elm St',
    org_city: 'Albany',
    org_state: 'NY',
    org_zip: '12207',
    lat: 42.65,
    lng: -73.75,
  },
  {
    ...clinic,
    org_zip: '02114',
    org_name: 'ALPHA "HEART" CLINIC',
    prov_npi: '1245319599',
    prov_first_name: 'Alex',
    prov_last_name: 'Sample',
  },
  // A department: nobody's name, no NPI.
  { ...clinic, serv_direct_addr: 'referrals@direct.alpha.example' },
  // Persons without an NPI.
  { prov_first_name: 'Kim', prov_last_name: 'Obrador' },
  { prov_first_name: 'Kim', prov_last_name: 'Obrador' },
  // Nothing but an address.
  { serv_direct_addr: 'bare@direct.test.example' },
];

let fhir: TestFhir;
before(async () => {
  fhir = await startTestFhir(records);
});
after(() => fhir.world.close());

const baseUrl = async (): Promise<string> => (await fhir.world.serve()).baseUrl;

function resources(body: FhirBody, mode = 'match'): FhirResource[] {
  return (body.entry ?? []).filter(({ search }) => search.mode === mode).map(({ resource }) => resource);
}

async function one(path: string): Promise<FhirResource> {
  const { body } = await fhir.get(path);
  assert.equal(body.total, 1, JSON.stringify(body));
  return resources(body)[0] as FhirResource;
}

const samples: Readonly<Record<string, string>> = { near: '42|-71|10|km', _lastUpdated: 'ge2026-11' };

test('the capability statement is valid, needs no token and claims no guide', async () => {
  const response = await fetch(`${await baseUrl()}/fhir/metadata`);
  assert.match(response.headers.get('content-type') ?? '', /^application\/fhir\+json/);
  const statement = (await response.json()) as FhirResource;
  assertValidResource(statement);
  assert.equal(statement['fhirVersion'], '4.0.1');
  assert.equal('instantiates' in statement, false);
  for (const { type, searchParam } of statement['rest'][0].resource) {
    for (const { name } of searchParam) {
      // Every declared parameter is understood: none is ignored.
      const value = samples[name] ?? 'x';
      const { status, body } = await fhir.get(`${type}?${name}=${value}`, {
        prefer: 'handling=strict',
      });
      assert.equal(status, 200, `${type} ${name} ${JSON.stringify(body)}`);
    }
  }
});

test('the validator refuses resources that are not FHIR R4', () => {
  assert.throws(() => assertValidResource({ resourceType: 'Endpoint', id: 'e-1', status: 'active' }));
  assert.throws(() => assertValidResource({ resourceType: 'Location', id: 'l-1', place: 'x' }));
});

test('every resource is valid FHIR R4 and has only known values', async () => {
  for (const type of ['Endpoint', 'Practitioner', 'PractitionerRole', 'Organization', 'Location']) {
    const { body } = await fhir.get(`${type}?_count=100`);
    assertValidResource(body);
    assert.equal(body.total, resources(body).length);
    for (const resource of resources(body)) {
      assertValidResource(resource);
      assert.equal(JSON.stringify(resource).includes('""'), false);
      const { body: read } = await fhir.get(`${type}/${resource.id}`);
      assert.deepEqual(read, resource);
      assert.deepEqual(await one(`${type}?_id=${resource.id}`), resource);
    }
  }
});

test('an endpoint is an active Direct address; a department names its organization', async () => {
  const endpoint = await one('Endpoint?address=referrals@');
  assert.equal(endpoint['address'], 'referrals@direct.alpha.example');
  assert.equal(endpoint['connectionType'].code, 'direct-project');
  const organization = await one('Organization?name=alpha');
  assert.deepEqual(endpoint['managingOrganization'], { reference: `Organization/${organization.id}` });
  assert.deepEqual(await one(`Endpoint?organization=${organization.id}`), endpoint);
  for (const [query, total] of [
    ['status=active', 7],
    ['status=off', 0],
    ['connection-type=direct-project', 7],
    ['connection-type=http://terminology.hl7.org/CodeSystem/endpoint-connection-type|direct-project', 7],
    ['connection-type=hl7-fhir-rest', 0],
    ['address:contains=ALPHA.example', 1],
    ['address:exact=referrals', 0],
  ] as const)
    assert.equal((await fhir.get(`Endpoint?${query}`)).body.total, total, query);
});

test('a practitioner is one person with all names and qualifications', async () => {
  const practitioner = await one('Practitioner?identifier=http://hl7.org/fhir/sid/us-npi|1234567893');
  assert.equal(practitioner.id, 'npi-1234567893');
  assert.deepEqual(practitioner['name'], [
    { family: "O'Brien", given: ['Renée', 'Q'], suffix: ['MD'] },
    { family: 'Baker', given: ['Renee'] },
  ]);
  assert.deepEqual(practitioner['qualification'], [
    {
      code: {
        coding: [
          {
            system: 'http://nucc.org/provider-taxonomy',
            code: '207RC0000X',
            display: 'Cardiovascular Disease Physician',
          },
        ],
      },
    },
    { code: { text: 'Family practice' } },
  ]);
  for (const [query, total] of [
    ['', 4],
    ['name=re', 1],
    ['name=o', 3],
    ['name=o&name=ren', 1],
    ['family=Baker,Sample', 2],
    ['family=bak\\,er', 0],
    ['family:exact=o%27brien', 1],
    ['given=q', 1],
    ['given:contains=im', 2],
    ['identifier=1234567893,1245319599', 2],
    ['identifier=http://example.com|1234567893', 0],
    ['qualification-code=207RC0000X', 1],
    ['qualification-code=http://nucc.org/provider-taxonomy|207RC0000X', 1],
    ['qualification-code=urn:oid:1.2.3|207RC0000X', 0],
    ['qualification-code=207RC0000', 0],
    ['qualification-code:text=famil', 1],
    ['_id=npi-1234567893,npi-0000000000,e-1,nonsense', 1],
  ] as const)
    assert.equal((await fhir.get(`Practitioner?${query}`)).body.total, total, query);
});

test('an organization and a place are listed once, for every case and ZIP+4 of their records', async () => {
  const organization = await one('Organization?name=alpha&address-state=ma');
  assert.equal(organization['name'], 'Alpha "Heart" Clinic');
  assert.equal((await fhir.get('Organization')).body.total, 2);
  assert.equal((await fhir.get('Location')).body.total, 2);
  for (const [query, total] of [
    ['name:contains=heart', 1],
    ['name=heart', 0],
    ['address=12207', 1],
    ['address=bos', 1],
    ['address-city=boston,albany', 2],
    ['address-postalcode=021', 1],
    ['address-state=NY', 1],
  ] as const)
    assert.equal((await fhir.get(`Organization?${query}`)).body.total, total, query);
  const roles = await fhir.get(`PractitionerRole?organization=Organization/${organization.id}`);
  assert.equal(roles.body.total, 3);
});

test('a place says where its position comes from, and is found near a point, nearest first', async () => {
  const [boston, albany] = [
    await one('Location?address-city=boston'),
    await one('Location?address-city=albany'),
  ];
  assert.equal(boston['meta'].tag[0].code, 'gazetteer');
  assert.equal(albany['meta'].tag, undefined);
  assert.deepEqual(albany['position'], { longitude: -73.75, latitude: 42.65 });
  for (const [near, ids] of [
    ['42.65|-73.75|10|km', [albany.id]],
    ['42.65|-73.75', [albany.id]],
    ['42.65|-73.75|500|km', [albany.id, boston.id]],
    ['42.36|-71.07|300|[mi_us]', [boston.id, albany.id]],
  ] as const) {
    const { body } = await fhir.get(`Location?near=${encodeURIComponent(near)}`);
    assert.deepEqual(
      resources(body).map(({ id }) => id),
      ids,
      near,
    );
    assertValidResource(body);
  }
  for (const near of ['here', '42|-71|5|feet', '42|-71|-5|km', '99|1|5|km', '1|1|1|km,2|2|2|km'])
    assert.equal((await fhir.get(`Location?near=${encodeURIComponent(near)}`)).status, 400, near);
});

test('roles lead from each to each other resource', async () => {
  const endpoint = await one('Endpoint?address=p1@');
  const role = await one(`PractitionerRole?endpoint=Endpoint/${endpoint.id}`);
  assert.deepEqual(role['practitioner'], { reference: 'Practitioner/npi-1234567893' });
  assert.deepEqual(role['telecom'], [{ system: 'phone', value: '(617) 555-0123', use: 'work' }]);
  for (const query of [
    'practitioner=Practitioner/npi-1234567893&specialty=207RC0000X',
    `organization=${role['organization'].reference}&practitioner=npi-1234567893`,
    `location=${role['location'][0].reference}&practitioner:Practitioner=npi-1234567893`,
    `endpoint=${await baseUrl()}/fhir/Endpoint/${endpoint.id}`,
  ])
    assert.deepEqual(await one(`PractitionerRole?${query}`), role, query);
  assert.equal((await fhir.get('PractitionerRole?practitioner=npi-9999999999')).body.total, 0);
  assert.equal((await fhir.get('PractitionerRole?practitioner=Group/npi-1234567893')).body.total, 0);
  assert.equal((await fhir.get('PractitionerRole?organization=o-0000000000000000')).body.total, 0);
});

test('a system without a code finds each role and person whose specialty is coded in that system', async () => {
  const systems = ['http://nucc.org/provider-taxonomy', 'urn:oid:2.16.840.1.113883.6.101'];
  const role = await one('PractitionerRole?specialty=207RC0000X');
  const person = await one('Practitioner?qualification-code=207RC0000X');
  for (const system of systems) {
    const value = encodeURIComponent(`${system}|`);
    assert.deepEqual(await one(`PractitionerRole?specialty=${value}`), role, system);
    assert.deepEqual(await one(`Practitioner?qualification-code=${value}`), person, system);
  }
  for (const value of ['urn:oid:2.16.840.1.113883.6.10|', 'http://other.example|', '|', '|207RC0000X'])
    assert.equal(
      (await fhir.get(`PractitionerRole?specialty=${encodeURIComponent(value)}`)).body.total,
      0,
      value,
    );
});

test('included resources come once, as they are when read', async () => {
  const person = 'Practitioner?identifier=1234567893&_revinclude=PractitionerRole:practitioner';
  const iterated = ['organization', 'location', 'endpoint', 'practitioner']
    .map((name) => `&_include:iterate=PractitionerRole:${name}`)
    .join('');
  const { body } = await fhir.get(person + iterated);
  assertValidResource(body);
  const included = resources(body, 'include')
    .map(({ resourceType }) => resourceType)
    .toSorted();
  assert.deepEqual(included, [
    'Endpoint',
    'Endpoint',
    'Location',
    'Location',
    'Organization',
    'Organization',
    'PractitionerRole',
    'PractitionerRole',
  ]);
  for (const resource of resources(body, 'include'))
    assert.deepEqual((await fhir.get(`${resource.resourceType}/${resource.id}`)).body, resource);
  const endpoints = await fhir.get(
    'Endpoint?_include=Endpoint:organization&_revinclude=PractitionerRole:endpoint&_count=100',
  );
  assert.deepEqual(
    new Set(resources(endpoints.body, 'include').map(({ resourceType }) => resourceType)),
    new Set(['Organization', 'PractitionerRole']),
  );
  const { body: places } = await fhir.get(
    'Location?address-city=boston&_revinclude=PractitionerRole:location',
  );
  assert.equal(resources(places, 'include').length, 3);
});

test('an asterisk includes all references, forward and backward', async () => {
  const typesOf = async (search: string, ...headers: Record<string, string>[]): Promise<string[]> => {
    const { status, body } = await fhir.get(search, { prefer: 'handling=strict', ...headers[0] });
    assert.equal(status, 200, search);
    const self = body.link?.find(({ relation }) => relation === 'self')?.url ?? '';
    assert.equal(new URL(self).searchParams.toString(), new URLSearchParams(search.split('?')[1]).toString());
    return [...new Set(resources(body, 'include').map(({ resourceType }) => resourceType))].toSorted();
  };
  const [role, person] = ['PractitionerRole?_count=100&', 'Practitioner?identifier=1234567893&'];
  const all = ['Endpoint', 'Location', 'Organization', 'Practitioner'];
  for (const [search, types] of [
    [`${role}_include=*`, all],
    [`${role}_include=PractitionerRole:*`, all],
    [`${role}_include=*&_include=PractitionerRole:endpoint`, all],
    [`${person}_include=*`, []],
    [`${person}_include=Practitioner:*`, []],
    [`${person}_revinclude=*`, ['PractitionerRole']],
    [
      `${person}_revinclude=PractitionerRole:*&_include:iterate=*`,
      ['Endpoint', 'Location', 'Organization', 'PractitionerRole'],
    ],
    [`${person}_revinclude=*&_include:iterate=PractitionerRole:endpoint`, ['Endpoint', 'PractitionerRole']],
    ['Endpoint?_count=100&_include=*&_revinclude=*', ['Organization', 'PractitionerRole']],
    ['Location?_count=100&_revinclude=Endpoint:*', []],
  ] as const)
    assert.deepEqual(await typesOf(search), types, search);
  assert.equal((await fhir.get(`${role}_include=Nonsense:*`, { prefer: 'handling=strict' })).status, 400);
});

for (const [accept, status] of [
  ['application/fhir+json; fhirVersion=4.0', 200],
  ['application/fhir+json; fhirVersion="4.0.1"; charset=utf-8', 200],
  ['application/fhir+json; fhirVersion=5.0', 406],
  ['application/fhir+json; fhirVersion=5.0, application/fhir+json; fhirVersion=4.0', 200],
  ['application/fhir+xml, application/fhir+json;q=0', 406],
  ['application/fhir+xml, application/fhir+json;q=0.1', 200],
] as const)
  test(`Accept: ${accept} is ${status}`, async () => {
    assert.equal((await fhir.get('Practitioner?_count=1', { accept })).status, status);
  });

test('an id may come as a reference, and an address as a URL', async () => {
  for (const search of ['Practitioner?_id=Practitioner/npi-1234567893', 'Practitioner?_id=npi-1234567893'])
    assert.equal((await fhir.get(search)).body.total, 1);
  const [{ address }] = (await fhir.all('Endpoint')) as [FhirResource];
  for (const prefix of ['', 'mailto:', 'MAILTO:'])
    assert.equal((await fhir.get(`Endpoint?address:exact=${prefix}${address}`)).body.total, 1);
});

test('another client pages through results and reads them', async () => {
  const served = await fhir.world.serve();
  const client = new Client({ baseUrl: `${served.baseUrl}/fhir`, bearerToken: served.token });
  assert.equal(
    ((await client.capabilityStatement()) as unknown as FhirResource).resourceType,
    'CapabilityStatement',
  );
  const ids: string[] = [];
  let bundle = (await client.search({
    resourceType: 'Endpoint',
    searchParams: { _count: '2' },
  })) as unknown as FhirBody | undefined;
  while (bundle !== undefined) {
    assert.equal(bundle.total, 7);
    ids.push(...resources(bundle).map(({ id }) => id));
    bundle = (await client.nextPage({ bundle: bundle as never })) as unknown as FhirBody | undefined;
  }
  assert.equal(new Set(ids).size, 7);
  const read = (await client.read({
    resourceType: 'Endpoint',
    id: ids[0] as string,
  })) as unknown as FhirResource;
  assert.equal(read.id, ids[0]);
  const posted = (await client.search({
    resourceType: 'Practitioner',
    searchParams: { name: 'sample' },
    options: { postSearch: true },
  })) as unknown as FhirBody;
  assert.deepEqual(
    resources(posted).map(({ id }) => id),
    ['npi-1245319599'],
  );
});

test('reports unsupported parameters, and refuses them if the client asks for it', async () => {
  for (const query of [
    'nmae=alex',
    'gender=male',
    '_sort=name',
    '_include=Practitioner:organization',
    'gender:not=male',
  ]) {
    const { status, body } = await fhir.get(`Practitioner?${query}&family=sample`);
    assert.equal(status, 200);
    assert.equal(body.total, 1);
    assertValidResource(body);
    const [outcome] = resources(body, 'outcome');
    assert.equal(outcome?.resourceType, 'OperationOutcome');
    assertValidResource(outcome);
    assert.equal(outcome?.['issue'][0].severity, 'warning');
    const self = body.link?.find(({ relation }) => relation === 'self')?.url ?? '';
    assert.equal(new URL(self).search, '?family=sample');
    const strict = await fhir.get(`Practitioner?${query}&family=sample`, {
      prefer: 'return=minimal; handling=strict',
    });
    assert.equal(strict.status, 400, query);
    assertValidResource(strict.body);
    assert.equal(strict.body.issue?.[0]?.code, 'not-supported');
  }
});

test('every refusal is an OperationOutcome', async () => {
  const wrongScope = await fhir.world.createToken({ scopes: ['messaging.api'] });
  const notAccepted = await fhir.world.createToken({ acceptsDataUse: false });
  const slow = await fhir.world.createToken({
    limits: { directoryRequestsPerSecond: 1, directoryRequestsBurst: 1 },
  });
  await fhir.get('Endpoint', { authorization: `Bearer ${slow}` });
  const cases: readonly (readonly [string, Record<string, string>, number, string])[] = [
    ['Endpoint', { authorization: '' }, 401, 'login'],
    ['Endpoint', { authorization: 'Bearer nobody' }, 401, 'login'],
    ['Endpoint', { authorization: `Bearer ${wrongScope}` }, 403, 'forbidden'],
    ['Endpoint', { authorization: `Bearer ${notAccepted}` }, 403, 'forbidden'],
    ['Endpoint', { authorization: `Bearer ${slow}` }, 429, 'throttled'],
    ['Endpoint/e-999999', {}, 404, 'not-found'],
    ['Endpoint/nonsense', {}, 404, 'not-found'],
    ['Organization/o-0000000000000000', {}, 404, 'not-found'],
    ['Practitioner/p-1', {}, 404, 'not-found'],
    ['Patient', {}, 404, 'not-found'],
    ['', {}, 404, 'not-found'],
    ['Endpoint', { accept: 'application/fhir+xml' }, 406, 'not-supported'],
    ['Endpoint?_format=xml', {}, 406, 'not-supported'],
    ['Endpoint?_count=many', {}, 400, 'invalid'],
    ['Endpoint?_offset=-1', {}, 400, 'invalid'],
    [`Endpoint?address=${'a'.repeat(501)}`, {}, 400, 'invalid'],
    ['Endpoint?address=%ff', {}, 400, 'invalid'],
  ];
  for (const [path, headers, status, code] of cases) {
    const reply = await fhir.get(path, headers);
    assert.equal(reply.status, status, `${path} ${JSON.stringify(reply.body)}`);
    assert.match(reply.headers.get('content-type') ?? '', /^application\/fhir\+json/);
    assert.ok(reply.headers.has('x-request-id'));
    assert.equal(reply.headers.has('retry-after'), status === 429);
    assertValidResource(reply.body);
    assert.equal(reply.body.issue?.[0]?.code, code, path);
  }
  const deletion = await fetch(`${await baseUrl()}/fhir/Endpoint/e-1`, { method: 'DELETE' });
  assert.equal(deletion.status, 405);
  assert.equal(((await deletion.json()) as FhirBody).resourceType, 'OperationOutcome');
});

test('reads and searches count against the quota and leave audit rows without values', async () => {
  const token = await fhir.world.createToken({
    clientId: 'fhir-quota',
    limits: { directoryRecordsPerDay: 3 },
  });
  const headers = { authorization: `Bearer ${token}`, 'x-request-id': 'fhir-request-1' };
  assert.equal((await fhir.get('Practitioner?name=obrador&_count=2', headers)).status, 200);
  assert.equal((await fhir.get('Practitioner/npi-1234567893', headers)).status, 200);
  const { status, body } = await fhir.get('Endpoint', headers);
  assert.equal(status, 429);
  assert.equal(body.issue?.[0]?.code, 'throttled');
  const rows = [...(await fhir.world.audit.find({ action: 'directory.search', limit: 50 }))]
    .filter(({ actor }) => actor === 'fhir-quota')
    .reverse();
  assert.equal(rows.length, 3);
  const text = JSON.stringify(rows);
  assert.match(text, /"resource":"Practitioner"/);
  assert.match(text, /"shown":2/);
  assert.equal(text.includes('obrador'), false);
});
