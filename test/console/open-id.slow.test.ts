/** Sign-in by a real OpenID provider in a real browser, and what of its answers is refused. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { choosePort } from '../../src/app/dev/index.ts';
import { needsBrowser, openBrowser } from '../support/browser.ts';
import { startProvider, type TestProvider } from './open-id-provider.ts';
import { cookieOf, startTestConsole, type TestConsole } from './start-console.ts';

const callbackPath = '/admin/v1/sign-in/oidc/callback';

describe('OpenID Connect', needsBrowser, () => {
  let provider: TestProvider;
  let console_: TestConsole;
  let browser: Browser;
  const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-openid-'));

  before(async () => {
    const port = await choosePort(['127.0.0.1'], 0);
    provider = await startProvider(`http://localhost:${port}${callbackPath}`);
    const secretFile = path.join(folder, 'secret');
    writeFileSync(secretFile, `${provider.clientSecret}\n`, { mode: 0o600 });
    console_ = await startTestConsole({
      'console.port': String(port),
      'console.oidc.issuer': provider.issuer,
      'console.oidc.name': 'Riverside',
      'console.oidc.clientId': provider.clientId,
      'console.oidc.clientSecretFile': secretFile,
      'console.oidc.scopes': 'openid,profile,groups',
      'console.oidc.roleMap': 'hisp-operators=operator,hisp-desk=help-desk',
    });
    browser = await openBrowser();
  });
  after(async () => {
    await browser?.close();
    await console_?.close();
    await provider?.close();
    rmSync(folder, { recursive: true, maxRetries: 5 });
  });

  /** Signs in at the provider as somebody with a fresh browser; returns where it ended, and what the console was sent. */
  async function signIn(name: string, after_ = '/queue') {
    const context = await browser.newContext();
    const page = await context.newPage();
    let callback = '';
    page.on('request', (request) => {
      if (request.url().includes(callbackPath)) callback = request.url();
    });
    const target = `${console_.url}/admin/v1/sign-in/oidc?after=${encodeURIComponent(after_)}`;
    await page.goto(target);
    await page.locator('input[name=login]').fill(name);
    await page.locator('input[name=password]').fill('any');
    await page.locator('button[type=submit]').click();
    // Consent. The console's page may be the one that says that it is not built.
    await Promise.all([page.waitForURL(`${console_.url}/**`), page.locator('button[type=submit]').click()]);
    return { context, page, callback, ended: page.url() };
  }

  const whoAmI = (page: Page): Promise<unknown> =>
    page.evaluate(`fetch('/admin/v1/session').then(async (response) =>
      response.ok ? (await response.json()).operator : response.status)`);

  async function cookiesOf(context: BrowserContext) {
    const all = await context.cookies(console_.url);
    return all.filter(({ name }) => name.startsWith('openhisp'));
  }

  const locationOf = (answer: { headers: Readonly<Record<string, unknown>> }): string =>
    String(answer.headers['location']);

  test('the sign-in page gets the name of the provider', async () => {
    const { body } = await console_.ask('GET', '/admin/v1/sign-in/methods');
    assert.deepEqual(body, { passkey: true, oidc: { name: 'Riverside' } });
  });

  test('gives a session with the role of the claim, and comes back to where it was begun', async () => {
    provider.accounts.set('ann', { groups: ['staff', 'hisp-desk'] });
    const { context, page, ended } = await signIn('ann', '/queue?state=held');
    try {
      assert.equal(ended, `${console_.url}/queue?state=held`);
      const { id } = await console_.hisp.operators.store.get('ann');
      assert.deepEqual(await whoAmI(page), {
        id,
        name: 'ann (OpenID)',
        role: 'help-desk',
        organization: null,
      });
      const cookies = await cookiesOf(context);
      assert.deepEqual(
        cookies.map(({ sameSite, httpOnly }) => [sameSite, httpOnly]),
        [['Strict', true]],
      );
      assert.doesNotMatch(ended, /code=|state=[\w-]{43}/);
    } finally {
      await context.close();
    }
    const [row] = await console_.audited('console.sign-in');
    assert.deepEqual([row?.['actor'], row?.['method']], ['operator:ann (OpenID)', 'oidc']);
  });

  test('the role follows the claim at the next sign-in; without one nobody gets in', async () => {
    provider.accounts.set('bob', { groups: 'hisp-desk' });
    const first = await signIn('bob');
    provider.accounts.set('bob', { groups: ['hisp-desk', 'hisp-operators'] });
    const second = await signIn('bob');
    assert.equal(((await whoAmI(second.page)) as { role: string }).role, 'operator');
    assert.equal(((await whoAmI(first.page)) as { role: string }).role, 'operator');
    provider.accounts.set('bob', { groups: ['staff'] });
    const third = await signIn('bob');
    assert.equal(third.ended, `${console_.url}/sign-in?problem=OPERATORS_ROLE_MISSING`);
    for (const { page } of [first, second, third]) assert.equal(await whoAmI(page), 401);
    assert.deepEqual(await cookiesOf(third.context), []);
    for (const { context } of [first, second, third]) await context.close();
    const changes = await console_.audited('operator.role');
    assert.deepEqual(
      changes.map(({ actor, operator, from, to }) => [actor, operator, from, to]),
      [['system', 'bob (OpenID)', 'help-desk', 'operator']],
    );
  });

  test('an answer works once, and only for the browser that asked', async () => {
    provider.accounts.set('cyd', { groups: ['hisp-desk'] });
    const { context, callback } = await signIn('cyd');
    await context.close();
    const answer = new URL(callback);
    const target = `${answer.pathname}${answer.search}`;
    const lost = await console_.ask('GET', target);
    assert.equal(locationOf(lost), `${console_.url}/sign-in?problem=OPERATORS_CEREMONY_INVALID`);
    // Somebody else's answer in a browser that has begun a sign-in: the state is not that browser's.
    const begun = await console_.ask('GET', '/admin/v1/sign-in/oidc');
    const cookie = cookieOf(begun);
    const mixed = await console_.ask('GET', target, { cookie });
    assert.equal(locationOf(mixed), `${console_.url}/sign-in?problem=OPERATORS_PROVIDER_REFUSED`);
    // And that consumed the started sign-in.
    const again = await console_.ask('GET', `${callbackPath}?code=x&state=y`, { cookie });
    assert.equal(locationOf(again), `${console_.url}/sign-in?problem=OPERATORS_CEREMONY_INVALID`);
    for (const { setCookies } of [lost, mixed, again])
      assert.ok(!setCookies.some((text) => text.startsWith('openhisp_session')));
  });

  test('asks with PKCE, state and nonce, and ties them to a short-lived cookie', async () => {
    const begun = await console_.ask('GET', '/admin/v1/sign-in/oidc');
    const { origin, searchParams } = new URL(locationOf(begun));
    assert.equal(origin, provider.issuer);
    assert.equal(searchParams.get('code_challenge_method'), 'S256');
    for (const name of ['code_challenge', 'state', 'nonce'])
      assert.match(searchParams.get(name) ?? '', /^[\w-]{43}$/);
    assert.match(begun.setCookies[0] ?? '', /Max-Age=600; Path=\/; HttpOnly; SameSite=Lax$/);
    // Nothing that the provider or a log sees is the cookie itself.
    assert.ok(!locationOf(begun).includes(cookieOf(begun).split('=')[1] ?? ' '));
  });

  test('never leads elsewhere afterwards', async () => {
    provider.accounts.set('dan', { groups: ['hisp-desk'] });
    for (const target of [
      '//evil.example/',
      'https://evil.example/',
      '/\\evil.example',
      'javascript:alert(1)',
    ]) {
      const { context, ended } = await signIn('dan', target);
      await context.close();
      assert.equal(ended, `${console_.url}/`, target);
    }
  });

  test('somebody with the name of an operator of this HISP does not become that operator', async () => {
    await console_.hisp.operators.store.create('Eve', 'operator');
    provider.accounts.set('eve', { groups: ['hisp-operators'] });
    const { context, page, ended } = await signIn('eve');
    assert.equal(ended, `${console_.url}/sign-in?problem=OPERATORS_NAME_TAKEN`);
    assert.equal(await whoAmI(page), 401);
    await context.close();
  });

  test('an operator of the provider can be disabled here, but gets neither a link nor a role', async () => {
    provider.accounts.set('fay', { groups: ['hisp-desk'] });
    const first = await signIn('fay');
    const { store, links } = console_.hisp.operators;
    const { id } = await store.get('fay');
    await assert.rejects(links.create(id, 'fay', 'enrol'), { code: 'OPERATORS_EXTERNAL' });
    await assert.rejects(store.setRole('fay', 'operator'), { code: 'OPERATORS_EXTERNAL' });
    await store.disable('fay');
    assert.equal(await whoAmI(first.page), 401);
    const second = await signIn('fay');
    assert.equal(second.ended, `${console_.url}/sign-in?problem=OPERATORS_SESSION_INVALID`);
    for (const { context } of [first, second]) await context.close();
  });

  test('a token whose signature does not fit lets nobody in, whatever the connection', async () => {
    provider.accounts.set('gil', { groups: ['hisp-operators'] });
    provider.forgeSignatures(true);
    const forged = await signIn('gil');
    provider.forgeSignatures(false);
    assert.equal(forged.ended, `${console_.url}/sign-in?problem=OPERATORS_PROVIDER_REFUSED`);
    assert.equal(await whoAmI(forged.page), 401);
    const real = await signIn('gil');
    assert.equal(((await whoAmI(real.page)) as { name: string }).name, 'gil (OpenID)');
    for (const { context } of [forged, real]) await context.close();
  });

  test('a provider that cannot be reached is said so, and passkeys go on', async () => {
    const away = await startTestConsole({
      'console.oidc.issuer': `http://127.0.0.1:${await choosePort(['127.0.0.1'], 0)}`,
      'console.oidc.clientId': 'x',
      'console.oidc.roleMap': 'a=operator',
    });
    try {
      const begun = await away.ask('GET', '/admin/v1/sign-in/oidc');
      assert.equal(locationOf(begun), `${away.url}/sign-in?problem=OPERATORS_PROVIDER_UNREACHABLE`);
      const passkey = await away.ask('POST', '/admin/v1/sign-in/passkey/options', { body: {} });
      assert.equal(passkey.status, 200);
    } finally {
      await away.close();
    }
  });
});
