/** Operators' own passkeys, with a virtual authenticator: listed, added, named and removed by their owner alone, after a fresh sign-in. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, CDPSession, Page } from 'playwright-core';
import {
  addAuthenticator,
  fetchInPage,
  reasonOf,
  useAuthenticator,
  type PageAnswer,
} from './authenticator.ts';
import { needsBrowser, openBrowser } from '../support/browser.ts';
import type { OwnPasskey } from '../../src/app/console/contract/index.ts';
import { startTestConsole, type TestConsole } from './start-console.ts';

const readAll = async (cdp: CDPSession, authenticatorId: string) =>
  (await cdp.send('WebAuthn.getCredentials', { authenticatorId })).credentials;
type Credential = Awaited<ReturnType<typeof readAll>>[number];

describe('own passkeys', needsBrowser, () => {
  let console_: TestConsole;
  let browser: Browser;
  let page: Page;
  let cdp: CDPSession;
  let authenticatorId: string;

  before(async () => {
    console_ = await startTestConsole();
    browser = await openBrowser();
    page = await browser.newPage();
    await page.goto(console_.url);
    ({ cdp, authenticatorId } = await addAuthenticator(page));
  });
  after(async () => {
    await browser?.close();
    await console_?.close();
  });

  const fetchHere = (method: string, target: string, body?: unknown): Promise<PageAnswer> =>
    fetchInPage(page, method, target, body);

  async function makeEnrolmentLink(name: string): Promise<string> {
    const { store, links } = console_.hisp.operators;
    const { id } = (await store.find(name)) ?? (await store.create(name, 'help-desk'));
    return (await links.create(id, name, 'enrol')).token;
  }

  async function enrol(token: string): Promise<PageAnswer> {
    const { body } = await fetchHere('POST', '/admin/v1/enrol/passkey/options', { token });
    const response = await useAuthenticator(page, 'create', body);
    return fetchHere('POST', '/admin/v1/enrol/passkey/verify', { token, response });
  }

  async function signIn(): Promise<PageAnswer> {
    const { body } = await fetchHere('POST', '/admin/v1/sign-in/passkey/options', {});
    const credential = await useAuthenticator(page, 'get', body);
    return fetchHere('POST', '/admin/v1/sign-in/passkey/verify', credential);
  }

  const signOut = (): Promise<PageAnswer> => fetchHere('DELETE', '/admin/v1/session');
  const store = (name: string) => console_.hisp.operators.store.get(name);

  /** Signs in by a passkey that was registered elsewhere, so that the cookie of this browser's ceremony is not used up. */
  async function enrolWithoutCeremony(name: string): Promise<void> {
    const cookies = await page.context().cookies();
    await useNewDevice();
    assert.equal((await enrol(await makeEnrolmentLink(name))).status, 200);
    const ceremony = cookies.filter((cookie) => cookie.name.startsWith('openhisp_sign_in'));
    assert.equal(ceremony.length, 1);
    await page.context().addCookies(ceremony);
  }

  const begin = (): Promise<PageAnswer> => fetchHere('POST', '/admin/v1/passkeys/options', {});
  const rename = (id: string, name: unknown): Promise<PageAnswer> =>
    fetchHere('PATCH', `/admin/v1/passkeys/${id}`, { name });
  const remove = (id: string): Promise<PageAnswer> => fetchHere('DELETE', `/admin/v1/passkeys/${id}`, {});
  const list = async () => (await fetchHere('GET', '/admin/v1/passkeys')).body['result'] as OwnPasskey[];
  const codeOf = (answer: PageAnswer): unknown[] => [answer.status, reasonOf(answer)];

  /** As a device that has no passkey yet. */
  const useNewDevice = (): Promise<unknown> => cdp.send('WebAuthn.clearCredentials', { authenticatorId });

  async function add(name: string): Promise<PageAnswer> {
    await useNewDevice();
    const { status, body } = await begin();
    assert.equal(status, 200);
    const response = await useAuthenticator(page, 'create', body);
    return fetchHere('POST', '/admin/v1/passkeys', { name, response });
  }

  async function readCredential(): Promise<Credential> {
    const [credential] = await readAll(cdp, authenticatorId);
    assert.ok(credential);
    return credential;
  }

  async function useCredential(credential: Credential): Promise<void> {
    await useNewDevice();
    await cdp.send('WebAuthn.addCredential', { authenticatorId, credential });
  }

  async function enterByLink(name: string): Promise<void> {
    const { store, links } = console_.hisp.operators;
    const { id } = await store.get(name);
    const { token } = await links.create(id, name, 'sign-in');
    assert.equal((await fetchHere('POST', '/admin/v1/sign-in/link', { token })).status, 200);
  }

  test('are named by their owner, in plain characters', async () => {
    assert.equal((await enrol(await makeEnrolmentLink('Ada'))).status, 200);
    const [first] = await list();
    assert.ok(first);
    assert.equal(first.name, '');
    const named = await rename(first.id, '  Ada’s phone ');
    assert.deepEqual([named.status, named.body['name']], [200, 'Ada’s phone']);
    assert.deepEqual(
      (await list()).map(({ name }) => name),
      ['Ada’s phone'],
    );
    for (const name of ['<img src=x>', 'a\u202eb', '=cmd()', 'a\u0000b', ' ', 'x'.repeat(61), 7])
      assert.equal((await rename(first.id, name)).status, 400, JSON.stringify(name));
    const [row] = await console_.audited('operator.passkey-name');
    assert.deepEqual([row?.['actor'], row?.['name']], ['operator:Ada', 'Ada’s phone']);
    const [stored] = await console_.hisp.audit.find({ action: 'operator.passkey-name' });
    const [begun] = await console_.audited('console.sign-in');
    assert.deepEqual(
      [stored?.channel, stored?.session, stored?.remoteAddress, stored?.isClaimed],
      ['console', begun?.['session'], '127.0.0.1', false],
    );
    // The name is no part of the MAC: the passkey still signs in.
    assert.equal((await signIn()).status, 200);
  });

  test('the only one is not removed; another one is added first', async () => {
    const [first] = await list();
    assert.ok(first);
    const refused = await remove(first.id);
    assert.deepEqual(codeOf(refused), [409, 'operators_passkey_last']);
    assert.match(JSON.stringify(refused.body), /Add another one first/);
    const old = await readCredential();
    const added = await add('Security key');
    assert.deepEqual([added.status, added.body['name']], [201, 'Security key']);
    assert.equal((await remove(first.id)).status, 204);
    assert.deepEqual(
      (await list()).map(({ name }) => name),
      ['Security key'],
    );
    for (const action of ['operator.passkey-add', 'operator.passkey-remove'])
      assert.equal((await console_.audited(action))[0]?.['actor'], 'operator:Ada', action);
    const second = await readCredential();
    await signOut();
    await useCredential(old);
    assert.equal((await signIn()).status, 401);
    await useCredential(second);
    assert.equal((await signIn()).status, 200);
  });

  test('are added and removed for five minutes after a sign-in by passkey, and not by a link or a token', async () => {
    const [only] = await list();
    assert.ok(only);
    console_.clock.advance(299_000);
    assert.equal((await begin()).status, 200);
    console_.clock.advance(2000);
    assert.deepEqual(codeOf(await begin()), [403, 'operators_sign_in_stale']);
    assert.deepEqual(codeOf(await remove(only.id)), [403, 'operators_sign_in_stale']);
    const late = await fetchHere('POST', '/admin/v1/passkeys', { name: 'late', response: {} });
    assert.deepEqual(codeOf(late), [403, 'operators_sign_in_stale']);
    assert.equal((await rename(only.id, 'Key')).status, 200);
    await signIn();
    assert.equal((await begin()).status, 200);
    await enterByLink('Ada');
    assert.deepEqual(codeOf(await begin()), [403, 'operators_sign_in_stale']);
    const { store, tokens } = console_.hisp.operators;
    const issued = await tokens.create(await store.get('Ada'), { label: 'test', lifetimeMs: 60_000 });
    const script = await console_.ask('POST', '/admin/v1/passkeys/options', {
      body: {},
      headers: { authorization: `Bearer ${issued.token}` },
    });
    assert.deepEqual([script.status, reasonOf(script)], [403, 'operators_sign_in_stale']);
    assert.equal((await signIn()).status, 200);
  });

  test('of another operator are neither listed nor changed', async () => {
    const [adas] = await list();
    assert.ok(adas);
    await useNewDevice();
    assert.equal((await enrol(await makeEnrolmentLink('Bea'))).status, 200);
    assert.equal((await list()).length, 1);
    assert.notEqual((await list())[0]?.id, adas.id);
    assert.deepEqual(codeOf(await rename(adas.id, 'mine')), [404, 'operators_passkey_unknown']);
    assert.deepEqual(codeOf(await remove(adas.id)), [404, 'operators_passkey_unknown']);
    assert.equal((await console_.hisp.operators.passkeys.list((await store('Ada')).id)).length, 1);
  });

  test('a started registration serves its operator, once, and its failure keeps the session', async () => {
    const bea = await readCredential();
    const started = await begin();
    await useNewDevice();
    const response = await useAuthenticator(page, 'create', started.body);
    // The cookie of the ceremony stays in the browser while somebody else signs in.
    await enrolWithoutCeremony('Cleo');
    const foreign = await fetchHere('POST', '/admin/v1/passkeys', { name: 'foreign', response });
    assert.deepEqual(codeOf(foreign), [400, 'operators_passkey_not_added']);
    const malformed = await fetchHere('POST', '/admin/v1/passkeys', { name: 'x', response: {} });
    assert.deepEqual(codeOf(malformed), [400, 'operators_passkey_not_added']);
    assert.equal((await fetchHere('GET', '/admin/v1/session')).status, 200);
    await useCredential(bea);
    assert.equal((await signIn()).status, 200);
    const added = await add('Second');
    assert.equal(added.status, 201);
    assert.equal((await list()).length, 2);
  });

  test('of two removals at a time, one is refused', async () => {
    const [one, other] = await list();
    assert.ok(one && other);
    const answers = await Promise.all([remove(one.id), remove(other.id)]);
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([204, 409]));
    assert.equal((await list()).length, 1);
  });
});
