/** Verification states of addresses in FHIR: an extension of endpoints and a search parameter, only on request. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createAddressStates } from '../../src/service/verification/index.ts';
import type { VerificationTables } from '../../src/service/verification/tables.ts';
import { startTestFhir, type FhirResource, type TestFhir } from '../directory/fhir/start-fhir.ts';
import { assertValidResource } from '../support/fhir-validator.ts';
import { statesFreshMs } from './stored-states.ts';

const extensionUrl = 'urn:openhisp:verification';
const checkedAt = Date.UTC(2026, 5, 1, 12);
const rows = [
  ['ann', 'trusted', ''],
  ['ben', 'expired', 'PKI_EXPIRED'],
  ['cat', 'trusted', ''],
  ['dan', undefined, ''],
] as const;
const addressOf = (name: string): string => `${name}@direct.test.example`;

let fhir: TestFhir;
before(async () => {
  fhir = await startTestFhir(
    rows.map(([name]) => ({
      serv_direct_addr: addressOf(name).replace('direct', 'Direct'),
      prov_last_name: name,
    })),
    { states: createAddressStates },
  );
  const db = fhir.world.storage.tables<VerificationTables>();
  for (const [name, state, reason] of rows)
    if (state !== undefined)
      await db
        .insertInto('verification_address')
        .values({
          address_key: addressOf(name),
          domain: 'direct.test.example',
          state,
          reason,
          checked_at: checkedAt,
          changed_at: fhir.world.storage.clock.now().getTime(),
        })
        .execute();
  await db
    .insertInto('verification_processed')
    .values({
      address_key: addressOf('cat'),
      month: 202605,
      changed_at: fhir.world.storage.clock.now().getTime(),
    })
    .execute();
  await sleep(statesFreshMs);
});
after(() => fhir.world.close());

/** The parts of the extension by their names; undefined without it. */
function shown(endpoint: FhirResource): Record<string, string> | undefined {
  const extensions = (endpoint['extension'] ?? []) as {
    url: string;
    extension: Record<string, string>[];
  }[];
  const own = extensions.find(({ url }) => url === extensionUrl);
  return (
    own &&
    Object.fromEntries(
      own.extension.map(({ url = '', ...value }) => [url, Object.values(value)[0] as string]),
    )
  );
}

const namesOf = (endpoints: readonly FhirResource[]): string[] =>
  endpoints.map(({ address }) => String(address).split('@')[0] as string);

test('nothing is shown that was not asked for', async () => {
  for (const endpoint of await fhir.all('Endpoint')) assert.equal('extension' in endpoint, false);
});

test('on request endpoints show state, reason, time and month, and stay valid FHIR', async () => {
  const endpoints = await fhir.all('Endpoint?verification=show&_count=2');
  for (const endpoint of endpoints) assertValidResource(endpoint);
  const checked = '2026-06-01T12:00:00.000Z';
  assert.deepEqual(Object.fromEntries(endpoints.map((one) => [namesOf([one])[0], shown(one)])), {
    ann: { state: 'trusted', checked },
    ben: { state: 'expired', reason: 'PKI_EXPIRED', checked },
    cat: { state: 'trusted', checked, lastProcessedMonth: '2026-05' },
    dan: undefined,
  });
  const [first] = endpoints as [FhirResource];
  const { body: read } = await fhir.get(`Endpoint/${first.id}?verification=show`);
  assert.deepEqual(read, first);
  const { body: plain } = await fhir.get(`Endpoint/${first.id}`);
  assert.equal('extension' in plain, false);
});

test('endpoints are found by state, as in the native search', async () => {
  for (const states of ['trusted', 'trusted,expired', 'expired', 'unverified', 'unreachable']) {
    const { body } = await fhir.world.search({ verification: states, limit: 100 });
    const expected = (body.providers ?? []).map(({ id }) => `e-${String(id)}`);
    const { body: bundle } = await fhir.get(`Endpoint?verification=${states}&_count=100`, {
      prefer: 'handling=strict',
    });
    assert.equal(bundle.total, expected.length, states);
    assert.deepEqual(
      (bundle.entry ?? []).map(({ resource }) => resource.id),
      expected,
      states,
    );
  }
  const found = await fhir.all('Endpoint?verification=trusted&address=c');
  assert.deepEqual(namesOf(found), ['cat']);
  assert.equal(shown(found[0] as FhirResource)?.['state'], 'trusted');
  assert.deepEqual(await fhir.all('Endpoint?verification=trusted&verification=expired'), []);
  const refused = await fhir.get('Endpoint?verification=good');
  assert.equal(refused.status, 400);
});

test('included endpoints show it too', async () => {
  const { body } = await fhir.get(
    'PractitionerRole?_include=PractitionerRole:endpoint&verification=show&_count=100',
    { prefer: 'handling=strict' },
  );
  const endpoints = (body.entry ?? [])
    .map(({ resource }) => resource)
    .filter(({ resourceType }) => resourceType === 'Endpoint');
  assert.equal(endpoints.length, 4);
  assert.equal(endpoints.filter((one) => shown(one)?.['state'] === 'trusted').length, 2);
});

test('the capability statement lists the parameter only where addresses are verified', async () => {
  const parametersOf = async (server: TestFhir): Promise<string[]> => {
    const { body } = await server.get('metadata');
    const [{ resource }] = body['rest'] as [
      { resource: { type: string; searchParam: { name: string }[] }[] },
    ];
    return resource.flatMap(({ type, searchParam }) => searchParam.map(({ name }) => `${type}.${name}`));
  };
  assert.ok((await parametersOf(fhir)).includes('Endpoint.verification'));
  const without = await startTestFhir([{ prov_last_name: 'x' }]);
  assert.equal((await parametersOf(without)).includes('Endpoint.verification'), false);
  const { status } = await without.get('Endpoint?verification=show', { prefer: 'handling=strict' });
  assert.equal(status, 400);
  await without.world.close();
});
