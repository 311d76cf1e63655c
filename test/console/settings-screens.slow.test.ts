/** Webhooks, clients, audit and the playground in real Chromium, done by keyboard alone; and what each role may not do. */
import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import type { WebhookTables } from '../../src/service/webhook/index.ts';
import { demoAddress } from '../../src/app/dev/index.ts';
import {
  checkAccessibility,
  checkWidth,
  openConsoleWorld,
  secretWords,
  skip,
  until,
  type ConsoleWorld,
} from './console-world.ts';
import { choose, saveCsv, tabTo, tryAll } from './keyboard.ts';

describe('the screens of settings', { skip }, () => {
  let world: ConsoleWorld;
  let page: Page;
  let endpoint: Server;
  let isEndpointDown = true;
  let hookId = '';

  before(async () => {
    endpoint = createServer((request, response) => {
      request.resume();
      response.writeHead(isEndpointDown ? 503 : 204, { 'content-type': 'application/json' });
      response.end(isEndpointDown ? '{"error":"maintenance"}' : undefined);
    });
    await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', () => resolve()));
    world = await openConsoleWorld();
    const url = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/hook`;
    const made = (await world.client.post('/messaging/webhooks', { url, description: 'an EHR' })) as {
      readonly webhook: { readonly id: string };
    };
    hookId = made.webhook.id;
    page = await world.openPage();
  });
  after(async () => {
    await world.close();
    endpoint.close();
  });

  /** The screen in both themes and narrow, without a violation and without sideways scrolling. */
  const check = (what: string): Promise<void> => tryAll(page, what, checkAccessibility, checkWidth);

  it('creates a client by keyboard, shows its secret once, and the secret works', async () => {
    await page.keyboard.press('g');
    await page.keyboard.press('l');
    await choose(page, 'New client');
    await page.getByRole('dialog', { name: 'New client' }).waitFor();
    await tabTo(page, 'Name');
    await page.keyboard.type('Hillside EHR');
    await tabTo(page, 'Direct addresses');
    await page.keyboard.type('front.desk@direct.riverside.example');
    await check('the form of a new client');
    await choose(page, 'Create');
    const ready = page.getByRole('dialog', { name: 'Hillside EHR is ready' });
    await ready.waitFor();
    const [clientId = '', secret = ''] = await ready.locator('.copy-value code').allInnerTexts();
    const token = await fetch(`${world.sandbox.credentials.baseUrl}/oauth2/direct/v1/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from(`${clientId}:${secret}`).toString('base64')}` },
      body: new URLSearchParams({ grant_type: 'client_credentials', scope: 'messaging.api' }),
    });
    assert.equal(token.status, 200, await token.text());
    await choose(page, 'I have saved it');
    await page.getByRole('heading', { name: 'Hillside EHR' }).waitFor();
    await page.locator('.facts').getByText('front.desk@direct.riverside.example').waitFor();
    assert.ok((await page.locator('.first-requests pre').count()) >= 2, 'first requests to copy');
    await page.reload();
    await page.getByRole('heading', { name: 'First requests' }).waitFor();
    assert.ok(!(await page.content()).includes(secret), 'the secret is not shown again');
    await check('a client');
    await world.show(page, '/clients');
    await check('clients');
  });

  it('shows the responses of a failing endpoint, replays its dead letters, and sends a test event, by keyboard', async () => {
    await world.send('processed@direct.lakeside.example');
    const { storage } = world.sandbox.world.hisp;
    const db = storage.tables<WebhookTables>();
    const rows = () =>
      db
        .selectFrom('webhook_notification')
        .select(['id', 'state', 'attempts'])
        .where('webhook_id', '=', hookId)
        .execute();
    await until(rows, (found) => found.some(({ attempts }) => attempts > 0), 'an attempt failed');
    // As after a day of attempts: the next is the last.
    await db
      .updateTable('webhook_notification')
      .set({ attempts: 10, next_attempt_at: 0 })
      .where('webhook_id', '=', hookId)
      .execute();
    await until(rows, (found) => found.some(({ state }) => state === 'dead'), 'a notification is dead');

    await world.show(page, '/webhooks');
    await check('webhooks');
    await page.keyboard.press('j');
    await until(
      async () => {
        if (page.url().includes(hookId)) return true;
        await page.keyboard.press('j');
        const href = await page.evaluate(`document.activeElement.getAttribute('href')`);
        if (String(href).includes(hookId)) await page.keyboard.press('Enter');
        return page.url().includes(hookId);
      },
      Boolean,
      'the hook opens',
    );
    await page.getByRole('heading', { name: 'Dead letters' }).waitFor();
    await tabTo(page, /^503/);
    await page.keyboard.press('Enter');
    await page.getByText('{"error":"maintenance"}').first().waitFor();
    await check('a failing webhook');
    await choose(page, 'Send a test event', { isBack: true });
    await page.locator('.hook-test').waitFor();
    assert.match(await page.locator('.hook-test').innerText(), /503/);
    isEndpointDown = false;
    await choose(page, /^Replay all/);
    await page.getByRole('dialog').getByRole('button', { name: 'Replay' }).waitFor();
    await choose(page, 'Replay');
    await until(rows, (found) => found.every(({ state }) => state !== 'dead'), 'the dead letters went');
    await page.getByRole('heading', { name: 'Dead letters' }).waitFor({ state: 'detached' });
    const { audit } = world.sandbox.world.hisp;
    await audit.flush();
    const views = (await audit.find({ action: 'webhook.show', limit: 50 })).filter(
      ({ objects }) => objects['webhookId'] === hookId,
    );
    assert.equal(views.length, 1, 'one view is one audit row, whatever the page refreshes');
  });

  it('verifies the audit trail and filters it, by keyboard', async () => {
    await page.keyboard.press('Escape');
    await page.keyboard.press('g');
    await page.keyboard.press('a');
    await page.getByRole('heading', { name: 'Audit' }).waitFor();
    await choose(page, 'Verify the chain');
    await page.locator('.audit-verdict').waitFor();
    assert.match(await page.locator('.audit-verdict').innerText(), /[1-9][\d,]* rows/);
    assert.equal((await page.locator('.audit-verdict [data-tone=ok]').count()) > 0, true);
    await page.keyboard.press('/');
    await page.keyboard.type('operator:test operator 1');
    await page.keyboard.press('Enter');
    await page.waitForURL(/actor=operator/);
    await until(
      () => page.locator('.audit-list tbody tr').allInnerTexts(),
      (rows) => rows.length > 0 && rows.every((row) => row.includes('test operator 1')),
      'only rows of that operator',
    );
    assert.ok((await page.getByText('client.create').count()) > 0, 'the created client is among them');
    const facts = (await page.locator('.audit-objects .faint').allInnerTexts()).map((text) => text.trim());
    assert.ok(facts.includes('client'), 'facts have names in words');
    assert.deepEqual(
      facts.filter((text) => /[A-Z_]/.test(text)),
      [],
    );
    assert.equal(await page.getByRole('link', { name: 'Export' }).count(), 0, 'an operator exports nothing');
    await check('audit');
  });

  it('has links to a period of the audit trail that mean the same in another time zone', async () => {
    const other = await world.openPage();
    const browser = await other.context().newCDPSession(other);
    const asked = (): Promise<string | null> =>
      other
        .waitForRequest(/\/admin\/v1\/audit\?.*from=/)
        .then((request) => new URL(request.url()).searchParams.get('from'));
    await browser.send('Emulation.setTimezoneOverride', { timezoneId: 'America/Los_Angeles' });
    await world.show(other, '/audit');
    const day = asked();
    await other.getByLabel('When', { exact: true }).selectOption('yesterday');
    assert.match(String(await day), /T0[78]:00:00.000Z$/, 'a midnight of the viewer');
    await other.getByRole('button', { name: 'More filters' }).click();
    await other.getByLabel('From', { exact: true }).fill('2026-01-02T03:04');
    const first = asked();
    await other.getByRole('button', { name: 'Search', exact: true }).click();
    assert.equal(await first, '2026-01-02T11:04:00.000Z');
    await other.waitForURL(/from=/);
    const link = other.url();
    await browser.send('Emulation.setTimezoneOverride', { timezoneId: 'America/New_York' });
    const second = asked();
    await other.goto(link);
    assert.equal(await second, '2026-01-02T11:04:00.000Z');
    assert.equal(await other.getByLabel('From', { exact: true }).inputValue(), '1/2/2026, 6:04 AM');
    // Not all rows, as if there were no such filter.
    await other.goto(`${world.consoleUrl}/audit?from=yesterday`);
    await other
      .getByRole('alert')
      .getByText(/\bfrom\b/)
      .waitFor();
    assert.equal(await other.locator('main tbody tr').count(), 0);
    await other.context().close();
  });

  it('sends from the playground by keyboard and draws the exchange', async () => {
    await page.keyboard.press('Escape');
    await page.keyboard.press('g');
    await page.keyboard.press('p');
    await choose(page, /^Processed/);
    for (const kind of ['smtp', 'mdn', 'webhook'])
      await page.locator(`.exchange-step[data-kind=${kind}]`).first().waitFor();
    await page.locator('.exchange-more').waitFor({ state: 'detached' });
    assert.match(await page.locator('.exchange-state').innerText(), /accepted|processed/i);
    // Not of the partner, whose answers may still be cached.
    await page.getByLabel('To any address').focus();
    await page.keyboard.type('ann@direct.unasked.example');
    await page.keyboard.press('Enter');
    await page.locator('.exchange-step[data-kind=dns]').first().waitFor();
    await check('the playground');
  });

  it('finds a rare row of the audit trail behind many others', async () => {
    const { audit } = world.sandbox.world.hisp;
    const address = 'rare@direct.rare.example';
    await audit.recordNow({ action: 'address.check', outcome: 'ok', objects: { to: address } });
    for (let count = 0; count < 10_100; count++)
      await audit.record({ action: 'message.find', outcome: 'ok', objects: { count } });
    await audit.flush();
    await world.show(page, `/audit?address=${address}`);
    await until(
      () => page.locator('.audit-list tbody tr').allInnerTexts(),
      (rows) => rows.length === 1 && rows[0]?.includes(address) === true,
      'the row is found',
    );
    await page.getByText('1 row', { exact: true }).waitFor();
    await world.show(page, '/audit?action=message.find');
    await page.getByText('More than 50 rows', { exact: true }).waitFor();
  });

  it('says when a search of the audit trail was cut, and goes on', async () => {
    await page.route('**/admin/v1/audit?*', (route) =>
      route.fulfill({
        json: { result: [], next: route.request().url().includes('cursor=made-up') ? null : 'made-up' },
      }),
    );
    await world.show(page, '/audit?action=address.check');
    await page.getByText('No row found yet').waitFor();
    await choose(page, 'Search further');
    await page.getByText('No matching row').waitFor();
    await page.unrouteAll({ behavior: 'wait' });
    await page.route('**/admin/v1/audit?*', async (route) => {
      const { result } = (await (await route.fetch()).json()) as { readonly result: object[] };
      await route.fulfill({ json: { result: result.slice(0, 3), next: 'made-up' } });
    });
    await world.show(page, '/audit?action=message.find');
    await page.getByText('3 rows so far', { exact: true }).waitFor();
    await page.unrouteAll({ behavior: 'wait' });
  });

  it('leads from an audit row to its message by either id, to its client, and to the other rows of an address', async () => {
    const { audit } = world.sandbox.world.hisp;
    const bare = '6f1d2c3b-0000-4000-8000-00000000abcd';
    const address = 'ann@direct.linked.example';
    await audit.recordNow({
      action: 'message.show',
      outcome: 'ok',
      objects: {
        messageId: `urn:uuid:${bare}`,
        wireId: `<${bare}@direct.linked.example>`,
        clientId: 'hisp-00000000000000000000abcd',
        to: address,
      },
    });
    await audit.flush();
    await world.show(page, `/audit?address=${address}`);
    const row = page.locator('.audit-list tbody tr').first();
    await row.waitFor();
    const links = await row.locator('a').evaluateAll((all) => all.map((one) => one.getAttribute('href')));
    assert.deepEqual(
      links.map((href) => decodeURIComponent(href ?? '')).toSorted(),
      [
        '/clients/hisp-00000000000000000000abcd',
        `/messages/${bare}`,
        `/messages/<${bare}@direct.linked.example>`,
      ].toSorted(),
    );
    await row.getByRole('button', { name: address }).press('Enter');
    await page.waitForURL(/address=ann%40direct\.linked\.example/);
  });

  it('adds an organization by keyboard; its administrator sees it alone, until it is closed', async () => {
    await world.show(page, '/');
    await page.keyboard.press('g');
    await page.keyboard.press('r');
    await page.getByRole('heading', { name: 'Organizations' }).waitFor();
    await choose(page, 'Add an organization');
    await tabTo(page, 'Name');
    await page.keyboard.type('Hillside Clinic');
    await tabTo(page, 'Id');
    await page.keyboard.type('hillside');
    await tabTo(page, 'NPI');
    await page.keyboard.type('123');
    await tabTo(page, 'Active addresses');
    await page.keyboard.type('5');
    await check('the form of an organization');
    await choose(page, 'Add');
    await page
      .getByRole('alert')
      .getByText(/An NPI has exactly ten digits/)
      .waitFor();
    await tabTo(page, 'NPI', { isBack: true });
    for (let digit = 0; digit < 3; digit++) await page.keyboard.press('Backspace');
    await choose(page, 'Add');
    await page.getByRole('heading', { name: 'Hillside Clinic' }).waitFor();
    await choose(page, 'Add a domain');
    await page
      .getByRole('dialog')
      .getByRole('option', { name: 'Hillside Clinic' })
      .waitFor({ state: 'attached' });
    await tabTo(page, 'Domain');
    await page.keyboard.type('direct.hillside.example');
    await choose(page, 'Add');
    await page.getByRole('heading', { name: 'direct.hillside.example' }).waitFor();
    await world.show(page, '/organizations/hillside');
    await choose(page, 'Add a client');
    await page
      .getByRole('dialog')
      .getByRole('option', { name: 'Hillside Clinic' })
      .waitFor({ state: 'attached' });
    await tabTo(page, 'Name');
    await page.keyboard.type('Hillside EHR');
    await choose(page, 'Create');
    await choose(page, 'I have saved it');
    await page.getByText('@direct.hillside.example').first().waitFor();
    await world.show(page, '/organizations/hillside');
    await page.getByRole('link', { name: 'direct.hillside.example' }).waitFor();
    await page.getByRole('link', { name: 'Hillside EHR' }).waitFor();
    await page.getByText('0 of 5').waitFor();
    await check('an organization');
    await world.show(page, '/organizations');
    await check('organizations');

    const own = await world.openPage({ role: 'administrator', organization: 'hillside' });
    await own.getByText('administrator of Hillside Clinic').waitFor();
    const names = await own.getByRole('navigation', { name: 'Screens' }).getByRole('link').allInnerTexts();
    assert.deepEqual(
      names.map((name) => name.split('\n')[0]?.trim()),
      [
        'Now',
        'Messages',
        'Inbound',
        'Organizations',
        'Webhooks',
        'Domains and trust',
        'Clients',
        'Edge accounts',
        'Usage',
        'Audit',
      ],
    );
    const settings = [
      '/organizations',
      '/organizations/hillside',
      '/webhooks',
      '/domains',
      '/clients',
      '/edge-accounts',
    ];
    for (const target of [
      '/',
      '/messages',
      '/inbound',
      ...settings,
      '/domains/direct.hillside.example',
      '/usage',
    ]) {
      await world.show(own, target);
      const shown = await own.locator('main').innerText();
      assert.doesNotMatch(
        shown,
        /(?<!mx\.direct\.)riverside|role does not allow|Add a domain|Add a client|New client/,
        target,
      );
      await checkAccessibility(own, `${target} of an administrator`);
    }
    // What is saved holds no more than what is shown.
    for (const [target, row] of [
      ['/clients', /,Hillside EHR,|^Hillside EHR,/],
      ['/organizations', /^hillside,Hillside Clinic,/],
      ['/domains/direct.hillside.example', undefined],
      ['/webhooks', undefined],
      ['/edge-accounts', undefined],
      ['/messages', undefined],
    ] as const) {
      await world.show(own, target);
      const { lines } = await saveCsv(own);
      const rows = lines.slice(1);
      assert.equal(rows.length, row === undefined ? 0 : 1, lines.join('\n'));
      if (row !== undefined) assert.match(rows.join(), row);
    }
    await world.show(own, '/domains/direct.hillside.example');
    await choose(own, 'Add an address');

    await world.show(page, '/organizations/hillside');
    await choose(page, 'Close');
    await page.getByRole('dialog', { name: 'Close Hillside Clinic' }).waitFor();
    await page.keyboard.type('The practice has closed.');
    await check('the dialog that closes an organization');
    await choose(page, 'Close it');
    await page.getByText('Closed: The practice has closed.').waitFor();
    assert.equal(await ask(own, 'GET', '/domains'), 401);
    await own.context().close();
    await choose(page, 'Open again');
    await choose(page, 'Open it');
    await page.getByText('Open.', { exact: true }).waitFor();
  });

  it('shows an auditor everything and nothing that changes it; the API refuses', async () => {
    const auditor = await world.openPage({ role: 'auditor' });
    for (const target of ['/webhooks', `/webhooks/${hookId}`, '/clients', '/audit']) {
      await world.show(auditor, target);
      const names = await auditor.locator('main button').allInnerTexts();
      assert.deepEqual(
        names.filter((name) => /New client|Replay|test event|Disable|Issue|Revoke/.test(name)),
        [],
        target,
      );
    }
    assert.equal(await auditor.getByRole('link', { name: 'Export' }).count(), 1);
    const exported = await ask(auditor, 'GET', '/audit/export');
    assert.equal(exported, 200);
    assert.equal(await ask(auditor, 'POST', '/clients', { name: 'x', scopes: ['messaging.api'] }), 403);
    assert.equal(await ask(auditor, 'POST', `/webhooks/${hookId}/replay`, {}), 403);
    await auditor.context().close();
  });

  it('saves what each list shows as a file that a spreadsheet does not run', async () => {
    const name = '=HYPERLINK("http://x.example")';
    assert.equal(await ask(page, 'POST', '/clients', { name, scopes: ['messaging.api'] }), 201);
    const auditor = await world.openPage({ role: 'auditor' });
    const domain = 'direct.riverside.example';
    const [client] = await world.sandbox.world.hisp.oauth.clients.list();
    assert.ok(client !== undefined);
    const account = {
      clientId: client.clientId,
      username: 'front.desk',
      addresses: [demoAddress],
      protocols: ['imap', 'pop3'],
    };
    assert.equal(await ask(page, 'POST', '/edge-accounts', account), 201);
    const files = [
      ['/clients', 'clients.csv', /,"'=HYPERLINK\(""http:\/\/x\.example""\)",/],
      ['/webhooks', 'webhooks.csv', /\/hook,an EHR,/],
      ['/organizations', 'organizations.csv', /^operator,/],
      ['/edge-accounts', 'edge-accounts.csv', /^front\.desk,.*,imap pop3,/],
      ['/operators', 'operators.csv', /^[^,]+,operator,.*,\d+,\d+,[\d-]+T/],
      ['/nodes', 'nodes.csv', /,api mail console edge,/],
      [
        `/domains/${domain}?q=${demoAddress}`,
        `addresses-${domain}.csv`,
        new RegExp(`^${demoAddress},active$`),
      ],
    ] as const;
    for (const one of [page, auditor])
      for (const [target, file, row] of files) {
        await world.show(one, target);
        const saved = await saveCsv(one);
        assert.equal(saved.name, file);
        assert.ok(
          saved.lines.slice(1).some((line) => row.test(line)),
          saved.lines.join('\n'),
        );
        if (target.includes('?q=')) assert.equal(saved.lines.length, 2, 'only what the filter leaves');
      }
    await auditor.context().close();
  });

  it('hides settings from the help desk; the API refuses', async () => {
    const helpDesk = await world.openPage({ role: 'help-desk' });
    const names = await helpDesk
      .getByRole('navigation', { name: 'Screens' })
      .getByRole('link')
      .allInnerTexts();
    for (const hidden of ['Webhooks', 'Domains and trust', 'Clients', 'Audit', 'Playground'])
      assert.ok(!names.some((name) => name.includes(hidden)), hidden);
    for (const target of ['/webhooks', '/clients', '/domains', '/audit', '/playground'])
      assert.equal(await ask(helpDesk, 'GET', target), 403, target);
    await helpDesk.context().close();
  });

  it('receives no content, and breaks no rule of the page', () => {
    for (const text of world.received)
      for (const word of secretWords) assert.ok(!text.includes(word), `received ${word}`);
    const expected = /status of 40[013]/;
    assert.deepEqual(
      world.complaints.filter((text) => !expected.test(text)),
      [],
    );
  });
});

/** The status of an answer to the page's own session. */
async function ask(page: Page, method: string, target: string, body?: unknown): Promise<number> {
  return (await page.evaluate(
    `fetch(${JSON.stringify(`/admin/v1${target}`)}, ${JSON.stringify({
      method,
      ...(body !== undefined && {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    })}).then((answer) => answer.status)`,
  )) as number;
}
