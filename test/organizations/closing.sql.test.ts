import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { CodedError } from '../../src/core/index.ts';
import { loadBuiltInGazetteer } from '../../src/lib/geo/index.ts';
import { createAuthority, createKeyPair, issueDirectCertificate } from '../../src/lib/pki/index.ts';
import { parseDirectAddress } from '../../src/lib/values/index.ts';
import { listHostedAddress } from '../../src/service/directory/index.ts';
import { closeOrganization, reopenOrganization } from '../../src/service/hosting/index.ts';
import { createTrust, type Trust } from '../../src/service/trust/index.ts';
import { openServices } from './open-services.ts';

const services = await openServices();
after(() => services.close());
const { clock, storage, audit, oauth, trust, organizations } = services;
const domain = 'clinic.example.org';
const bob = parseDirectAddress(`bob@${domain}`);
const dayMs = 86_400_000;
let clientId: string;

before(async () => {
  await organizations.create({ id: 'clinic', name: 'Clinic' });
  await trust.addDomain(domain, 'clinic');
  await trust.addDomain('other.example.org');
  await trust.putAddress(bob);
  const issued = await oauth.clients.create({
    name: 'EHR',
    scopes: ['messaging.api'],
    directAddresses: [`@${domain}`],
    organizationId: 'clinic',
  });
  clientId = issued.clientId;
  await addKey();
});

async function addKey(owner = domain): Promise<void> {
  const { der, privateKey } = await makeKey(owner);
  await trust.addKeyPair(owner, der, privateKey);
}

async function makeKey(owner: string) {
  const caKeys = await createKeyPair();
  const keys = await createKeyPair();
  const validity = {
    notBefore: new Date('2026-01-01T00:00:00Z'),
    notAfter: new Date('2028-01-01T00:00:00Z'),
  };
  const authority = createAuthority({ subject: [['CN', 'Test CA']], ...caKeys, ...validity });
  const certificate = issueDirectCertificate({
    boundTo: { domain: owner },
    publicKey: keys.publicKey,
    issuer: { certificate: authority, privateKey: caKeys.privateKey },
    ...validity,
  });
  return { der: certificate.der, privateKey: keys.privateKey };
}

const deps = () => ({ storage, clock, audit, organizations, clients: oauth.clients, trust });
const keyStates = async () => (await trust.listKeyPairs(domain)).map(({ status }) => status);
const isRefused = (code: string) => (error: CodedError) => error.code === code;

test('a closed organization takes no mail, its clients are off, and its keys end after the queue', async () => {
  assert.equal(await trust.findDomainState(domain), 'open');
  await assert.rejects(closeOrganization(deps(), 'operator', 'x'), isRefused('ORGANIZATION_BUILT_IN'));
  await assert.rejects(closeOrganization(deps(), 'clinic', ''), isRefused('ORGANIZATION_SETTINGS_INVALID'));
  assert.deepEqual(
    (await oauth.clients.get(clientId)).disabledAt,
    undefined,
    'a refused close changes nothing',
  );

  const closed = await closeOrganization(deps(), 'clinic', 'The practice has closed.');
  assert.deepEqual([closed.domains, closed.clients], [[domain], [clientId]]);
  assert.equal(await trust.findDomainState(domain), 'closed');
  assert.equal(await trust.findDomainState('other.example.org'), 'open');
  assert.equal((await trust.findAddress(bob))?.status, 'disabled');
  assert.deepEqual((await oauth.clients.get(clientId)).disabledAt, clock.now());
  assert.deepEqual(
    (await trust.findKeyDates(domain)).map(({ isInUse }) => isInUse),
    [false],
  );
  const again = await closeOrganization(deps(), 'clinic', 'Again.');
  assert.deepEqual([again.closedAt, again.clients], [closed.closedAt, []]);
  assert.equal((await organizations.get('clinic')).closedReason, 'The practice has closed.');

  const { der, privateKey } = await makeKey(domain);
  for (const refused of [
    () => trust.addKeyPair(domain, der, privateKey),
    () => trust.requestKey(domain),
    () => trust.moveDomain(domain, 'operator'),
    () => trust.putAddress(parseDirectAddress(`new@${domain}`)),
    () => trust.addDomain('more.example.org', 'clinic'),
    () => trust.moveDomain('other.example.org', 'clinic'),
    () => oauth.clients.enable(clientId),
    () => oauth.clients.create({ name: 'x', scopes: [], organizationId: 'clinic' }),
  ])
    await assert.rejects(refused(), (error: CodedError) => {
      assert.equal(error.code, 'ORGANIZATION_CLOSED');
      assert.match(error.message, /openhisp organization reopen clinic$/);
      return true;
    });
  assert.equal((await keyStates()).length, 1);
  assert.equal((await trust.findOwners()).get(domain), 'clinic');
  assert.equal(await trust.findAddress(parseDirectAddress(`new@${domain}`)), undefined);

  clock.advance(6 * dayMs);
  assert.equal(await trust.retireReplaced(), 0);
  assert.deepEqual(await keyStates(), ['active']);
  clock.advance(2 * dayMs);
  assert.equal(await trust.retireReplaced(), 1);
  assert.deepEqual(await keyStates(), ['retired']);
  const [row] = await audit.find({ action: 'organization.close', limit: 1 });
  assert.deepEqual(row?.objects, { organization: 'clinic', reason: 'The practice has closed.' });
});

test('it is opened again: addresses as they were, clients by hand, keys that are left', async () => {
  assert.equal(await reopenOrganization(deps(), 'clinic'), 0);
  assert.equal(await reopenOrganization(deps(), 'clinic'), undefined);
  assert.equal((await trust.findAddress(bob))?.status, 'active');
  assert.notEqual((await oauth.clients.get(clientId)).disabledAt, undefined);
  await oauth.clients.enable(clientId);
  await addKey();
  await closeOrganization(deps(), 'clinic', 'By mistake.');
  assert.equal(await reopenOrganization(deps(), 'clinic'), 1);
  clock.advance(30 * dayMs);
  assert.equal(await trust.retireReplaced(), 0);
  assert.deepEqual((await keyStates()).toSorted(), ['active', 'retired']);
});

test('closing and opening again leave the ends of keys that were planned before', async () => {
  const dated = 'dated.example.org';
  await organizations.create({ id: 'dated', name: 'Dated' });
  await trust.addDomain(dated, 'dated');
  const now = clock.now().getTime();
  const inDays = (days: number) => new Date(now + days * dayMs);
  for (const days of [-3, 3]) {
    await addKey(dated);
    await storage.transaction((tx: Parameters<Trust['endKeysIn']>[0]) =>
      trust.endKeysIn(tx, 'dated', inDays(days)),
    );
  }
  await addKey(dated);
  const ends = async () =>
    (await trust.listKeyPairs(dated))
      .map(({ retiresAt }) => retiresAt?.getTime() ?? 0)
      .toSorted((a, b) => a - b);
  await closeOrganization(deps(), 'dated', 'For a while.');
  assert.deepEqual(
    await ends(),
    [4, 7, 10].map((days) => inDays(days).getTime()),
  );
  assert.equal(await reopenOrganization(deps(), 'dated'), 1);
  assert.deepEqual(await ends(), [0, inDays(4).getTime(), inDays(10).getTime()]);
});

test('a key that is retired while its organization is closed stays retired', async () => {
  const raced = 'raced.example.org';
  await organizations.create({ id: 'raced', name: 'Raced' });
  await trust.addDomain(raced, 'raced');
  const { der, privateKey } = await makeKey(raced);
  for (let round = 0; round < 10; round++) {
    const { id } = await trust.addKeyPair(raced, der, privateKey);
    await Promise.all([
      storage.transaction((tx: Parameters<Trust['endKeysIn']>[0]) =>
        trust.endKeysIn(tx, 'raced', clock.now()),
      ),
      trust.retireKeyPair(id, { isForced: true }),
    ]);
    const pairs = await trust.listDomainKeys(raced);
    assert.equal(pairs.find((pair) => pair.id === id)?.status, 'retired');
  }
});

test('an address stays listed if the organization was opened again before its turn', async () => {
  const gazetteer = loadBuiltInGazetteer();
  const listed = parseDirectAddress('desk@undone.example.org');
  await organizations.create({ id: 'undone', name: 'Undone' });
  await trust.addDomain('undone.example.org', 'undone');
  await trust.putAddress(listed);
  await listHostedAddress(deps(), { directAddress: listed }, gazetteer);
  const opening = {
    ...trust,
    listAddresses: async (name: string) => {
      await reopenOrganization(deps(), 'undone');
      return trust.listAddresses(name);
    },
  };
  const closed = await closeOrganization({ ...deps(), trust: opening }, 'undone', 'By mistake.');
  assert.equal(closed.unlisted, 0);
  assert.equal((await closeOrganization(deps(), 'undone', 'For good.')).unlisted, 1);
});

test('an organization whose row is gone or changed by hand is no open one', async () => {
  await organizations.create({ id: 'gone', name: 'Gone' });
  await trust.addDomain('gone.example.org', 'gone');
  const rows = storage.tables<{ organization: { id: string; closed_at: number | null } }>();
  const { closedAt } = await closeOrganization(deps(), 'clinic', 'For good.');
  assert.ok(closedAt);
  await rows.updateTable('organization').set({ closed_at: null }).where('id', '=', 'clinic').execute();
  await rows.deleteFrom('organization').where('id', '=', 'gone').execute();
  // Cached answers are up to a second old.
  const fresh = createTrust(services);
  await assert.rejects(fresh.findDomainState(domain), isRefused('INTEGRITY_ROW_CHANGED'));
  assert.equal(await fresh.findDomainState('gone.example.org'), 'closed');
});

test('more active addresses than the organization may have are refused, one by one, together and by a move', async () => {
  await organizations.create({ id: 'small', name: 'Small', limits: { addresses: 2 } });
  await trust.addDomain('small.example.org', 'small');
  const at = (name: string) => parseDirectAddress(`${name}@small.example.org`);
  await trust.putAddress(at('a'));
  await trust.putAddress(at('b'));
  await trust.putAddress(at('a'));
  const full = (error: CodedError) => {
    assert.equal(error.code, 'ORGANIZATION_ADDRESSES_FULL');
    assert.match(error.publicMessage, /small may have 2 active addresses, and this would make [34]/);
    assert.deepEqual(
      error.problems.map(({ field }) => field),
      ['address'],
    );
    return true;
  };
  await assert.rejects(trust.putAddress(at('c')), full);
  const both = await trust.prepareAddresses([
    { address: at('c'), status: 'active' },
    { address: at('d'), status: 'active' },
  ]);
  await assert.rejects(
    storage.transaction((tx: Parameters<typeof both.storeIn>[0]) => both.storeIn(tx, false)),
    full,
  );
  await trust.addDomain('moving.example.org');
  await trust.putAddress(parseDirectAddress('e@moving.example.org'));
  await assert.rejects(trust.moveDomain('moving.example.org', 'small'), full);
  assert.equal((await trust.listAddresses('small.example.org')).length, 2);

  const near = async () =>
    (await organizations.findNearLimits(trust.countActiveAddresses)).map(({ limit, used, allowed }) => [
      limit,
      used,
      allowed,
    ]);
  assert.deepEqual(await near(), [['addresses', 2, 2]]);
  await trust.putAddress(at('a'), 'disabled');
  await trust.putAddress(at('c'));
  await organizations.update('small', { limits: { addresses: 1 } });
  await trust.putAddress(at('C'));
  const respelled = await trust.prepareAddresses([{ address: at('c'), status: 'active' }]);
  assert.deepEqual(
    await storage.transaction((tx: Parameters<typeof both.storeIn>[0]) => respelled.storeIn(tx, false)),
    ['unchanged'],
  );
  await assert.rejects(trust.putAddress(at('a')), isRefused('ORGANIZATION_ADDRESSES_FULL'));
  await organizations.update('small', { limits: { addresses: 10 } });
  assert.deepEqual(await near(), []);
  await organizations.update('small', { limits: { addresses: null } });
  assert.deepEqual((await organizations.get('small')).limits, {});
});
