/** The console behind a proxy that speaks TLS, under a name of this machine, and that its rows are covered by what examines an installation. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { choosePort } from '../../src/app/dev/index.ts';
import { guardedTables } from '../../src/app/server/index.ts';
import { findChangedRows } from '../../src/service/integrity/index.ts';
import { needsBrowser, openBrowser } from '../support/browser.ts';
import { addAuthenticator, fetchInPage, useAuthenticator } from './authenticator.ts';
import { startTestConsole, type TestConsole } from './start-console.ts';

const publicUrl = 'https://console.example.org';
const browser = { host: 'console.example.org', origin: publicUrl };

let console_: TestConsole;
before(async () => {
  console_ = await startTestConsole({
    'console.port': String(await choosePort(['127.0.0.1'], 0)),
    'console.publicUrl': publicUrl,
    'console.isBehindTlsProxy': 'true',
    'console.trustedProxies': '127.0.0.1',
  });
});
after(() => console_.close());

/** By the listener's own port, with what a proxy passes on. */
const ask = (method: string, target: string, body?: unknown, more: Record<string, string> = {}) =>
  console_.ask(method, target, { ...(body !== undefined && { body }), headers: { ...browser, ...more } });

test('cookies are Secure and bound to the host, and HSTS is set', async () => {
  const token = await console_.makeOperator('Gil');
  const answer = await ask('POST', '/admin/v1/sign-in/link', { token });
  assert.equal(answer.status, 200, answer.text);
  assert.match(
    answer.setCookies[0] ?? '',
    /^__Host-openhisp_session=[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
  );
  assert.equal(answer.headers['strict-transport-security'], 'max-age=31536000');
});

test('plain HTTP to the name, and the address on loopback, are another origin', async () => {
  const token = await console_.makeOperator('Hal');
  for (const origin of ['http://console.example.org', 'https://console.example.org:8443', 'http://localhost'])
    assert.equal((await ask('POST', '/admin/v1/sign-in/link', { token }, { origin })).status, 403, origin);
  assert.equal((await ask('POST', '/admin/v1/sign-in/link', { token })).status, 200);
});

test('passkeys belong to the name, and failures are counted by the network that the proxy names', async () => {
  const options = await ask('POST', '/admin/v1/sign-in/passkey/options', {});
  assert.equal(options.body['rpId'], 'console.example.org');
  const from = (address: string) =>
    ask('POST', '/admin/v1/sign-in/link', { token: 'wrong' }, { 'x-forwarded-for': address });
  for (let index = 0; index < 20; index++) assert.equal((await from('198.51.100.1')).status, 401);
  assert.equal((await from('198.51.100.1')).status, 429);
  assert.equal((await from('203.0.113.1')).status, 401);
  assert.equal((await console_.audited('console.sign-in'))[0]?.['outcome'], 'refused');
});

test('a standing link does not work through the proxy', async () => {
  const { id } = await console_.hisp.operators.store.create('Ida', 'operator');
  const token = console_.hisp.operators.signIn.openStandingLink(id);
  const far = { 'x-forwarded-for': '203.0.113.5' };
  assert.equal((await ask('POST', '/admin/v1/sign-in/link', { token }, far)).status, 401);
});

test('verify covers every table that decides who gets in', async () => {
  const { operators, storage, vault } = console_.hisp;
  const operator = await operators.store.create('Jo', 'help-desk');
  await operators.links.create(operator.id, operator.name, 'enrol');
  await operators.tokens.create(operator, { label: 'x', lifetimeMs: 1000 });
  const tables = guardedTables.filter(({ table }) => table.startsWith('console_'));
  assert.equal(tables.length, 5);
  assert.deepEqual((await findChangedRows(storage.db, vault, tables)).changed, []);
  const changes = {
    console_operator: { role: 'auditor' },
    console_link: { purpose: 'sign-in' },
    console_token: { expires_at: 9_999_999_999_999 },
    console_session: { expires_at: 9_999_999_999_999 },
  };
  for (const [table, values] of Object.entries(changes)) {
    await storage.tables<Record<string, Record<string, unknown>>>().updateTable(table).set(values).execute();
    const { changed } = await findChangedRows(storage.db, vault, tables);
    assert.ok(
      changed.some((row) => row.table === table),
      table,
    );
  }
});

test(
  'under a name of this machine its cookies go to no other port, and passkeys belong to the name',
  needsBrowser,
  async (t) => {
    const port = await choosePort(['127.0.0.1'], 0);
    const url = `http://openhisp.localhost:${port}`;
    const local = await startTestConsole({ 'console.port': String(port), 'console.publicUrl': url });
    t.after(() => local.close());
    const cookies: (string | undefined)[] = [];
    const other = createServer(({ headers }, response) => {
      cookies.push(headers.cookie);
      response.setHeader('Set-Cookie', 'own=1');
      response.end('other');
    }).listen(0, '127.0.0.1');
    t.after(() => other.close());
    const browser = await openBrowser();
    t.after(() => browser.close());
    const page = await browser.newPage();
    await page.goto(`http://localhost:${port}/`);
    assert.equal(new URL(page.url()).origin, url);
    await addAuthenticator(page);
    const { store, links } = local.hisp.operators;
    const { id } = await store.create('Ada', 'help-desk');
    const { token } = await links.create(id, 'Ada', 'enrol');
    const begun = await fetchInPage(page, 'POST', '/admin/v1/enrol/passkey/options', { token });
    const response = await useAuthenticator(page, 'create', begun.body);
    const enrolled = await fetchInPage(page, 'POST', '/admin/v1/enrol/passkey/verify', { token, response });
    assert.equal(enrolled.status, 200);
    await fetchInPage(page, 'DELETE', '/admin/v1/session');
    const options = await fetchInPage(page, 'POST', '/admin/v1/sign-in/passkey/options', {});
    assert.equal(options.body['rpId'], 'openhisp.localhost');
    const credential = await useAuthenticator(page, 'get', options.body);
    assert.equal(
      (await fetchInPage(page, 'POST', '/admin/v1/sign-in/passkey/verify', credential)).status,
      200,
    );
    const { port: otherPort } = other.address() as AddressInfo;
    for (let count = 0; count < 2; count++) await page.goto(`http://localhost:${otherPort}/`);
    assert.deepEqual([cookies[0], cookies.at(-1)], [undefined, 'own=1']);
    await page.goto(url);
    assert.equal((await fetchInPage(page, 'GET', '/admin/v1/session')).status, 200);
  },
);
