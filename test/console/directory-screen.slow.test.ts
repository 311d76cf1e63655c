/** The directory in real Chromium: search and map, a record checked, a file loaded and rolled back. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import {
  checkAccessibility,
  checkWidth,
  openConsoleWorld,
  skip,
  until,
  type ConsoleWorld,
} from './console-world.ts';
import { choose, tabTo, tryAll } from './keyboard.ts';

describe('the directory', { skip }, () => {
  let world: ConsoleWorld;
  let page: Page;
  before(async () => {
    world = await openConsoleWorld();
    page = await world.openPage();
  });
  after(() => world.close());

  const check = (what: string): Promise<void> => tryAll(page, what, checkAccessibility, checkWidth);

  it('searches around a ZIP code and draws results and circle on the map', async () => {
    await page.keyboard.press('g');
    await page.keyboard.press('d');
    await page.getByRole('heading', { name: 'Directory' }).waitFor();
    await check('the directory before a search');
    await tabTo(page, 'ZIP code');
    await page.keyboard.type('60601');
    await tabTo(page, 'Radius, miles');
    await page.keyboard.type('40');
    await page.keyboard.press('Enter');
    await page.locator('.directory-table tbody tr').first().waitFor();
    const miles = (await page.locator('.directory-table td.is-number').allInnerTexts()).map(Number);
    assert.ok(miles.length > 3, `${miles.length} records`);
    assert.deepEqual(
      miles,
      miles.toSorted((a, b) => a - b),
    );
    assert.ok(miles.every((distance) => distance <= 40));
    await page.locator('.us-map-circle path').first().waitFor();
    assert.match((await page.locator('.us-map-circle path').first().getAttribute('d')) ?? '', /^M[\d.]+,/);
    const points = await page.locator('.us-map-point').count();
    assert.ok(points > 0 && points <= miles.length);
    await check('results with the map');
  });

  it('goes from place to place on the map with the arrow keys', async () => {
    await tabTo(page, /^Map\./);
    await page.keyboard.press('ArrowRight');
    const place = page.locator('.us-map-place');
    await until(
      () => place.innerText(),
      (text) => text.trim() !== '',
      'a place is told in words',
    );
    await page.keyboard.press('Enter');
    await page.locator('.directory-place').waitFor();
  });

  it('keeps the results in their place when the map comes later', async () => {
    const narrow = await world.openPage({ width: 390 });
    const asked = Promise.withResolvers<void>();
    const given = Promise.withResolvers<void>();
    await narrow.route(/us-map-[^/]*\.js$/, async (route) => {
      asked.resolve();
      await given.promise;
      await route.continue();
    });
    const topOfFirstRow = async (): Promise<number | undefined> =>
      (await narrow.locator('.directory-table tbody tr').first().boundingBox())?.y;
    await world.show(narrow, '/directory?org_zip=60601&radius=40');
    await asked.promise;
    const before = await topOfFirstRow();
    assert.equal(await narrow.locator('.us-map-circle').count(), 0);
    given.resolve();
    await narrow.locator('.us-map-circle path').first().waitFor();
    assert.equal(await topOfFirstRow(), before);
    await narrow.context().close();
  });

  it('reports an empty result and an invalid field', async () => {
    await world.show(page, '/directory?prov_last_name=zzzzzz');
    await page.getByText('No matching record').waitFor();
    await world.show(page, '/directory?prov_npi=12');
    await page.locator('.field-problem').first().waitFor();
    assert.match(await page.locator('.field-problem').first().innerText(), /10 digits/);
    await check('a search with a fault');
  });

  it('checks an address from its record by keyboard, and lets the help desk do so', async () => {
    await world.show(page, '/directory?prov_last_name=smith');
    await page.locator('[data-row]').first().waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Served values' }).waitFor();
    await check('a record');
    const address = await page.locator('.copy-value code').first().innerText();
    await choose(page, 'Check');
    await page.waitForURL(new RegExp(`/check\\?address=${encodeURIComponent(address)}`));
    const helpDesk = await world.openPage({ role: 'help-desk' });
    await world.show(helpDesk, '/directory?prov_last_name=smith');
    await helpDesk.locator('.directory-table tbody tr').first().waitFor();
    await world.show(helpDesk, '/directory/sources');
    assert.equal(await helpDesk.getByRole('button', { name: 'Load', exact: true }).count(), 0);
    await helpDesk.context().close();
  });

  it('loads a file, shows its quality report, and rolls back', async () => {
    const file = path.join(path.dirname(world.sandbox.dataDir), 'more.csv');
    const header = 'serv_direct_addr,prov_first_name,prov_last_name,org_city,org_state,org_zip\n';
    const row = (name: string): string => `${name}@direct.more.example,Ann,More,Chicago,IL,60601\n`;
    await writeFile(file, header + row('one') + row('two'));
    await world.show(page, '/directory/sources');
    await check('sources and loads');
    const load = async (): Promise<void> => {
      await page.locator('input[type=file]').setInputFiles(file);
      await page.locator('input[name=source]').fill('extra');
      await page.getByRole('button', { name: 'Load', exact: true }).click();
    };
    const isLoaded = page.getByText('Loaded. The new directory is active');
    await load();
    await isLoaded.waitFor();
    await writeFile(file, header + row('one') + row('two') + row('three') + 'no address,A,B,,,\n');
    await page.reload();
    await page.locator('input[type=file]').waitFor();
    await load();
    // One of four rows is refused: too many to be loaded without a look at the report.
    await page.getByRole('button', { name: 'Load it with this loss' }).click();
    await isLoaded.waitFor();
    const newest = page
      .locator('details.load')
      .filter({ has: page.locator('b', { hasText: /^extra$/ }) })
      .first();
    await newest.locator('summary').click();
    await newest.locator('.load-report').waitFor();
    assert.match(await newest.locator('.load-report').innerText(), /3 added|1 added/);
    assert.match(await newest.locator('.load-report').innerText(), /1 refused/);
    await check('a quality report');
    const source = page.locator('li.source').filter({ hasText: 'extra' });
    await source.getByText('3 records').waitFor();
    await source.getByRole('button', { name: 'Roll back' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Roll back' }).click();
    await source.getByText('2 records').waitFor();
  });

  it('breaks no rule of the page', () => {
    const expected = /status of 400/;
    assert.deepEqual(
      world.complaints.filter((text) => !expected.test(text)),
      [],
    );
  });
});
