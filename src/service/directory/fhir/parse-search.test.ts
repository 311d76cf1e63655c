import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DirectoryError } from '../errors.ts';
import { parseSearch, type SentParameters } from './parse-search.ts';
import type { ResourceType } from './vocabulary.ts';

const lenient = { base: 'https://here.example/fhir', isStrict: false, hasStates: false };
const parse = (sent: SentParameters) => parseSearch('PractitionerRole', sent, lenient);
const repeat = (count: number, name: string, value: string): SentParameters =>
  Array.from({ length: count }, (): readonly [string, string] => [name, value]);

test('an include that is sent many times is followed once', () => {
  const { include, revinclude } = parse([
    ...repeat(500, '_include', 'PractitionerRole:endpoint'),
    ...repeat(500, '_include:iterate', 'PractitionerRole:endpoint'),
  ]);
  assert.deepEqual(include, [
    { path: 'PractitionerRole:endpoint', iterates: false },
    { path: 'PractitionerRole:endpoint', iterates: true },
  ]);
  assert.deepEqual(revinclude, []);
  const organizations = parseSearch(
    'Organization',
    repeat(500, '_revinclude', 'PractitionerRole:organization'),
    lenient,
  );
  assert.deepEqual(organizations.revinclude, ['PractitionerRole:organization']);
});

test('the values of all parameters together are limited, each of which is a search', () => {
  const id = 'r-1,r-2,r-3,r-4,r-5,r-6,r-7,r-8,r-9,r-10';
  assert.equal(parse(repeat(10, '_id', id)).conditions.length, 10);
  assert.throws(
    () => parse(repeat(11, '_id', id)),
    (error) =>
      error instanceof DirectoryError &&
      error.problems.map(({ field, detail }) => `${field}: ${detail}`).join() ===
        '_id: At most 100 values in all parameters together.',
  );
});

test('a value of combining marks alone is refused, also among others', () => {
  assert.equal(parseSearch('Practitioner', [['family', 'e\u0301,Smith']], lenient).conditions.length, 1);
  assert.throws(
    () => parseSearch('Practitioner', [['family', 'Smith,\u0301']], lenient),
    (error) =>
      error instanceof DirectoryError &&
      error.problems.map(({ field, detail }) => `${field}: ${detail}`).join() ===
        'family: A value consists of combining marks alone.',
  );
});

/** As `field: detail`; blank if nothing is refused. */
function refusalOf(type: ResourceType, sent: SentParameters): string {
  try {
    parseSearch(type, sent, lenient);
    return '';
  } catch (error) {
    assert.ok(error instanceof DirectoryError);
    assert.ok(error.problems.every(({ reason }) => reason === 'unknown'));
    return error.problems.map(({ field }) => field).join();
  }
}

for (const [type, key] of [
  ['Practitioner', 'name:missing'],
  ['Practitioner', 'name:Exact'],
  ['Practitioner', 'name:text'],
  ['Practitioner', 'family:exact:contains'],
  ['Practitioner', 'family:'],
  ['Practitioner', 'identifier:not'],
  ['Practitioner', 'identifier:of-type'],
  ['Practitioner', 'identifier:contains'],
  ['Practitioner', 'qualification-code:in'],
  ['Practitioner', 'active:not'],
  ['Practitioner', '_id:not'],
  ['Practitioner', '_lastUpdated:missing'],
  ['Practitioner', '_has:PractitionerRole:practitioner:specialty'],
  ['Practitioner', '_count:exact'],
  ['Practitioner', '_revinclude:iterate'],
  ['Practitioner', '_include:recurse'],
  ['Practitioner', '_summary:x'],
  ['PractitionerRole', 'practitioner:Organization'],
  ['PractitionerRole', 'practitioner:identifier'],
  ['PractitionerRole', 'practitioner:Practitioner.name'],
  ['PractitionerRole', 'practitioner.name'],
  ['PractitionerRole', 'organization.address-state'],
  ['PractitionerRole', 'specialty:not-in'],
  ['PractitionerRole', 'specialty:above'],
  ['PractitionerRole', 'endpoint:missing'],
  ['Organization', 'type:not'],
  ['Organization', 'name:phonetic'],
  ['Organization', 'address:not'],
  ['Location', 'near:exact'],
  ['Location', 'status:not'],
  ['Endpoint', 'status:missing'],
  ['Endpoint', 'connection-type:text'],
  ['Endpoint', 'organization:missing'],
] as const)
  test(`${type}?${key} is refused: without its condition more would be found`, () => {
    assert.equal(refusalOf(type, [[key, 'x']]), key);
    assert.equal(refusalOf(type, [['nobody-knows:exact', 'x']]), '');
  });

const [npiAddress, npiOid] = ['http://hl7.org/fhir/sid/us-npi', '2.16.840.1.113883.4.6'];
for (const [system, isNpi] of [
  [npiAddress, true],
  ['https://hl7.org/fhir/sid/us-npi', true],
  ['http://www.hl7.org/fhir/sid/us-npi', true],
  ['http://hl7.org/fhir/sid/us-npi/', true],
  ['HTTP://HL7.org/fhir/sid/US-NPI', true],
  [`urn:oid:${npiOid}`, true],
  [`URN:OID:${npiOid}`, true],
  [npiOid, true],
  [` ${npiOid} `, true],
  ['urn:oid:2.16.840.1.113883.4.60', false],
  ['urn:oid:2.16.840.1.113883.4', false],
  ['2.16.840.1.113883.4.6.1', false],
  ['urn:uuid:2.16.840.1.113883.4.6', false],
  ['http://hl7.org/fhir/sid/us-ssn', false],
  ['http://example.org/fhir/sid/us-npi', false],
  ['us-npi', false],
  ['', false],
] as const)
  test(`${system === '' ? 'no system' : system} is ${isNpi ? 'that' : 'not that'} of NPIs`, () => {
    const one = parseSearch('Practitioner', [['identifier', `${system}|1234567893`]], lenient).conditions;
    const all = parseSearch('Practitioner', [['identifier', `${system}|`]], lenient).conditions;
    const filter = { field: 'npi', match: 'exact', value: '1234567893' };
    assert.deepEqual(one, [{ kind: 'alternatives', alternatives: isNpi ? [[filter]] : [] }]);
    assert.equal(all[0]?.kind === 'alternatives' && all[0].alternatives.length > 0, isNpi);
  });

const own = { kind: 'npi', npi: '1234567893' };
for (const [reference, isOurs] of [
  ['npi-1234567893', true],
  ['Practitioner/npi-1234567893', true],
  ['https://here.example/fhir/Practitioner/npi-1234567893', true],
  ['http://here.example/fhir/Practitioner/npi-1234567893', true],
  ['https://HERE.example:443/fhir/Practitioner/npi-1234567893', true],
  ['HTTPS://here.example/fhir/Practitioner/npi-1234567893', true],
  ['https://other.example/fhir/Practitioner/npi-1234567893', false],
  ['https://here.example.evil.example/fhir/Practitioner/npi-1234567893', false],
  ['https://here.example:8443/fhir/Practitioner/npi-1234567893', false],
  ['https://here.example/r4/Practitioner/npi-1234567893', false],
  ['https://here.example/fhir/x/Practitioner/npi-1234567893', false],
  ['https://here.example/Practitioner/npi-1234567893', false],
  ['https://here.example/fhir/Group/npi-1234567893', false],
  ['Group/npi-1234567893', false],
  ['/Practitioner/npi-1234567893', false],
  ['fhir/Practitioner/npi-1234567893', false],
  ['ftp://here.example/fhir/Practitioner/npi-1234567893', false],
  ['urn:uuid:6f0d2f0e-9c5b-4d0c-8f8d-0f6f0f6f0f6f', false],
  ['Practitioner/npi-1234567893/_history/1', false],
  ['#npi-1234567893', false],
  ['practitioner/npi-1234567893', false],
] as const)
  test(`the reference ${reference} is ${isOurs ? 'ours' : 'to nothing here'}`, () => {
    const expected = isOurs
      ? { kind: 'references', keys: [own], isDepartment: false }
      : { kind: 'alternatives', alternatives: [] };
    assert.deepEqual(parse([['practitioner', reference]]).conditions, [expected]);
  });

for (const [type, name, path, known] of [
  ['PractitionerRole', '_include', 'PractitionerRole:practitioner:Practitioner', true],
  ['PractitionerRole', '_include', 'PractitionerRole:organization:Organization', true],
  ['PractitionerRole', '_include', 'PractitionerRole:location:Location', true],
  ['PractitionerRole', '_include', 'PractitionerRole:endpoint:Endpoint', true],
  ['PractitionerRole', '_include:iterate', 'Endpoint:organization:Organization', true],
  ['Endpoint', '_include', 'Endpoint:organization:Organization', true],
  ['Endpoint', '_revinclude', 'PractitionerRole:endpoint:Endpoint', true],
  ['Practitioner', '_revinclude', 'PractitionerRole:practitioner:Practitioner', true],
  ['Organization', '_revinclude', 'PractitionerRole:organization:Organization', true],
  ['Organization', '_revinclude', 'Endpoint:organization:Organization', true],
  ['Location', '_revinclude', 'PractitionerRole:location:Location', true],
  ['Practitioner', '_include:iterate', 'PractitionerRole:location:Location', true],
  ['PractitionerRole', '_include', 'PractitionerRole:practitioner:Organization', false],
  ['PractitionerRole', '_include', 'PractitionerRole:practitioner:', false],
  ['PractitionerRole', '_include', 'PractitionerRole:practitioner:practitioner', false],
  ['PractitionerRole', '_include', 'PractitionerRole:practitioner:Practitioner:x', false],
  ['PractitionerRole', '_include', 'Endpoint:organization:Organization', false],
  ['PractitionerRole', '_include', 'practitioner', false],
  ['Practitioner', '_revinclude', 'PractitionerRole:practitioner:PractitionerRole', false],
  ['Practitioner', '_revinclude', 'PractitionerRole:endpoint:Endpoint', false],
] as const)
  test(`${type}?${name}=${path} is ${known ? 'followed' : 'reported'}`, () => {
    const { include, revinclude, ignored } = parseSearch(type, [[name, path]], lenient);
    const paths = [...include.map((one) => one.path), ...revinclude];
    assert.deepEqual(paths, known ? [path.split(':').slice(0, 2).join(':')] : []);
    assert.equal(ignored.length, known ? 0 : 1);
  });

const values = 'http://terminology.hl7.org/CodeSystem/special-values';
for (const [type, name, value, isAll] of [
  ['Practitioner', 'active', 'true', true],
  ['Practitioner', 'active', '|true', true],
  ['Practitioner', 'active', `${values}|true`, true],
  ['Practitioner', 'active', `${values}|`, true],
  ['Practitioner', 'active', 'true,false', true],
  ['Practitioner', 'active', 'false', false],
  ['Practitioner', 'active', 'TRUE', false],
  ['Practitioner', 'active', 'http://other.example|true', false],
  ['PractitionerRole', 'active', 'true', true],
  ['PractitionerRole', 'active', 'false', false],
  ['Organization', 'active', 'true', true],
  ['Organization', 'active', 'false', false],
  ['Organization', 'type', 'prov', true],
  ['Organization', 'type', 'http://terminology.hl7.org/CodeSystem/organization-type|prov', true],
  ['Organization', 'type', 'http://terminology.hl7.org/CodeSystem/organization-type|', true],
  ['Organization', 'type', 'http://terminology.hl7.org/CodeSystem/organization-type|ins', false],
  ['Organization', 'type', '|prov', false],
  ['Organization', 'type', 'ins', false],
  ['Organization', 'type', 'ins,prov', true],
  ['Location', 'status', 'active', true],
  ['Location', 'status', '|active', true],
  ['Location', 'status', 'http://hl7.org/fhir/location-status|active', true],
  ['Location', 'status', 'suspended', false],
  ['Endpoint', 'status', 'http://hl7.org/fhir/endpoint-status|active', true],
  ['Endpoint', 'status', 'http://hl7.org/fhir/location-status|active', false],
  ['Endpoint', 'status', '|active', true],
  ['Endpoint', 'connection-type', '|direct-project', false],
] as const)
  test(`${type}?${name}=${value} is ${isAll ? 'everything' : 'nothing'}`, () => {
    const [condition] = parseSearch(type, [[name, value]], lenient).conditions;
    assert.deepEqual(condition, isAll ? { kind: 'everything' } : { kind: 'alternatives', alternatives: [] });
  });
