/**
 * The ten questions that a help desk is asked most, walked in real Chromium from the screen Now. Each is answered in a few clicks, which are counted; the
 * table of docs/console.md has the ways.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { partners } from '../../src/app/dev/index.ts';
import { parseDirectAddress } from '../../src/lib/values/index.ts';
import { monthsBefore, type MessagingTables } from '../../src/service/messaging/index.ts';
import { openConsoleWorld, skip, until, type ConsoleWorld } from './console-world.ts';
import { signRequest } from './sign-request.ts';

const own = 'direct.riverside.example';
const broken = 'direct.broken.example';

interface Walk {
  click(target: Locator): Promise<void>;
  type(target: Locator, text: string): Promise<void>;
  choose(target: Locator, label: string): Promise<void>;
  /** Waits until the screen answers. */
  read(answer: RegExp): Promise<void>;
}

describe('the ten questions of a help desk', { skip }, () => {
  let world: ConsoleWorld;
  let page: Page;
  before(async () => {
    world = await openConsoleWorld();
    const { trust, storage } = world.sandbox.world.hisp;
    world.sandbox.world.publish({ name: broken, findRecords: () => Promise.reject(new Error('no answer')) });
    await trust.putAddress(parseDirectAddress(`left@${own}`), 'disabled');
    await storage
      .tables<MessagingTables>()
      .insertInto('usage_day')
      .values({
        day: `${monthsBefore(new Date(), 1)}-15`,
        client_id: world.sandbox.credentials.clientId,
        organization_id: 'operator',
        domain: own,
        messages: 4711,
        recipients: 4711,
        octets: 5000,
        delivered: 4700,
        failed: 11,
      })
      .execute();
    await world.sendAll();
    page = await world.openPage();
  });
  after(() => world?.close());

  const nav = (name: string): Locator =>
    page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name });
  const button = (name: string | RegExp): Locator => page.getByRole('button', { name, exact: true });
  const dialog = (): Locator => page.getByRole('dialog');
  const firstRow = (): Locator => page.locator('main [data-row]').first();
  const domainPage = async ({ click }: Walk): Promise<void> => {
    await click(nav('Domains and trust'));
    await click(page.getByRole('link', { name: own }));
  };
  const findMessage = async ({ click, type }: Walk, text: string): Promise<void> => {
    await click(nav('Messages'));
    await type(page.getByRole('searchbox'), text);
    await until(
      () => page.locator('main [data-row]').allInnerTexts(),
      (rows) => rows.length > 0 && rows.every((row) => row.includes(text)),
      `${text} is found`,
    );
    await click(firstRow());
  };

  /** A question, with the most clicks that its answer may take, and the way to it. */
  const questions: readonly (readonly [
    question: string,
    clicks: number,
    way: (walk: Walk) => Promise<void>,
  ])[] = [
    [
      'my message never arrived',
      2,
      async (walk) => {
        await findMessage(walk, partners.failed);
        await walk.read(/stopped here[\s\S]+What to do:/);
      },
    ],
    [
      'why is it waiting?',
      1,
      async ({ click, read }) => {
        // Not before: it waits for some seconds only.
        await world.send(`dan@${broken}`);
        await click(page.locator('a.tile', { hasText: 'Queue' }));
        await read(/do not answer/);
      },
    ],
    [
      'they do not trust us',
      4,
      async (walk) => {
        await findMessage(walk, partners.expired);
        await walk.click(page.getByRole('link', { name: `Keys of ${own}` }));
        await walk.click(button('Copy for a partner'));
        assert.match(
          String(await page.evaluate('navigator.clipboard.readText()')),
          /trust the issuer[\s\S]+Issuer/,
        );
      },
    ],
    [
      'we do not trust them',
      3,
      async (walk) => {
        await findMessage(walk, partners.untrusted);
        await walk.click(page.getByRole('link', { name: 'Check this address' }));
        await walk.read(/no trusted issuer[\s\S]+For the operator of the other HISP/);
      },
    ],
    [
      'which of our addresses cannot receive?',
      3,
      async (walk) => {
        await domainPage(walk);
        await walk.choose(page.getByLabel('State'), 'cannot receive');
        await walk.read(new RegExp(`left@${own}`));
      },
    ],
    [
      'a proof that it was delivered',
      3,
      async (walk) => {
        await findMessage(walk, partners.processed);
        const saved = page.waitForEvent('download');
        await walk.click(page.getByRole('link', { name: 'Evidence' }));
        assert.match((await saved).suggestedFilename(), /^evidence-/);
      },
    ],
    [
      'how many last month?',
      2,
      async ({ click, choose, read }) => {
        await click(nav('Usage'));
        await choose(page.getByLabel('Period'), 'last month');
        await read(/4,711/);
      },
    ],
    [
      '200 new addresses',
      5,
      async (walk) => {
        await domainPage(walk);
        await walk.click(button('Add a file'));
        const rows = Array.from({ length: 200 }, (_, index) => `new${index}@${own}`);
        await dialog()
          .locator('input[type=file]')
          .setInputFiles({
            name: 'a.csv',
            mimeType: 'text/csv',
            buffer: Buffer.from(['address', ...rows].join('\n')),
          });
        await walk.click(button('Check the file'));
        await walk.click(button('Store'));
        await walk.read(/20\d hosted/);
      },
    ],
    [
      'a new clinic',
      8,
      async ({ click, type, read }) => {
        await click(nav('Organizations'));
        await click(button('Add an organization'));
        await type(dialog().getByLabel('Name'), 'Lakeview Clinic');
        await click(dialog().getByRole('button', { name: 'Add' }));
        await click(button('Add a domain'));
        await type(dialog().getByLabel('Domain'), 'direct.lakeview.example');
        await click(dialog().getByRole('button', { name: 'Add' }));
        await read(/No key yet/);
        await page.goBack();
        await click(button('Add a client'));
        await type(dialog().getByLabel('Name'), 'Lakeview EHR');
        await click(dialog().getByRole('button', { name: 'Create' }));
        await click(button('I have saved it'));
        await read(/@direct\.lakeview\.example/);
      },
    ],
    [
      'rotate a key',
      7,
      async (walk) => {
        await domainPage(walk);
        await walk.click(button('Begin'));
        await walk.click(button('Make a key'));
        const csr = await page.locator('.csr pre').innerText();
        await page.getByLabel('Certificate, PEM').fill(await signRequest(world, csr, own));
        await walk.click(button('Install'));
        await walk.click(button('Retire'));
        await walk.click(dialog().getByRole('button', { name: 'Retire' }));
        await page.locator('.key-bar[data-state=retired]').waitFor();
      },
    ],
  ];

  for (const [question, maxClicks, way] of questions)
    it(`answers: ${question}`, async () => {
      await world.show(page, '/');
      let clicks = 0;
      let keys = 0;
      const from = Date.now();
      await way({
        async click(target) {
          clicks++;
          await target.click();
        },
        async type(target, text) {
          keys += text.length;
          await target.pressSequentially(text);
        },
        async choose(target, label) {
          clicks++;
          await target.selectOption({ label });
        },
        async read(answer) {
          await until(
            () => page.locator('main').innerText(),
            (text) => answer.test(text),
            `the screen shows ${answer}`,
          );
        },
      });
      console.log(
        `${question}: ${clicks} clicks, ${keys} keys, ${((Date.now() - from) / 1000).toFixed(1)} s`,
      );
      assert.ok(clicks <= maxClicks, `${clicks} clicks`);
    });
});
