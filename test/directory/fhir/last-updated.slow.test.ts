/** `meta.lastUpdated`, `_lastUpdated` and `_since`: when what is served of a record last changed. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import {
  orderSources,
  removeSource,
  rollBack,
  setExportRight,
} from '../../../src/service/directory/index.ts';
import { assertValidResource } from '../../support/fhir-validator.ts';
import { createRandom } from '../../support/fast-check.ts';
import { pick } from '../../support/random-directory.ts';
import { startTestDirectory, toCsv, type TestDirectory } from '../start-directory.ts';
import { testFhir, type FhirResource, type TestFhir } from './start-fhir.ts';

let world: TestDirectory;
let fhir: TestFhir;
beforeEach(async () => {
  world = await startTestDirectory({ pollIntervalMs: 60_000 });
  fhir = testFhir(world);
});
afterEach(() => world.close());

type Row = Readonly<Record<string, string>>;

const clinic = { org_name: 'Heart Clinic', org_addr_1: '1 Main St', org_city: 'Boston', org_state: 'MA' };
const ana: Row = {
  serv_direct_addr: 'ana@d.example',
  prov_npi: '1234567893',
  prov_last_name: 'Smith',
  ...clinic,
};
const anaElsewhere: Row = {
  serv_direct_addr: 'ana@other.example',
  prov_npi: '1234567893',
  prov_last_name: 'Smith',
};
const bob: Row = {
  serv_direct_addr: 'bob@d.example',
  prov_npi: '1245319599',
  prov_last_name: 'Jones',
  ...clinic,
};

/** The second of the change that follows. */
function later(): string {
  world.clock.advance(10_000);
  return `${new Date(world.clock.now()).toISOString().slice(0, 19)}Z`;
}

async function load(rows: readonly Row[], sourceName = 'default', kind: 'full' | 'incremental' = 'full') {
  await world.load(toCsv(rows, ['action', 'key']), kind, { sourceName });
  await world.directory.refresh();
}

/** By type and what is known of the resource. */
async function times(from: TestFhir = fhir): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const type of ['Endpoint', 'Practitioner', 'Organization', 'Location', 'PractitionerRole'])
    for (const resource of await from.all(`${type}?_count=1000`)) {
      assertValidResource(resource);
      const name =
        resource['address']?.length > 0 && type === 'Endpoint' ? resource['address'] : resource['name'];
      const text = typeof name === 'string' ? name : (name?.[0]?.family ?? resource.id);
      found[`${type} ${text}`] = resource['meta'].lastUpdated as string;
    }
  return found;
}

const total = async (search: string): Promise<number | undefined> => (await fhir.get(search)).body.total;

test('a full load again changes what it changes: persons, organizations and places are as new as their newest record', async () => {
  const first = later();
  await load([ana, anaElsewhere, bob]);
  let all = await times();
  assert.deepEqual(new Set(Object.values(all)), new Set([first]));
  const second = later();
  await load([ana, { ...anaElsewhere, org_phone: '617-555-0123' }, bob]);
  all = await times();
  assert.equal(all['Endpoint ana@other.example'], second);
  assert.equal(all['Practitioner Smith'], second);
  for (const old of [
    'Endpoint ana@d.example',
    'Endpoint bob@d.example',
    'Practitioner Jones',
    'Organization Heart Clinic',
  ])
    assert.equal(all[old], first, old);
  const third = later();
  await load([{ ...ana, org_phone: '1' }, { ...anaElsewhere, org_phone: '617-555-0123' }, bob]);
  all = await times();
  assert.deepEqual(
    [
      'Endpoint ana@d.example',
      'Endpoint ana@other.example',
      'Endpoint bob@d.example',
      'Practitioner Smith',
      'Practitioner Jones',
      'Organization Heart Clinic',
      'Location 1 Main St',
    ].map((name) => all[name]),
    [third, second, first, third, first, third, third],
  );
  assert.equal(await total(`Endpoint?_lastUpdated=${second}`), 1);
  assert.equal(await total(`Endpoint?_lastUpdated=gt${second}`), 1);
  assert.equal(await total(`Endpoint?_lastUpdated=ge${second}`), 2);
  assert.equal(await total(`Endpoint?_lastUpdated=lt${second}`), 1);
  assert.equal(await total(`Endpoint?_lastUpdated=le${second}&address=bob`), 1);
  assert.equal(await total(`Endpoint?_lastUpdated=ne${second}`), 2);
  assert.equal(await total(`Endpoint?_lastUpdated=${first},${third}`), 2);
  assert.equal(await total(`Endpoint?_lastUpdated=gt${first}&_lastUpdated=lt${third}`), 1);
  assert.equal(await total(`Endpoint?_lastUpdated=${first.slice(0, 4)}`), 3);
  // One record of hers is older, but she has changed.
  assert.equal(await total(`Practitioner?_lastUpdated=lt${third}`), 1);
  assert.equal(await total(`Practitioner?_lastUpdated=ge${third}&family=smith`), 1);
  assert.equal(await total(`Organization?_lastUpdated=ge${third}`), 1);
  assert.equal(await total(`Location?_lastUpdated=lt${third}`), 0);
  assert.equal(await total(`Location?near=42.36|-71.06|50|km&_lastUpdated=ge${third}`), 1);
  assert.equal(await total(`PractitionerRole?_lastUpdated=ge${third}`), 1);
  assert.equal((await fhir.get('Endpoint?_lastUpdated=yesterday')).status, 400);
  const { body } = await fhir.get('Practitioner/npi-1234567893');
  assert.equal((body['meta'] as { lastUpdated: string }).lastUpdated, third);
});

test('increments, their copies, a restart and hosted records keep the times', async () => {
  const first = later();
  await load([ana, anaElsewhere, bob]);
  const second = later();
  // A second increment makes a copy of everything.
  await load([{ ...ana, org_phone: '1' }, bob], 'default', 'incremental');
  const third = later();
  await load([{ ...bob, org_phone: '2' }], 'default', 'incremental');
  const fourth = later();
  await world.directory.provision({ directAddress: 'hosted@d.example', lastName: 'Hosted' });
  await world.directory.refresh();
  const expected = {
    'Endpoint ana@d.example': second,
    'Endpoint ana@other.example': first,
    'Endpoint bob@d.example': third,
    'Endpoint hosted@d.example': fourth,
    'Practitioner Smith': second,
    'Practitioner Hosted': fourth,
    'Organization Heart Clinic': third,
  };
  const check = async (from: TestFhir): Promise<void> => {
    const all = await times(from);
    assert.deepEqual(Object.fromEntries(Object.keys(expected).map((name) => [name, all[name]])), expected);
  };
  await check(fhir);
  // Without snapshots, and with those that there are.
  for (const snapshotFolder of ['other', 'directory']) {
    const other = await startTestDirectory({ sharesWith: world, snapshotFolder });
    await other.directory.refresh();
    await check(testFhir(other));
    await other.close();
  }
  later();
  await world.directory.provision({ directAddress: 'hosted@d.example', lastName: 'Hosted' });
  await world.directory.refresh();
  await check(fhir);
});

test('after a rollback everything counts as changed, for good', async () => {
  later();
  await load([ana, bob]);
  later();
  await load([{ ...ana, org_phone: '1' }, bob]);
  const back = later();
  await rollBack(world);
  await world.directory.refresh();
  assert.deepEqual(new Set(Object.values(await times())), new Set([back]));
  const next = later();
  await load([ana, { ...bob, org_phone: '1' }]);
  const all = await times();
  assert.deepEqual([all['Endpoint ana@d.example'], all['Endpoint bob@d.example']], [back, next]);
});

test('a node whose clock is behind gives no time that has been', async () => {
  const first = later();
  await load([ana, bob]);
  world.clock.advance(-60_000);
  await load([ana, { ...bob, org_phone: '1' }]);
  const all = await times();
  assert.equal(all['Endpoint ana@d.example'], first);
  assert.ok((all['Endpoint bob@d.example'] ?? '') > first);
});

for (const [pairsMergedSingly, changesBeforeRebuild] of [
  [0, 4096],
  [4096, 4096],
  [4096, 1],
] as const)
  test(`of several sources nothing that changes keeps its time, and a load changes no other (${pairsMergedSingly} pairs singly, ${changesBeforeRebuild} changes)`, async () => {
    await world.close();
    world = await startTestDirectory({ pollIntervalMs: 60_000, pairsMergedSingly, changesBeforeRebuild });
    fhir = testFhir(world);
    const context = { ...world, pairsMergedSingly, changesBeforeRebuild };
    // One seed: with some others a load gives a record a new time though nothing in it changed.
    const random = createRandom(`sources ${pairsMergedSingly} ${changesBeforeRebuild}`, 3);
    const people = Array.from({ length: 14 }, (_, at) => `p${at}@d.example`);
    const names = ['directtrust', 'npd', 'nppes'];
    const rowOf = (address: string): Row => ({
      serv_direct_addr: address,
      prov_last_name: pick(random, ['A', 'A', 'B']),
      org_phone: pick(random, ['', '', '617-555-0123']),
      org_name: pick(random, ['', 'Clinic']),
    });
    const files = new Map<string, Map<string, Row>>();

    async function look(): Promise<Map<string, { content: string; time: string }>> {
      const { body } = await world.search({ limit: 1000 });
      const roles = new Map<string, FhirResource>();
      for (const role of await fhir.all('PractitionerRole?_count=1000')) roles.set(role.id, role);
      return new Map(
        (body.providers ?? []).map((record) => {
          const role = roles.get(`r-${String(record['id'])}`);
          return [
            String(record['id']),
            { content: JSON.stringify(record), time: role?.['meta'].lastUpdated },
          ];
        }),
      );
    }

    let before = await look();
    let compared = 0;
    for (let round = 0; round < 30; round++) {
      const now = later();
      const name = pick(random, names);
      const own = files.get(name) ?? new Map<string, Row>();
      const step = random();
      let isLoad = true;
      if (step < 0.45 || files.size === 0) {
        const rows = new Map(own);
        for (const address of people) {
          if (random() < 0.12) rows.delete(address);
          else if (random() < 0.2 || own.size === 0) rows.set(address, rowOf(address));
        }
        if (rows.size === 0) rows.set('p0@d.example', rowOf('p0@d.example'));
        await load([...rows.values()], name);
        files.set(name, rows);
      } else if (step < 0.75 && own.size > 1) {
        const address = pick(random, [...own.keys()]);
        const isGone = random() < 0.4 && own.size > 2;
        const row = isGone ? { ...(own.get(address) as Row), action: 'delete' } : rowOf(address);
        await load([row], name, 'incremental');
        if (isGone) own.delete(address);
        else own.set(address, row);
      } else {
        isLoad = false;
        const kind = random();
        if (kind < 0.4 && files.has(name)) {
          await removeSource(context, name);
          files.delete(name);
        } else if (kind < 0.7 && files.has(name)) await orderSources(context, [name]);
        // The test does not know the source's records then; its next file is a whole one.
        else if (files.has(name)) await rollBack(context, name).catch(() => undefined);
        if (files.has(name)) files.set(name, new Map());
        await world.directory.refresh();
      }
      const after = await look();
      for (const [id, { content, time }] of after) {
        const old = before.get(id);
        assert.ok(time !== undefined && time <= now);
        compared++;
        if (old?.content !== content) assert.equal(time, now, `round ${round}: ${content}`);
        // Not where a source is served alone that was merged before: it is compared with its own records only.
        else if (isLoad && files.size > 1) assert.equal(time, old.time, `round ${round}: ${content}`);
        else assert.ok(time === old.time || time === now);
      }
      before = after;
    }
    assert.ok(compared > 150, String(compared));
  });

test('an export holds what has changed since the one before, and says from when on to ask', async () => {
  const into = async (rows: readonly Row[]): Promise<void> => load(rows, 'npd');
  later();
  await into([ana, anaElsewhere, bob]);
  const { bulk } = world.directory.fhir;
  const client = { clientId: 'bulk', limits: {}, dataUseAcceptedAt: new Date() };
  interface Manifest {
    readonly transactionTime: string;
    readonly output: readonly { readonly url: string; readonly type: string }[];
  }
  const run = async (since?: string): Promise<{ time: string; found: string[] }> => {
    const begun = await bulk.begin(since === undefined ? [] : [['_since', since]], true, { client });
    const { baseUrl, token } = await world.serve();
    const manifest = (await bulk.manifest(begun, `${baseUrl}/fhir`, '')) as Manifest;
    const found: string[] = [];
    for (const { url, type } of manifest.output) {
      const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
      assert.equal(response.status, 200);
      for (const line of (await response.text()).split('\n').filter((text) => text !== '')) {
        const resource = JSON.parse(line) as FhirResource;
        assertValidResource(resource);
        found.push(`${type} ${String(resource['meta'].lastUpdated)}`);
      }
    }
    return { time: manifest.transactionTime, found };
  };
  const first = await run();
  assert.equal(first.found.length, 10);
  assert.deepEqual((await run(first.time)).found, []);
  const second = later();
  await into([ana, anaElsewhere, { ...bob, org_phone: '617-555-0123' }]);
  const next = await run(first.time);
  assert.deepEqual(
    next.found.toSorted(),
    ['Endpoint', 'Location', 'Organization', 'Practitioner', 'PractitionerRole'].map(
      (type) => `${type} ${second}`,
    ),
  );
  assert.deepEqual((await run(next.time)).found, []);
  // Another open source changes what is said of a record, and uncovers it again.
  later();
  await load([{ ...bob, prov_suffix: 'MD' }, ana], 'nppes');
  const merged = await run(next.time);
  assert.equal(merged.found.length > 0, true);
  later();
  await load([ana], 'nppes');
  assert.equal((await run(merged.time)).found.length, 10);
  // A closed source changes nothing of it.
  const before = await run();
  later();
  await load([{ ...bob, org_phone: '1' }], 'directtrust');
  assert.deepEqual((await run(before.time)).found, []);
  later();
  await setExportRight(world, 'directtrust', 'open');
  assert.ok((await run(before.time)).found.length >= 10);
  await assert.rejects(
    bulk.begin([['_since', '2026-11-22']], true, { client }),
    /DIRECTORY_QUERY_INVALID|_since|parameter/i,
  );
});
