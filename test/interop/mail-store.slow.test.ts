/** What an edge account received is handed over to a real Dovecot by LMTP, and to a real Postfix by SMTP. */
import assert from 'node:assert/strict';
import { chmod, mkdir, readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { silentLog } from '../../src/core/index.ts';
import { createWebhooks } from '../../src/service/webhook/index.ts';
import { startTestEdges } from '../edges/start-edges.ts';
import { alice, anna, bob, waitUntil } from '../messaging/start-messaging.ts';
import { startDovecot } from '../support/dovecot.ts';
import { startPostfix } from '../support/postfix.ts';
import { createTemporaryFolder, needsRootAndPrograms } from '../support/processes.ts';

test(
  'a store gets each message once and as it came, also after it was away; what it refuses stays, and its sender is told nothing',
  needsRootAndPrograms('dovecot'),
  async (t) => {
    const dovecot = await startDovecot([alice]);
    t.after(() => dovecot.remove());
    const world = await startTestEdges();
    t.after(() => world.close());
    await world.createAccount();
    await world.createAccount({ username: anna, addresses: [anna] });
    const accounts = [await world.edges.accounts.get(alice), await world.edges.accounts.get(anna)] as const;
    const url = `lmtp://127.0.0.1:${dovecot.port}`;
    for (const account of accounts) await world.webhooks.setEdgeTarget(account, 'mail', url);
    const receive = async (to: string, number: number): Promise<string> => {
      const inner = [
        `From: ${bob}`,
        `To: ${to}`,
        `Subject: message ${number}`,
        `Message-ID: <store${number}@beta.example>`,
        `Disposition-Notification-To: ${bob}`,
        'Disposition-Notification-Options: X-DIRECT-FINAL-DESTINATION-DELIVERY=optional,true',
        '',
        'Hello',
        '.from a line with a dot',
        '',
      ].join('\r\n');
      await world.receive({ from: bob, to: [to], inner });
      return inner;
    };
    const { waiting, dispatched } = countsOf(world);

    const first = await receive(alice, 1);
    await waitUntil(async () => (await waiting()) === 0, 'the acknowledgement');
    const [kept = '', ...more] = await dovecot.mailsOf(alice);
    assert.equal(more.length, 0);
    // The store puts its own lines on top.
    assert.ok(kept.endsWith(first), kept);
    assert.equal(dispatched(), 1);

    await dovecot.stop();
    const second = await receive(alice, 2);
    await waitUntil(async () => (await failures()) > 0, 'an attempt in vain');
    assert.deepEqual([await waiting(), dispatched()], [1, 1]);
    await dovecot.start();
    await waitUntil(async () => {
      world.clock.advance(1_000);
      return (await waiting()) === 0;
    }, 'the retry');
    const mails = await dovecot.mailsOf(alice);
    assert.equal(mails.length, 2);
    assert.ok(mails.some((mail) => mail.endsWith(second)));
    assert.equal(dispatched(), 2);

    // Unknown to the store.
    await receive(anna, 3);
    const operator = world.webhooks.as('operator:test');
    await waitUntil(async () => (await errors()).includes('LMTP 550 5.1.1'), 'the refusal');
    assert.deepEqual([await waiting(), dispatched()], [1, 2]);
    // Fetched by another edge meanwhile, it goes to the store no more.
    const [left] = (await world.messaging.listInbox(world.clinic, {})).messages;
    await world.messaging.acknowledge(world.clinic, left?.messageId ?? '', {});
    await waitUntil(async () => {
      world.clock.advance(60_000);
      return (await operator.list()).every(({ counts }) => counts.waiting === 0);
    }, 'its end');

    const guarded = createWebhooks({
      ...world,
      log: silentLog,
      allowedHosts: ['store.internal'],
      post: () => Promise.reject(new TypeError('never called')),
    });
    t.after(() => guarded.close());
    for (const target of [
      url,
      'lmtp://10.1.2.3:24',
      'lmtp://store.internal',
      'lmtp://store.internal:24/x',
      'lmtp://a@store.internal:24',
      'https://store.internal/x',
      'lmtp://store.internal:99999',
    ])
      await assert.rejects(guarded.setEdgeTarget(accounts[0], 'mail', target), {
        code: 'WEBHOOK_REQUEST_INVALID',
      });
    await guarded.setEdgeTarget(accounts[0], 'mail', 'lmtp://store.internal:24');
    const hook = await world.webhooks.findEdgeTarget(accounts[0], 'mail');
    assert.equal(hook?.url, 'lmtp://store.internal:24');
    // The client cannot turn it to elsewhere.
    await assert.rejects(world.webhooks.update('clinic', hook.id, { url: 'https://else.example/' }), {
      code: 'WEBHOOK_REQUEST_INVALID',
    });
    await world.webhooks.setEdgeTarget(accounts[0], 'mail', undefined);
    await receive(alice, 4);
    assert.equal(await waiting(), 1);

    async function errors(): Promise<readonly string[]> {
      const all = await Promise.all((await operatorOf().list()).map(({ id }) => operatorOf().show(id)));
      return all.flatMap(({ attempts }) => attempts.map(({ error }) => error));
    }
    async function failures(): Promise<number> {
      return (await errors()).filter((error) => error !== '').length;
    }
    function operatorOf() {
      return world.webhooks.as('operator:test');
    }
  },
);

test(
  'Postfix stores what it is given, without a sender to return it to; what it refuses stays, and its sender is told nothing',
  needsRootAndPrograms('postfix'),
  async (t) => {
    const folder = await createTemporaryFolder('postfix-store');
    const mailboxes = path.join(folder.path, 'mail');
    await mkdir(mailboxes);
    // Postfix stores mail as an unprivileged user, never as root.
    for (const one of [folder.path, mailboxes]) await chmod(one, 0o777);
    const postfix = await startPostfix({
      settings: [
        'virtual_mailbox_domains = direct.alpha.example',
        `virtual_mailbox_base = ${mailboxes}`,
        `virtual_mailbox_maps = inline:{ ${alice}=alice/ }`,
        'virtual_mailbox_limit = 0',
        'virtual_minimum_uid = 100',
        'virtual_uid_maps = static:65534',
        'virtual_gid_maps = static:65534',
        'virtual_alias_maps =',
      ],
    });
    t.after(async () => {
      await postfix.stop();
      await folder.remove();
    });
    const world = await startTestEdges();
    t.after(() => world.close());
    for (const address of [alice, anna]) {
      await world.createAccount({ username: address, addresses: [address] });
      const account = await world.edges.accounts.get(address);
      await world.webhooks.setEdgeTarget(account, 'mail', `smtp://127.0.0.1:${postfix.port}`);
    }
    const receive = async (to: string): Promise<string> => {
      const inner = [
        `From: ${bob}`,
        `To: ${to}`,
        'Subject: by SMTP',
        'Date: Sat, 21 Nov 2026 11:00:00 +0000',
        `Message-ID: <${to === alice ? 1 : 2}@beta.example>`,
        `Disposition-Notification-To: ${bob}`,
        'Disposition-Notification-Options: X-DIRECT-FINAL-DESTINATION-DELIVERY=optional,true',
        'MIME-Version: 1.0',
        'Content-Type: text/plain; charset=utf-8',
        'Content-Transfer-Encoding: 8bit',
        '',
        'Grüße',
        '.from a line with a dot',
        '',
      ].join('\r\n');
      await world.receive({ from: bob, to: [to], inner });
      return inner;
    };
    const { waiting, dispatched } = countsOf(world);

    const sent = await receive(alice);
    await waitUntil(async () => (await waiting()) === 0, 'the acknowledgement');
    assert.equal(dispatched(), 1);
    const stored = path.join(mailboxes, 'alice', 'new');
    const mails = await waitForFiles(stored);
    assert.equal(mails.length, 1);
    const kept = await readFile(path.join(stored, mails[0] ?? ''), 'utf8');
    assert.ok(kept.endsWith(sent.replaceAll('\r\n', '\n')), kept);
    assert.match(kept, /^Return-Path: <>$/m);

    await receive(anna);
    const operator = world.webhooks.as('operator:test');
    await waitUntil(async () => {
      const all = await Promise.all((await operator.list()).map(({ id }) => operator.show(id)));
      return all.some(({ attempts }) => attempts.some(({ error }) => error === 'SMTP 550 5.1.1'));
    }, 'the refusal');
    assert.deepEqual([await waiting(), dispatched()], [1, 1]);
  },
);

/** Received messages that nobody has acknowledged, and dispatched MDNs that went out. */
function countsOf(world: Awaited<ReturnType<typeof startTestEdges>>) {
  return {
    waiting: async (): Promise<number> => (await world.messaging.listInbox(world.clinic, {})).messages.length,
    dispatched: (): number =>
      world.deliveries.filter(({ message }) =>
        /disposition: .*;\s*dispatched/i.test(Buffer.from(message).toString()),
      ).length,
  };
}

/** Names of the mails in a maildir, once there is one. */
async function waitForFiles(folder: string): Promise<readonly string[]> {
  let names: readonly string[] = [];
  await waitUntil(async () => {
    names = await readdir(folder).catch(() => []);
    return names.length > 0;
  }, 'the mail in its maildir');
  return names;
}
