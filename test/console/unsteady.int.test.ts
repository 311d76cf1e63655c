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
    await page.context().close();
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
    await page.context().close();
  });

  it('uses a link that is opened in a tab that shows the console already', async () => {
    const page = await world.openPage();
    await page.getByRole('link', { name: 'openhisp', exact: false }).first().waitFor();
    const token = await createOperator('Cy', 'sign-in');
    await page.evaluate(`location.hash = '#enter=${token}'`);
    await page.locator('.who').getByText('Cy').waitFor();
    assert.equal(new URL(page.url()).hash, '');
    await page.context().close();
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
    await page.context().close();
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
    await page.context().close();
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
    await page.context().close();
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
    await page.context().close();
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
    await page.context().close();
  });
});
