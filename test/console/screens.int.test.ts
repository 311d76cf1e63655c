import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import type {
  AnchorAnswer,
  AuditPage,
  AuditVerification,
  ClientDetails,
  ClientList,
  DeliveryPage,
  DoneAnswer,
  InboundCounts,
  InboundDetails,
  InboundPage,
  IssuedSecret,
  QueueActionAnswer,
  QueuePage,
  MessagePage,
  WebhookDetails,
  WebhookList,
  WebhookTest,
} from '../../src/app/console/contract/index.ts';
import { createOutsideZone, demoAddress, domains, partners } from '../../src/app/dev/index.ts';
import type { DeliveryTables } from '../../src/service/delivery/index.ts';
import type { MessagingTables } from '../../src/service/messaging/index.ts';
import { waitFor } from '../system/sandbox-fixture.ts';
import { openAdminWorld, type AdminWorld } from './admin-world.ts';

describe('the screens of the console', () => {
  let world: AdminWorld;
  const deadDomain = 'direct.dead.example';

  before(async () => {
    world = await openAdminWorld({ 'delivery.giveUpHours': '1', 'delivery.retryMinutes': '10' });
    const { authority, publish } = world.sandbox.world;
    const { certificate } = await authority.issue({ domain: deadDomain });
    // Nothing listens there.
    publish(
      createOutsideZone({
        domain: deadDomain,
        mailHost: `mx.${deadDomain}`,
        mailAddress: '127.0.0.9',
        certificate,
      }),
    );
  });
  after(() => world?.close());

  const send = async (to: string): Promise<string> => {
    const answer = (await world.client.post('/messaging/dirmsg/send_ccda', {
      fromDirectAddress: demoAddress,
      toDirectAddress: to,
      messageSubject: 'test',
      messageBody: 'test',
    })) as { messageId: string };
    return answer.messageId;
  };
  const act = (body: unknown, role: 'operator' | 'auditor' = 'operator') =>
    world.call<QueueActionAnswer>('operator' === role ? 'operator' : role, 'POST', '/queue/actions', body);

  it('shows waiting deliveries by destination, and holds, releases, retries and fails them after a preview', async () => {
    await send(`one@${deadDomain}`);
    await send(`two@${deadDomain}`);
    const { body } = await waitFor(
      () => world.call<QueuePage>('help-desk', 'GET', '/queue'),
      (answer) =>
        answer.body.result.some(({ reason, messages }) => reason === 'unreachable' && messages === 2),
    );
    const row = body.result.find(({ domain }) => domain === deadDomain);
    assert.equal(row?.messages, 2);
    assert.match(row?.text ?? '', /cannot be reached/);
    assert.notEqual(row?.whatToDo, '');
    const list = await world.call<DeliveryPage>('help-desk', 'GET', `/queue/${deadDomain}`);
    assert.equal(list.body.result.length, 2);
    const found = await world.call<MessagePage>('help-desk', 'GET', `/messages?q=one@${deadDomain}`);
    const [waits] = found.body.result;
    assert.deepEqual([waits?.state, waits?.level, waits?.reason], ['queued', 'warning', 'unreachable']);
    assert.match(waits?.text ?? '', /^Not sent yet\. .*cannot be reached/);
    assert.ok(Date.parse(waits?.nextAttemptAt ?? '') > Date.now(), `${waits?.nextAttemptAt}`);
    const [first] = list.body.result;

    const preview = await act({ action: 'fail', deliveries: [first?.id], preview: true });
    assert.deepEqual([preview.status, preview.body.deliveries], [200, 1]);
    assert.equal(
      (await world.call<DeliveryPage>('help-desk', 'GET', `/queue/${deadDomain}`)).body.result.length,
      2,
    );

    const held = await act({
      action: 'hold',
      destinations: [deadDomain],
      reason: 'their outage',
      preview: false,
    });
    assert.equal(held.status, 200);
    const onHold = await world.call<QueuePage>('help-desk', 'GET', '/queue');
    const destination = onHold.body.result.find(({ domain }) => domain === deadDomain);
    assert.equal(destination?.hold?.reason, 'their outage');
    await act({ action: 'release', destinations: [deadDomain], preview: false });
    await waitFor(
      () => act({ action: 'fail', deliveries: [first?.id], preview: false }),
      () => true,
    );
    await waitFor(
      () => world.call<DeliveryPage>('help-desk', 'GET', `/queue/${deadDomain}`),
      (answer) => answer.body.result.length === 1,
    );
    const retried = await act({ action: 'retry', destinations: [deadDomain], preview: false });
    assert.equal(retried.body.deliveries, 1);
    const shown = await act({ action: 'fail', destinations: [deadDomain], preview: true });
    assert.deepEqual([shown.body.deliveries, shown.body.upTo !== ''], [1, true]);
    await send(`three@${deadDomain}`);
    const waiting = () => world.call<DeliveryPage>('help-desk', 'GET', `/queue/${deadDomain}`);
    await waitFor(
      waiting,
      ({ body: now }) => now.result.length === 2 && now.result.every((one) => !one.isRunning),
    );
    const { upTo } = shown.body;
    const failed = await act({ action: 'fail', destinations: [deadDomain], upTo, preview: false });
    assert.equal(failed.body.deliveries, 1, 'a delivery that the preview did not count is left alone');
    const left = await waitFor(waiting, ({ body: now }) => now.result.length === 1);
    assert.deepEqual(left.body.result[0]?.to, [`three@${deadDomain}`]);
    await act({ action: 'fail', destinations: [deadDomain], preview: false });
    const actors = await world.call<AuditPage>('auditor', 'GET', '/audit?action=queue.fail');
    assert.ok(actors.body.result.length >= 2);
    assert.ok(actors.body.result.every(({ actor }) => actor === 'operator:script operator'));
  });

  it('refuses a change of the queue that makes no sense, and names the field', async () => {
    for (const [body, field] of [
      [{ action: 'hold', destinations: [deadDomain], preview: true }, 'reason'],
      [
        { action: 'hold', destinations: [deadDomain, 'bad domain'], reason: 'r', preview: false },
        'destinations',
      ],
      [{ action: 'hold', deliveries: ['x'], reason: 'r', preview: true }, 'deliveries'],
      [{ action: 'retry', preview: true }, 'destinations'],
      [{ action: 'burn', destinations: [deadDomain], preview: true }, 'action'],
      [{ action: 'retry', destinations: [deadDomain] }, 'preview'],
    ] as const) {
      const answer = await act(body);
      assert.equal(answer.status, 400, JSON.stringify(body));
      assert.equal((answer.body as unknown as { errors: { field: string }[] }).errors[0]?.field, field);
    }
    assert.equal(
      (await act({ action: 'retry', destinations: [deadDomain], preview: true }, 'auditor')).status,
      403,
    );
  });

  it('lists inbound mail, with advice for refused mail', async () => {
    const received = await waitFor(
      () => world.call<InboundPage>('help-desk', 'GET', '/inbound?state=received'),
      ({ body }) => body.result.length > 0,
    );
    assert.equal(received.body.result[0]?.to[0], demoAddress);
    const open = await world.call<InboundPage>('help-desk', 'GET', '/inbound?state=unacknowledged');
    assert.ok(open.body.result.length > 0);
    const refused = await world.call<InboundPage>('help-desk', 'GET', '/inbound?state=refused');
    assert.equal(refused.status, 200);
    // The audit trail names the certificates, which are kept with those of validated paths.
    const { hisp } = world.sandbox.world;
    const [anchor] = await hisp.trust.listAnchors(domains.own);
    assert.ok(anchor !== undefined);
    const { fingerprint, der, subject } = anchor.certificate;
    const known = hisp.storage.tables<MessagingTables>().insertInto('path_certificate');
    await known
      .values({ fingerprint, der, used_at: Date.now() })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    await hisp.audit.recordNow({
      action: 'message.reject',
      outcome: 'refused',
      objects: {
        from: 'nurse@direct.other.example',
        to: demoAddress,
        reason: 'PKI_ISSUER_NOT_FOUND',
        signer: 'ab'.repeat(32),
        issuers: fingerprint,
        failedAt: 'ab'.repeat(32),
      },
    });
    const found = await world.call<InboundPage>(
      'help-desk',
      'GET',
      `/inbound?state=refused&to=${encodeURIComponent(demoAddress)}&from=direct.other.example`,
    );
    const target = `/inbound/${found.body.result[0]?.id}`;
    const { body: shown } = await world.call<InboundDetails>('help-desk', 'GET', target);
    assert.deepEqual(
      shown.path?.nodes.map(({ role, state }) => [role, state]),
      [
        ['signer', 'ok'],
        ['issuer', 'failed'],
      ],
    );
    assert.deepEqual(shown.domains, [domains.own]);
    const preview = { certificate: shown.authorities[0]?.pem, direction: 'both', preview: true };
    const second = await world.call<AnchorAnswer>(
      'operator',
      'POST',
      `/domains/${domains.own}/anchors`,
      preview,
    );
    assert.equal(second.body.certificate.fingerprint, fingerprint);
    const ticket = await world.call('help-desk', 'GET', `${target}/ticket`);
    for (const word of ['nurse@direct.other.example', subject, fingerprint, 'PKI_ISSUER_NOT_FOUND'])
      assert.ok(ticket.text.includes(word), word);
    const counts = await world.call<InboundCounts>('help-desk', 'GET', '/inbound/counts');
    assert.ok(counts.body.received > 0);
    assert.equal((await world.call('help-desk', 'POST', '/inbound/none/retry')).status, 404);
  });

  it('shows webhooks with their attempts and the beginning of answers, replays, and sends a test event', async (t) => {
    let status = 500;
    const seen: string[] = [];
    const target = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        seen.push(body);
        response.writeHead(status).end('no room\tat the inn');
      });
    });
    await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
    t.after(() => target.close());
    const url = `http://127.0.0.1:${(target.address() as AddressInfo).port}/hook?key=secret`;
    await world.client.post('/messaging/webhooks', { url, eventTypes: ['message.processed'] });
    const unused = (await world.call<WebhookList>('auditor', 'GET', '/webhooks')).body.result;
    assert.equal(unused.find((one) => url.startsWith(one.url))?.text, 'Nothing was delivered yet.');
    await send(partners.processed);
    const list = await world.call<WebhookList>('auditor', 'GET', '/webhooks');
    const hook = list.body.result.find((one) => url.startsWith(one.url));
    assert.ok(hook !== undefined && !hook.url.includes('secret'));
    const attempts = await waitFor(
      () => world.call<WebhookDetails>('auditor', 'GET', `/webhooks/${hook.id}`),
      ({ body }) => body.attempts.length > 0,
    );
    assert.deepEqual(
      [attempts.body.attempts[0]?.httpStatus, attempts.body.attempts[0]?.answer],
      [500, 'no room at the inn'],
    );
    assert.ok(Date.parse(attempts.body.webhook.nextAttemptAt ?? '') > Date.now() - 60_000);
    const hookNow = async () =>
      (await world.call<WebhookDetails>('auditor', 'GET', `/webhooks/${hook.id}`)).body.webhook;
    const disable = `/webhooks/${hook.id}/disable`;
    assert.equal((await world.call('auditor', 'POST', disable)).status, 403);
    assert.equal((await world.call('operator', 'POST', '/webhooks/none/disable')).status, 404);
    for (let time = 0; time < 2; time++)
      assert.equal((await world.call('operator', 'POST', disable)).status, 200);
    assert.equal((await hookNow()).isEnabled, false);
    const rows = await world.sandbox.world.hisp.audit.find({ action: 'webhook.disable' });
    assert.match(rows.map(({ actor }) => actor).join(), /^operator:[^,]+$/, 'one change by that operator');
    status = 204;
    await world.call('operator', 'POST', `/webhooks/${hook.id}/enable`);
    await waitFor(hookNow, ({ waiting, held }) => waiting + held === 0);
    const tested = await world.call<WebhookTest>('operator', 'POST', `/webhooks/${hook.id}/test`);
    assert.deepEqual([tested.status, tested.body.isOk, tested.body.httpStatus], [200, true, 204]);
    assert.ok(seen.some((body) => body.includes('webhook.test')));
    const replayed = await world.call<DoneAnswer>('operator', 'POST', `/webhooks/${hook.id}/replay`, {});
    assert.equal(replayed.status, 200);
    assert.equal((await hookNow()).text, 'Its target responds.');
    target.closeAllConnections();
    await new Promise((resolve) => target.close(resolve));
    const refused = await world.call<WebhookTest>('operator', 'POST', `/webhooks/${hook.id}/test`);
    assert.equal(refused.body.error, 'The exchange failed: the connection was refused (ECONNREFUSED)');
    assert.equal((await world.call('auditor', 'POST', `/webhooks/${hook.id}/test`)).status, 403);
    assert.equal((await world.call('help-desk', 'GET', '/webhooks')).status, 403);
  });

  it('creates, changes and disables a client; its secret is shown once', async () => {
    const made = await world.call<IssuedSecret>('operator', 'POST', '/clients', {
      name: 'New edge',
      scopes: ['messaging.api'],
      directAddresses: [`@${domains.own}`],
    });
    assert.equal(made.status, 201);
    const { clientId, clientSecret, secretId } = made.body;
    const shown = await world.call<ClientDetails>('auditor', 'GET', `/clients/${clientId}`);
    assert.equal(shown.body.client.name, 'New edge');
    assert.ok(shown.body.firstRequests.some(({ command }) => command.includes(clientId)));
    assert.ok(!shown.text.includes(clientSecret));
    await world.call('operator', 'PATCH', `/clients/${clientId}`, { name: 'Renamed' });
    const second = await world.call<IssuedSecret>('operator', 'POST', `/clients/${clientId}/secrets`);
    assert.equal(second.status, 201);
    assert.equal((await world.call('operator', 'POST', `/clients/${clientId}/secrets`)).status, 409);
    assert.equal(
      (await world.call('operator', 'DELETE', `/clients/${clientId}/secrets/${secretId}`)).status,
      200,
    );
    const last = `/clients/${clientId}/secrets/${second.body.secretId}`;
    const locking = await world.call('operator', 'DELETE', last);
    assert.equal(locking.status, 409);
    assert.match(locking.text, /the only secret of the client/);
    const issued = await world.call<IssuedSecret>('operator', 'POST', `/clients/${clientId}/secrets`);
    for (const target of [`/clients/${clientId}/secrets/${issued.body.secretId}`, `${last}?isForced=true`])
      assert.equal((await world.call('operator', 'DELETE', target)).status, 200);
    assert.equal((await world.call('operator', 'POST', `/clients/${clientId}/secrets`)).status, 201);
    await world.call('operator', 'POST', `/clients/${clientId}/disable`);
    const { body } = await world.call<ClientList>('auditor', 'GET', '/clients');
    const found = body.result.find((one) => one.clientId === clientId);
    assert.deepEqual([found?.name, found?.isEnabled, found?.secrets.length], ['Renamed', false, 1]);
    assert.deepEqual([found?.usage, found?.lastSeenAt], [{ directoryRecords: 0, messages: 0 }, null]);
    const busy = body.result.find(({ usage }) => usage.messages > 0);
    assert.ok(busy !== undefined && busy.clientId !== clientId);
    assert.ok(Date.now() - Date.parse(busy.lastSeenAt ?? '') < 600_000);
    const alone = await world.call<ClientDetails>('auditor', 'GET', `/clients/${busy.clientId}`);
    assert.deepEqual(alone.body.client, busy);
    const bad = await world.call<{ errors: { field: string }[] }>('operator', 'POST', '/clients', {
      name: 'x',
      scopes: ['everything'],
    });
    assert.deepEqual([bad.status, bad.body.errors[0]?.field], [400, 'scopes[0]']);
    const trail = await world.call<AuditPage>('auditor', 'GET', '/audit?action=client.create');
    assert.equal(trail.body.result[0]?.actor, 'operator:script operator');
  });

  it('searches the audit trail by each thing, pages through it, verifies and exports it', async () => {
    const messageId = await send(partners.processed);
    await waitFor(
      () =>
        world.call<AuditPage>('auditor', 'GET', `/audit?address=${encodeURIComponent(partners.processed)}`),
      ({ body }) => body.result.some(({ action }) => action === 'message.sent'),
    );
    const byMessage = await world.call<AuditPage>(
      'auditor',
      'GET',
      `/audit?message=${encodeURIComponent(messageId)}`,
    );
    assert.equal(byMessage.status, 200);
    const byActor = await world.call<AuditPage>(
      'auditor',
      'GET',
      `/audit?actor=${encodeURIComponent('operator:script operator')}&limit=200`,
    );
    assert.ok(byActor.body.result.length > 0);
    assert.ok(byActor.body.result.every(({ actor }) => actor === 'operator:script operator'));
    const to = encodeURIComponent(new Date().toISOString());
    const seen: number[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const page: { body: AuditPage } = await world.call<AuditPage>(
        'auditor',
        'GET',
        `/audit?to=${to}&limit=7${cursor === '' ? '' : `&cursor=${cursor}`}`,
      );
      seen.push(...page.body.result.map(({ sequence }) => sequence));
      cursor = page.body.next;
    }
    assert.equal(new Set(seen).size, seen.length);
    const changes = await world.call<AuditPage>('auditor', 'GET', '/audit?group=changes&limit=200');
    assert.ok(changes.body.result.length > 0);
    assert.deepEqual([...new Set(changes.body.result.map(({ group }) => group))], ['changes']);
    const held = changes.body.result.find(({ action }) => action === 'queue.hold');
    assert.deepEqual(
      [held?.text, held?.channel, held?.isClaimed],
      ['A destination was put on hold', 'console', false],
    );
    const access = await world.call<AuditPage>('auditor', 'GET', '/audit?group=access&limit=20');
    assert.deepEqual([...new Set(access.body.result.map(({ group }) => group))], ['access']);
    const csv = await world.call('auditor', 'GET', `/audit/export?to=${to}&group=changes&format=csv`);
    assert.match(csv.text, /^sequence,time \(UTC\),what,.*\r\n\d+,/);
    assert.ok(!csv.text.includes(',message.show,'));
    const exported = await world.call('auditor', 'GET', `/audit/export?to=${to}`);
    const lines = exported.text.trimEnd().split('\n');
    assert.deepEqual(
      lines.map((line) => (JSON.parse(line) as { sequence: number }).sequence),
      seen,
    );
    const verified = await world.call<AuditVerification>('auditor', 'POST', '/audit/verify');
    assert.equal(verified.body.isIntact, true);
    assert.equal((await world.call('operator', 'GET', '/audit/export')).status, 403);
    assert.equal((await world.call('help-desk', 'GET', '/audit')).status, 403);
    const bad = await world.call<{ errors: { field: string }[] }>('auditor', 'GET', '/audit?cursor=x');
    assert.deepEqual([bad.status, bad.body.errors[0]?.field], [400, 'cursor']);
  });

  it('says that it takes the first 10,000 of the deliveries that wait, and that others wait behind them', async () => {
    const { storage } = world.sandbox.world.hisp;
    const db = storage.tables<DeliveryTables>();
    const domain = 'many.example';
    const rows = Array.from({ length: 10_000 }, (_, at) => ({
      id: `many${at}`,
      delivery_id: 'many',
      domain,
      recipients: `["dr@${domain}"]`,
      not_after: 9e12,
      next_attempt_at: 9e12,
      attempts: 0,
      lease_until: 0,
      last_reason: '' as const,
      last_status_code: '',
      last_error: '',
    }));
    await db
      .insertInto('delivery')
      .values({
        id: 'many',
        kind: 'mdn',
        sender: '',
        sealed_message: new Uint8Array(1),
        created_at: 1,
      } as never)
      .execute();
    for (let start = 1; start < rows.length; start += 1000)
      await db
        .insertInto('delivery_destination')
        .values(rows.slice(start, start + 1000) as never)
        .execute();
    const ask = () => act({ action: 'fail', destinations: [domain], preview: true });
    assert.doesNotMatch((await ask()).body.sentence, /the first/, 'these are all');
    await db
      .insertInto('delivery_destination')
      .values(rows.slice(0, 1) as never)
      .execute();
    assert.match(
      (await ask()).body.sentence,
      /These are the first 10,000; repeat it for those that wait behind them\.$/,
    );
    await db.deleteFrom('delivery_destination').where('domain', '=', domain).execute();
    await db.deleteFrom('delivery').where('id', '=', 'many').execute();
  });
});
