/** The front end's frame in real Chromium: what loads, the keys, the theme, signing in and out, and what an open page keeps. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { addAuthenticator } from './authenticator.ts';
import {
  checkAccessibility,
  checkWidth,
  openConsoleWorld,
  skip,
  until,
  type ConsoleWorld,
} from './console-world.ts';

const maxFirstLoadBytes = 250_000;

describe("the console's frame", { skip }, () => {
  let world: ConsoleWorld;
  let page: Page;

  before(async () => {
    world = await openConsoleWorld();
    page = await world.openPage();
  });
  after(() => world.close());

  const heading = (): Promise<string> => page.locator('main h1').first().innerText();

  it('loads in less than 250 kB, compressed, and is usable before its data has come', async () => {
    const measured = await world.openPage();
    const network = await measured.context().newCDPSession(measured);
    await network.send('Network.enable');
    await network.send('Network.setCacheDisabled', { cacheDisabled: true });
    let bytes = 0;
    network.on('Network.loadingFinished', ({ encodedDataLength }) => (bytes += encodedDataLength));
    const data = Promise.withResolvers<void>();
    await measured.route('**/admin/v1/now*', async (route) => {
      await data.promise;
      await route.continue();
    });
    await measured.goto(world.consoleUrl, { waitUntil: 'commit' });
    await measured.getByRole('navigation', { name: 'Screens' }).waitFor();
    await measured.keyboard.press('?');
    await measured.getByRole('dialog', { name: 'Keys' }).waitFor();
    await measured.keyboard.press('Escape');
    await measured.locator('main .loading').waitFor();
    data.resolve();
    await measured.locator('main .loading').waitFor({ state: 'detached' });
    await measured.context().close();
    console.log(`first load: ${(bytes / 1000).toFixed(0)} kB compressed`);
    assert.ok(bytes > 10_000 && bytes < maxFirstLoadBytes, `${bytes} bytes`);
  });

  it('opens every screen by g and its letter', async () => {
    const letters: Readonly<Record<string, RegExp>> = {
      m: /^Messages$/,
      q: /^Queue$/,
      i: /^Inbound$/,
      c: /^Check an address$/,
    };
    for (const [letter, title] of Object.entries(letters)) {
      await page.keyboard.press('g');
      await page.keyboard.press(letter);
      await until(heading, (text) => title.test(text), `g ${letter} opens ${title}`);
    }
    await page.keyboard.press('g');
    await page.keyboard.press('n');
    await page.waitForURL(`${world.consoleUrl}/`);
  });

  it('lists its keys on ?, traps focus there, and gives it back on Escape', async () => {
    await page.keyboard.press('g');
    await page.keyboard.press('m');
    await page.keyboard.press('/');
    await until(
      () => page.evaluate(`document.activeElement?.getAttribute('aria-label')`),
      (label) => label === 'Search messages',
      'the search box has focus',
    );
    await page.keyboard.press('Escape');
    await page.keyboard.press('?');
    const dialog = page.getByRole('dialog', { name: 'Keys' });
    await dialog.waitFor();
    await checkAccessibility(page, 'the list of keys');
    for (let step = 0; step < 3; step++) await page.keyboard.press('Tab');
    assert.equal(await page.evaluate(`document.activeElement.closest('main, nav') === null`), true);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  });

  it('has keys that can be switched off, in this browser', async () => {
    const press = async (...keys: readonly string[]): Promise<string> => {
      for (const key of keys) await page.keyboard.press(key);
      await page.waitForTimeout(200);
      return new URL(page.url()).pathname;
    };
    await world.show(page, '/queue');
    const toggle = async (): Promise<void> => {
      await page.getByRole('button', { name: 'Keys' }).click();
      const box = page.getByRole('checkbox', { name: 'Use these keys in this browser' });
      await box.focus();
      await page.keyboard.press('Space');
      await checkAccessibility(page, 'the keys');
      await page.keyboard.press('Escape');
    };
    await toggle();
    assert.equal(await press('g', 'm'), '/queue');
    await page.reload();
    await page.getByRole('navigation', { name: 'Screens' }).waitFor();
    assert.equal(await press('g', 'm', '?'), '/queue');
    assert.equal(await page.getByRole('dialog').count(), 0);
    await toggle();
    assert.equal(await press('g', 'm'), '/messages');
  });

  it('has focus in the content after a link there was followed', async () => {
    await world.show(page, '/clients');
    await page.locator('main [data-row]').first().press('Enter');
    await page.waitForURL(/\/clients\/.+/);
    await page.locator('main h1').first().waitFor();
    await until(
      () => page.evaluate(`document.activeElement?.closest('main') !== null`),
      (isInside) => isInside === true,
      'the content has focus',
    );
  });

  it('has a skip link that leads past the navigation', async () => {
    await page.goto(world.consoleUrl);
    await page.getByRole('navigation', { name: 'Screens' }).waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    assert.equal(await page.evaluate('document.activeElement.id'), 'main');
  });

  it('keeps the chosen theme and shows it from the first paint', async () => {
    await page.getByRole('button', { name: 'Dark' }).click();
    const background = (): Promise<unknown> =>
      page.evaluate('getComputedStyle(document.body).backgroundColor');
    const dark = await background();
    await page.reload();
    assert.equal(await background(), dark);
    await page.getByRole('button', { name: 'System' }).click();
    assert.notEqual(await background(), dark);
  });

  it('has a menu where it is narrow', async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    await page.getByRole('button', { name: 'Menu' }).click();
    const queue = page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name: 'Queue' });
    await queue.click();
    await until(heading, (text) => text === 'Queue', 'the menu leads to the queue');
    assert.equal(await queue.isVisible(), false);
    await page.setViewportSize({ width: 1440, height: 900 });
  });

  it('reports missing pages, and hides pages that a role may not open', async () => {
    await world.show(page, '/no-such-screen');
    assert.equal(await heading(), 'Not found');
    const helpDesk = await world.openPage({ role: 'help-desk' });
    assert.equal(await helpDesk.getByRole('link', { name: 'Clients' }).count(), 0);
    await world.show(helpDesk, '/clients');
    assert.equal(await helpDesk.locator('main h1').innerText(), 'Not found');
    await helpDesk.context().close();
  });

  it('lists sessions and ends them everywhere', async () => {
    const signedOut = await world.openPage();
    await world.show(signedOut, '/sessions');
    await signedOut.getByText('this browser').waitFor();
    for (const width of [1440, 390]) {
      await signedOut.setViewportSize({ width, height: 900 });
      await checkAccessibility(signedOut, `sessions, ${width} px`);
      await checkWidth(signedOut, `sessions, ${width} px`);
    }
    await signedOut.getByRole('button', { name: 'Sign out everywhere' }).click();
    await signedOut.getByRole('heading', { name: 'Sign in' }).waitFor();
    await checkAccessibility(signedOut, 'the sign-in page');
    await signedOut.context().close();
  });

  it('makes a passkey by an enrolment link and signs in with it', async () => {
    const { store, links } = world.sandbox.world.hisp.operators;
    const { id } = await store.create('passkey', 'help-desk');
    const { token } = await links.create(id, 'passkey', 'enrol');
    const device = await (await world.browser.newContext()).newPage();
    await addAuthenticator(device);
    await device.goto(`${world.consoleUrl}/#enter=${token}`);
    await device.getByRole('heading', { name: 'Welcome, passkey' }).waitFor();
    await checkAccessibility(device, 'the enrolment page');
    await device.getByRole('button', { name: 'Create my passkey' }).click();
    const navigation = device.getByRole('navigation', { name: 'Screens' });
    await navigation.waitFor();
    await device.getByRole('button', { name: 'Sign out' }).click();
    await device.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await navigation.waitFor();
    await device.context().close();
  });

  it('adds, names and removes passkeys on the page of sessions, after the passkey was used again', async () => {
    const { store, links } = world.sandbox.world.hisp.operators;
    const { id } = await store.create('keyholder', 'help-desk');
    const { token } = await links.create(id, 'keyholder', 'enrol');
    const device = await (await world.browser.newContext()).newPage();
    device.setDefaultTimeout(30_000);
    const { cdp: devtools, authenticatorId } = await addAuthenticator(device);
    await device.goto(`${world.consoleUrl}/#enter=${token}`);
    await device.getByRole('button', { name: 'Create my passkey' }).click();
    await device.getByRole('navigation', { name: 'Screens' }).waitFor();
    // By a link, so that this session did not begin with the passkey.
    const entry = await links.create(id, 'keyholder', 'sign-in');
    await device.goto('about:blank');
    await device.goto(`${world.consoleUrl}/#enter=${entry.token}`);
    await device.getByRole('navigation', { name: 'Screens' }).waitFor();
    await world.show(device, '/sessions');
    await device.getByText('A session ends after 30 min without activity.').waitFor();
    const dialog = device.getByRole('dialog');
    await device.getByRole('button', { name: 'Name Unnamed' }).click();
    await dialog.getByLabel('Name').fill('Phone');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await device.getByRole('button', { name: 'Remove Phone' }).click();
    await dialog.getByRole('button', { name: 'Remove' }).click();
    await dialog.getByRole('button', { name: 'Confirm with a passkey' }).click();
    await dialog.getByRole('button', { name: 'Remove' }).click();
    await dialog.getByText('This is your only passkey.').waitFor();
    await checkAccessibility(device, 'the dialog of a passkey');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    // Another device, which has no passkey yet.
    await devtools.send('WebAuthn.clearCredentials', { authenticatorId });
    await device.getByRole('button', { name: 'Add a passkey' }).click();
    await dialog.getByLabel('Name').fill('Security key');
    await dialog.getByRole('button', { name: 'Create the passkey' }).click();
    await device.getByRole('button', { name: 'Remove Security key' }).waitFor();
    for (const width of [1440, 390]) {
      await device.setViewportSize({ width, height: 900 });
      await checkAccessibility(device, `passkeys, ${width} px`);
      await checkWidth(device, `passkeys, ${width} px`);
    }
    await device.getByRole('button', { name: 'Remove Phone' }).click();
    await dialog.getByRole('button', { name: 'Remove' }).click();
    await device.getByRole('button', { name: 'Remove Phone' }).waitFor({ state: 'detached' });
    assert.deepEqual(
      (await world.sandbox.world.hisp.operators.passkeys.list(id)).map(({ name }) => name),
      ['Security key'],
    );
    await device.context().close();
  });

  it('keeps no token in the address', async () => {
    assert.doesNotMatch(page.url(), /#/);
    const { store, links } = world.sandbox.world.hisp.operators;
    const { id } = await store.create('link', 'auditor');
    const { token } = await links.create(id, 'link', 'sign-in');
    const other = await (await world.browser.newContext()).newPage();
    await other.goto(`${world.consoleUrl}/#enter=${token}`);
    await other.getByRole('navigation', { name: 'Screens' }).waitFor();
    assert.equal(new URL(other.url()).hash, '');
    const again = await (await world.browser.newContext()).newPage();
    await again.goto(`${world.consoleUrl}/#enter=${token}`);
    await again.getByRole('heading', { name: 'This link does not work' }).waitFor();
    await again.context().close();
    const cut = await (await world.browser.newContext()).newPage();
    await cut.goto(`${world.consoleUrl}/#enter=${token.slice(0, 8)}.`);
    await cut.getByRole('heading', { name: 'This link does not work' }).waitFor();
    await cut.context().close();
    await other.context().close();
  });

  it('reports no fault, breaks no rule of its content policy, and asks no other host', () => {
    const expected = /the server responded with a status of (?:401|403|409)/;
    assert.deepEqual(
      world.complaints.filter((text) => !expected.test(text)),
      [],
    );
  });
});
