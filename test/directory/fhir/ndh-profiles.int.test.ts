/**
 * Requirements of the National Directory of Healthcare's guide for each resource, beyond FHIR R4. No package of a registry
 * carries its profiles, so their cardinalities and fixed values stand here.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestFhir, type FhirResource, type TestFhir } from './start-fhir.ts';

const clinic = {
  org_name: 'Heart Clinic',
  org_addr_1: '1 Main St',
  org_city: 'Boston',
  org_state: 'MA',
  org_zip: '02114',
};
const records = [
  {
    ...clinic,
    prov_npi: '1234567893',
    prov_first_name: 'Ana',
    prov_last_name: 'Smith',
    prov_spec_text: '2.16.840.1.113883.6.101:NUCC:207RC0000X:Cardiovascular Disease Physician',
    org_phone: '617-555-0123',
  },
  { ...clinic, serv_direct_addr: 'desk@direct.test.example' },
  { prov_last_name: 'Obrador' },
];

const isFilled = (value: unknown): boolean => Array.isArray(value) && value.length > 0;

/** By resource: what the profile demands, in its own order. */
const demands: Readonly<Record<string, Readonly<Record<string, (resource: FhirResource) => boolean>>>> = {
  Endpoint: {
    'status is active': ({ status }) => status === 'active',
    'connectionType, once': ({ connectionType }) => connectionType?.code === 'direct-project',
    'payloadType, exactly one': ({ payloadType }) => payloadType?.length === 1,
    'payloadType is not-applicable': ({ payloadType }) =>
      payloadType?.[0]?.coding?.[0]?.code === 'not-applicable',
    address: ({ address }) => typeof address === 'string' && address.includes('@'),
  },
  Practitioner: {
    'active is true': ({ active }) => active === true,
    'name, each with a family name': ({ name }) =>
      isFilled(name) && name.every(({ family }: { family?: string }) => family !== undefined),
  },
  PractitionerRole: {
    'active is true': ({ active }) => active === true,
    'one of practitioner, organization, location': ({ practitioner, organization, location }) =>
      practitioner !== undefined || organization !== undefined || isFilled(location),
  },
  Organization: {
    'active is true': ({ active }) => active === true,
    'type, at least one': ({ type }) => isFilled(type),
    name: ({ name }) => typeof name === 'string' && name !== '',
  },
  Location: {
    'status is active': ({ status }) => status === 'active',
    name: ({ name }) => typeof name === 'string' && name !== '',
    address: ({ address }) => address !== undefined,
  },
};

let fhir: TestFhir;
before(async () => {
  fhir = await startTestFhir(records);
});
after(() => fhir.world.close());

for (const [type, rules] of Object.entries(demands)) {
  test(`${type} meets the requirements of the guide`, async () => {
    const found = await fhir.all(`${type}?_count=100`);
    assert.ok(found.length > 0);
    for (const resource of found) {
      assert.match(resource['meta']?.lastUpdated, /^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      for (const [what, holds] of Object.entries(rules))
        assert.ok(holds(resource), `${what}: ${JSON.stringify(resource)}`);
    }
  });
}

test('where a record says too little the demands are not met, and nothing is invented', async () => {
  const poor = await startTestFhir([
    { serv_direct_addr: 'bare@direct.test.example' },
    { serv_direct_addr: 'city@direct.test.example', org_city: 'Boston', org_state: 'MA' },
  ]);
  try {
    const [role] = await poor.all('PractitionerRole?_count=1');
    assert.deepEqual(Object.keys(role as FhirResource).toSorted(), [
      'active',
      'endpoint',
      'id',
      'meta',
      'resourceType',
    ]);
    const [place] = await poor.all('Location');
    // Of what is known; nothing is added.
    assert.equal(place?.['name'], 'Boston, MA');
  } finally {
    await poor.world.close();
  }
});
