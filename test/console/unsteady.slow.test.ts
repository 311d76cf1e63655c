/** The console when sessions change hands and when the server fails, hangs or is slow, in real Chromium. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page, Route } from 'playwright-core';
import { choosePort } from '../../src/app/dev/index.ts';
import { createTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';
import { addAuthenticator } from './authenticator.ts';
import { openConsoleWorld, skip, until, type ConsoleWorld } from './console-world.ts';

describe('the console, when sessions change hands and servers fail', { skip }, () => {
  let world: ConsoleWorld;
  let network: TcpProxy;

  before(async () => {
    const port = await choosePort(['127.0.0.1'], 0);
    network = await createTcpProxy(`http://127.0.0.1:${port}`);
    world = await openConsoleWorld({
      'console.port': String(port),
      'console.publicUrl': `http://localhost:${new URL(network.url).port}`,
    });
  });
  after(async () => {
    await world?.close();
    await network?.close();
  });

  // A request that a route still holds when its page goes would end the process of the tests.
  async function leave(page: Page): Promise<void> {
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await page.context().close();
  }

  const signInHeading = (page: Page) => page.getByRole('heading', { name: 'Sign in' });
  const navigation = (page: Page) => page.getByRole('navigation', { name: 'Screens' });
  const toast = (page: Page): Promise<string> => page.locator('.toasts').innerText();

  async function createOperator(name: string, purpose: 'enrol' | 'sign-in'): Promise<string> {
    const { store, links } = world.sandbox.world.hisp.operators;
    const { id } = (await store.find(name)) ?? (await store.create(name, 'operator'));
    return (await links.create(id, name, purpose)).token;
  }

  /** A browser with a passkey of the operator, signed out. */
  async function openDevice(name: string): Promise<Page> {
    const page = await (await world.browser.newContext()).newPage();
    page.setDefaultTimeout(15_000);
    await addAuthenticator(page);
    await page.goto(`${world.consoleUrl}/#enter=${await createOperator(name, 'enrol')}`);
    await page.getByRole('button', { name: 'Create my passkey' }).click();
    await navigation(page).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await signInHeading(page).waitFor();
    return page;
  }

  it('does not show the sign-in page before the session has ended', async () => {
    const page = await world.openPage();
    const isSignOut = (route: Route): boolean => route.request().method() === 'DELETE';
    for (const [what, answer] of [
      [
        'You may still be signed in: the server did not answer.',
        (route: Route) => route.abort('connectionrefused'),
      ],
      [
        'You are still signed in. The server failed.',
        (route: Route) => route.fulfill({ status: 503, body: '' }),
      ],
    ] as const) {
      await page.route('**/admin/v1/session', (route) =>
        isSignOut(route) ? answer(route) : route.continue(),
      );
      await page.getByRole('button', { name: 'Sign out' }).click();
      await until(
        () => toast(page),
        (text) => text.startsWith(what),
        what,
      );
      assert.equal(await signInHeading(page).count(), 0, what);
      await page.unroute('**/admin/v1/session');
    }
    await page.getByRole('button', { name: 'Sign out' }).click();
    await signInHeading(page).waitFor();
    await page.reload();
    await signInHeading(page).waitFor();
    await leave(page);
  });

  it('shows nothing of one operator to the next one on the same page', async () => {
    const page = await openDevice('Bea');
    await page.goto('about:blank');
    await page.goto(`${world.consoleUrl}/#enter=${await createOperator('Abe', 'sign-in')}`);
    await navigation(page).waitFor();
    const other = await (await world.browser.newContext()).newPage();
    await other.goto(`${world.consoleUrl}/#enter=${await createOperator('Abe', 'sign-in')}`);
    await navigation(other).waitFor();
    await world.show(page, '/sessions');
    const rows = page.locator('main tbody tr');
    await until(
      () => rows.count(),
      (count) => count === 2,
      'the sessions of the first operator',
    );
    await page.getByRole('button', { name: 'Sign out everywhere' }).click();
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByText('Where Bea is signed in.').waitFor();
    // At once, not when an old answer is stale.
    await page.getByRole('button', { name: 'Name Unnamed' }).waitFor({ timeout: 5000 });
    assert.equal(await rows.count(), 2, 'one session and one passkey');
    await other.context().close();
    await leave(page);
  });

  it('uses a link that is opened in a tab that shows the console already', async () => {
    const page = await world.openPage();
    await page.getByRole('link', { name: 'openhisp', exact: false }).first().waitFor();
    const token = await createOperator('Cy', 'sign-in');
    await page.evaluate(`location.hash = '#enter=${token}'`);
    await page.locator('.who').getByText('Cy').waitFor();
    assert.equal(new URL(page.url()).hash, '');
    await leave(page);
  });

  it('leads back to the search that somebody asked for before signing in, and to no other site', async () => {
    const page = await openDevice('Dee');
    const signIn = async (target: string): Promise<string> => {
      await page.goto(`${world.consoleUrl}${target}`);
      await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
      await navigation(page).waitFor();
      await page.locator('main h1').first().waitFor();
      const { pathname, search } = new URL(page.url());
      assert.equal(await page.getByText('Something failed').count(), 0, target);
      await page.getByRole('button', { name: 'Sign out' }).click();
      await signInHeading(page).waitFor();
      return pathname + search;
    };
    assert.equal(await signIn('/messages?q=direct.lakeside.example'), '/messages?q=direct.lakeside.example');
    // A session that ends in the middle of the work.
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await navigation(page).waitFor();
    await world.show(page, '/messages?q=direct.lakeside.example');
    const { store, sessions } = world.sandbox.world.hisp.operators;
    await sessions.endAll({ ...(await store.get('Dee')), actor: 'operator:Dee' });
    await page
      .getByText('Your session has ended. Sign in to go on where you were.')
      .waitFor({ timeout: 40_000 });
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.waitForURL(`${world.consoleUrl}/messages?q=direct.lakeside.example`);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await signInHeading(page).waitFor();
    assert.equal(await page.getByText('Your session has ended.').count(), 0);
    const longSearch = `/messages?q=${'x'.repeat(2000)}`;
    for (const after of [
      '//evil.example/',
      '/\\evil.example',
      '/\t/evil.example',
      'https://evil.example',
      longSearch,
    ])
      assert.equal(await signIn(`/sign-in?after=${encodeURIComponent(after)}`), '/', after.slice(0, 30));
    for (const problem of ['OPERATORS_NO_SUCH', '__proto__', 'constructor']) {
      await page.goto(`${world.consoleUrl}/sign-in?problem=${problem}`);
      await page.getByText('The sign-in failed. Try again.').waitFor();
    }
    await leave(page);
  });

  it('does not call it an update when a part of it cannot be loaded from a server that is away', async () => {
    const page = await world.openPage();
    await page.route('**/assets/**', (route) => route.abort('connectionrefused'));
    await page.keyboard.press('g');
    await page.keyboard.press('a');
    await page.getByText(/the server cannot be reached, or the console was updated/).waitFor();
    await page.unroute('**/assets/**');
    await page.getByRole('button', { name: 'Reload the page' }).click();
    await page.getByRole('heading', { name: 'Audit' }).waitFor();
    await leave(page);
  });

  it('says that a network is silent, although no connection has ended, and recovers', async () => {
    const page = await world.openPage();
    await page.clock.install();
    await page.reload();
    const state = (): Promise<string> => page.locator('.live').innerText();
    await until(state, (text) => text.trim() === 'Live', 'the stream is open');
    network.stallNow();
    await page.clock.fastForward(50_000);
    await until(state, (text) => /No connection; reconnecting/.test(text), 'the silence is seen');
    network.relay();
    await until(
      async () => {
        await page.clock.fastForward(5000);
        return state();
      },
      (text) => text.trim() === 'Live',
      'the stream is open again',
    );
    await leave(page);
  });

  it('keeps what is shown and typed while the server is away, and says when it comes back as another version', async () => {
    const page = await world.openPage();
    await page.clock.install();
    await world.show(page, '/clients');
    await page.getByRole('button', { name: 'New client' }).click();
    const name = page.getByRole('dialog').getByLabel('Name');
    await name.fill('Half-typed');
    await until(
      () => page.locator('.live').innerText(),
      (text) => text.trim() === 'Live',
      'the stream is open',
    );
    await page.route('**/admin/v1/session', (route) => route.abort('connectionrefused'));
    const asked = page.waitForEvent('requestfailed', (request) => request.url().endsWith('/session'));
    network.stallNow();
    await page.clock.fastForward(50_000);
    await page.clock.fastForward(5000);
    await asked;
    await page.getByText('This screen could not be refreshed. The server does not respond.').waitFor();
    assert.equal(await name.inputValue(), 'Half-typed');
    await page.unroute('**/admin/v1/session');
    await page.route('**/admin/v1/session', async (route) => {
      const response = await route.fetch();
      await route.fulfill({ json: { ...((await response.json()) as object), version: '99.0.0' } });
    });
    network.relay();
    const note = page.getByText('The console was updated to 99.0.0 while this page was open.');
    await until(
      async () => {
        await page.clock.fastForward(5000);
        return note.count();
      },
      (count) => count === 1,
      'the note about the new version',
    );
    assert.equal(await name.inputValue(), 'Half-typed');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Reload the page' }).click();
    await note.waitFor({ state: 'detached' });
    await leave(page);
  });

  it('finds the text of a form again after the session has ended, and nobody else does', async () => {
    const page = await openDevice('Eve');
    const signIn = async (): Promise<void> => {
      await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
      await navigation(page).waitFor();
    };
    const { store, sessions } = world.sandbox.world.hisp.operators;
    const endSession = async (): Promise<void> => {
      await sessions.endAll({ ...(await store.get('Eve')), actor: 'operator:Eve' });
      await page.getByText('Your session has ended.').waitFor({ timeout: 40_000 });
    };
    const kept = (): Promise<unknown> => page.evaluate(`sessionStorage.getItem('drafts')`);
    const dialog = page.getByRole('dialog', { name: 'New client' });
    await signIn();
    await world.show(page, '/clients');
    await page.getByRole('button', { name: 'New client' }).click();
    await dialog.getByLabel('Name').fill('A long name');
    await dialog.getByLabel('Direct addresses').fill('front.desk@direct.riverside.example');
    await dialog.getByText('search the directory').click();
    assert.equal(await kept(), null, 'nothing is stored while somebody types');
    await endSession();
    await signIn();
    await dialog.waitFor();
    assert.equal(await dialog.getByLabel('Name').inputValue(), 'A long name');
    assert.equal(
      await dialog.getByLabel('Direct addresses').inputValue(),
      'front.desk@direct.riverside.example',
    );
    assert.equal(await dialog.getByLabel(/search the directory/).isChecked(), false);
    assert.equal(await kept(), null, 'what was found is stored no longer');

    // Of what is sent, nothing is kept: the secret that the page shows now belongs to it.
    await dialog.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('dialog', { name: 'A long name is ready' }).waitFor();
    await endSession();
    assert.equal(await kept(), null);
    await signIn();
    await page.getByRole('heading', { name: 'Clients' }).waitFor();
    assert.equal(await dialog.count(), 0);

    const domain = '/domains/direct.riverside.example';
    await world.show(page, domain);
    await page.getByRole('button', { name: 'Begin' }).click();
    await page.getByLabel('Organization').fill('Riverside Clinic');
    await endSession();
    await signIn();
    assert.equal(await page.getByLabel('Organization').inputValue(), 'Riverside Clinic');
    await page.getByLabel('Organization').fill('-----BEGIN PRIVATE KEY-----');
    await endSession();
    assert.doesNotMatch(String(await kept()), /PRIVATE KEY/, 'of a key pasted by mistake nothing is stored');
    await signIn();
    await world.show(page, domain);
    await page.getByRole('button', { name: 'Begin' }).click();
    await page.getByLabel('Organization').fill('Riverside Clinic');
    await endSession();
    assert.notEqual(await kept(), null);
    await page.goto('about:blank');
    await page.goto(`${world.consoleUrl}/#enter=${await createOperator('Mallory', 'sign-in')}`);
    await navigation(page).waitFor();
    await until(kept, (text) => text === null, 'what another operator typed is dropped');
    await world.show(page, domain);
    await page.getByRole('button', { name: 'Begin' }).click();
    assert.equal(await page.getByLabel('Organization').inputValue(), '');
    await leave(page);
  });

  it('shows the sign-in page also if the browser has no room for the text of a form', async () => {
    const page = await openDevice('Ida');
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await navigation(page).waitFor();
    await world.show(page, '/clients');
    await page.getByRole('button', { name: 'New client' }).click();
    await page.evaluate(`for (let size = 2 ** 23; size >= 1; size /= 2)
      try { sessionStorage.setItem('filler' + size, 'x'.repeat(size)); } catch {}`);
    await page.getByRole('dialog').getByLabel('Direct addresses').fill('a@b.example '.repeat(100));
    const { store, sessions } = world.sandbox.world.hisp.operators;
    await sessions.endAll({ ...(await store.get('Ida')), actor: 'operator:Ida' });
    await page.getByText('Your session has ended.').waitFor({ timeout: 40_000 });
    await leave(page);
  });

  it('says on the pages before sign-in that the server does not answer, and lets somebody try again', async () => {
    const page = await openDevice('Fay');
    const token = await createOperator('Fay', 'sign-in');
    await page.addInitScript(`{
      const usual = AbortSignal.timeout.bind(AbortSignal);
      AbortSignal.timeout = (ms) => usual(ms / 30);
    }`);
    await page.goto('about:blank');
    await page.goto(`${world.consoleUrl}/sign-in`);
    const button = page.getByRole('button', { name: 'Sign in with a passkey' });
    await button.waitFor();
    network.stallNow();
    await button.click();
    await page.getByText('The server does not respond.').waitFor();
    network.relay();
    await button.click();
    await navigation(page).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await signInHeading(page).waitFor();

    await page.route('**/admin/v1/sign-in/link', () => undefined, { times: 1 });
    await page.goto('about:blank');
    await page.goto(`${world.consoleUrl}/#enter=${token}`);
    await page.getByText('The server does not respond.').waitFor();
    assert.equal(await page.getByText('Ask for a new one').count(), 0, 'nobody has refused the link');
    await page.getByRole('button', { name: 'Try again' }).click();
    await navigation(page).waitFor();
    await leave(page);
  });

  it('does not call it cancelled when an action is on its way', async () => {
    const page = await world.openPage();
    const released = Promise.withResolvers<void>();
    await page.route('**/admin/v1/clients/*/disable', async (route) => {
      await released.promise;
      await route.continue();
    });
    const { clientId } = await world.sandbox.world.hisp.oauth.clients.create({
      name: 'Slow clinic',
      scopes: ['messaging.api'],
    });
    await world.show(page, `/clients/${clientId}`);
    await page.getByRole('button', { name: 'Disable' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Disable' }).click();
    await dialog.getByText('In progress. Closing this dialog does not stop it.').waitFor();
    assert.equal(await dialog.getByRole('button', { name: 'Cancel' }).count(), 0);
    released.resolve();
    await dialog.waitFor({ state: 'detached' });
    await leave(page);
  });

  it('keeps the dialog open while a client is created, so that its secret is shown', async () => {
    const page = await world.openPage();
    const released = Promise.withResolvers<void>();
    await page.route('**/admin/v1/clients', async (route) => {
      if (route.request().method() === 'POST') await released.promise;
      await route.continue();
    });
    await world.show(page, '/clients');
    await page.getByRole('button', { name: 'New client' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('Patient clinic');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.getByRole('button', { name: 'Creating' }).waitFor();
    // Chromium closes a dialog at the second one.
    for (let count = 0; count < 3; count++) await page.keyboard.press('Escape');
    released.resolve();
    await page
      .getByRole('dialog', { name: 'Patient clinic is ready' })
      .getByText('The secret is shown this once.')
      .waitFor();
    await leave(page);
  });
});
