/** "Try it out" on `/docs` in a real browser, with the sandbox's client and the examples as they stand. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { needsBrowser, openBrowser } from '../support/browser.ts';
import { openTestSandbox, readStatus, waitFor, type TestSandbox } from './sandbox-fixture.ts';

describe('"Try it out" on the page of the API', needsBrowser, () => {
  let world: TestSandbox;
  let opened: Browser;
  let page: Page;
  const complaints: string[] = [];

  before(async () => {
    world = await openTestSandbox();
    opened = await openBrowser();
    page = await opened.newPage();
    page.setDefaultTimeout(60_000);
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text());
    });
    page.on('request', (request) => {
      const url = request.url();
      if (!/^(data|blob):/.test(url) && !url.startsWith(world.sandbox.credentials.baseUrl))
        complaints.push(`asked for ${url}`);
    });
    await page.goto(`${world.sandbox.credentials.baseUrl}/docs/`);
  });
  after(async () => {
    await opened.close();
    await world.close();
  });

  /** Opens an operation, runs it as it is filled in, and returns the status and the body that the page shows. */
  async function execute(operationId: string): Promise<{ readonly status: string; readonly body: string }> {
    const block = page.locator(`.opblock[id$="-${operationId}"]`);
    await block.locator('.opblock-summary-control').click();
    await block.getByRole('button', { name: 'Try it out' }).click();
    await block.getByRole('button', { name: 'Execute' }).click();
    const live = block.locator('.live-responses-table');
    const status = await live.locator('.response-col_status').last().innerText();
    const body = await live.locator('.response-col_description .highlight-code code').first().innerText();
    return { status: status.trim(), body };
  }

  it("takes the sandbox's client id and secret", async () => {
    const { clientId, clientSecret } = world.sandbox.credentials;
    await page.locator('.auth-wrapper .authorize').first().click();
    const dialog = page.locator('.modal-ux');
    const form = dialog.locator('.auth-container').filter({ hasText: 'client_id' });
    await form.locator('input#client_id_clientCredentials').fill(clientId);
    await form.locator('input#client_secret_clientCredentials').fill(clientSecret);
    for (const scope of await form.locator('.scopes label .item').all()) await scope.click();
    await form.getByRole('button', { name: 'Apply given OAuth2 credentials' }).click();
    await form.getByRole('button', { name: 'Remove authorization' }).waitFor();
    await dialog.locator('.close-modal').click();
  });

  it('searches', async () => {
    const { status, body } = await execute('searchProviders');
    assert.equal(status, '200', body);
    assert.match(body, /"providers": \[\s*\{/);
  });

  it('sends the example message, which arrives', async () => {
    const { status, body } = await execute('sendMessage');
    assert.equal(status, '200', body);
    const [messageId = ''] = /urn:uuid:[0-9a-f-]{36}/.exec(body) ?? [];
    const answer = await waitFor(
      () => readStatus(world.client, messageId),
      ({ messageStatus }) => messageStatus === 'processed',
    );
    assert.equal(answer.messageStatus, 'processed');
  });

  it('wears the colors and the font of the console, in the dark, too', async () => {
    const colorOf = (selector: string, name: string) =>
      page.evaluate(`getComputedStyle(document.querySelector('${selector}')).getPropertyValue('${name}')`);
    assert.equal(await colorOf('body', 'background-color'), 'rgb(251, 252, 251)');
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.reload();
    await page.locator('.opblock').first().waitFor();
    for (const [selector, name, value] of [
      ['body', 'background-color', 'rgb(15, 20, 19)'],
      ['.opblock', 'background-color', 'rgb(21, 27, 26)'],
      ['.opblock-summary-path', 'color', 'rgb(229, 235, 233)'],
      ['.btn.authorize', 'background-color', 'rgb(92, 202, 189)'],
    ] as const)
      assert.equal(await colorOf(selector, name), value, `${selector} ${name}`);
    assert.ok(
      await page.evaluate("document.fonts.load('14px Inter').then(([font]) => font?.status === 'loaded')"),
    );
  });

  it('violates no rule of its content policy, and sends no request to another host', () => {
    assert.deepEqual(complaints, []);
  });
});
