/** Security rows that somebody changed in the database are refused where they are used, and reported (Decision 0024). */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { randomBytes } from 'node:crypto';
import { CodedError, createManualClock, silentLog, type Log } from '../../src/core/index.ts';
import {
  createAuthority,
  createKeyPair,
  issueDirectCertificate,
  type KeyPair,
} from '../../src/lib/pki/index.ts';
import { parseDirectAddress } from '../../src/lib/values/index.ts';
import { createVault, type Storage } from '../../src/platform/index.ts';
import { createAudit, type Audit } from '../../src/service/audit/index.ts';
import { acceptRow, findChangedRows } from '../../src/service/integrity/index.ts';
import { createOauth, oauthGuardedTables, type Oauth } from '../../src/service/oauth/index.ts';
import { organizationsGuardedTables } from '../../src/service/organizations/index.ts';
import { createTrust, trustGuardedTables, type Trust } from '../../src/service/trust/index.ts';
import { createWebhooks, webhookGuardedTables, type Webhooks } from '../../src/service/webhook/index.ts';
import { createMigratedDatabase, type TestDatabase } from '../support/storage.ts';

const tables = [
  ...organizationsGuardedTables,
  ...oauthGuardedTables,
  ...trustGuardedTables,
  ...webhookGuardedTables,
];
const clock = createManualClock(new Date('2026-05-01T00:00:00Z'));
const vault = createVault(randomBytes(32));
const domain = 'direct.example.org';
const bob = parseDirectAddress(`bob@${domain}`);

interface Services {
  readonly audit: Audit;
  readonly oauth: Oauth;
  readonly trust: Trust;
  readonly webhooks: Webhooks;
}

let database: TestDatabase;
let storage: Storage;
let alarms: string[] = [];
let anchor: Uint8Array;
let ownCertificate: Uint8Array;
let ownKeys: KeyPair;

const log: Log = {
  ...silentLog,
  error: (fields) => void alarms.push(`${String(fields['table'])}:${String(fields['row'])}`),
};

const audits: Audit[] = [];

/** As after a restart: nothing is cached. */
function openServices(): Services {
  const audit = createAudit({ storage, vault, clock, log });
  audits.push(audit);
  const common = { storage, vault, clock, audit };
  return {
    audit,
    oauth: createOauth(common),
    trust: createTrust(common),
    webhooks: createWebhooks({
      ...common,
      log,
      post: () => Promise.reject(new TypeError('nothing is sent here')),
      isLoopbackAllowed: true,
    }),
  };
}

before(async () => {
  database = await createMigratedDatabase();
  storage = await database.open();
  await storage.migrate();
  const validity = { notBefore: new Date('2025-01-01'), notAfter: new Date('2030-01-01') };
  const caKeys = await createKeyPair();
  const authority = createAuthority({
    subject: [['CN', 'Test CA']],
    publicKey: caKeys.publicKey,
    privateKey: caKeys.privateKey,
    ...validity,
  });
  anchor = authority.der;
  ownKeys = await createKeyPair();
  ownCertificate = issueDirectCertificate({
    issuer: { certificate: authority, privateKey: caKeys.privateKey },
    boundTo: { domain },
    publicKey: ownKeys.publicKey,
    ...validity,
  }).der;
});

after(async () => {
  // What waits to be written would be tried for ever once the storage is closed.
  for (const audit of audits) await audit.close();
  await storage.close();
});

const isRefused = (error: unknown): boolean =>
  error instanceof CodedError && error.code === 'INTEGRITY_ROW_CHANGED';

function basic(clientId: string, secret: string) {
  return {
    authorization: `Basic ${Buffer.from(`${clientId}:${secret}`).toString('base64')}`,
    contentType: 'application/x-www-form-urlencoded',
    body: Buffer.from('grant_type=client_credentials'),
    query: '',
    remoteAddress: '192.0.2.1',
    requestId: 'r1',
  };
}

test('a row of every table carries its MAC from the start', async () => {
  const { trust, oauth, webhooks } = openServices();
  const { clientId } = await oauth.clients.create({ name: 'Old', scopes: ['messaging.api'] });
  await trust.addDomain(domain);
  await trust.putAddress(bob);
  await trust.addKeyPair(domain, ownCertificate, ownKeys.privateKey);
  await trust.addAnchor(domain, anchor);
  await trust.addBundle({ domain, url: 'https://bundles.example.org/b.p7b' });
  await webhooks.create(clientId, { url: 'http://127.0.0.1:9/hook', eventTypes: ['message.sent'] });
  const report = await findChangedRows(storage.db, vault, tables);
  assert.deepEqual(report, { rowCount: 8, changed: [] });
  await webhooks.close();
});

interface Trick {
  readonly name: string;
  readonly sql: string;
  readonly undo: string;
  use(services: Services): Promise<unknown>;
}

const changes: readonly Trick[] = [
  {
    name: 'hosted_domain: added',
    sql: "insert into hosted_domain (domain, created_at) values ('evil.example.org', 1)",
    undo: "delete from hosted_domain where domain = 'evil.example.org'",
    use: ({ trust }) => trust.isHostedDomain('evil.example.org'),
  },
  {
    name: 'hosted_address: enabled',
    sql: "update hosted_address set status = 'disabled'",
    undo: "update hosted_address set status = 'active'",
    use: ({ trust }) => trust.findAddress(bob),
  },
  {
    name: 'hosted_address: added',
    sql: `insert into hosted_address (address_key, address, domain, status, created_at)
      values ('eve@${domain}', 'eve@${domain}', '${domain}', 'active', 1)`,
    undo: `delete from hosted_address where address_key = 'eve@${domain}'`,
    use: ({ trust }) => trust.findAddress(parseDirectAddress(`eve@${domain}`)),
  },
  {
    name: 'trust_anchor: another direction',
    sql: "update trust_anchor set direction = 'incoming'",
    undo: "update trust_anchor set direction = 'both'",
    use: ({ trust }) => trust.findAnchors(domain, 'incoming'),
  },
  {
    name: 'key_pair: retired',
    sql: "update key_pair set status = 'retired'",
    undo: "update key_pair set status = 'active'",
    use: ({ trust }) => trust.findSigningKeys(bob),
  },
  {
    name: 'key_pair: given to another owner',
    sql: `update key_pair set owner = 'bob@${domain}'`,
    undo: `update key_pair set owner = '${domain}'`,
    use: ({ trust }) => trust.findDecryptionKeys([bob]),
  },
];

for (const { name, sql, undo, use } of changes) {
  test(`refused in use and reported once: ${name}`, async () => {
    alarms = [];
    await use(openServices());
    await database.runRaw(sql);
    const services = openServices();
    await assert.rejects(use(services), isRefused);
    await assert.rejects(use(services), isRefused);
    const [table] = name.split(':');
    assert.equal(alarms.length, 1);
    assert.match(alarms[0] ?? '', new RegExp(`^${table}:`));
    await services.audit.flush();
    assert.equal((await services.audit.find({ action: 'integrity.refuse' }))[0]?.objects['table'], table);
    const { changed } = await findChangedRows(storage.db, vault, tables);
    assert.deepEqual(
      changed.map((row) => row.table),
      [table],
    );
    await database.runRaw(undo);
    await use(openServices());
  });
}

test('a trust bundle that was pointed elsewhere is not fetched', async () => {
  await database.runRaw("update trust_bundle set url = 'https://evil.example.org/b.p7b'");
  let fetched = 0;
  const { trust } = openServices();
  const fetch = () => {
    fetched++;
    return Promise.reject(new TypeError('not reached'));
  };
  const [result] = await trust.refreshBundles(fetch, silentLog);
  assert.deepEqual([result?.outcome, fetched], ['failed', 0]);
  await database.runRaw("update trust_bundle set url = 'https://bundles.example.org/b.p7b'");
});

test('a client with more rights, another secret, or a token that was inserted by hand gets nowhere', async () => {
  const { oauth } = openServices();
  const { clientId, clientSecret } = await oauth.clients.create({
    name: 'EHR',
    scopes: ['provider-directory'],
  });
  const other = await oauth.clients.create({ name: 'Other', scopes: ['messaging.api'] });
  const request = basic(clientId, clientSecret);
  const { accessToken } = await oauth.issueToken(request);
  await oauth.authenticate(`Bearer ${accessToken}`, 'provider-directory');

  await database.runRaw(
    `update oauth_client set scopes = 'provider-directory messaging.api' where client_id = '${clientId}'`,
  );
  await assert.rejects(openServices().oauth.issueToken(request), isRefused);
  await assert.rejects(
    openServices().oauth.authenticate(`Bearer ${accessToken}`, 'messaging.api'),
    isRefused,
  );
  await assert.rejects(openServices().oauth.clients.update(clientId, { name: 'New' }), isRefused);
  await database.runRaw(
    `update oauth_client set scopes = 'provider-directory' where client_id = '${clientId}'`,
  );

  await database.runRaw(
    `update oauth_client set direct_addresses = '["@${domain}"]' where client_id = '${clientId}'`,
  );
  await assert.rejects(openServices().oauth.clients.get(clientId), isRefused);
  await database.runRaw(`update oauth_client set direct_addresses = '[]' where client_id = '${clientId}'`);

  await database.runRaw(`update oauth_token set client_id = '${other.clientId}', scopes = 'messaging.api'`);
  await assert.rejects(
    openServices().oauth.authenticate(`Bearer ${accessToken}`, 'messaging.api'),
    isRefused,
  );
  await database.runRaw('delete from oauth_token');

  await database.runRaw(
    `update oauth_secret set client_id = '${clientId}' where client_id = '${other.clientId}'`,
  );
  await assert.rejects(openServices().oauth.issueToken(request), isRefused);
  await database.runRaw(
    `update oauth_secret set client_id = '${other.clientId}' where secret_id = '${other.secretId}'`,
  );
  await openServices().oauth.issueToken(request);
  assert.deepEqual((await findChangedRows(storage.db, vault, tables)).changed, []);
});

test('a webhook that was pointed elsewhere is off: nothing is queued for it, its client continues', async () => {
  const { oauth, webhooks, audit } = openServices();
  const { clientId } = await oauth.clients.create({ name: 'Hooked', scopes: ['messaging.api'] });
  const { webhook } = await webhooks.create(clientId, {
    url: 'http://127.0.0.1:9/hook',
    kind: 'inbound',
  });
  await database.runRaw(`update webhook set url = 'http://127.0.0.1:9/evil' where id = '${webhook.id}'`);
  const later = openServices();
  await storage.transaction((tx) => later.webhooks.notifyInboundIn(tx, clientId, 'copy'));
  const queued = await storage
    .tables<{ webhook_notification: { id: string } }>()
    .selectFrom('webhook_notification')
    .select('id')
    .execute();
  assert.deepEqual(queued, []);
  await assert.rejects(later.webhooks.update(clientId, webhook.id, { description: 'x' }), isRefused);
  assert.match(alarms.at(-1) ?? '', /^webhook:/);
  // An operator has examined it, and takes it as it is.
  await acceptRow(
    { storage, vault, audit },
    tables,
    { table: 'webhook', row: webhook.id },
    'moved by the DBA',
  );
  const accepted = openServices();
  await accepted.webhooks.update(clientId, webhook.id, { description: 'x' });
  assert.equal((await audit.find({ action: 'integrity.accept' }))[0]?.objects['reason'], 'moved by the DBA');
  for (const one of [webhooks, later.webhooks, accepted.webhooks]) await one.close();
});

test('changes by the service keep every MAC valid', async () => {
  const { oauth, trust, webhooks } = openServices();
  const { clientId } = await oauth.clients.create({ name: 'Busy', scopes: ['messaging.api'] });
  await oauth.clients.update(clientId, { name: 'Busier', directAddresses: [`@${domain}`] });
  await oauth.clients.rotateSecret(clientId);
  await oauth.clients.disable(clientId);
  await oauth.clients.enable(clientId);
  await trust.putAddress(bob, 'disabled');
  await trust.putAddress(bob);
  const [key] = await trust.listKeyPairs(domain);
  await trust.retireKeyPair(key?.id ?? '', { isForced: true });
  const { webhook } = await webhooks.create(clientId, {
    url: 'http://127.0.0.1:9/h',
    eventTypes: ['message.sent'],
  });
  await webhooks.update(clientId, webhook.id, { enabled: false });
  await webhooks.hooks.rotateSecret(clientId, webhook.id);
  await webhooks.close();
  assert.deepEqual((await findChangedRows(storage.db, vault, tables)).changed, []);
});
