/**
 * Every dialog of the screens of settings in real Chromium: opened and filled by keyboard alone, with text of others that is hostile,
 * in both themes and at the width of a phone, once while the server fails and then to its end.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page, Route } from 'playwright-core';
import { hasHidden, systemClock } from '../../src/core/index.ts';
import { domains, partners } from '../../src/app/dev/index.ts';
import { createAuthority, createKeyPair, formatPem, type Certificate } from '../../src/lib/pki/index.ts';
import { createLegalHolds } from '../../src/service/legal-hold/index.ts';
import { monthsBefore, type MessagingTables } from '../../src/service/messaging/index.ts';
import {
  checkAccessibility,
  checkWidth,
  openConsoleWorld,
  skip,
  until,
  type ConsoleWorld,
} from './console-world.ts';
import { choose, tabTo, tryAll } from './keyboard.ts';

const hostile = (place: string): string =>
  `"><img src=x onerror="window.hostile='${place}'">\u202Eexe\u2066${'W'.repeat(120)}`;
/** What operators may store is visible: other characters are refused where they are given. */
const visible = (text: string): string => [...text].filter((one) => !hasHidden(one)).join('');
const misleading = /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069\u200B]/;

interface Step {
  /** Where the dialog is, and the button that opens it. */
  readonly at: string;
  readonly open: string | RegExp;
  /** Chosen in the dialog, since no keyboard types into a file field. */
  readonly csv?: string;
  /** Labels of fields, with what is typed. */
  readonly fields?: readonly (readonly [label: string, text: string])[];
  /** Buttons in order; the last one sends, and fails once. */
  readonly send: readonly string[];
  /** Shown afterwards. */
  readonly done: string | RegExp;
  /** Ends what the dialog shows once. */
  readonly end?: string;
  /** The dialog is opened from another one, which stays open. */
  readonly isInner?: true;
}

describe('the dialogs of settings', { skip }, () => {
  let world: ConsoleWorld;
  let page: Page;
  let steps: readonly Step[];
  const domain = domains.own;
  const here = `/domains/${domain}`;
  const csvOf = (name: string): string =>
    `address,first_name,organization\nfile.row@${domain},Ann,Clinic\nx,"${name.replaceAll('"', '""')}",\n`;

  before(async () => {
    world = await openConsoleWorld();
    const ca = await makeAuthority('new');
    const { clientId } = await world.sandbox.world.hisp.oauth.clients.create({
      name: `Dialogs ${visible(hostile('client'))}`.slice(0, 200),
      scopes: ['messaging.api'],
      directAddresses: [`@${domain}`],
    });
    const message = `/messages/${await world.send(partners.processed)}`;
    page = await world.openPage();
    page.setDefaultTimeout(10_000);
    const client = `/clients/${clientId}`;
    const hook = await world.sandbox.world.hisp.webhooks.create(clientId, {
      url: 'https://hooks.example.org/known',
      description: visible(hostile('hook')),
    });
    const webhook = `/webhooks/${hook.webhook.id}`;
    // First: what gives access needs a sign-in of the last five minutes.
    steps = [
      {
        at: '/operators',
        open: 'New operator',
        fields: [['Name', 'Ann Lee']],
        send: ['Create'],
        done: /Ann Lee[\s\S]*help-desk/,
        end: 'I have saved it',
      },
      { at: '/operators/Ann%20Lee', open: 'Change role', send: ['Save'], done: 'help-desk' },
      {
        at: '/operators/Ann%20Lee',
        open: 'New link',
        send: ['Make the link'],
        done: /Ann/,
        end: 'I have saved it',
      },
      { at: '/operators/Ann%20Lee', open: 'Disable', send: ['Disable'], done: 'Disabled.' },
      { at: '/operators/Ann%20Lee', open: 'Enable', send: ['Enable'], done: 'New link' },
      {
        at: '/webhooks',
        open: 'New webhook',
        fields: [
          ['Client', 'Dialog'],
          ['URL', 'https://hooks.example.org/new'],
          ['Description', visible(hostile('new hook'))],
        ],
        send: ['Register'],
        done: /hooks\.example\.org\/new/,
        end: 'I have saved it',
      },
      { at: webhook, open: 'Disable', send: ['Disable'], done: /[Dd]isabled/ },
      { at: webhook, open: 'Enable', send: ['Enable'], done: 'Disable' },
      {
        at: '/domains',
        open: 'Add a domain',
        fields: [['Domain', 'direct.new.example']],
        send: ['Add'],
        done: 'direct.new.example',
      },
      {
        at: here,
        open: 'Follow a bundle',
        fields: [['URL', `https://127.0.0.1:9/${'w'.repeat(120)}.p7b`]],
        send: ['Add'],
        done: /127\.0\.0\.1:9/,
      },
      { at: here, open: /^Remove the bundle/, send: ['Remove'], done: 'No bundle' },
      {
        at: here,
        open: 'Trust a CA',
        fields: [['Certificate of the CA', formatPem('CERTIFICATE', ca.der)]],
        send: ['Next', 'Trust this CA'],
        done: /'new'/,
      },
      { at: here, open: /^Remove .*'new'/, send: ['Remove'], done: /Anchors/ },
      {
        at: here,
        open: 'Add an address',
        fields: [
          ['Address', 'ann.lee'],
          ['First name', visible(hostile('name')).slice(0, 60)],
          ['Organization', visible(hostile('organization'))],
        ],
        send: ['Add'],
        done: /ann\.lee/,
      },
      {
        at: `${here}?address=${encodeURIComponent(`ann.lee@${domain}`)}`,
        open: '',
        fields: [['City', 'Chicago']],
        send: ['Save'],
        done: /ann\.lee/,
      },
      {
        at: `${here}?address=${encodeURIComponent(`ann.lee@${domain}`)}`,
        open: 'Forward',
        fields: [['Who gets it', 'demo']],
        send: ['Save'],
        done: /forwarded\s+to demo@/,
        isInner: true,
      },
      {
        at: `${here}?address=${encodeURIComponent(`ann.lee@${domain}`)}`,
        open: 'Legal hold',
        fields: [['Reason', visible(hostile('address hold'))]],
        send: ['Put on legal hold'],
        done: /on legal hold[\s\S]*'address hold'/,
        isInner: true,
      },
      {
        at: here,
        open: 'Add a file',
        csv: csvOf(hostile('row')),
        send: ['Check the file', 'Store the others'],
        done: /file\.row/,
      },
      { at: client, open: 'Edit', fields: [['Name', ' again']], send: ['Save'], done: /'client'/ },
      { at: client, open: 'Issue another', send: [], done: /Secrets/, end: 'I have saved it' },
      { at: client, open: /^Revoke secret/, send: ['Revoke'], done: /Secrets/ },
      { at: client, open: 'Disable', send: ['Disable'], done: /disabled/i },
      { at: client, open: 'Enable', send: ['Enable'], done: 'Disable' },
      {
        at: message,
        open: 'Legal hold',
        fields: [['Reason', visible(hostile('legal hold'))]],
        send: ['Put on legal hold'],
        done: /on legal hold[\s\S]*'legal hold'/,
      },
      {
        at: message,
        open: 'Release',
        fields: [['Reason of the release', 'Settled']],
        send: ['Release'],
        done: /^(?![\s\S]*on legal hold)/,
      },
      {
        at: '/edge-accounts',
        open: 'New account',
        fields: [
          ['Client', 'Dialog'],
          ['User name', `ann.lee@${domain}`],
        ],
        send: ['Create'],
        done: /ann\.lee/,
        end: 'I have saved it',
      },
    ];
  });
  after(() => world?.close());

  async function makeAuthority(name: string): Promise<Certificate> {
    const dayMs = 86_400_000;
    return createAuthority({
      subject: [['CN', hostile(name)]],
      ...(await createKeyPair()),
      notBefore: new Date(Date.now() - dayMs),
      notAfter: new Date(Date.now() + 400 * dayMs),
    });
  }

  const isSafe = async (shown: Page, what: string): Promise<void> => {
    assert.equal(await shown.evaluate('window.hostile'), undefined, `${what}: a script ran`);
    const all = String(await shown.evaluate('document.title + document.body.textContent'));
    assert.equal(misleading.exec(all)?.[0], undefined, `${what}: text may mislead`);
  };
  /** Nothing in it is wider than the dialog. */
  const fitsDialog = async (shown: Page, what: string): Promise<void> => {
    const [inner, outer] = (await shown.evaluate(
      `(() => { const one = [...document.querySelectorAll('dialog[open]')].at(-1); return one === undefined ? [0, 0] : [one.scrollWidth, one.clientWidth]; })()`,
    )) as [number, number];
    assert.ok(inner <= outer, `${what}: ${inner} px of content in a dialog of ${outer} px`);
  };
  async function tryNarrow(
    what: string,
    ...checks: readonly ((page: Page, what: string) => Promise<void>)[]
  ): Promise<void> {
    await page.setViewportSize({ width: 320, height: 900 });
    for (const one of checks) await one(page, what);
    await page.setViewportSize({ width: 1440, height: 900 });
  }
  const failChanges = (route: Route): Promise<void> =>
    route.request().method() === 'GET' ? route.continue() : route.fulfill({ status: 503, body: '' });

  it('each by keyboard, failing once', async (context) => {
    for (const { at, open, csv, fields = [], send, done, end, isInner = false } of steps)
      // Each begins with what the one before stored.
      // oxlint-disable-next-line no-await-in-loop
      await context.test(`${at.slice(0, 40)}: ${String(open)}`, async () => {
        await world.show(page, at);
        if (open !== '') await choose(page, open);
        const dialogs = page.getByRole('dialog');
        const countIs = (count: number) =>
          until(
            () => dialogs.count(),
            (now) => now === count,
            `${count} dialogs are open`,
          );
        await countIs(isInner ? 2 : 1);
        const dialog = dialogs.last();
        if (csv !== undefined)
          await dialog
            .locator('input[type=file]')
            .setInputFiles({ name: 'addresses.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) });
        for (const [label, text] of fields) {
          await tabTo(page, label);
          if (label !== 'Client') await page.keyboard.insertText(text);
          else {
            await dialog.getByRole('option', { name: text }).waitFor({ state: 'attached' });
            await page.keyboard.type(text);
          }
        }
        await tryAll(page, 'open', checkAccessibility, isSafe, checkWidth, fitsDialog);
        for (const before of send.slice(0, -1)) await choose(page, before);
        const last = send.at(-1);
        if (last !== undefined) {
          await page.route('**/admin/v1/**', failChanges);
          await choose(page, last);
          await dialog.getByText('The server failed.').waitFor();
          await tryNarrow('failing', checkAccessibility, isSafe, checkWidth, fitsDialog);
          await page.unrouteAll({ behavior: 'wait' });
          await choose(page, last);
        }
        if (end !== undefined) {
          await dialog.getByText(end).waitFor();
          await tryNarrow('shown once', checkAccessibility, isSafe, checkWidth, fitsDialog);
          await choose(page, end);
        }
        await countIs(isInner ? 1 : 0);
        await until(
          () => page.locator('main').innerText(),
          (text) => (typeof done === 'string' ? text.includes(done) : done.test(text)),
          `the screen shows ${String(done)}`,
        );
        await tryNarrow('afterwards', isSafe, checkWidth);
      });
  });

  it('releases the legal hold of an address above its form, which is not sent', async () => {
    const { storage } = world.sandbox.world.hisp;
    const holds = createLegalHolds({
      storage,
      clock: systemClock,
      author: 'operator:test',
      recordIn: async () => {},
    });
    const puts: string[] = [];
    page.on('request', (request) => {
      if (request.method() === 'PUT') puts.push(request.url());
    });
    await world.show(page, `${here}?address=${encodeURIComponent(`ann.lee@${domain}`)}`);
    await page.getByText('on legal hold').waitFor();
    await page.getByRole('button', { name: 'Release' }).click();
    const release = page.getByRole('dialog', { name: 'Release the legal hold?' });
    await release.getByLabel('Reason of the release').fill('Settled');
    await release.getByRole('button', { name: 'Release' }).click();
    await release.waitFor({ state: 'detached' });
    await page.getByText('on legal hold').waitFor({ state: 'detached' });
    assert.equal(await page.getByRole('dialog').count(), 1, 'the address stays open');
    assert.deepEqual([puts, await holds.list()], [[], []]);
  });

  it('leaves a dialog by Escape, with the focus where it was', async () => {
    await world.show(page, '/domains');
    await choose(page, 'Add a domain');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.equal(await page.evaluate('document.activeElement?.innerText'), 'Add a domain');
  });

  it('the screen of usage, with hostile names, a period and a file, by keyboard', async () => {
    const { oauth, storage } = world.sandbox.world.hisp;
    const [client] = (await oauth.clients.list()).filter(({ name }) => name.startsWith('Dialogs'));
    const day = `${monthsBefore(new Date(), 1)}-02`;
    const figures = {
      messages: 1_234_567,
      recipients: 2_345_678,
      octets: 9_876_543_210,
      delivered: 2_000_000,
      failed: 9,
    };
    await storage
      .tables<MessagingTables>()
      .insertInto('usage_day')
      .values({
        day,
        client_id: client?.clientId ?? '',
        organization_id: 'operator',
        domain: `${'w'.repeat(60)}.example`,
        ...figures,
      })
      .execute();
    for (const query of [
      '',
      '?by=all&period=last',
      '?by=client',
      '?by=organization&period=last',
      '?by=day&period=last',
    ]) {
      await world.show(page, `/usage${query}`);
      await page.locator('main').getByText('1,234,567').first().waitFor();
      await tryAll(page, query, checkAccessibility, isSafe, checkWidth);
    }
    const saved = page.waitForEvent('download');
    await choose(page, 'Save as CSV');
    assert.match((await saved).suggestedFilename(), /^usage-.*csv$/);
    await tabTo(page, 'Period');
    await page.keyboard.type('this');
    await page.waitForURL(/period=this/);
  });

  it('each screen says that it could not be read', async () => {
    // The stream of changes holds one of the six connections that a browser opens to a host.
    for (const targets of [
      ['/domains', here, '/clients'],
      ['/edge-accounts', '/operators', '/nodes'],
    ]) {
      // oxlint-disable-next-line no-await-in-loop
      const pages = await Promise.all(
        targets.map(async (target) => {
          const one = await page.context().newPage();
          await one.route(/\/admin\/v1\/(?:domains|clients|edge-accounts|operators|nodes)/, (route) =>
            route.fulfill({ status: 503, body: '' }),
          );
          await one.goto(`${world.consoleUrl}${target}`);
          return one;
        }),
      );
      for (const one of pages) {
        // The page asks again by itself before it says so.
        await one.locator('main').getByText('The server failed.').first().waitFor({ timeout: 30_000 });
        await checkAccessibility(one, one.url());
        await one.close();
      }
    }
  });

  it('breaks no rule of the page', () => {
    const expected = /status of (?:400|503)/;
    assert.deepEqual(
      world.complaints.filter((text) => !expected.test(text)),
      [],
    );
  });
});
