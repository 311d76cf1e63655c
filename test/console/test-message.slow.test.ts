/** A test message to each kind of partner, sent from the screen that checks an address and by command, in real Chromium. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { demoAddress, partners, type PartnerOutcome } from '../../src/app/dev/index.ts';
import { runCommand } from '../support/run-command.ts';
import {
  checkAccessibility,
  checkWidth,
  openConsoleWorld,
  skip,
  until,
  type ConsoleWorld,
} from './console-world.ts';

/** What the message's page must come to say, with the state of each station. */
const ends: Readonly<Record<PartnerOutcome, RegExp>> = {
  processed:
    /Certificate\s[\s\S]+found for the (?:address|domain) in DNS\b[\s\S]+Trust\s[\s\S]+Sent\s[\s\S]+accepted the message[\s\S]+Processed/,
  dispatched: /accepted the message[\s\S]+Dispatched/,
  failed: /Processed\s+stopped here[\s\S]+What to do:/,
  expired: /Processed\s+stopped here[\s\S]+What to do:/,
  untrusted: /Trust\s+stopped here[\s\S]+What to do:[\s\S]+anchor/,
  noCertificate: /Certificate\s+stopped here[\s\S]+What to do:/,
};

describe('a test message', { skip }, () => {
  let world: ConsoleWorld;
  let page: Page;
  before(async () => {
    world = await openConsoleWorld();
    page = await world.openPage();
  });
  after(() => world.close());

  const mainText = (): Promise<string> => page.locator('main').innerText();
  const dialog = (on: Page = page) => on.getByRole('dialog', { name: 'Send a test message' });

  async function openDialog(to: string, on: Page = page): Promise<void> {
    await world.show(on, `/check?address=${encodeURIComponent(to)}`);
    await on.getByRole('button', { name: 'Send a test message' }).click();
    await dialog(on).waitFor();
    await until(
      () => dialog(on).getByLabel('From').inputValue(),
      (from) => from.includes('@'),
      'a sender is proposed',
    );
  }

  for (const outcome of Object.keys(ends) as PartnerOutcome[])
    it(`to the partner "${outcome}" shows its whole path on its page, live`, async () => {
      await openDialog(partners[outcome]);
      await dialog().getByLabel('From').fill(demoAddress);
      if (outcome === 'dispatched')
        await dialog()
          .getByLabel(/final delivery/)
          .check();
      const command = await dialog().locator('.command code').innerText();
      assert.match(
        command.replaceAll(/\s+/g, ' '),
        new RegExp(
          `^openhisp message test ${demoAddress} ${partners[outcome]}${outcome === 'dispatched' ? ' --final' : ''}$`,
        ),
      );
      await dialog().getByRole('button', { name: 'Send', exact: true }).dblclick();
      await page.waitForURL(/\/messages\/[0-9a-f-]{36}$/);
      const text = await until(mainText, (shown) => ends[outcome].test(shown), `the page of ${outcome} ends`);
      assert.match(text, /Test by\s+test operator 1/);
      assert.match(text, /message\.accept|A message was accepted/);
      await checkAccessibility(page, `a test to ${outcome}`);
    });

  it('was one message for each, and none is the client’s', async () => {
    await world.show(page, '/messages?direction=out');
    const rows = await page.locator('main tbody tr').allInnerTexts();
    assert.equal(rows.length, Object.keys(ends).length, rows.join('\n'));
    assert.ok(
      rows.every((row) => row.includes('test operator 1')),
      rows.join('\n'),
    );
  });

  it('says in the dialog why a sender is refused, and keeps what was typed', async () => {
    await openDialog(partners.processed);
    await checkAccessibility(page, 'the dialog');
    assert.equal(
      await page.locator('[aria-live] dialog, p dialog').count(),
      0,
      'nothing reads all of it aloud',
    );
    for (const [from, problem] of [
      ['mallory@elsewhere.example', /not an active address of this service/],
      ['<img src=x onerror=alert(1)>@x', /Not a Direct address/],
    ] as const) {
      await dialog().getByLabel('From').fill(from);
      await dialog().getByRole('button', { name: 'Send', exact: true }).click();
      await until(
        () => dialog().innerText(),
        (text) => problem.test(text),
        `the dialog refuses ${from}`,
      );
      assert.equal(await dialog().getByLabel('From').inputValue(), from);
    }
    await dialog().getByLabel('From').fill(demoAddress);
    await page.route('**/admin/v1/test-messages', (route) =>
      route.fulfill({
        status: 429,
        headers: { 'retry-after': '42' },
        json: { errors: [{ field: '', reason: 'x', detail: 'Too many messages were sent.' }] },
      }),
    );
    await dialog().getByRole('button', { name: 'Send', exact: true }).click();
    await dialog().getByText('Too many messages were sent. Try again in 42 s.').waitFor();
    await page.unroute('**/admin/v1/test-messages');
    await page.keyboard.press('Escape');
  });

  it('fits a phone, in the dark', async () => {
    const phone = await world.openPage({ width: 390, theme: 'dark' });
    await openDialog(partners.untrusted, phone);
    await checkWidth(phone, 'the dialog on a phone');
    await checkAccessibility(phone, 'the dialog in the dark', 'colors');
    await phone.close();
  });

  it('is offered to operators only', async () => {
    for (const role of ['help-desk', 'auditor'] as const) {
      const other = await world.openPage({ role });
      await world.show(other, `/check?address=${encodeURIComponent(partners.processed)}`);
      await other.locator('.check-decision').waitFor();
      assert.equal(await other.getByRole('button', { name: 'Send a test message' }).count(), 0, role);
      await other.close();
    }
  });

  it('goes out by command, too, from a running server', async () => {
    const env = { OPENHISP_DATA_DIR: world.sandbox.dataDir, OPENHISP_OPERATOR: 'jo.miller' };
    const { out, note, exitCode } = await runCommand(env, [
      'message',
      'test',
      demoAddress,
      partners.processed,
    ]);
    assert.equal(exitCode, undefined, note);
    assert.match(note, /openhisp message show /);
    const shown = await until(
      () => runCommand(env, ['message', 'show', out.trim()]),
      (run) => /\tprocessed\t/.test(run.out),
      'the command’s message is processed',
    );
    assert.match(shown.out, /^client\toperator:jo\.miller$/m);
    const refused = await runCommand(env, ['message', 'test', 'x@elsewhere.example', partners.processed]);
    assert.equal(refused.exitCode, 1);
    assert.match(refused.note, /not an active address of this service/);
  });

  it('left no complaint of the browser but those of refusals', () =>
    assert.deepEqual(
      world.complaints.filter((one) => !/status of 4(?:0[03]|29)/.test(one)),
      [],
    ));
});
