/** `$export`: every record of open sources, once, and never anything of a closed one. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { errorCode, silentLog } from '../../../src/core/index.ts';
import { importDirectory, openInput } from '../../../src/service/directory/index.ts';
import { assertValidResource } from '../../support/fhir-validator.ts';
import { startTestDirectory, testGazetteer, toCsv, type TestDirectory } from '../start-directory.ts';
import type { DirectoryTables } from '../../../src/service/directory/store/tables.ts';
import { waitUntil } from '../../support/processes.ts';
import { testFhir, type FhirBody, type FhirResource, type TestFhir } from './start-fhir.ts';

const place = {
  org_name: 'Open Clinic',
  org_addr_1: '1 Main St',
  org_city: 'Boston',
  org_state: 'MA',
  org_zip: '02114',
};

const openRows = [
  {
    ...place,
    serv_direct_addr: 'a@open.example',
    prov_npi: '1234567893',
    prov_first_name: 'Ana',
    prov_last_name: 'Open',
  },
  {
    ...place,
    serv_direct_addr: 'b@open.example',
    prov_npi: '1234567893',
    prov_first_name: 'Anna',
    prov_last_name: 'Open',
  },
  // Also in the closed source, which knows more.
  { serv_direct_addr: 'both@open.example', prov_npi: '1245319599', prov_last_name: 'Shared' },
  { ...place, serv_direct_addr: 'department@open.example' },
];

const closedRows = [
  {
    serv_direct_addr: 'both@open.example',
    prov_npi: '1245319599',
    prov_last_name: 'Shared',
    prov_first_name: 'Secretname',
    org_phone: '617-555-0199',
    org_name: 'Secret Clinic',
    org_addr_1: '9 Secret St',
    org_city: 'Albany',
    org_state: 'NY',
    org_zip: '12207',
    prov_spec_text: 'Secret specialty',
  },
  { serv_direct_addr: 'c@secret.example', prov_npi: '1000000004', prov_last_name: 'Secretperson' },
  // Another name of a person of the open source.
  { serv_direct_addr: 'd@secret.example', prov_npi: '1234567893', prov_last_name: 'Secretname' },
];

let world: TestDirectory;
let fhir: TestFhir;
before(async () => {
  world = await startTestDirectory();
  fhir = testFhir(world);
  await world.load(toCsv(openRows), 'full', { sourceName: 'npd' });
  await world.load(toCsv(closedRows), 'full', { sourceName: 'directtrust' });
  await world.directory.provision({ directAddress: 'hosted@secret.example', lastName: 'Secrethosted' });
  await world.directory.refresh();
});
after(() => world.close());

const headers = { prefer: 'respond-async' };
const lenient = { prefer: 'respond-async, handling=lenient' };

async function call(url: string, extra: Record<string, string> = {}, method = 'GET'): Promise<Response> {
  const { baseUrl, token } = await world.serve();
  const target = url.startsWith('http') ? url : `${baseUrl}/fhir/${url}`;
  return fetch(target, { method, headers: { authorization: `Bearer ${token}`, ...extra } });
}

interface Manifest {
  readonly request: string;
  readonly output: readonly { type: string; url: string }[];
}

async function begin(query = '', extra = headers): Promise<{ status: string; manifest: Manifest }> {
  const response = await call(`$export${query}`, extra);
  assert.equal(response.status, 202, await response.text());
  const status = response.headers.get('content-location') ?? '';
  return { status, manifest: (await (await call(status)).json()) as Manifest };
}

async function read(url: string): Promise<FhirResource[]> {
  const response = await call(url);
  assert.equal(response.headers.get('content-type'), 'application/fhir+ndjson');
  return (await response.text())
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as FhirResource);
}

test('holds every resource of the open source once, and not a word of the closed one or of hosted records', async () => {
  // The closed source's records are served.
  assert.equal((await fhir.get('Practitioner?family=secret')).body.total, 3);
  const { manifest } = await begin();
  const all: FhirResource[] = [];
  for (const { type, url } of manifest.output) {
    const resources = await read(url);
    assert.ok(resources.length > 0, type);
    for (const resource of resources) {
      assert.equal(resource.resourceType, type);
      assertValidResource(resource);
    }
    all.push(...resources);
  }
  const text = JSON.stringify(all);
  assert.equal(/secret|albany|0199/i.test(text), false, text);
  const count = (type: string): number => all.filter(({ resourceType }) => resourceType === type).length;
  assert.deepEqual(
    ['Endpoint', 'PractitionerRole', 'Practitioner', 'Organization', 'Location'].map(count),
    [4, 4, 2, 1, 1],
  );
  const keys = new Set(all.map(({ resourceType, id }) => `${resourceType}/${id}`));
  assert.equal(keys.size, all.length);
  const references = [...text.matchAll(/"reference":"([^"]+)"/g)];
  assert.ok(references.length >= 4, 'of a role each');
  for (const [, reference] of references) assert.ok(keys.has(reference ?? ''), reference);
  const ana = all.find(({ id }) => id === 'npi-1234567893');
  assert.deepEqual(ana?.['name'], [
    { family: 'Open', given: ['Ana'] },
    { family: 'Open', given: ['Anna'] },
  ]);
});

test('nothing in a search parameter, an answer or a later load of the closed source tells of its rows', async () => {
  const textOf = async (query: string): Promise<string[]> => {
    const { manifest } = await begin(query, lenient);
    // No totals, and no pages that could differ.
    assert.deepEqual(Object.keys(manifest).toSorted(), [
      'error',
      'output',
      'request',
      'requiresAccessToken',
      'transactionTime',
    ]);
    for (const file of manifest.output) assert.deepEqual(Object.keys(file).toSorted(), ['type', 'url']);
    return Promise.all(manifest.output.map(async ({ url }) => (await call(url)).text()));
  };
  const plain = await textOf('');
  for (const query of [
    '?_include=PractitionerRole:practitioner&_include=PractitionerRole:endpoint',
    '?_revinclude=PractitionerRole:practitioner&_count=1&_total=accurate',
    '?_typeFilter=Practitioner%3Ffamily%3DSecret&_id=npi-1000000004',
  ])
    assert.deepEqual(await textOf(query), plain, query);
  const { manifest: before } = await begin();
  await world.load(toCsv([...closedRows, { serv_direct_addr: 'e@secret.example' }]), 'full', {
    sourceName: 'directtrust',
  });
  const { manifest: after } = await begin();
  assert.deepEqual(after.output, before.output, 'the closed source is not in the tag either');
  assert.deepEqual(await textOf(''), plain);
});

test('accepts a choice of kinds; refuses malformed parameters', async () => {
  const { manifest } = await begin('?_type=Location,Endpoint&_outputFormat=application/fhir%2Bndjson');
  assert.deepEqual(
    manifest.output.map(({ type }) => type),
    ['Endpoint', 'Location'],
  );
  for (const [path, extra, status] of [
    ['$export', {}, 400],
    ['$export?_type=Patient', headers, 400],
    ['$export?_outputFormat=text/csv', headers, 400],
    ['$export?_since=2026-01-01', headers, 400],
    ['$export?_elements=id', { prefer: 'respond-async, handling=strict' }, 400],
    ['$export?_type=Patient', lenient, 400],
    ['$export?_outputFormat=text/csv', lenient, 400],
    ['$export?_since=yesterday', lenient, 400],
    ['$export', { ...headers, authorization: '' }, 401],
    [
      '$export',
      { ...headers, authorization: `Bearer ${await world.createToken({ acceptsDataUse: false })}` },
      403,
    ],
    ['$export-status/0123456789abcdef', {}, 404],
    ['$export-file/0123456789abcdef/Endpoint.ndjson', {}, 404],
  ] as const) {
    const response = await call(path, extra);
    assert.equal(response.status, status, path);
    const outcome = (await response.json()) as FhirResource;
    assertValidResource(outcome);
    assert.equal(outcome.resourceType, 'OperationOutcome');
  }
});

for (const query of [
  '?_typeFilter=Practitioner%3Ffamily%3DOpen',
  '?_elements=id',
  '?_elements=Practitioner.name,Endpoint.address',
  '?patient=Patient/1',
  '?includeAssociatedData=LatestProvenanceResources',
  '?organizeOutputBy=Practitioner',
  '?allowPartialManifests=true',
  '?_until=2026-11-22T10:30:00Z',
  '?_count=5',
  '?_lastUpdated=gt2026',
  '?_type:exact=Endpoint',
  '?_since:not=2026-11-22T10:30:00Z',
  '?type=Endpoint',
  '?_Type=Endpoint',
  '?_include=PractitionerRole:endpoint',
  '?_id=npi-1234567893',
  '?family=Open',
  '?_summary=true',
  '?_type=Endpoint,Patient',
  '?_type=Endpoint,endpoint',
  '?_type=Location&_type=HealthcareService',
  '?_type=Location&_typeFilter=Location%3Faddress-state%3DMA',
])
  test(`$export${query} is refused by name, or ignored by name if the client allows that`, async () => {
    const name = query.slice(1).split('&').at(-1)?.split('=')[0] ?? '';
    const refused = await call(`$export${query}`, headers);
    assert.equal(refused.status, 400);
    const outcome = (await refused.json()) as FhirBody;
    assertValidResource(outcome);
    assert.equal(outcome.issue?.length, 1);
    assert.match(outcome.issue[0]?.diagnostics ?? '', new RegExp(`^${name}: .*supported`));
    const allowed = await call(`$export${query}`, lenient);
    assert.equal(allowed.status, 202);
    const warning = (await allowed.json()) as FhirBody;
    assertValidResource(warning);
    assert.equal(warning.issue?.[0]?.severity, 'warning');
    assert.match(warning.issue[0]?.diagnostics ?? '', new RegExp(`^${name}: `));
  });

for (const query of [
  '',
  '?',
  '?_type=Endpoint',
  '?_type=Location,Endpoint',
  '?_type=Endpoint&_type=Location',
  '?_type=Location%2CEndpoint',
  '?_since=2020-01-01T00:00:00Z',
  '?_since=2020-01-01T00%3A00%3A00.000%2B02%3A00',
  '?_since=2020-01-01T00:00:00.000-05:00&_type=Practitioner',
  '?_outputFormat=ndjson',
  '?_outputFormat=application/fhir+ndjson',
  '?_outputFormat=application%2Ffhir%2Bndjson&_type=Organization',
  '?_outputFormat=application/ndjson&_since=2020-01-01T00:00:00Z&_type=PractitionerRole',
  '?_format=json',
  '?_pretty=true',
  '?_type=Endpoint,Endpoint',
])
  test(`the manifest of $export${query} repeats the request`, async () => {
    const { manifest, status } = await begin(query);
    assert.equal(manifest.request, `${(await world.serve()).baseUrl}/fhir/$export${query}`);
    const types = new Set(new URLSearchParams(query).getAll('_type').flatMap((value) => value.split(',')));
    assert.deepEqual(
      new Set(manifest.output.map(({ type }) => type)),
      types.size === 0
        ? new Set(['Endpoint', 'Practitioner', 'PractitionerRole', 'Organization', 'Location'])
        : types,
    );
    assert.equal((await call(status)).status, 200);
  });

test('an export is not counted as records shown, and leaves an audit row per file', async () => {
  const token = await world.createToken({ clientId: 'exporter', limits: { directoryRecordsPerDay: 1 } });
  const { manifest } = await begin('?_type=Endpoint');
  for (let round = 0; round < 2; round++) {
    const response = await call(manifest.output[0]?.url ?? '', { authorization: `Bearer ${token}` });
    assert.equal(response.status, 200);
    assert.equal((await response.text()).split('\n').length, 5);
  }
  const rows = (await world.audit.find({ action: 'directory.export', limit: 100 })).filter(
    ({ actor }) => actor === 'exporter',
  );
  assert.equal(rows.length, 2);
});

test('a node writes two exports at once, and others once these have ended or their clients have gone', async () => {
  const { bulk } = world.directory.fhir;
  const { manifest } = await begin('?_type=Endpoint');
  const tag = manifest.output[0]?.url.split('/').at(-2) ?? '';
  const client = { clientId: 'many', limits: {}, dataUseAcceptedAt: new Date() };
  const all = await Promise.allSettled(
    Array.from({ length: 6 }, () => bulk.file(tag, 'Endpoint', '', { client })),
  );
  const streams = all.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const codes = all.flatMap((one) => (one.status === 'rejected' ? [errorCode(one.reason)] : []));
  assert.deepEqual(new Set(codes), new Set(['DIRECTORY_EXPORT_BUSY']));
  for (const stream of streams) stream.destroy();
  await waitUntil(() =>
    bulk.file(tag, 'Endpoint', '', { client }).then(
      (stream) => Boolean(stream.destroy()),
      () => false,
    ),
  );
});

test('a source that is closed meanwhile, or loaded again, ends the export', async () => {
  const { status, manifest } = await begin();
  assert.equal((await call(status, {}, 'DELETE')).status, 202);
  await world.load(toCsv(openRows.slice(1)), 'full', { sourceName: 'npd' });
  assert.equal((await call(status)).status, 404);
  assert.equal((await call(manifest.output[0]?.url ?? '')).status, 404);
  const { manifest: next } = await begin('?_type=Endpoint');
  assert.equal((await read(next.output[0]?.url ?? '')).length, 3);
});

test('says of a person with several records once, in whatever index is in service, and nothing of closed ones by its order', async () => {
  const node = await startTestDirectory({ pollIntervalMs: 60_000 });
  try {
    const { bulk } = node.directory.fhir;
    const client = { clientId: 'exporter', limits: {}, dataUseAcceptedAt: new Date() };
    const persons = async (): Promise<FhirResource[]> => {
      const { tag } = await bulk.begin([], true, { client });
      const stream = await bulk.file(tag, 'Practitioner', '', { client });
      const lines = Buffer.concat(await stream.toArray())
        .toString()
        .trimEnd()
        .split('\n');
      return lines.map((line) => JSON.parse(line) as FhirResource);
    };
    const people = Array.from({ length: 700 }, (_, at) => ({
      serv_direct_addr: `p${at}@open.example`,
      prov_last_name: `Person${at}`,
    }));
    const [first, second] = openRows.slice(0, 2) as Record<string, string>[];
    const other = { serv_direct_addr: 'x@open.example', prov_npi: '1000000004', prov_last_name: 'Other' };
    await node.load(toCsv([first ?? {}, other, ...people]), 'full', { sourceName: 'npd' });
    const before = await persons();
    assert.equal(before.length, 702);
    const closed = { serv_direct_addr: 'x@closed.example', prov_npi: '1000000004', prov_last_name: 'Else' };
    await node.load(toCsv([closed]), 'full', { sourceName: 'directtrust' });
    assert.deepEqual(
      (await persons()).map(({ id }) => id),
      before.map(({ id }) => id),
    );
    // As another node activates a load: this one serves the load before.
    const file = path.join(node.folder, 'several.csv');
    const twice = people.map((person) => ({ ...person, prov_npi: '1234567893' }));
    await writeFile(file, toCsv([first ?? {}, other, second ?? {}, ...twice]));
    const { clock, audit, storage, snapshotDir } = node;
    await importDirectory(
      { storage, clock, audit, snapshotDir, log: silentLog, gazetteer: testGazetteer() },
      { files: await openInput(file), kind: 'full', sourceName: 'npd', acceptLoss: true },
    );
    const found = await persons();
    assert.deepEqual(found.map(({ id }) => id).toSorted(), ['npi-1000000004', 'npi-1234567893']);
    assert.equal(found.find(({ id }) => id === 'npi-1234567893')?.['name'].length, 702);
  } finally {
    await node.close();
  }
});

test('does not delete the loads that an export reads until it has ended', async () => {
  const node = await startTestDirectory({ nodeId: 'exporting' });
  try {
    const into = { sourceName: 'npd' } as const;
    const count = 9000;
    const rows = Array.from({ length: count }, (_, at) => ({
      serv_direct_addr: `person${at}@open.example`,
      prov_last_name: `Person${at}`,
      ...place,
    }));
    await node.load(toCsv(rows), 'full', into);
    const db = node.storage.tables<DirectoryTables>();
    const [{ id: load }] = (await db.selectFrom('directory_load').select('id').execute()) as [{ id: number }];
    const blocks = async (): Promise<number> =>
      (await db.selectFrom('directory_block').select('sequence').where('load_id', '=', load).execute())
        .length;
    const { bulk } = node.directory.fhir;
    const client = { clientId: 'exporter', limits: {}, dataUseAcceptedAt: new Date() };
    const { tag } = await bulk.begin([], true, { client });
    // Nobody reads yet: the export waits with most of its records unread.
    const stream = await bulk.file(tag, 'PractitionerRole', '', { client });
    await waitUntil(() => stream.readableLength > 0);
    const stored = await blocks();
    assert.ok(stored > 0);
    for (let round = 0; round < 4; round++)
      await node.load(toCsv(rows.slice(round, round + 2)), 'full', into);
    assert.equal(await blocks(), stored);
    const text = Buffer.concat(await stream.toArray()).toString();
    assert.equal(text.trimEnd().split('\n').length, count);
    await waitUntil(
      async () => (await db.selectFrom('directory_node').select('node_id').execute()).length === 1,
    );
    await node.load(toCsv(rows.slice(0, 3)), 'full', into);
    assert.equal(await blocks(), 0);
  } finally {
    await node.close();
  }
});
