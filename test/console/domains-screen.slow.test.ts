/** The domains in real Chromium: a key rotated by keyboard alone. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { readCertificate } from '../../src/lib/pki/index.ts';
import { parseDirectAddress } from '../../src/lib/values/index.ts';
import {
  checkAccessibility,
  checkWidth,
  openConsoleWorld,
  skip,
  until,
  type ConsoleWorld,
} from './console-world.ts';
import { choose, tabTo, tryAll } from './keyboard.ts';
import { signRequest } from './sign-request.ts';

const domain = 'direct.riverside.example';

describe('domains and trust', { skip }, () => {
  let world: ConsoleWorld;
  let page: Page;
  before(async () => {
    world = await openConsoleWorld();
    page = await world.openPage();
  });
  after(() => world.close());

  const check = (what: string): Promise<void> => tryAll(page, what, checkAccessibility, checkWidth);

  it('rotates a key by keyboard: request, certificate, retirement', async () => {
    await world.show(page, '/domains');
    await check('domains');
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Rotate a key' }).waitFor();
    await page.locator('.dns-record').first().waitFor();
    await page.locator('.findings li').first().waitFor();
    await check('a domain');
    await choose(page, 'Begin');
    await choose(page, 'Make a key');
    const csr = await page.locator('.csr pre').innerText();
    assert.match(csr, /BEGIN CERTIFICATE REQUEST/);
    await page.evaluate(`document.body.focus()`);
    const certificate = await signRequest(world, csr, domain);
    await tabTo(page, 'Certificate, PEM');
    await page.keyboard.insertText(certificate);
    await choose(page, 'Install');
    await until(
      () => page.locator('.key-bar').count(),
      (count) => count === 2,
      'both keys are shown',
    );
    await check('a domain with two keys');
    await tabTo(page, 'Retire');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByRole('button', { name: 'Retire' }).waitFor();
    await choose(page, 'Retire');
    await page.locator('.key-bar[data-state=retired]').waitFor();
    const { trust } = world.sandbox.world.hisp;
    const pairs = await trust.listKeyPairs(domain);
    assert.deepEqual(pairs.map(({ status }) => status).toSorted(), ['active', 'retired']);
    assert.deepEqual(
      pairs.find(({ status }) => status === 'active')?.certificate.fingerprint,
      readCertificate(Buffer.from(certificate)).fingerprint,
    );
  });

  it('removes a domain by keyboard: its addresses first, then by its name', async () => {
    const { trust } = world.sandbox.world.hisp;
    const ending = 'direct.ending.example';
    await trust.addDomain(ending);
    await trust.putAddress(parseDirectAddress(`front@${ending}`));
    await world.show(page, `/domains/${ending}`);
    await choose(page, 'Remove');
    const dialog = page.getByRole('dialog', { name: `Remove ${ending}` });
    await dialog.getByText(`openhisp domain disable ${ending}`).waitFor();
    await check('the first step of a removal');
    await choose(page, 'Disable 1 address');
    const name = dialog.getByLabel('Name of the domain');
    await name.waitFor();
    await check('the second step of a removal');
    const remove = dialog.getByRole('button', { name: 'Remove this domain' });
    await name.fill('direct.other.example');
    assert.equal(await remove.isDisabled(), true);
    await name.fill(ending);
    await choose(page, 'Remove this domain');
    await page.getByText(`${ending} is removed, with 1 address.`).first().waitFor();
    assert.equal(new URL(page.url()).pathname.endsWith('/domains'), true);
    assert.equal(await trust.isHostedDomain(ending), false);
  });

  it('breaks no rule of the page', () => {
    // 404: the page of a removed domain may be told of the change before it is left.
    const expected = /status of 40[04]/;
    assert.deepEqual(
      world.complaints.filter((text) => !expected.test(text)),
      [],
    );
  });
});
