import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { CodedError } from '../../src/core/index.ts';
import { createEdges } from '../../src/service/edges/index.ts';
import { openServices } from './open-services.ts';

const services = await openServices();
after(() => services.close());
const { storage, audit, oauth, trust, organizations } = services;
const edges = createEdges({ ...services, clients: oauth.clients, attemptsPerMinute: 10 });

before(async () => {
  await organizations.create({ id: 'clinic', name: 'Clinic' });
  await organizations.create({ id: 'vendor', name: 'Vendor' });
  await trust.addDomain('own.example.org');
  await trust.addDomain('clinic.example.org', 'clinic');
});

const clientOf = (organizationId: string | undefined, ...directAddresses: string[]) => ({
  name: 'Client',
  scopes: ['messaging.api'],
  directAddresses,
  ...(organizationId === undefined ? {} : { organizationId }),
});
const refused =
  (code: string, ...fields: readonly string[]) =>
  (error: CodedError) => {
    assert.equal(error.code, code);
    assert.deepEqual(
      error.problems.map(({ field }) => field),
      fields,
    );
    return true;
  };
const refusedAddress = refused('OAUTH_CLIENT_SETTINGS_INVALID', 'directAddresses');

test('a client has addresses only in domains of its organization', async () => {
  for (const [organization, own] of [
    [undefined, '@clinic.example.org'],
    [undefined, 'bob@clinic.example.org'],
    ['clinic', '@own.example.org'],
    ['vendor', 'Bob@CLINIC.example.org'],
  ] as const)
    await assert.rejects(oauth.clients.create(clientOf(organization, own)), refusedAddress);
  await assert.rejects(oauth.clients.create(clientOf('nobody')), refused('ORGANIZATION_UNKNOWN'));
  assert.deepEqual(await oauth.clients.list(), [], 'a refused client is not stored');

  const { clientId } = await oauth.clients.create(clientOf('clinic', '@clinic.example.org'));
  assert.equal((await oauth.clients.get(clientId)).organizationId, 'clinic');
  const { clients } = oauth;
  await assert.rejects(clients.update(clientId, { directAddresses: ['a@own.example.org'] }), refusedAddress);
  await assert.rejects(clients.update(clientId, { organizationId: 'vendor' }), refusedAddress);
  assert.deepEqual((await clients.get(clientId)).directAddresses, ['@clinic.example.org']);
  await assert.rejects(
    edges.accounts.create({
      clientId,
      username: 'a@own.example.org',
      addresses: ['a@own.example.org'],
      protocols: ['imap'],
    }),
    refused('EDGES_ACCOUNT_SETTINGS_INVALID', 'addresses'),
  );
  await clients.update(clientId, { directAddresses: [] });
});

test('a domain is not added to an organization while a client outside it was prepared for it', async () => {
  const { clientId } = await oauth.clients.create(clientOf('vendor', 'bob@later.example.org'));
  for (const organization of [undefined, 'clinic'])
    await assert.rejects(trust.addDomain('later.example.org', organization), refused('TRUST_DOMAIN_TAKEN'));
  assert.equal(await trust.isHostedDomain('later.example.org'), false);
  await assert.rejects(trust.addDomain('x.example.org', 'nobody'), refused('ORGANIZATION_UNKNOWN'));
  await trust.addDomain('later.example.org', 'vendor');
  await assert.rejects(trust.addDomain('later.example.org', 'clinic'), refused('TRUST_DOMAIN_TAKEN'));
  await trust.addDomain('later.example.org', 'vendor');
  await trust.addDomain('Later.example.org');
  assert.equal((await trust.findOwners()).get('later.example.org'), 'vendor');
  await oauth.clients.update(clientId, { directAddresses: [] });
});

test('a domain moves once no client outside the target has addresses of it', async () => {
  const { clientId } = await oauth.clients.create(clientOf('clinic', 'bob@clinic.example.org'));
  await assert.rejects(trust.moveDomain('clinic.example.org', 'vendor'), (error: CodedError) => {
    assert.equal(error.code, 'TRUST_DOMAIN_TAKEN');
    assert.match(error.publicMessage, new RegExp(`^Client ${clientId} of organization clinic`));
    return true;
  });
  await assert.rejects(trust.moveDomain('none.example.org', 'vendor'), refused('TRUST_DOMAIN_UNKNOWN'));
  await assert.rejects(trust.moveDomain('clinic.example.org', 'nobody'), refused('ORGANIZATION_UNKNOWN'));
  await oauth.clients.update(clientId, { directAddresses: [] });
  await trust.as('operator:alice').moveDomain('clinic.example.org', 'vendor');
  const [row] = await audit.find({ action: 'domain.move', limit: 1 });
  assert.deepEqual(
    [row?.actor, row?.objects['from'], row?.objects['to']],
    ['operator:alice', 'clinic', 'vendor'],
  );
  const moved = { organizationId: 'vendor', directAddresses: ['bob@clinic.example.org'] };
  assert.equal((await oauth.clients.update(clientId, moved)).organizationId, 'vendor');
});

test('an address and its domain do not part when both change at the same moment', async () => {
  for (let round = 0; round < 10; round++) {
    const domain = `race${round}.example.org`;
    await trust.addDomain(domain, 'clinic');
    const [client, move] = await Promise.allSettled([
      oauth.clients.create(clientOf('clinic', `@${domain}`)),
      trust.moveDomain(domain, 'vendor'),
    ]);
    assert.notEqual(client.status, move.status);
  }
});

test('a changed owner of a domain or a client gives nothing', async () => {
  const set = (table: 'hosted_domain' | 'oauth_client', key: string, name: string, value: string) =>
    storage
      .tables<Record<string, { organization_id: string } & Record<string, string>>>()
      .updateTable(table)
      .set({ organization_id: value })
      .where(key, '=', name)
      .execute();
  await set('hosted_domain', 'domain', 'own.example.org', 'vendor');
  await assert.rejects(
    oauth.clients.create(clientOf('vendor', '@own.example.org')),
    refused('INTEGRITY_ROW_CHANGED'),
  );
  await assert.rejects(trust.moveDomain('own.example.org', 'clinic'), refused('INTEGRITY_ROW_CHANGED'));
  await set('hosted_domain', 'domain', 'own.example.org', 'operator');

  const { clientId } = await oauth.clients.create(clientOf(undefined, '@own.example.org'));
  await set('oauth_client', 'client_id', clientId, 'vendor');
  await assert.rejects(trust.moveDomain('own.example.org', 'vendor'), refused('INTEGRITY_ROW_CHANGED'));
  await assert.rejects(oauth.clients.update(clientId, { name: 'x' }), refused('INTEGRITY_ROW_CHANGED'));
});
