import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import type {
  DomainDetails,
  DomainList,
  AddressCheckEvent,
  Now,
} from '../../src/app/console/contract/index.ts';
import { createManualClock } from '../../src/core/index.ts';
import { demoAddress, domains, openAuthority, partners } from '../../src/app/dev/index.ts';
import type { DirectoryTables } from '../../src/service/directory/store/tables.ts';
import type { WebhookTables } from '../../src/service/webhook/index.ts';
import { waitFor } from '../system/sandbox-fixture.ts';
import { makeTlsCertificate } from '../support/tls-certificate.ts';
import { openAdminWorld, type AdminWorld } from './admin-world.ts';

const dayMs = 86_400_000;
/** The greatest value of `admission.minFreeDiskBytes`. */
const mostRequired = 10 ** 12;

describe('what needs an operator soon', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-console-now-'));
  after(() => rmSync(folder, { recursive: true, maxRetries: 5 }));
  const pem = makeTlsCertificate('mx.example.org', 9);
  const skip = pem === undefined ? 'openssl is not installed' : false;

  it('is a line of what needs attention on the screen Now', { skip }, async (t) => {
    const file = path.join(folder, 'tls.pem');
    writeFileSync(file, pem ?? '');
    const world = await openAdminWorld({ 'smtp.tlsKeyFile': file, 'smtp.tlsCertificateFile': file });
    t.after(() => world.close());
    const { body } = await waitFor(
      () => world.call<Now>('help-desk', 'GET', '/now'),
      (answer) => answer.body.attention.some(({ id }) => id === 'upkeep:tls'),
    );
    const { level, title } = body.attention.find(({ id }) => id === 'upkeep:tls') ?? {};
    assert.equal(level, 'warning');
    assert.match(title ?? '', /^The certificate of smtp\.tlsCertificateFile expires on \d{4}-\d\d-\d\d\.$/);
  });

  it('says first that the disk is getting full', async (t) => {
    const { bavail, bsize } = await statfs(tmpdir());
    const required = Math.floor(bavail * bsize * 0.75);
    if (required > mostRequired) return t.skip('the disk has more room than can be required');
    const world = await openAdminWorld({
      'admission.minFreeDiskBytes': String(required),
    });
    t.after(() => world.close());
    const { body } = await world.call<Now>('help-desk', 'GET', '/now');
    const line = body.attention.find(({ id }) => id === 'upkeep:disk');
    assert.equal(line?.level, 'warning');
    assert.match(
      line?.title ?? '',
      /^The disk is getting full: \d+ MB are free; below \d+ MB new messages are refused/,
    );
  });

  it('names the key that ends first, a scheduled load that failed and what can be replayed, and leads there', async (t) => {
    const world = await openAdminWorld();
    t.after(() => world.close());
    const { trust, storage } = world.sandbox.world.hisp;
    const tileOf = async (id: string) => {
      // Figures are cached for two seconds.
      await new Promise((resolve) => setTimeout(resolve, 2_100));
      const { body } = await world.call<Now>('operator', 'GET', '/now');
      return { tile: body.tiles.find((tile) => tile.id === id), attention: body.attention };
    };
    /** A domain whose key has this many days left. */
    const addDomain = async (domain: string, days: number): Promise<void> => {
      const authority = await openAuthority({
        folder: world.folder,
        name: domain,
        baseUrl: 'http://ca.example',
        clock: createManualClock(new Date(Date.now() - (730 - days) * dayMs + 3_600_000)),
      });
      const { certificate, privateKey } = await authority.issue({ domain });
      await trust.addDomain(domain);
      await trust.addKeyPair(domain, certificate.der, privateKey);
      await trust.addAnchor(domain, authority.certificate.der);
    };
    await addDomain('direct.z.example', 5);
    const one = await tileOf('keys');
    assert.deepEqual(
      [one.tile?.level, one.tile?.value, one.tile?.link],
      ['warning', 5, '/domains/direct.z.example'],
    );
    assert.match(
      one.tile?.text ?? '',
      /^The key of direct\.z\.example for signing and encryption expires on \d{4}-\d\d-\d\d\.$/,
    );
    assert.deepEqual(
      one.attention.map(({ title, link }) => [title, link]),
      [[one.tile?.text, one.tile?.link]],
    );
    await addDomain('direct.a.example', 20);
    const two = await tileOf('keys');
    assert.match(two.tile?.text ?? '', /direct\.z\.example .* expires on .*; 1 other key needs attention\.$/);
    assert.equal(two.tile?.link, '/domains');
    const { body: listed } = await world.call<DomainList>('operator', 'GET', '/domains');
    assert.deepEqual(
      listed.result.map(({ domain, level, anchorCount }) => [domain, level, anchorCount]),
      [
        ['direct.a.example', 'warning', 1],
        ['direct.z.example', 'warning', 1],
        [domains.own, 'ok', listed.result.at(-1)?.anchorCount],
      ],
    );

    await trust.addDomain('direct.none.example');
    const missing = await tileOf('keys');
    assert.deepEqual(
      [missing.tile?.level, missing.tile?.value, missing.tile?.unit],
      ['failed', 1, 'not usable'],
    );
    assert.match(missing.tile?.text ?? '', /^direct\.none\.example has no active key/);
    const { since } = missing.attention.find(({ id }) => id.startsWith('keys:direct.none.')) ?? {};
    assert.ok(Math.abs(Date.now() - Date.parse(since ?? '')) < 60_000, `${since}`);

    const { clients } = world.sandbox.world.hisp.oauth;
    const [client] = await clients.list();
    await clients.update(client?.clientId ?? '', { limits: { directoryRecordsPerDay: 100_000 } });
    await storage
      .tables<DirectoryTables>()
      .insertInto('directory_quota')
      .values({
        client_id: client?.clientId ?? '',
        day: new Date().toISOString().slice(0, 10),
        record_count: 80_000,
      })
      .execute();
    const { attention } = await tileOf('keys');
    assert.deepEqual(
      attention.flatMap(({ id, title, link }) => (id.startsWith('quota:') ? [[title, link]] : [])),
      [[`${client?.name}: 80,000 of 100,000 directory records of today`, `/clients/${client?.clientId}`]],
    );

    const sources = storage.tables<DirectoryTables>();
    await sources
      .updateTable('directory_source')
      .set({
        schedule_path: '/data/nppes.zip',
        schedule_every_ms: dayMs,
        schedule_checked_at: Date.now(),
        schedule_failure: 'No file has the columns of a directory',
      })
      .execute();
    const failed = await tileOf('directory');
    assert.deepEqual([failed.tile?.level, failed.tile?.link], ['warning', '/directory/sources']);
    assert.match(failed.tile?.text ?? '', /^The scheduled load of \S+ failed: No file has the columns/);

    const { webhook } = (await world.client.post('/messaging/webhooks', {
      url: 'http://127.0.0.1:9/hook',
    })) as { readonly webhook: { readonly id: string } };
    await world.client.post('/messaging/dirmsg/send_ccda', {
      fromDirectAddress: demoAddress,
      toDirectAddress: partners.processed,
      messageSubject: 'x',
      messageBody: 'x',
    });
    const hooks = storage.tables<WebhookTables>();
    await waitFor(
      () =>
        hooks
          .updateTable('webhook_notification')
          .set({ state: 'dead', attempts: 11 })
          .where('webhook_id', '=', webhook.id)
          .where('attempts', '>', 0)
          .executeTakeFirst(),
      ({ numUpdatedRows }) => numUpdatedRows > 0n,
    );
    const failing = await tileOf('webhooks');
    assert.deepEqual([failing.tile?.level, failing.tile?.link], ['failed', `/webhooks/${webhook.id}`]);
    await hooks
      .updateTable('webhook_notification')
      .set({ state: 'dead', attempts: 11 })
      .where('webhook_id', '=', webhook.id)
      .execute();
    await hooks.updateTable('webhook').set({ failing_since: null }).where('id', '=', webhook.id).execute();
    const { tile } = await tileOf('webhooks');
    assert.deepEqual([tile?.level, tile?.value, tile?.link], ['warning', 0, `/webhooks/${webhook.id}`]);
    assert.match(tile?.text ?? '', /^\d+ dead letters? of webhooks can be replayed\.$/);
  });
});

describe('now and address checks', () => {
  let world: AdminWorld;
  before(async () => {
    world = await openAdminWorld();
  });
  after(() => world?.close());

  it('shows the current state, failures and charts of the last hours', async () => {
    for (const to of [partners.processed, partners.untrusted])
      await world.client.post('/messaging/dirmsg/send_ccda', {
        fromDirectAddress: demoAddress,
        toDirectAddress: to,
        messageSubject: 'x',
        messageBody: 'x',
      });
    const sum = (list: readonly number[]): number => list.reduce((total, one) => total + one, 0);
    const { body } = await waitFor(
      () => world.call<Now>('auditor', 'GET', '/now?hours=1'),
      (answer) =>
        sum(answer.body.series.processed) === 1 &&
        sum(answer.body.series.accepted) === 2 &&
        answer.body.tiles.some(({ unit }) => unit === 'of 2 recipients') &&
        answer.body.failures.some(({ reason }) => reason === 'untrusted'),
    );
    assert.equal(body.tiles.length, 8);
    assert.equal(body.series.times.length, 60);
    assert.equal(sum(body.series.failed), 1);
    assert.ok(body.series.p99Seconds.some((value) => value !== null && value > 0));
    assert.notEqual(body.failures[0]?.whatToDo, '');
    assert.deepEqual(body.attention, []);
  });

  async function check(address: string): Promise<readonly AddressCheckEvent[]> {
    const { status, text } = await world.call('help-desk', 'POST', '/address-checks', { address });
    assert.equal(status, 200, text);
    return text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as AddressCheckEvent);
  }

  it('checks an address step by step, by the way that a send takes', async () => {
    const good = await check(partners.processed);
    assert.equal(good[0]?.type, 'started');
    assert.ok(good.some((event) => event.type === 'step' && event.outcome === 'found'));
    const decision = good.at(-1);
    assert.ok(decision?.type === 'decision' && decision.canSend && decision.letter === '');
    const path = good.find((event) => event.type === 'certificate');
    assert.equal(path?.path.nodes.at(-1)?.role, 'anchor');

    const verdict = (await check(partners.untrusted)).at(-1);
    assert.ok(verdict?.type === 'decision' && !verdict.canSend);
    assert.deepEqual([verdict.reason, verdict.level], ['untrusted', 'failed']);
    assert.match(verdict.letter, /PKI_ISSUER_NOT_FOUND/);
    const none = (await check(partners.noCertificate)).at(-1);
    assert.ok(none?.type === 'decision' && none.reason === 'no-certificate');
    assert.doesNotMatch(none.sentence, /does not exist/);
    const nowhere = await check('ann@direct.nowhere.example');
    const step = nowhere.find((event) => event.type === 'step' && event.source === 'dns-domain');
    assert.ok(step?.type === 'step' && /domain does not exist/.test(step.text), JSON.stringify(step));
    assert.ok(!nowhere.some((event) => event.type === 'step' && /next place/.test(event.text)));
    const missing = nowhere.at(-1);
    assert.ok(missing?.type === 'decision' && !missing.isTransient, JSON.stringify(missing));
    assert.deepEqual([missing.reason, missing.level], ['no-certificate', 'failed']);
    assert.match(missing.sentence, /domain does not exist/);
    assert.match(missing.whatToDo, /domain does not exist/);
    assert.match(missing.letter, /its domain does not exist/);

    const bad = await world.call<{ errors: { field: string }[] }>('help-desk', 'POST', '/address-checks', {
      address: 'nobody',
    });
    assert.deepEqual([bad.status, bad.body.errors[0]?.field], [400, 'address']);
    const rows = await world.sandbox.world.hisp.audit.find({ action: 'address.check' });
    assert.ok(rows.every(({ actor }) => actor === 'operator:script help-desk') && rows.length === 4);
  });

  it('refuses more address checks at once than one operator may run, and takes them again afterwards', async () => {
    world.sandbox.world.publish({
      name: 'busy.example',
      async findRecords() {
        await new Promise((resolve) => setTimeout(resolve, 200));
        return undefined;
      },
    });
    const addresses = Array.from({ length: 10 }, (_, at) => `ann@direct${at}.busy.example`);
    const answers = await Promise.all(
      addresses.map((address) => world.call('help-desk', 'POST', '/address-checks', { address })),
    );
    const statuses = answers.map(({ status }) => status);
    assert.ok(statuses.filter((status) => status === 200).length >= 2, String(statuses));
    assert.ok(statuses.includes(429), String(statuses));
    assert.equal((await check(partners.processed)).at(-1)?.type, 'decision');
  });

  it('ends an address check when its reader has gone, and asks nobody else', async () => {
    const { world: inner } = world.sandbox;
    const asked: string[] = [];
    const begun = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<undefined>();
    answer.promise.catch(() => undefined);
    inner.publish({
      name: 'direct.slow.example',
      async findRecords(name) {
        asked.push(name);
        begun.resolve();
        await answer.promise;
        return undefined;
      },
    });
    const reader = new AbortController();
    const response = await fetch(`${world.consoleUrl}/admin/v1/address-checks`, {
      method: 'POST',
      headers: { ...world.headersOf('operator'), 'content-type': 'application/json' },
      body: JSON.stringify({ address: 'ann@direct.slow.example' }),
      signal: reader.signal,
    });
    assert.equal(response.status, 200);
    await begun.promise;
    reader.abort();
    const [row] = await waitFor(
      () => inner.hisp.audit.find({ action: 'address.check', actor: 'operator:script operator', limit: 1 }),
      (rows) => rows.length === 1,
    );
    assert.deepEqual([row?.outcome, row?.objects['code']], ['failed', 'ABORTED']);
    answer.reject(new Error('the name server is broken'));
    // Both slots of the operator are free, and by the time that another check has ended nothing more was asked.
    await Promise.all(
      [partners.processed, partners.noCertificate].map(async (address) => {
        const { status } = await world.call('operator', 'POST', '/address-checks', { address });
        assert.equal(status, 200);
      }),
    );
    assert.deepEqual([...new Set(asked)], ['ann.direct.slow.example']);
  });

  it('shows domains with keys, anchors and dates, and retires a key only where another one serves', async () => {
    const list = await world.call<DomainList>('auditor', 'GET', '/domains');
    assert.deepEqual(
      list.body.result.map(({ domain, level }) => [domain, level]),
      [[domains.own, 'ok']],
    );
    const shown = await world.call<DomainDetails>('auditor', 'GET', `/domains/${domains.own}`);
    const [key] = shown.body.keys;
    assert.deepEqual(
      [key?.owner, key?.status, key?.uses],
      [domains.own, 'active', ['signing', 'encryption']],
    );
    assert.ok(shown.body.anchors.length > 0 && shown.body.addressCount > 0);
    const target = `/domains/${domains.own}/keys/${key?.id}/retire`;
    const last = await world.call('operator', 'POST', target, {});
    assert.ok(last.status >= 400 && last.status < 500, last.text);
    const { hisp, authority } = world.sandbox.world;
    const pair = await authority.issue({ domain: domains.own });
    await hisp.trust.addKeyPair(domains.own, pair.certificate.der, pair.privateKey);
    assert.equal((await world.call('operator', 'POST', target, {})).status, 200);
    const rows = await hisp.audit.find({ action: 'key.retire' });
    assert.equal(rows[0]?.actor, 'operator:script operator');
    assert.equal((await world.call('auditor', 'GET', '/domains/elsewhere.example')).status, 404);
  });
});
