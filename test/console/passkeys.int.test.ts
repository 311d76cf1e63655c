/** Passkeys in a real browser with a virtual authenticator: registered by a one-time link, used to sign in, and what is refused. */
import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
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
import { cookieOf, startTestConsole, type Answer, type TestConsole } from './start-console.ts';

describe('passkeys', needsBrowser, () => {
  let console_: TestConsole;
  let browser: Browser;
  let page: Page;
  let cdp: CDPSession;
  let authenticatorId: string;
  let elsewhere: Server;

  before(async () => {
    console_ = await startTestConsole();
    elsewhere = createServer((_request, response) => response.end('<!doctype html>elsewhere'));
    await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', () => resolve()));
    browser = await openBrowser();
    page = await browser.newPage();
    await page.goto(console_.url);
    ({ cdp, authenticatorId } = await addAuthenticator(page));
  });
  after(async () => {
    await browser?.close();
    elsewhere?.close();
    await console_?.close();
  });

  const fetchHere = (method: string, target: string, body?: unknown): Promise<PageAnswer> =>
    fetchInPage(page, method, target, body);

  const getCredential = (options: unknown): Promise<unknown> => useAuthenticator(page, 'get', options);

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

  async function signIn(change: (options: Record<string, unknown>) => object = (same) => same) {
    const { body } = await fetchHere('POST', '/admin/v1/sign-in/passkey/options', {});
    const credential = await getCredential(change({ ...body }));
    return fetchHere('POST', '/admin/v1/sign-in/passkey/verify', credential);
  }

  const signOut = (): Promise<PageAnswer> => fetchHere('DELETE', '/admin/v1/session');
  const whoAmI = async (): Promise<unknown> => {
    const { status, body } = await fetchHere('GET', '/admin/v1/session');
    return status === 200 ? (body['operator'] as { name: string }).name : status;
  };

  /** A challenge for a client that is not this page. */
  async function beginElsewhere(): Promise<{ cookie: string; options: Answer['body'] }> {
    const answer = await console_.ask('POST', '/admin/v1/sign-in/passkey/options', { body: {} });
    return { cookie: cookieOf(answer), options: answer.body };
  }

  const verify = (cookie: string | undefined, body: unknown): Promise<Answer> =>
    console_.ask('POST', '/admin/v1/sign-in/passkey/verify', { body, cookie });

  test('a link registers a passkey and signs in, once; from then on the passkey does', async () => {
    const token = await makeEnrolmentLink('Ada');
    const entered = await fetchHere('POST', '/admin/v1/sign-in/link', { token });
    assert.equal(entered.body['kind'], 'enrol');
    assert.equal(await whoAmI(), 401);
    const enrolled = await enrol(token);
    assert.deepEqual([enrolled.status, enrolled.body['kind']], [200, 'signed-in']);
    assert.equal(await whoAmI(), 'Ada');
    await signOut();
    assert.equal(await whoAmI(), 401);
    const again = await fetchHere('POST', '/admin/v1/enrol/passkey/options', { token });
    assert.deepEqual([again.status, reasonOf(again)], [401, 'operators_link_invalid']);
    for (let index = 0; index < 2; index++) {
      assert.equal((await signIn()).status, 200);
      assert.equal(await whoAmI(), 'Ada');
      await signOut();
    }
    const [row] = await console_.audited('operator.enrol');
    assert.equal(row?.['actor'], 'operator:Ada');
    assert.equal((await console_.audited('console.sign-in'))[0]?.['method'], 'passkey');
  });

  test('the options ask for a discoverable credential and for user verification', async () => {
    const token = await makeEnrolmentLink('Bea');
    const { body } = await fetchHere('POST', '/admin/v1/enrol/passkey/options', { token });
    const selection = body['authenticatorSelection'] as Record<string, unknown>;
    assert.equal(selection['residentKey'], 'required');
    assert.equal(selection['userVerification'], 'required');
    assert.deepEqual((body['rp'] as { id: string }).id, 'localhost');
    const request = await fetchHere('POST', '/admin/v1/sign-in/passkey/options', {});
    assert.equal(request.body['userVerification'], 'required');
    assert.equal(request.body['allowCredentials'], undefined);
  });

  test('an answer works once, for the browser that asked, and not after five minutes', async () => {
    const first = await beginElsewhere();
    const answer = await getCredential(first.options);
    const withoutCookie = await verify(undefined, answer);
    assert.deepEqual([withoutCookie.status, reasonOf(withoutCookie)], [401, 'operators_ceremony_invalid']);
    const other = await beginElsewhere();
    assert.equal((await verify(other.cookie, answer)).status, 401);
    assert.equal((await verify(first.cookie, answer)).status, 200);
    const replayed = await verify(first.cookie, answer);
    assert.deepEqual([replayed.status, reasonOf(replayed)], [401, 'operators_ceremony_invalid']);
    const late = await beginElsewhere();
    const lateAnswer = await getCredential(late.options);
    console_.clock.advance(300_000);
    assert.equal((await verify(late.cookie, lateAnswer)).status, 401);
    assert.equal((await console_.audited('console.sign-in'))[0]?.['reason'], 'ceremony expired');
  });

  test('a challenge for registering does not serve to sign in', async () => {
    const token = await makeEnrolmentLink('Cleo');
    const begun = await console_.ask('POST', '/admin/v1/enrol/passkey/options', { body: { token } });
    const { options } = await beginElsewhere();
    const answer = await getCredential({ ...options, challenge: begun.body['challenge'] });
    const refused = await verify(cookieOf(begun), answer);
    assert.deepEqual([refused.status, reasonOf(refused)], [401, 'operators_ceremony_invalid']);
  });

  test("a page of another origin cannot use the authenticator's answer", async () => {
    const { cookie, options } = await beginElsewhere();
    await page.goto(`http://localhost:${(elsewhere.address() as AddressInfo).port}/`);
    const answer = await getCredential(options);
    await page.goto(console_.url);
    const refused = await verify(cookie, answer);
    assert.deepEqual([refused.status, reasonOf(refused)], [401, 'operators_passkey_invalid']);
  });

  test('a device that has not verified its user is refused', async () => {
    await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false });
    try {
      const refused = await signIn((options) => ({ ...options, userVerification: 'discouraged' }));
      assert.deepEqual([refused.status, reasonOf(refused)], [401, 'operators_passkey_invalid']);
    } finally {
      await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: true });
    }
    assert.equal((await signIn()).status, 200);
    await signOut();
  });

  test('a passkey names its owner: an answer in the name of another operator is refused', async () => {
    const eve = await console_.hisp.operators.store.create('Mallory', 'operator');
    const { cookie, options } = await beginElsewhere();
    const answer = (await getCredential(options)) as { response: object };
    // The signature does not cover the user handle.
    const userHandle = Buffer.from(eve.id).toString('base64url');
    const refused = await verify(cookie, { ...answer, response: { ...answer.response, userHandle } });
    assert.deepEqual([refused.status, reasonOf(refused)], [401, 'operators_passkey_invalid']);
    assert.equal((await console_.audited('console.sign-in'))[0]?.['reason'], 'passkey of another operator');
  });

  /** An enrolment with a new device, whose page changes the options before it asks the device. */
  async function enrolWith(name: string, canVerify: boolean, change: object) {
    const token = await makeEnrolmentLink(name);
    const other = await browser.newPage();
    try {
      await other.goto(console_.url);
      await addAuthenticator(other, canVerify);
      const { body } = await fetchInPage(other, 'POST', '/admin/v1/enrol/passkey/options', { token });
      const response = await useAuthenticator(other, 'create', { ...body, ...change });
      const answer = await fetchInPage(other, 'POST', '/admin/v1/enrol/passkey/verify', { token, response });
      const { id } = await console_.hisp.operators.store.get(name);
      const passkeys = await console_.hisp.operators.passkeys.list(id);
      return [answer.status, reasonOf(answer), passkeys.length];
    } finally {
      await other.close();
    }
  }

  test('a passkey is not registered by a device that has not verified its user', async () => {
    const authenticatorSelection = { residentKey: 'discouraged', userVerification: 'discouraged' };
    const refused = await enrolWith('Uma', false, { authenticatorSelection });
    assert.deepEqual(refused, [401, 'operators_passkey_invalid', 0]);
  });

  test('a passkey with an attestation that nobody asked for is not registered', async () => {
    const refused = await enrolWith('Una', true, { attestation: 'direct' });
    assert.deepEqual(refused, [401, 'operators_passkey_invalid', 0]);
  });

  test('a changed signature, an unknown credential and a malformed answer are refused', async () => {
    const { cookie, options } = await beginElsewhere();
    const answer = (await getCredential(options)) as { response: { signature: string } };
    const { signature } = answer.response;
    const flipped = `${signature.slice(0, 20)}${signature[20] === 'A' ? 'B' : 'A'}${signature.slice(21)}`;
    const changed = { ...answer, response: { ...answer.response, signature: flipped } };
    assert.equal(reasonOf(await verify(cookie, changed)), 'operators_passkey_invalid');
    for (const body of [{ ...answer, id: 'AAAA' }, {}, { id: 1 }, { id: 'x', response: null }]) {
      const begun = await beginElsewhere();
      const refused = await verify(begun.cookie, body);
      assert.deepEqual([refused.status, reasonOf(refused)], [401, 'operators_passkey_invalid']);
    }
  });

  test('a copied passkey is detected by its counter', async () => {
    const { credentials } = await cdp.send('WebAuthn.getCredentials', { authenticatorId });
    const [credential] = credentials;
    assert.ok(credential !== undefined && credential.signCount > 2);
    const { credentialId } = credential;
    await cdp.send('WebAuthn.removeCredential', { authenticatorId, credentialId });
    await cdp.send('WebAuthn.addCredential', {
      authenticatorId,
      credential: { ...credential, signCount: 1 },
    });
    const refused = await signIn();
    assert.deepEqual([refused.status, reasonOf(refused)], [401, 'operators_passkey_invalid']);
    const [row] = await console_.audited('console.sign-in');
    assert.deepEqual([row?.['outcome'], row?.['reason']], ['refused', 'counter went back']);
    await cdp.send('WebAuthn.removeCredential', { authenticatorId, credentialId });
    await cdp.send('WebAuthn.addCredential', {
      authenticatorId,
      credential: { ...credential, signCount: credential.signCount + 10 },
    });
    assert.equal((await signIn()).status, 200);
    await signOut();
  });

  test('a disabled operator is not let in by a passkey, and again when enabled', async () => {
    await console_.hisp.operators.store.disable('Ada');
    assert.equal((await signIn()).status, 401);
    await console_.hisp.operators.store.enable('Ada');
    assert.equal((await signIn()).status, 200);
    await signOut();
  });

  test('a passkey that was removed, or whose row was changed, lets nobody in, and its sessions end', async () => {
    const ada = await console_.hisp.operators.store.get('Ada');
    const eve = await console_.hisp.operators.store.create('Eve', 'operator');
    const rows = console_.hisp.storage.tables<{ console_passkey: { operator_id: string } }>();
    await rows.updateTable('console_passkey').set({ operator_id: eve.id }).execute();
    const changed = await signIn();
    assert.deepEqual([changed.status, reasonOf(changed)], [500, 'integrity_row_changed']);
    await rows.updateTable('console_passkey').set({ operator_id: ada.id }).execute();
    assert.equal((await signIn()).status, 200);
    await signOut();
    const [passkey] = await console_.hisp.operators.passkeys.list(ada.id);
    assert.equal(await console_.hisp.operators.passkeys.remove(eve, passkey?.id ?? ''), false);
    assert.equal((await signIn()).status, 200);
    assert.equal((await fetchHere('GET', '/admin/v1/session')).status, 200);
    assert.equal(await console_.hisp.operators.passkeys.remove(ada, passkey?.id ?? ''), true);
    assert.equal((await fetchHere('GET', '/admin/v1/session')).status, 401);
    assert.equal((await signIn()).status, 401);
  });
});
