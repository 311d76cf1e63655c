import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createHttpApp, provisioningRoutes } from '../../src/app/http/index.ts';
import { setTimeout } from 'node:timers/promises';
import { sql } from 'kysely';
import { silentLog } from '../../src/core/index.ts';
import { loadBuiltInGazetteer } from '../../src/lib/geo/index.ts';
import { parseDirectAddress, type DirectAddress } from '../../src/lib/values/index.ts';
import { createMetrics, loadConfig } from '../../src/platform/index.ts';
import { lockState } from '../../src/service/directory/store/state.ts';
import { createProvisioning } from '../../src/service/hosting/index.ts';
import { createDocumentCheck } from '../support/document-check.ts';
import { openServices } from './open-services.ts';

const services = await openServices();
const { clock, audit, oauth, trust, organizations } = services;
const provisioning = createProvisioning({
  ...services,
  gazetteer: loadBuiltInGazetteer(),
  findNames: (npi) =>
    npi === '1245319599'
      ? [{ directAddress: 'x@e.example', firstName: 'Al', lastName: 'Other', organization: '' }]
      : [],
});
const app = await createHttpApp({
  config: loadConfig({}).http,
  log: silentLog,
  oauth,
  audit,
  metrics: createMetrics(),
  routes: [provisioningRoutes({ provisioning })],
});
const baseUrl = await app.listen({ host: '127.0.0.1', port: 0 });
const check = createDocumentCheck(app.swagger());
const tokens: Record<string, string> = {};
const clientIds: Record<string, string> = {};
after(async () => {
  await app.close();
  await services.close();
});

before(async () => {
  for (const [organization, domain] of [
    ['clinic', 'clinic.example.org'],
    ['vendor', 'vendor.example.org'],
  ] as const) {
    await organizations.create({ id: organization, name: organization });
    await trust.addDomain(domain, organization);
    await createClient(organization, organization, 'provisioning', 'forwarding');
  }
  await createClient('messaging', 'clinic', 'messaging.api');
  await createClient('keeper', 'clinic', 'messaging.api', 'provisioning');
});

async function createClient(
  name: string,
  organizationId: string,
  ...scopes: readonly string[]
): Promise<void> {
  const { clientId, clientSecret } = await oauth.clients.create({ name, organizationId, scopes });
  const response = await fetch(`${baseUrl}/oauth2/direct/v1/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  clientIds[name] = clientId;
  tokens[name] = ((await response.json()) as { access_token: string }).access_token;
}

// The members are of the shape that the document check has verified.
type Body = any; // oxlint-disable-line typescript/no-explicit-any

async function call(method: string, place: string, body?: unknown, as = 'clinic') {
  // The clients of a test send faster than clients may.
  clock.advance(1000);
  const path = `/provisioning/${place}`;
  const response = await fetch(baseUrl + path, {
    method,
    headers: {
      authorization: `Bearer ${tokens[as]}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  check({ method, path, status: response.status, headers: response.headers, bytes });
  const parsed = JSON.parse(bytes.toString()) as Body;
  const faults = ((parsed.errors ?? []) as { field: string; reason: string }[]).map(
    ({ field, reason }) => `${field} ${reason}`,
  );
  return { status: response.status, body: parsed, faults };
}
const lastSequence = async () => (await audit.find({ limit: 1 }))[0]?.sequence ?? 0;
const proofing = { level: 'IAL2', method: 'in person', date: '2026-05-01', verifier: 'Clinic' };
const ann = 'Ann@clinic.example.org';

test('an address is created, changed, disabled and shown; the same request again changes nothing', async () => {
  const directory = { firstName: 'Ann', lastName: 'Lee', npi: '1234567893', zip: '98101' };
  const created = await call('PUT', `addresses/${ann}`, { directory, proofing });
  assert.deepEqual([created.status, created.body.outcome, created.body.warnings], [201, 'added', []]);
  const shown = {
    directAddress: ann,
    status: 'active',
    directory,
    proofing: { ...proofing, expires: '', reference: '' },
    forwarding: null,
  };
  assert.deepEqual(created.body.address, shown);
  const rows = await audit.find({ limit: 3 });
  assert.deepEqual(rows.map(({ action }) => action).sort(), [
    'address.enable',
    'address.proof',
    'directory.provision',
  ]);
  for (const { actor, remoteAddress, requestId } of rows)
    assert.ok(actor === clientIds['clinic'] && remoteAddress !== null && requestId !== null, actor ?? '');

  const sequence = await lastSequence();
  for (const change of [{ directory, proofing }, {}, { status: 'active' }]) {
    const again = await call('PUT', `addresses/${ann}`, change);
    assert.deepEqual([again.status, again.body.outcome], [200, 'unchanged']);
  }
  assert.equal(await lastSequence(), sequence);

  const kept = await call('PUT', `addresses/${ann}`, { proofing: null });
  assert.deepEqual(kept.body.address, { ...shown, proofing: null });
  const disabled = await call('PUT', `addresses/${ann}`, { status: 'disabled', directory, proofing });
  assert.deepEqual(disabled.body.address, { ...shown, status: 'disabled', directory: null });
  assert.match(disabled.body.warnings[0].detail, /^Not stored, because the address is disabled/);
  const found = await trust.findAddress(parseDirectAddress(ann));
  assert.equal(found?.status, 'disabled');
  const enabled = await call('PUT', `addresses/${ann}`, { status: 'active', directory });
  assert.deepEqual((await call('GET', `addresses/${ann.toLowerCase()}`)).body.address, shown);
  assert.equal(enabled.body.outcome, 'changed');
});

test('refusals name the field, and nothing is changed', async () => {
  const sequence = await lastSequence();
  for (const [place, change, status, fault] of [
    ['addresses/clinic.example.org', {}, 400, 'directAddress invalid'],
    [`addresses/${ann}`, { status: 'gone' }, 400, 'status invalid'],
    [`addresses/${ann}`, { directory: { npi: '12' } }, 400, 'directory.npi invalid'],
    [`addresses/${ann}`, { directory: { ssn: '1' } }, 400, 'directory.ssn unknown'],
    [`addresses/${ann}`, { proofing: { ...proofing, date: '2026-13-01' } }, 400, 'proofing.date invalid'],
    [`addresses/${ann}`, { proofing: { ...proofing, verifier: '' } }, 400, 'proofing.verifier invalid'],
    [`addresses/${ann}`, { scan: 'iVBORw0' }, 400, 'scan unknown'],
    ['addresses/bob@nowhere.example.org', {}, 404, ' hosting_address_unknown'],
  ] as const) {
    const refused = await call('PUT', place, change);
    assert.equal(refused.status, status, `${place} ${JSON.stringify(refused.body)}`);
    assert.ok(refused.faults.includes(fault), `${fault}: ${refused.faults.join(', ')}`);
  }
  assert.deepEqual(await changesSince(sequence), []);
  const warned = await call('PUT', `addresses/${ann}`, { directory: { npi: '1234567890' } });
  assert.match(warned.body.warnings[0].detail, /check digit/);
  for (const [field, value] of [
    ['zip', '\u{1f600}'],
    ['state', 'NaN'],
    ['phone', '\u{1f600}'],
    ['specialty', 'n/a'],
    ['lastName', 'NULL'],
  ] as const) {
    const blanked = await call('PUT', `addresses/${ann}`, {
      directory: { npi: '1234567893', [field]: value },
    });
    const told = blanked.body.warnings.map(({ detail }: Body) => detail);
    assert.ok(
      told.some((text: string) => text.startsWith(`${field}: `)),
      `${field} ${JSON.stringify(told)}`,
    );
  }
});

const changesSince = async (sequence: number) =>
  (await audit.find({ limit: 1000 }))
    .filter(
      (row) => row.sequence > sequence && row.outcome === 'ok' && /^(?:address|directory)\./.test(row.action),
    )
    .map(({ action, objects }) => `${action} ${objects['address']}`)
    .sort();

test('many are changed together or, if that is asked for, row by row; a dry run stores nothing', async () => {
  const addresses = [
    { directAddress: 'bo@clinic.example.org', directory: { lastName: 'Bo' }, proofing },
    { directAddress: 'BO@clinic.example.org' },
    { directAddress: 'cy@vendor.example.org' },
    { directAddress: 'di@clinic.example.org', proofing: { ...proofing, expires: '2026-05-01' } },
    { directAddress: 'ed@clinic.example.org' },
  ];
  const faults = [
    'addresses[1].directAddress duplicate',
    'addresses[2].directAddress not_found',
    'addresses[3].proofing.expires invalid',
  ];
  const sequence = await lastSequence();
  const together = await call('POST', 'addresses', { addresses });
  assert.deepEqual([together.status, together.faults.sort()], [400, faults]);
  assert.deepEqual(await changesSince(sequence), []);
  const rowByRow = { addresses, rowByRow: true };
  const outcomesOf = ({ body }: { body: Body }) => [
    body.stored,
    ...body.result.map(({ outcome }: { outcome: string }) => outcome),
  ];
  const expected = ['added', 'refused', 'refused', 'refused', 'added'];
  const dry = await call('POST', 'addresses', { ...rowByRow, dryRun: true });
  assert.deepEqual(outcomesOf(dry), [false, ...expected]);
  assert.deepEqual(await changesSince(sequence), []);
  assert.deepEqual(outcomesOf(await call('POST', 'addresses', rowByRow)), [true, ...expected]);
  assert.deepEqual(await changesSince(sequence), [
    'address.enable bo@clinic.example.org',
    'address.enable ed@clinic.example.org',
    'address.proof bo@clinic.example.org',
    'directory.provision bo@clinic.example.org',
  ]);
  const again = await call('POST', 'addresses', rowByRow);
  assert.deepEqual(outcomesOf(again)[1], 'unchanged');
  const tooMany = Array.from({ length: 201 }, (_, index) => ({
    directAddress: `n${index}@clinic.example.org`,
  }));
  assert.deepEqual((await call('POST', 'addresses', { addresses: tooMany })).faults, ['addresses too_many']);
});

test('an address is delivered to others of its organization, and to no other', async () => {
  const forwarding = {
    deliverTo: ['bo@clinic.example.org'],
    keepsCopy: true,
    until: '2026-07-01T00:00:00.000Z',
  };
  const place = `addresses/${ann}/forwarding`;
  const put = await call('PUT', place, forwarding);
  assert.deepEqual([put.status, put.body.address.forwarding], [200, forwarding]);
  assert.equal((await audit.find({ action: 'address.forward', limit: 1 }))[0]?.actor, clientIds['clinic']);
  for (const [change, status, fault] of [
    [{ deliverTo: ['dr@vendor.example.org'] }, 400, 'deliverTo invalid'],
    [{ deliverTo: ['nobody'] }, 400, 'deliverTo[0] invalid'],
    [{ deliverTo: [] }, 400, 'deliverTo too_few'],
    ...[
      'Monday',
      '2027-02-30T08:00:00Z',
      '2027-01-03T08:00:00',
      '2027-01-03T08:00Z',
      '2027-01-03T25:00:00Z',
    ].map((until) => [{ ...forwarding, until }, 400, 'until invalid'] as const),
  ] as const) {
    const refused = await call('PUT', place, change);
    assert.deepEqual([refused.status, refused.faults], [status, [fault]]);
  }
  assert.equal((await call('PUT', place, forwarding, 'vendor')).status, 404);
  assert.equal((await call('DELETE', place, undefined, 'vendor')).status, 404);
  // Who may change addresses may not read the mail of all of them.
  assert.equal((await call('PUT', place, forwarding, 'keeper')).status, 403);
  assert.equal((await call('DELETE', place, undefined, 'keeper')).status, 403);
  assert.deepEqual((await call('GET', `addresses/${ann}`)).body.address.forwarding, forwarding);
  assert.equal((await call('DELETE', place)).body.address.forwarding, null);
});

test('the addresses of an organization are listed page by page', async () => {
  const all = await call('GET', 'addresses');
  const names = all.body.result.map(({ directAddress }: Body) => directAddress);
  assert.deepEqual(names, [ann, 'bo@clinic.example.org', 'ed@clinic.example.org']);
  const first = await call('GET', 'addresses?limit=2&status=active&domain=clinic.example.org');
  const rest = await call('GET', `addresses?limit=2&cursor=${first.body.nextCursor}`);
  assert.deepEqual([...first.body.result, ...rest.body.result], all.body.result);
  assert.equal(rest.body.nextCursor, undefined);
  assert.deepEqual((await call('GET', 'addresses?cursor=abc')).faults, ['cursor invalid']);
  assert.deepEqual((await call('GET', 'addresses?domain=vendor.example.org')).body.result, []);
});

test('another organization and another scope see and change nothing', async () => {
  await call('PUT', 'addresses/vi@vendor.example.org', {}, 'vendor');
  const sequence = await lastSequence();
  const unknown = await call('GET', 'addresses/nobody@clinic.example.org');
  for (const [method, as, address] of [
    ['GET', 'vendor', ann],
    ['PUT', 'vendor', ann],
    ['GET', 'clinic', 'vi@vendor.example.org'],
    ['PUT', 'clinic', 'new@vendor.example.org'],
    ['PUT', 'clinic', 'new@unhosted.example.org'],
  ] as const) {
    const refused = await call(method, `addresses/${address}`, method === 'PUT' ? {} : undefined, as);
    assert.deepEqual([refused.status, refused.body.errors], [404, unknown.body.errors], `${as} ${address}`);
  }
  assert.equal((await call('GET', 'addresses', undefined, 'messaging')).status, 403);
  assert.equal((await call('PUT', `addresses/${ann}`, {}, 'messaging')).status, 403);
  assert.deepEqual(await changesSince(sequence), []);
  const refusals = await audit.find({ action: 'address.refuse', limit: 1 });
  assert.deepEqual([refusals[0]?.outcome, refusals[0]?.objects['reason']], ['refused', 'not_found']);
  const { body } = await call('GET', 'organization', undefined, 'vendor');
  assert.deepEqual(body.organization, {
    id: 'vendor',
    name: 'vendor',
    domains: ['vendor.example.org'],
    activeAddresses: 1,
    limits: {},
  });
  await trust.moveDomain('vendor.example.org', 'clinic');
  assert.equal((await call('GET', 'addresses/vi@vendor.example.org', undefined, 'vendor')).status, 404);
  assert.equal((await call('GET', 'addresses/vi@vendor.example.org')).status, 200);
});

test('of an address that is not its own, a client learns nothing from the warnings about NPIs', async () => {
  const directory = { lastName: 'Doe' };
  const addresses = [
    { directAddress: 'bo@clinic.example.org', directory },
    { directAddress: 'vi@foreign.example.org', directory },
    { directAddress: 'vi2@foreign.example.org', directory: { ...directory, npi: '1245319599' } },
    { directAddress: 'bo2@clinic.example.org', directory: { ...directory, npi: '1245319599' } },
  ];
  const { schema } = services.storage.tables();
  // A look-up that fails is told, so that it shows for which addresses there is one.
  await schema.alterTable('directory_source').renameTo('directory_away').execute();
  try {
    const { body } = await call('POST', 'addresses', { addresses, rowByRow: true, dryRun: true });
    const told = body.result.map(({ outcome, warnings }: Body) => [
      outcome,
      warnings.filter(({ detail }: Body) => detail.startsWith('npi:')).length,
    ]);
    assert.deepEqual(told, [
      ['changed', 1],
      ['refused', 0],
      ['refused', 0],
      ['added', 1],
    ]);
  } finally {
    await schema.alterTable('directory_away').renameTo('directory_source').execute();
  }
});

test('a row that was changed by hand is refused, however the address is written, and gets no MAC', async () => {
  const eve = 'eve@clinic.example.org';
  await call('PUT', `addresses/${eve}`, { status: 'disabled' });
  const { storage } = services;
  const store = (status: string) =>
    sql`update hosted_address set status = ${status} where address_key = ${eve}`.execute(storage.tables());
  await store('active');
  const caller = { clientId: clientIds['clinic'] ?? '', organizationId: 'clinic' };
  const fails = { code: 'INTEGRITY_ROW_CHANGED' };
  for (const name of [eve, 'Eve@clinic.example.org'])
    for (const change of [{}, { status: 'disabled' as const }])
      await assert.rejects(provisioning.put(caller, name, change), fails);
  await store('disabled');
  assert.equal((await provisioning.put(caller, eve, {})).outcome, 'unchanged');
});

test('a change that says nothing of the status keeps one that is stored meanwhile', async () => {
  const caller = { clientId: clientIds['clinic'] ?? '', organizationId: 'clinic' };
  const fay = parseDirectAddress('fay@clinic.example.org');
  await provisioning.put(caller, fay, { directory: { lastName: 'Old' } });
  const held = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  // As a load that is activated: the change has read the status, and waits.
  const load = services.storage.transaction(async (tx) => {
    await lockState(services.storage, tx);
    held.resolve();
    await release.promise;
  });
  await held.promise;
  const put = provisioning.put(caller, fay, { directory: { lastName: 'New' } });
  await setTimeout(300);
  const disabled = trust.putAddress(fay, 'disabled');
  await setTimeout(300);
  release.resolve();
  await Promise.all([load, put, disabled]);
  assert.equal((await trust.findAddress(fay))?.status, 'disabled');
  for (const name of [fay, 'eve@clinic.example.org'] as const)
    await trust.putAddress(parseDirectAddress(name), 'disabled');
});

test('a domain that moves away while a rule is ended keeps the rule', async () => {
  await organizations.create({ id: 'new', name: 'New' });
  await trust.addDomain('moving.example.org', 'clinic');
  const [gus, hal] = ['gus', 'hal'].map((name) => parseDirectAddress(`${name}@moving.example.org`)) as [
    DirectAddress,
    DirectAddress,
  ];
  for (const address of [gus, hal]) await trust.putAddress(address);
  await trust.setForwarding(gus, { deliverTo: [hal], keepsCopy: false });
  const held = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const holder = services.storage.transaction(async (tx) => {
    await sql`update organization_state set id = id`.execute(tx);
    held.resolve();
    await release.promise;
  });
  await held.promise;
  const moved = trust.moveDomain('moving.example.org', 'new');
  await setTimeout(300);
  const caller = { clientId: clientIds['clinic'] ?? '', organizationId: 'clinic' };
  const ended = assert.rejects(provisioning.putForwarding(caller, gus, null), {
    code: 'HOSTING_ADDRESS_UNKNOWN',
  });
  await setTimeout(300);
  release.resolve();
  await Promise.all([holder, moved, ended]);
  assert.deepEqual((await trust.findForwarding(gus))?.deliverTo, [hal]);
});

test('an organization with a limit keeps ten addresses for each that may be active', async () => {
  await organizations.create({ id: 'tiny', name: 'Tiny', limits: { addresses: 1 } });
  await trust.addDomain('tiny.example.org', 'tiny');
  const caller = { clientId: 'c', organizationId: 'tiny' };
  const changes = Array.from({ length: 12 }, (_, index) => ({
    directAddress: `a${index}@tiny.example.org`,
    status: 'disabled' as const,
  }));
  const rows = async () =>
    (await provisioning.putAll(caller, changes, { isRowByRow: true })).rows.map(({ outcome }) => outcome);
  const refused = ['refused', 'refused'];
  assert.deepEqual(await rows(), [...Array.from({ length: 10 }, () => 'added'), ...refused]);
  assert.deepEqual(await rows(), [...Array.from({ length: 10 }, () => 'unchanged'), ...refused]);
});

test('the domains of an organization are told by their MACs, and not without end', async () => {
  await sql`update hosted_domain set organization_id = 'clinic' where domain = 'tiny.example.org'`.execute(
    services.storage.tables(),
  );
  const caller = { clientId: 'c', organizationId: 'clinic' };
  for (const show of [() => provisioning.findOrganization(caller), trust.findOwners])
    await assert.rejects(show, { code: 'INTEGRITY_ROW_CHANGED' });
  await sql`update hosted_domain set organization_id = 'tiny' where domain = 'tiny.example.org'`.execute(
    services.storage.tables(),
  );
  const answers = await Promise.all(
    Array.from({ length: 25 }, () =>
      fetch(`${baseUrl}/provisioning/organization`, {
        headers: { authorization: `Bearer ${tokens['clinic']}` },
      }),
    ),
  );
  assert.ok(answers.some(({ status }) => status === 429) && answers.some(({ status }) => status === 200));
});

test('limits of the organization and of the rate hold', async () => {
  await organizations.update('clinic', { limits: { addresses: 5 } });
  const named = (...names: readonly string[]) =>
    names.map((name) => ({ directAddress: `${name}@clinic.example.org` }));
  const full = await call('POST', 'addresses', { addresses: named('l1', 'l2') });
  assert.deepEqual([full.status, full.faults], [409, ['addresses[1].status limit']]);
  assert.equal(
    full.body.errors[0].detail,
    'Organization clinic may have 5 active addresses, and this would be one more.',
  );
  const rowByRow = await call('POST', 'addresses', { addresses: named('l1', 'l2'), rowByRow: true });
  assert.deepEqual(
    rowByRow.body.result.map(({ outcome, errors }: Body) => [outcome, errors.length]),
    [
      ['added', 0],
      ['refused', 1],
    ],
  );
  const single = await call('PUT', 'addresses/l2@clinic.example.org', {});
  assert.deepEqual([single.status, single.faults], [409, ['status limit']]);
  // One leaves as the other comes.
  const swap = [{ ...named('l1')[0], status: 'disabled' }, ...named('l2')];
  for (const addresses of [swap.toReversed(), swap])
    assert.equal((await call('POST', 'addresses', { addresses })).status, 200);
  const { body } = await call('GET', 'organization');
  assert.deepEqual([body.organization.activeAddresses, body.organization.limits], [5, { addresses: 5 }]);

  const answers = await Promise.all(
    Array.from({ length: 25 }, () =>
      fetch(`${baseUrl}/provisioning/addresses/${ann}`, {
        method: 'PUT',
        headers: { authorization: `Bearer ${tokens['clinic']}`, 'content-type': 'application/json' },
        body: '{}',
      }),
    ),
  );
  const refused = answers.filter(({ status }) => status === 429);
  assert.ok(refused.length > 0 && refused.every(({ headers }) => headers.get('retry-after') === '1'));
});
