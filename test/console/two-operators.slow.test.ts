/** An open dialog does what it says, whatever another operator has done meanwhile, in real Chromium. */
import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import type { WebhookTables } from '../../src/service/webhook/index.ts';
import { fetchInPage } from './authenticator.ts';
import { openConsoleWorld, skip, until, type ConsoleWorld } from './console-world.ts';

describe('two operators at a time', { skip }, () => {
  let world: ConsoleWorld;
  let page: Page;
  let other: Page;
  let endpoint: Server;

  before(async () => {
    endpoint = createServer((request, response) => {
      request.resume();
      response.writeHead(503).end();
    });
    await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', () => resolve()));
    world = await openConsoleWorld();
    page = await world.openPage();
    other = await world.openPage();
  });
  after(async () => {
    await world?.close();
    endpoint.close();
  });

  /** A change by the other operator. Returns the status. */
  const change = async (method: string, target: string, body: unknown = {}): Promise<number> =>
    (await fetchInPage(other, method, `/admin/v1${target}`, body)).status;

  it('disables a client that another operator has just disabled, and does not enable it', async () => {
    const { clients } = world.sandbox.world.hisp.oauth;
    const { clientId } = await clients.create({ name: 'Twice clinic', scopes: ['messaging.api'] });
    await world.show(page, `/clients/${clientId}`);
    await page.getByRole('button', { name: 'Disable' }).click();
    const dialog = page.getByRole('dialog', { name: 'Disable Twice clinic' });
    await dialog.getByText('Its tokens are revoked at once').waitFor();
    assert.equal(await change('POST', `/clients/${clientId}/disable`), 200);
    await page.getByText('Disabled: it gets no tokens.').waitFor();
    await dialog.getByRole('button', { name: 'Disable' }).click();
    await dialog.waitFor({ state: 'detached' });
    assert.notEqual((await clients.get(clientId)).disabledAt, undefined);
  });

  it('says which of its secrets a client keeps, after another operator has revoked the other one', async () => {
    const { clients } = world.sandbox.world.hisp.oauth;
    const { clientId, secretId } = await clients.create({ name: 'Two secrets', scopes: ['messaging.api'] });
    const { secretId: second } = await clients.rotateSecret(clientId);
    await world.show(page, `/clients/${clientId}`);
    await page.getByRole('button', { name: `Revoke secret ${second}` }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('The other secret stays valid.').waitFor();
    assert.equal(await change('DELETE', `/clients/${clientId}/secrets/${secretId}`), 200);
    await dialog.getByText('It is the only secret').waitFor();
    assert.equal(await change('DELETE', `/clients/${clientId}/secrets/${second}`), 409);
    await dialog.getByRole('button', { name: 'Revoke' }).click();
    await dialog.waitFor({ state: 'detached' });
    assert.deepEqual((await clients.get(clientId)).secrets, []);
  });

  it('replays the selected dead letters, and not all when another operator has replayed those', async () => {
    const url = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/hook`;
    const { webhook } = (await world.client.post('/messaging/webhooks', { url })) as {
      readonly webhook: { readonly id: string };
    };
    await world.send('processed@direct.lakeside.example');
    const db = world.sandbox.world.hisp.storage.tables<WebhookTables>();
    const rows = () =>
      db
        .selectFrom('webhook_notification')
        .select(['id', 'state', 'attempts'])
        .where('webhook_id', '=', webhook.id)
        .orderBy('created_at')
        .orderBy('id')
        .execute();
    await until(rows, (found) => found.filter(({ attempts }) => attempts > 0).length > 1, 'attempts failed');
    await db
      .updateTable('webhook_notification')
      .set({ state: 'dead', attempts: 11 })
      .where('webhook_id', '=', webhook.id)
      .execute();
    const before = await rows();
    const [first] = before;
    await world.show(page, `/webhooks/${webhook.id}`);
    await page.getByRole('button', { name: `Replay all ${before.length}` }).waitFor();
    await page.getByRole('checkbox', { name: `Select ${first?.id}` }).check();
    await page.getByRole('button', { name: 'Replay 1 selected' }).click();
    const dialog = page.getByRole('dialog', { name: 'Replay 1 event' });
    await dialog.getByText('One event is sent').waitFor();
    assert.equal(await change('POST', `/webhooks/${webhook.id}/replay`, { eventIds: [first?.id] }), 200);
    await page.getByText(`Replay all ${before.length - 1}`).waitFor();
    await dialog.getByRole('button', { name: 'Replay' }).click();
    await dialog.waitFor({ state: 'detached' });
    const dead = (await rows()).filter(({ state }) => state === 'dead');
    assert.equal(dead.length, before.length - 1);
  });

  it('rolls back the load that the dialog names, or none', async () => {
    const load = async (count: number): Promise<void> => {
      const rows = Array.from({ length: count }, (_, index) => `n${index}@direct.twice.example`);
      const status = await other.evaluate(
        (csv) =>
          fetch('/admin/v1/directory/loads?source=twice', {
            method: 'POST',
            headers: { 'content-type': 'text/csv' },
            body: csv,
          }).then((answer) => answer.status),
        ['serv_direct_addr', ...rows, ''].join('\n'),
      );
      assert.equal(status, 202);
      await page.locator('li.source').filter({ hasText: 'twice' }).getByText(`${count} records`).waitFor();
    };
    await world.show(page, '/directory/sources');
    await load(2);
    await load(3);
    const source = page.locator('li.source').filter({ hasText: 'twice' });
    await source.getByRole('button', { name: 'Roll back' }).click();
    const dialog = page.getByRole('dialog', { name: 'Roll twice back' });
    await dialog.getByText('twice serves 2 records again').waitFor();
    await load(4);
    await dialog.getByRole('button', { name: 'Roll back' }).click();
    await dialog.getByText('Another load of this source is active by now.').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await source.getByText('4 records').waitFor();
    await source.getByRole('button', { name: 'Roll back' }).click();
    await dialog.getByText('twice serves 3 records again').waitFor();
    await dialog.getByRole('button', { name: 'Roll back' }).click();
    await source.getByText('3 records').waitFor();
  });
});
