/** What the console says when answers are late, lost or cut, in real Chromium. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page, Route } from 'playwright-core';
import { demoAddress } from '../../src/app/dev/index.ts';
import { checkAccessibility, openConsoleWorld, skip, until, type ConsoleWorld } from './console-world.ts';

describe('the console, when answers are late, lost or cut', { skip }, () => {
  let world: ConsoleWorld;
  let page: Page;

  before(async () => {
    world = await openConsoleWorld();
    page = await world.openPage();
    page.setDefaultTimeout(10_000);
  });
  after(() => world?.close());

  const fail = (route: Route): Promise<void> => route.fulfill({ status: 503, body: '' });
  const isOf = (method: string, route: Route): boolean => route.request().method() === method;

  it('shows a seventh tab, and tells each of changes, over the one stream that another tab takes over', async () => {
    const tabs = [page];
    while (tabs.length < 7) {
      const tab = await page.context().newPage();
      tab.setDefaultTimeout(20_000);
      await world.show(tab, '/clients');
      tabs.push(tab);
    }
    const allSay = async (word: string): Promise<void> => {
      for (const tab of tabs)
        await until(
          () => tab.locator('.live').innerText(),
          (text) => text.trim() === word,
          `each tab says ${word}`,
        );
    };
    await allSay('Live');
    const [first, ...others] = tabs;
    await first?.goto('about:blank');
    tabs.splice(0, 7, ...others);
    await allSay('Live');
    await world.sandbox.world.hisp.oauth.clients.create({ name: 'Seen by all', scopes: ['messaging.api'] });
    for (const tab of tabs) await tab.getByText('Seen by all').first().waitFor();
    for (const tab of tabs) await tab.close();
  });

  it('reads a stream in a tab that is seen while the one that holds it stands still', async () => {
    const holder = await world.openPage();
    await world.show(holder, '/clients');
    const seen = await holder.context().newPage();
    await world.show(seen, '/clients');
    const words = (): Promise<string> => seen.locator('.live').innerText();
    await until(words, (text) => text.trim() === 'Live', 'the holder tells the other');
    const asked = seen.waitForRequest((request) => request.url().endsWith('/admin/v1/live'));
    // Chromium freezes no page that is seen; a dialog stops its scripts as well.
    const opened = holder.waitForEvent('dialog');
    await holder.evaluate('void setTimeout(() => alert("stop"))');
    const dialog = await opened;
    await asked;
    await until(words, (text) => text.trim() === 'Live', 'it has a stream');
    const { clients } = world.sandbox.world.hisp.oauth;
    await clients.create({ name: 'Seen beside', scopes: ['messaging.api'] });
    await seen.getByText('Seen beside').first().waitFor();
    await dialog.dismiss();
    await holder.getByText('Seen beside').first().waitFor();
    await holder.context().close();
  });

  it('says that a further page was not read, and reads it on request', async () => {
    let isFailing = true;
    await page.route('**/admin/v1/audit?*', async (route) => {
      if (route.request().url().includes('cursor=made-up')) {
        if (isFailing) return fail(route);
        return route.fulfill({ json: { result: [], next: null, total: null } });
      }
      const response = await route.fetch();
      await route.fulfill({ json: { ...((await response.json()) as object), next: 'made-up' } });
    });
    await world.show(page, '/audit');
    await page.getByRole('button', { name: /^(?:Load more|Search further)$/ }).click();
    await page.locator('main').getByText('The server failed.').waitFor({ timeout: 20_000 });
    assert.ok((await page.locator('main tbody tr').count()) > 0, 'the rows so far stay');
    isFailing = false;
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.locator('main').getByText('The server failed.').waitFor({ state: 'detached' });
    await page.unroute('**/admin/v1/audit?*');
  });

  it('does not show the result of the search before as that of a search that is on its way', async () => {
    const waiting = Promise.withResolvers<void>();
    const hold = async (route: Route): Promise<void> => {
      await waiting.promise;
      await route.continue();
    };
    await world.show(page, '/messages?q=nobody.example');
    await page.getByText('No matching message').waitFor();
    await page.route('**/admin/v1/messages?*slow.example*', hold);
    await page.getByRole('searchbox', { name: 'Search messages' }).fill('slow.example');
    await page.getByText('Searching.').waitFor();
    assert.equal(await page.getByText('No matching message').count(), 0);
    await world.show(page, '/directory?prov_last_name=nobodyofthisname');
    await page.getByText('No matching record').waitFor();
    await page.route('**/admin/v1/directory/search?*slowly*', hold);
    await page.locator('input[name=prov_last_name]').fill('slowly');
    await page.locator('input[name=prov_last_name]').press('Enter');
    await page.waitForURL(/slowly/);
    await page.locator('main .loading').waitFor();
    assert.equal(await page.getByText('No matching record').count(), 0);
    waiting.resolve();
    await page.getByText('No matching record').waitFor();
    await page.unrouteAll({ behavior: 'wait' });
  });

  it('says that a check of an address has ended without a result', async () => {
    let isCut = false;
    await page.route('**/admin/v1/address-checks', async (route) => {
      const response = await route.fetch();
      const lines = (await response.text()).split('\n');
      const body = lines.filter((line) => !line.includes('"type":"decision"')).join('\n');
      isCut = body.length < lines.join('\n').length;
      await route.fulfill({ response, body });
    });
    await world.show(page, `/check?address=${demoAddress}`);
    await page.getByText('The check ended without a result. Run it again.').waitFor();
    assert.ok(isCut);
    assert.equal(await page.getByText('not needed').count(), 0, 'nobody knows what was needed');
    await page.unrouteAll({ behavior: 'wait' });
    await page.getByRole('button', { name: 'Check', exact: true }).click();
    await page.locator('.check-decision').waitFor();
  });

  it('lets somebody load another file although the news of the last load were lost', async () => {
    await world.show(page, '/directory/sources');
    await until(
      () => page.locator('.live').innerText(),
      (text) => text.trim() === 'Live',
      'the stream is open',
    );
    // The stream of a page may be of another node than the one that loads: it has other news, and none of this load.
    await page.route('**/admin/v1/directory/loads?*', async (route) => {
      if (!isOf('POST', route)) return route.continue();
      const response = await route.fetch();
      await route.fulfill({ json: { ...((await response.json()) as object), uploadId: 'of-another-node' } });
    });
    await page.clock.install();
    await page.locator('input[type=file]').setInputFiles({
      name: 'people.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from('serv_direct_addr\nann@direct.more.example\n'),
    });
    const button = page.getByRole('button', { name: 'Load', exact: true });
    await button.click();
    await page.getByText('Waiting for another load').waitFor();
    assert.ok(await button.isDisabled());
    await page.clock.fastForward(20_000);
    await page.getByText('This page has no news of the load; Loads, below, has its state.').waitFor();
    assert.ok(await button.isEnabled());
    await page.unrouteAll({ behavior: 'wait' });
    await page.reload();
  });

  it('says of a change without an answer that it may have been made, and of a preview that it was not answered', async () => {
    const { clientId } = await world.sandbox.world.hisp.oauth.clients.create({
      name: 'Lost clinic',
      scopes: ['messaging.api'],
    });
    await world.show(page, `/clients/${clientId}`);
    await page.route('**/admin/v1/clients/*/disable', async (route) => {
      await route.fetch();
      await route.abort('connectionreset');
    });
    await page.getByRole('button', { name: 'Disable' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Disable' }).click();
    await dialog.getByText('The change may have been made: look before you try again.').waitFor();
    await page.keyboard.press('Escape');
    await page.unrouteAll({ behavior: 'wait' });
    await page.route('**/admin/v1/audit/verify', (route) => route.abort('connectionreset'));
    await world.show(page, '/audit');
    await page.getByRole('button', { name: 'Verify the chain' }).click();
    await page.getByText('The server does not respond. Check that it is running and reachable.').waitFor();
    await page.unrouteAll({ behavior: 'wait' });
  });

  it('shows a new secret without waiting for anything else', async () => {
    const { clientId } = await world.sandbox.world.hisp.oauth.clients.create({
      name: 'Second secret',
      scopes: ['messaging.api'],
    });
    await world.show(page, `/clients/${clientId}`);
    const waiting = Promise.withResolvers<void>();
    await page.route(`**/admin/v1/clients/${clientId}`, async (route) => {
      await waiting.promise;
      await route.continue();
    });
    await page.getByRole('button', { name: 'Issue another' }).click();
    await page.getByRole('dialog').getByText('The secret is shown this once.').waitFor();
    waiting.resolve();
    await page.unrouteAll({ behavior: 'wait' });
    await page.getByRole('button', { name: 'I have saved it' }).click();
    // The button that was pressed is disabled now.
    await page.locator('#main:focus').waitFor();
  });

  it('keeps what is shown and typed while refreshes fail, and says so', async () => {
    await world.show(page, '/directory/sources');
    await page.locator('input[name=source]').fill('half-typed');
    await page.route('**/admin/v1/directory/sources', fail);
    await world.sandbox.world.hisp.audit.record({
      action: 'directory.load',
      actor: 'operator:test',
      outcome: 'ok',
      objects: {},
    });
    await page
      .getByText('This screen could not be refreshed. The server failed.')
      .waitFor({ timeout: 20_000 });
    assert.equal(await page.locator('input[name=source]').inputValue(), 'half-typed');
    await page.unrouteAll({ behavior: 'wait' });
    await page.getByRole('button', { name: 'Refresh' }).click();
    await page.getByText('This screen could not be refreshed.').waitFor({ state: 'detached' });
    assert.equal(await page.locator('input[name=source]').inputValue(), 'half-typed');
  });

  it('says that an answer is cut, or of somebody else, in words', async () => {
    const path = '**/admin/v1/webhooks*';
    for (const [answer, words] of [
      [
        { status: 200, contentType: 'text/html', body: '<h1>Log in to the guest network</h1>' },
        /not of this console/,
      ],
      [{ status: 502, contentType: 'text/html', body: '<h1>Bad gateway</h1>' }, /The server failed\./],
      [{ status: 502, body: 'null' }, /The server failed\./],
      [{ status: 409, json: { errors: 'text' } }, /The server answered 409\./],
      [{ status: 401, body: '' }, /Your session has ended/],
    ] as const) {
      await page.route(path, (route) => route.fulfill(answer));
      await page.goto(`${world.consoleUrl}/webhooks`);
      await page.getByText(words).waitFor();
      await page.unrouteAll({ behavior: 'wait' });
    }
    await page.goto(world.consoleUrl);
  });

  it('keeps a failure until it is dismissed, and reads it out of an open dialog as well', async () => {
    const { clientId } = await world.sandbox.world.hisp.oauth.clients.create({
      name: 'Copied clinic',
      scopes: ['messaging.api'],
    });
    await page.clock.install();
    await world.show(page, `/clients/${clientId}`);
    await page.evaluate(`navigator.clipboard.writeText = () => Promise.reject(new Error('it is in use.'))`);
    const failure = page.getByRole('alert').filter({ hasText: 'Not copied: it is in use.' });
    const copy = page.getByRole('button', { name: 'Copy client id' });
    await copy.focus();
    await page.keyboard.press('Enter');
    await failure.waitFor();
    await page.clock.fastForward(3_600_000);
    assert.equal(await failure.count(), 1, 'an hour later');
    await checkAccessibility(page, 'a failure');
    await copy.focus();
    const dismiss = page.getByRole('button', { name: 'Dismiss' });
    await dismiss.focus();
    await page.keyboard.press('Enter');
    await failure.waitFor({ state: 'detached' });
    assert.equal(await copy.and(page.locator(':focus')).count(), 1, 'focus is where it was');

    await page.getByRole('button', { name: 'Issue another' }).click();
    const dialog = page.getByRole('dialog', { name: 'A new secret' });
    await dialog.getByRole('button', { name: 'Copy both' }).click();
    await dialog.getByRole('alert').getByText('Not copied: it is in use.').waitFor();
    await dialog.getByRole('button', { name: 'I have saved it' }).click();
    await dialog.waitFor({ state: 'detached' });
    // Behind the dialog it was said by nobody.
    await failure.waitFor();
    await page.evaluate(`navigator.clipboard.writeText = () => Promise.resolve()`);
    await copy.click();
    await page.getByRole('status').getByText('Copied.').waitFor();
    assert.equal(await failure.count(), 0, 'a newer result takes its place');
    await page.clock.fastForward(10_000);
    await page.getByText('Copied.').waitFor({ state: 'detached' });
    await page.reload();
  });

  it('says after ten seconds that the server is slow', async () => {
    const waiting = Promise.withResolvers<void>();
    await page.clock.install();
    await page.route('**/admin/v1/clients', async (route) => {
      await waiting.promise;
      await route.continue();
    });
    await page.goto(`${world.consoleUrl}/clients`);
    await page.getByRole('heading', { name: 'Clients' }).waitFor();
    await page.locator('main .loading').waitFor();
    assert.equal(await page.getByText('The server is slow or does not respond.').count(), 0);
    await page.clock.fastForward(11_000);
    await page.getByText('Loading. The server is slow or does not respond.').waitFor();
    waiting.resolve();
    await page.locator('main tbody tr').first().waitFor();
  });
});
