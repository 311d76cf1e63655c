/**
 * What a screen shows only at times, in real Chromium: loads that run, wait and fail, dialogs, secrets. Each in both themes, wide and
 * narrow, without a violation and without sideways scrolling.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { createOutsideZone } from '../../src/app/dev/index.ts';
import { silentLog, systemClock } from '../../src/core/index.ts';
import { importDirectory } from '../../src/service/directory/index.ts';
import { testGazetteer, toCsv } from '../directory/start-directory.ts';
import { addAuthenticator } from './authenticator.ts';
import { makeDeadLetter } from './dead-letter.ts';
import {
  checkAccessibility,
  checkWidth,
  openConsoleWorld,
  skip,
  until,
  type ConsoleWorld,
} from './console-world.ts';
import { choose, tabTo, tryAll } from './keyboard.ts';

/** Certified, and nothing listens where its mail server should. */
const downDomain = 'direct.down.example';

describe('states that screens are in at times', { skip }, () => {
  let world: ConsoleWorld;
  let page: Page;
  let folder: string;

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'openhisp-states-'));
    world = await openConsoleWorld({ 'delivery.giveUpHours': '1' });
    page = await world.openPage();
  });
  after(async () => {
    await world.close();
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  });

  const check = (what: string): Promise<void> => tryAll(page, what, checkAccessibility, checkWidth);
  const shows = (pattern: RegExp): Promise<string> =>
    until(
      () => page.locator('main').innerText(),
      (text) => pattern.test(text),
      `the screen shows ${pattern}`,
    );

  /** Begins a load of another node, which reads half of its file. Returns a function that lets it end. */
  async function beginSlowLoad(): Promise<() => Promise<void>> {
    const rows = toCsv(
      Array.from({ length: 4000 }, (_, index) => ({ serv_direct_addr: `n${index}@d.example` })),
    );
    const ended = Promise.withResolvers<void>();
    async function* slowFile(onBytes: (count: number) => void = () => {}) {
      onBytes(rows.length / 2);
      yield Buffer.from(rows.slice(0, rows.length / 2));
      await ended.promise;
      yield Buffer.from(rows.slice(rows.length / 2));
    }
    const { storage, audit } = world.sandbox.world.hisp;
    const loading = importDirectory(
      {
        storage,
        audit,
        clock: systemClock,
        log: silentLog,
        gazetteer: testGazetteer(),
        // Its lock is of the folder while the database is one file.
        snapshotDir: path.join(world.sandbox.dataDir, 'directory'),
        nodes: { id: '5d0c8f6a-77aa-4b11-9f0e-1c2d3e4f5a6b' },
      },
      {
        files: [
          {
            name: 'aggregated-2026-11-20.csv',
            sizeBytes: rows.length,
            open: async (onBytes) => Readable.from(slowFile(onBytes)),
          },
        ],
        kind: 'full',
        sourceName: 'county',
        startedBy: 'operator:Ann Lee',
      },
    );
    return async () => {
      ended.resolve();
      await loading;
    };
  }

  async function chooseFile(name: string, content: string, source: string): Promise<void> {
    const file = path.join(folder, name);
    await writeFile(file, content);
    await page.locator('input[type=file]').setInputFiles(file);
    await page.locator('input[name=source]').fill(source);
    await choose(page, 'Load');
  }

  it('a load of another node, with its progress, and an upload that waits for it', async () => {
    const endLoad = await beginSlowLoad();
    try {
      await world.show(page, '/directory/sources');
      const row = page.locator('details.load').first();
      await row.locator('progress').waitFor();
      assert.match(await row.innerText(), /loading\s+county[\s\S]+rows read[\s\S]+Reading rows/);
      await row.locator('summary').press('Enter');
      await row.getByText('runs on another node (5d0c8f6a)').waitFor();
      await check('a running load');
      await chooseFile('mine.csv', toCsv([{ serv_direct_addr: 'mine@d.example' }]), 'extra');
      await page.getByText('Waiting for another load').waitFor();
      await check('an upload that waits');
    } finally {
      await endLoad();
    }
    await page.getByText('Loaded. The new directory is active').waitFor();
    await check('an upload that is loaded');
  });

  it('an upload on its way, and refused ones', async () => {
    await world.show(page, '/directory/sources');
    const passed = Promise.withResolvers<void>();
    await page.route('**/admin/v1/directory/loads?*', async (route) => {
      if (route.request().method() === 'POST') await passed.promise;
      await route.continue();
    });
    await chooseFile('shapes.csv', 'colour,shape\nred,round\n', 'shapes');
    await page.getByText('Uploading the file').waitFor();
    await check('an upload on its way');
    passed.resolve();
    await page.getByText('Failed. The old directory is still active').waitFor();
    const row = page.locator('details.load').first();
    await until(
      () => row.innerText(),
      (text) => /failed\s+shapes[\s\S]+No file has the columns/.test(text),
      'the refused file is listed',
    );
    await row.locator('summary').press('Enter');
    await row.getByText(/Requested by/).waitFor();
    await check('a refused file');
    await page.unroute('**/admin/v1/directory/loads?*');
    await chooseFile('empty.csv', '', 'shapes');
    await page.getByText('empty.csv is empty').waitFor();
    await check('an empty file');
  });

  it('a destination on hold, with its reason and what to do', async () => {
    const { authority, publish } = world.sandbox.world;
    const { certificate } = await authority.issue({ domain: downDomain });
    publish(
      createOutsideZone({
        domain: downDomain,
        mailHost: `mx.${downDomain}`,
        mailAddress: '127.0.0.9',
        certificate,
      }),
    );
    await world.send(`carol@${downDomain}`);
    await world.show(page, '/queue');
    await shows(/cannot be reached/);
    await page.keyboard.press('j');
    await page.keyboard.press('x');
    await choose(page, 'Hold');
    const dialog = page.getByRole('dialog', { name: 'Hold deliveries?' });
    await dialog.getByLabel('Reason').waitFor();
    assert.equal(await dialog.getByRole('button', { name: 'Hold' }).isDisabled(), true, 'without a reason');
    // The first field of a dialog has the focus, and Enter confirms.
    await page.keyboard.type('their maintenance until noon, ticket 4711');
    await check('the preview of a hold');
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
    await shows(/on hold: their maintenance until noon, ticket 4711\s+Release it when/);
    await check('a destination on hold');
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await shows(/What to do: Release it when/);
    await page.locator('main tbody tr').first().waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('x');
    const picked = page.getByRole('group', { name: '1 selected' });
    await picked.waitFor();
    assert.deepEqual(await picked.getByRole('button').allInnerTexts(), ['Fail']);
    await check('a delivery on hold');
  });

  it('a dead letter before it is retried', async () => {
    const sender = await makeDeadLetter(world);
    await world.show(page, '/inbound?state=dead-lettered');
    await shows(new RegExp(sender));
    await check('a dead letter');
    await page.getByRole('button', { name: 'Retry' }).first().press('Enter');
    await page.getByRole('dialog', { name: 'Retry this mail?' }).getByText(sender).waitFor();
    await check('the question before a dead letter is retried');
    await page.keyboard.press('Escape');
  });

  it('a key that cannot be retired', async () => {
    await world.show(page, '/domains/direct.riverside.example');
    await page.locator('.keys-by-name summary').first().press('Enter');
    await page.getByRole('button', { name: 'Retire this key' }).first().press('Enter');
    await page.getByRole('dialog').getByText('This is the last valid key').waitFor();
    assert.equal(await page.getByRole('dialog').getByRole('button', { name: 'Retire' }).isDisabled(), true);
    await check('the question before a key is retired');
    await page.keyboard.press('Escape');
  });

  it('a new client and its secret', async () => {
    await world.show(page, '/clients');
    await choose(page, 'New client');
    await tabTo(page, 'Name');
    await page.keyboard.type('Hillside EHR');
    await tabTo(page, 'Direct addresses');
    await page.keyboard.type('not an address');
    await choose(page, 'Create');
    await page.locator('.field-note[role=alert]').first().waitFor();
    await check('a client that is refused');
    await page.locator('dialog textarea').fill('front.desk@direct.riverside.example');
    await choose(page, 'Create');
    await page.getByRole('dialog', { name: 'Hillside EHR is ready' }).waitFor();
    await check('a secret');
    await choose(page, 'I have saved it');
    await page.waitForURL(/\/clients\/.+/);
  });

  it('the name of a passkey', async () => {
    const { store, links } = world.sandbox.world.hisp.operators;
    const { id } = await store.create('keyholder', 'operator');
    const { token } = await links.create(id, 'keyholder', 'enrol');
    const own = page;
    page = await (await world.browser.newContext()).newPage();
    try {
      await addAuthenticator(page);
      await page.goto(`${world.consoleUrl}/#enter=${token}`);
      const create = page.getByRole('button', { name: 'Create my passkey' });
      await create.waitFor();
      await check('the enrolment');
      await create.click();
      await page.locator('header.side').waitFor();
      await world.show(page, '/sessions');
      await page.getByRole('button', { name: 'Name Unnamed' }).press('Enter');
      await tabTo(page, 'Name');
      await page.keyboard.type('Phone');
      await check('the name of a passkey');
      await choose(page, 'Save');
      await page.getByRole('button', { name: 'Remove Phone' }).waitFor();
      await choose(page, 'Add a passkey');
      await page.getByRole('dialog', { name: 'Add a passkey' }).waitFor();
      await check('another passkey');
    } finally {
      await page.context().close();
      page = own;
    }
  });

  it('breaks no rule of the page', () => {
    const expected = /status of (?:400|403)/;
    assert.deepEqual(
      world.complaints.filter((text) => !expected.test(text)),
      [],
    );
  });
});
