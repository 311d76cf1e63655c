/** Failures of an edge account's messages, posted in the form of eCRNow to a real HTTP server. */
import assert from 'node:assert/strict';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { silentLog } from '../../src/core/index.ts';
import { createWebhooks } from '../../src/service/webhook/index.ts';
import { alice, anna, bob, carol, waitUntil } from '../messaging/start-messaging.ts';
import { startTestEdges } from './start-edges.ts';

test('failures and expiries of its messages alone are posted with the correlation id of the Message-ID, again until they are taken', async (t) => {
  const received: { readonly headers: IncomingHttpHeaders; readonly body: unknown }[] = [];
  let status = 503;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as unknown;
      received.push({ headers: request.headers, body });
      response.writeHead(status).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/receiveReportabilityResponse`;

  const world = await startTestEdges();
  t.after(() => world.close());
  await world.createAccount();
  await world.createAccount({ username: anna, addresses: [anna] });
  const account = await world.edges.accounts.get(alice);
  await world.webhooks.setEdgeTarget(account, 'failures', url);
  // As a command does that is sent again.
  await world.webhooks.setEdgeTarget(account, 'failures', url);
  assert.equal((await world.webhooks.hooks.list(account.clientId)).length, 1);
  const guarded = createWebhooks({
    ...world,
    log: silentLog,
    post: () => Promise.reject(new TypeError('never called')),
  });
  t.after(() => guarded.close());
  for (const target of ['http://10.0.0.1/x', 'https://127.0.0.1/x', 'ftp://ecr.example/x', 'nonsense'])
    await assert.rejects(guarded.setEdgeTarget(account, 'failures', target), {
      code: 'WEBHOOK_REQUEST_INVALID',
    });
  assert.equal((await world.webhooks.findEdgeTarget(account, 'failures'))?.url, url);

  // The target, and the row of the audit trail, or neither.
  const audited = async (): Promise<number> =>
    (
      await world.storage
        .tables<{ audit_event: { action: string } }>()
        .selectFrom('audit_event')
        .select('action')
        .execute()
    ).filter(({ action }) => action === 'edge.update').length;
  assert.equal(await audited(), 1);

  const send = async (from: string, id: string, to: string): Promise<string> => {
    const mail = `From: ${from}\r\nTo: ${to}\r\nMessage-ID: <${id}@smtp.clinic.example>\r\n\r\nHi\r\n`;
    await world.submitAs(from, { from, to: [to], message: Buffer.from(mail) });
    return world.deliveries.at(-1)?.deliveryId ?? '';
  };
  const good = await send(alice, 'correlation-0', carol);
  const failing = await send(alice, 'correlation-1', bob);
  const foreign = await send(anna, 'correlation-2', bob);
  await world.report({ deliveryId: good, outcome: 'sent' });
  for (const deliveryId of [failing, foreign])
    await world.report({ deliveryId, outcome: 'failed', reason: 'unreachable' } as never);
  await waitUntil(() => received.length === 1, 'the failure');
  status = 200;
  await waitUntil(() => {
    world.clock.advance(1_000);
    return received.length === 2;
  }, 'the retry');
  const [first, second] = received;
  assert.deepEqual(first?.body, second?.body);
  assert.equal(first?.headers['x-correlation-id'], 'correlation-1');
  assert.equal(first?.headers['x-request-id'], second?.headers['x-request-id']);
  assert.match(String(first?.headers['x-request-id']), /^[0-9a-f-]{36}$/);
  const { responseType = '', rrXml = '' } = (first?.body ?? {}) as { responseType?: string; rrXml?: string };
  assert.equal(responseType, 'MDN');
  assert.match(rrXml, new RegExp(`^The message to ${bob} was not delivered: .+ \\(5\\.\\d\\.\\d+\\)$`));

  // What was switched off is on again.
  const hook = await world.webhooks.findEdgeTarget(account, 'failures');
  await world.webhooks.update(account.clientId, hook?.id ?? '', { enabled: false });
  assert.equal(await world.webhooks.setEdgeTarget(account, 'failures', url), 'enabled');
  const later = await send(alice, 'correlation-3', bob);
  await world.report({ deliveryId: later, outcome: 'failed', reason: 'unreachable' } as never);
  await waitUntil(() => received.length === 3, 'the failure after that');
  assert.equal(await audited(), 2);

  assert.equal(await world.webhooks.setEdgeTarget(account, 'failures', undefined), 'removed');
  assert.equal(await world.webhooks.findEdgeTarget(account, 'failures'), undefined);
});
