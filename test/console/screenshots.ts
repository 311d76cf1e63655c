/**
 * Takes the pictures of docs/console.md: every screen with the data of a sandbox, light and dark, 1440 and 390 pixels wide.
 *
 * Usage: `node test/console/screenshots.ts [SCREEN...]`
 */
import { createServer } from 'node:http';
import { mkdir, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { systemClock } from '../../src/core/index.ts';
import { demoAddress, domains, openAuthority, partners } from '../../src/app/dev/index.ts';
import { createOrganizations } from '../../src/service/organizations/index.ts';
import { parseDirectAddress } from '../../src/lib/values/index.ts';
import { monthsBefore, type MessagingTables } from '../../src/service/messaging/index.ts';
import type { WebhookTables } from '../../src/service/webhook/index.ts';
import { openConsoleWorld, until, type ConsoleWorld } from './console-world.ts';
import { openHostilePeer } from './hostile-peer.ts';
import { writeIndexedPng } from './indexed-png.ts';

interface Shot {
  readonly name: string;
  readonly target: string;
  /** As somebody sees it who is not signed in. */
  readonly isOutside?: true;
  /** Brings the screen to where the picture is taken. */
  readonly prepare?: (page: Page) => Promise<void>;
}

const folder = path.resolve(import.meta.dirname, '../../docs/console');
const looks = [
  { theme: 'light', width: 1440, height: 900 },
  { theme: 'dark', width: 1440, height: 900 },
  { theme: 'light', width: 390, height: 844 },
  { theme: 'dark', width: 390, height: 844 },
] as const;
/** Time for the last picture of a fade or a chart. */
const settleMs = 500;

const endpoint = createServer((request, response) => {
  request.resume();
  response.writeHead(503, { 'content-type': 'application/json' }).end('{"error":"down for maintenance"}');
});
await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', () => resolve()));
const world = await openConsoleWorld();
try {
  const shots = await makeShots(world);
  await mkdir(folder, { recursive: true });
  const wanted = process.argv.slice(2);
  let bytes = 0;
  for (const { theme, width, height } of looks) {
    const page = await world.openPage({ theme });
    await page.setViewportSize({ width, height });
    // One that waits; that of the look before may have failed by now.
    await world.send('dr.moss@direct.hillside.example');
    for (const shot of shots) {
      if (wanted.length > 0 && !wanted.includes(shot.name)) continue;
      if (shot.isOutside === true) await page.context().clearCookies();
      await world.show(page, shot.target);
      await shot.prepare?.(page);
      // A row below the pointer is marked.
      await page.mouse.move(0, 0);
      await page.waitForTimeout(settleMs);
      const file = path.join(folder, `${shot.name}-${theme}-${width}.png`);
      const picture = await writeIndexedPng(page, await page.screenshot());
      await writeFile(file, picture);
      bytes += picture.length;
      console.log(`${path.basename(file)} ${(picture.length / 1000).toFixed(0)} kB`);
    }
    await page.context().close();
  }
  console.log(`together ${(bytes / 1e6).toFixed(2)} MB`);
} finally {
  await world.close();
  endpoint.close();
}

/** Fills the world with something to see. */
async function makeShots({ client, sandbox, sendAll, send }: ConsoleWorld): Promise<readonly Shot[]> {
  const url = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/hook`;
  const { webhook } = (await client.post('/messaging/webhooks', {
    url,
    description: 'the EHR at the front desk',
  })) as { readonly webhook: { readonly id: string } };
  const hookId = webhook.id;
  await send('processed@direct.lakeside.example');
  const { storage, oauth, edges, operators } = sandbox.world.hisp;
  await oauth.clients.create({
    name: 'Hillside EHR',
    scopes: ['messaging.api', 'provider-directory'],
    directAddresses: ['front.desk@direct.riverside.example'],
  });
  await edges.accounts.create({
    clientId: sandbox.credentials.clientId,
    username: 'front.desk@direct.riverside.example',
    addresses: ['front.desk@direct.riverside.example'],
    protocols: ['imap', 'submission'],
  });
  for (const [name, role] of [
    ['Ann Lee', 'help-desk'],
    ['Chris Moreau', 'operator'],
    ['Pat Novak', 'auditor'],
  ] as const)
    await operators.store.create(name, role);
  await operators.store.disable('Pat Novak');
  const ann = await operators.store.get('Ann Lee');
  await operators.tokens.create(ann, { label: 'nightly report', lifetimeMs: 90 * 86_400_000 });
  for (const userAgent of [
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/141.0 Safari/537.36',
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) Safari/604.1',
  ]) {
    const { token } = await operators.links.create(ann.id, ann.name, 'sign-in');
    await operators.signIn.byLink(token, { remoteAddress: '192.0.2.40', userAgent });
  }
  const db = storage.tables<WebhookTables>();
  const find = () =>
    db
      .selectFrom('webhook_notification')
      .select(['state', 'attempts'])
      .where('webhook_id', '=', hookId)
      .execute();
  await until(find, (rows) => rows.some(({ attempts }) => attempts > 0), 'an attempt failed');
  await db
    .updateTable('webhook_notification')
    .set({ attempts: 10, next_attempt_at: 0 })
    .where('webhook_id', '=', hookId)
    .execute();
  await until(find, (rows) => rows.some(({ state }) => state === 'dead'), 'dead letters');
  await sandbox.world.hisp.trust.addDomain('direct.leaving.example');
  await sandbox.world.hisp.trust.putAddress(
    parseDirectAddress('front.desk@direct.leaving.example'),
    'disabled',
  );
  const [anchor] = await sandbox.world.hisp.trust.listAnchors('direct.riverside.example');
  if (anchor !== undefined)
    await sandbox.world.hisp.trust.addAnchor('direct.leaving.example', anchor.certificate.der);
  const { trust } = sandbox.world.hisp;
  await createOrganizations({ ...sandbox.world.hisp, clock: systemClock }).create({
    id: 'lakeview',
    name: 'Lakeview Clinic',
    npi: '1234567893',
    postalAddress: { street: '12 Lake Street', city: 'Chicago', state: 'IL', zip: '60601' },
    contacts: ['Ann Lee, practice manager, +1 312 555 0100'],
    limits: { addresses: 50, messagesPerDay: 1000 },
  });
  await trust.addDomain('direct.lakeview-clinic.example', 'lakeview');
  const desk = parseDirectAddress('front.desk@direct.riverside.example');
  await trust.putAddress(desk);
  await trust.setForwarding(desk, { deliverTo: [demoAddress], keepsCopy: true });
  const ids = await sendAll();
  const peer = await openHostilePeer(sandbox, {
    domain: 'direct.lakeview.example',
    mailAddress: '127.0.0.77',
    authority: await openAuthority({
      folder: path.join(sandbox.dataDir, 'lakeview-ca'),
      name: 'Lakeview',
      baseUrl: `${sandbox.world.side.baseUrl}/nothing`,
      clock: systemClock,
    }),
  });
  await peer.send(`${peer.header('<a@direct.lakeview.example>')}Subject: Referral\r\n\r\nText\r\n`);
  sandbox.world.publish({
    name: 'direct.hillside.example',
    findRecords: () => Promise.reject(new Error('the name server is broken')),
  });
  await storage
    .tables<MessagingTables>()
    .insertInto('usage_day')
    .values(
      [2310, 2544, 2705, 2618, 3120, 3342, 3290, 3511, 3808, 4110, 3987].map((messages, index) => ({
        day: `${monthsBefore(new Date(), 11 - index)}-15`,
        client_id: sandbox.credentials.clientId,
        organization_id: 'operator',
        domain: domains.own,
        messages,
        recipients: messages,
        octets: 212_000 * messages,
        delivered: messages - Math.round(messages / 90),
        failed: Math.round(messages / 90),
      })),
    )
    .execute();
  const bare = (id: string): string => id.replace('urn:uuid:', '');
  const near = '/directory?prov_spec_text=cardio&org_zip=60601&radius=100';
  return [
    { name: 'now', target: '/' },
    { name: 'messages', target: '/messages' },
    { name: 'message', target: `/messages/${bare(ids.untrusted)}` },
    { name: 'queue', target: '/queue' },
    { name: 'inbound', target: '/inbound' },
    {
      name: 'refused',
      target: '/inbound?state=refused',
      prepare: async (page) => {
        await page.locator('main [data-row]').first().click();
        await page.getByRole('heading', { name: 'Signer' }).waitFor();
      },
    },
    {
      name: 'calendar',
      target: '/messages?when=days&after=2026-01-05',
      prepare: (page) => page.getByRole('button', { name: 'Choose from a calendar' }).first().click(),
    },
    {
      name: 'check',
      target: `/check?address=${partners.processed}&from=${domains.own}`,
      prepare: async (page) => {
        const button = page
          .locator('main')
          .getByRole('button', { name: /^Check/ })
          .first();
        if (await button.isVisible()) await button.click();
        await page.waitForTimeout(settleMs * 4);
      },
    },
    {
      name: 'directory',
      target: near,
      prepare: (page) => page.locator('.us-map-point').first().waitFor(),
    },
    {
      name: 'find',
      target: '/directory/find?q=smith+cardio',
      prepare: (page) => page.locator('.suggest-list li, .empty').first().waitFor(),
    },
    {
      name: 'record',
      target: near,
      prepare: async (page) => {
        await page.locator('.us-map-point').first().waitFor();
        await page.locator('.directory-table [data-row]').first().click();
        await page.getByRole('heading', { name: 'Served values' }).waitFor();
      },
    },
    {
      name: 'sources',
      target: '/directory/sources',
      prepare: (page) => page.locator('details.load summary').first().click(),
    },
    { name: 'webhooks', target: '/webhooks' },
    { name: 'webhook', target: `/webhooks/${hookId}` },
    {
      name: 'domain',
      target: '/domains/direct.riverside.example',
      prepare: (page) => page.locator('.dns-record').first().waitFor(),
    },
    {
      name: 'addresses',
      target: '/domains/direct.riverside.example',
      prepare: async (page) => {
        await page.getByRole('button', { name: 'Add an address' }).click();
        await page.getByLabel('Address', { exact: true }).fill('ann.lee');
        await page.getByLabel('Last name').fill('Lee');
      },
    },
    {
      name: 'domain-remove',
      target: '/domains/direct.leaving.example',
      prepare: async (page) => {
        await page.getByRole('button', { name: 'Remove', exact: true }).click();
        await page.getByLabel('Name of the domain').fill('direct.leaving');
      },
    },
    { name: 'edges', target: '/edge-accounts' },
    {
      name: 'edge',
      target: '/edge-accounts',
      prepare: async (page) => {
        await page.locator('main [data-row]').first().click();
        await page.getByRole('heading', { name: 'Passwords' }).waitFor();
      },
    },
    { name: 'clients', target: '/clients' },
    {
      name: 'client',
      target: '/clients',
      prepare: async (page) => {
        await page.getByRole('link', { name: /Sandbox demo client/ }).click();
        await page.getByRole('heading', { name: 'First requests' }).waitFor();
      },
    },
    {
      name: 'webhook-new',
      target: '/webhooks',
      prepare: async (page) => {
        await page.getByRole('button', { name: 'New webhook' }).click();
        await page.getByLabel('URL').fill('https://ehr.hillside.example/direct-events');
        await page.getByRole('option', { name: 'Hillside EHR' }).waitFor({ state: 'attached' });
        await page.getByLabel('Client', { exact: true }).selectOption({ label: 'Hillside EHR' });
      },
    },
    {
      name: 'operators',
      target: '/operators',
      prepare: (page) => page.locator('main [data-row]').first().waitFor(),
    },
    {
      name: 'operator',
      target: `/operators/${encodeURIComponent('Ann Lee')}`,
      prepare: (page) => page.getByRole('heading', { name: 'Bearer tokens' }).waitFor(),
    },
    { name: 'nodes', target: '/nodes' },
    {
      name: 'usage',
      target: '/usage',
      prepare: (page) => page.locator('main table').waitFor({ timeout: 90_000 }),
    },
    { name: 'organizations', target: '/organizations' },
    { name: 'organization', target: '/organizations/lakeview' },
    {
      name: 'organization-new',
      target: '/organizations',
      prepare: async (page) => {
        await page.getByRole('button', { name: 'Add an organization' }).click();
        await page.getByLabel('Name').fill('Hillside Clinic');
      },
    },
    {
      name: 'address',
      target: '/domains/direct.riverside.example?address=front.desk%40direct.riverside.example',
      prepare: (page) => page.getByText('forwarded').waitFor(),
    },
    {
      name: 'forward',
      target: '/domains/direct.riverside.example?address=front.desk%40direct.riverside.example',
      prepare: (page) => page.getByRole('button', { name: 'Forward' }).click(),
    },
    {
      name: 'audit',
      target: '/audit',
      prepare: async (page) => {
        await page.getByRole('button', { name: 'Verify the chain' }).click();
        await page.locator('.audit-verdict').waitFor();
      },
    },
    {
      name: 'playground',
      target: '/playground',
      prepare: async (page) => {
        await page.getByRole('button', { name: /^Processed/ }).click();
        await page.locator('.exchange-step[data-kind=mdn]').waitFor();
        await page.locator('.exchange-more').waitFor({ state: 'detached' });
        await page.evaluate('window.scrollTo(0, 0)');
      },
    },
    // The last one: it ends the session.
    { name: 'sign-in', target: '/sign-in', isOutside: true },
  ];
}
