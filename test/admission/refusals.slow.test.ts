/** New work is refused while the disk is nearly full, while too much mail waits, and while too many addresses are being checked. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { sendMail } from '../../src/lib/smtp/index.ts';
import { startTestHttp, type TestHttp } from '../messaging/start-http.ts';
import { bob, waitUntil } from '../messaging/start-messaging.ts';
import { startHispChild, type HispChild } from './start-hisp-child.ts';
import { startSmtpListener } from '../../src/app/smtp/index.ts';
import { silentLog } from '../../src/core/index.ts';

const message = Buffer.from(
  'From: a@example.net\r\nContent-Type: application/pkcs7-mime; smime-type=enveloped-data\r\n\r\nMIIB\r\n',
);

describe('a disk that is nearly full', () => {
  let child: HispChild;
  before(async () => {
    // No disk has that much room.
    child = await startHispChild(1, ['OPENHISP_ADMISSION_MIN_FREE_DISK_BYTES=1000000000000']);
  });
  after(() => child.stop());
  const address = 'alice@direct.alpha.example';
  const call = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(child.baseUrl + path, {
      ...init,
      headers: { authorization: `Bearer ${child.tokens[0]}`, 'content-type': 'application/json' },
    });

  test('refuses sends with 503 and Retry-After; stored messages can still be fetched', async () => {
    const body = JSON.stringify({ fromDirectAddress: address, toDirectAddress: address, messageBody: 'x' });
    const refused = await call('/messaging/dirmsg/send_ccda', { method: 'POST', body });
    const { errors } = (await refused.json()) as { errors: { reason: string }[] };
    assert.deepEqual([refused.status, errors[0]?.reason], [503, 'platform_disk_low']);
    assert.ok(Number(refused.headers.get('retry-after')) > 0);
    assert.equal((await call('/messaging/dirmsg/inbox')).status, 200);
  });

  test('is reported by health, with the reason, and by metrics', async () => {
    const ready = await call('/health/ready');
    const { errors } = (await ready.json()) as {
      errors: { field: string; reason: string; detail: string }[];
    };
    const disk = errors.find(({ field }) => field === 'disk');
    assert.deepEqual([ready.status, disk?.reason], [503, 'platform_disk_low']);
    assert.match(disk?.detail ?? '', /disk is nearly full/);
    assert.equal(await child.metric('openhisp_disk_low'), 1);
    assert.ok((await child.metric('openhisp_disk_free_bytes')) > 0);
    assert.equal((await call('/health/live')).status, 200);
  });

  test('defers mail with 452', async () => {
    const outcome = await sendMail({
      host: '127.0.0.1',
      port: child.smtpPort,
      hostname: 'peer.example',
      mailFrom: 'a@example.net',
      recipients: [address],
      message,
      timeoutMs: 20_000,
    });
    assert.deepEqual(
      outcome.rejected.map(({ code, enhancedCode, isTransient }) => [code, enhancedCode, isTransient]),
      [[452, '4.3.1', true]],
    );
  });
});

test('with room on the disk health says that it is ready for new work', async (t) => {
  const child = await startHispChild(1);
  t.after(() => child.stop());
  assert.equal(await child.metric('openhisp_disk_low'), 0);
  const ready = await (await fetch(`${child.baseUrl}/health/ready`)).json();
  assert.ok(!JSON.stringify(ready).includes('platform_disk_low'));
});

test('an SMTP session may be silent for longer than the timeout of outgoing connections (EDGE-04)', async (t) => {
  const child = await startHispChild(1, [
    'OPENHISP_SMTP_TIMEOUT_MS=100',
    'OPENHISP_SMTP_IDLE_TIMEOUT_MS=2000',
  ]);
  t.after(() => child.stop());
  const socket = connect(child.smtpPort, '127.0.0.1');
  t.after(() => socket.destroy());
  const lines = createInterface(socket)[Symbol.asyncIterator]();
  assert.match(String((await lines.next()).value), /^220 /);
  await setTimeout(600);
  socket.write('NOOP\r\n');
  assert.match(String((await lines.next()).value), /^250 /);
  const silentSince = performance.now();
  assert.match(String((await lines.next()).value), /^421 /);
  assert.ok(performance.now() - silentSince > 1500);
});

describe('mail that waits', () => {
  test('is limited per network and in total, and processed mail releases its capacity', async (t) => {
    const world = await startTestHttp({
      isStarted: true,
      admission: {
        maxWaitingMails: 4,
        maxWaitingMailsPerNetwork: 3,
        maxWaitingMailBytes: 10_000,
        maxWaitingMailBytesPerNetwork: 10_000,
      },
    });
    const open = Promise.withResolvers<void>();
    t.after(() => {
      open.resolve();
      return world.close();
    });
    world.setOpenIncoming(async () => {
      await open.promise;
      throw new Error('not readable');
    });
    const listener = await startSmtpListener({
      host: '127.0.0.1',
      port: 0,
      hostname: 'mx.alpha.example',
      trust: world.trust,
      messaging: world.messaging,
      disk: { requireRoom: () => {} },
      log: silentLog,
    });
    t.after(() => listener.close());
    const offer = async (localPart: string, text: Uint8Array = message): Promise<number> => {
      const outcome = await sendMail({
        host: '127.0.0.1',
        port: listener.port,
        hostname: 'peer.example',
        mailFrom: 'a@example.net',
        recipients: [`${localPart}@direct.alpha.example`],
        message: text,
        timeoutMs: 20_000,
      });
      return outcome.rejected[0]?.code ?? 250;
    };
    const waiting = async (): Promise<number> =>
      (await world.db.selectFrom('inbound_mail').select('id').where('state', '=', 'waiting').execute())
        .length;
    assert.deepEqual([await offer('a'), await offer('b'), await offer('c')], [250, 250, 250]);
    assert.equal(await offer('d'), 452);
    assert.equal(await waiting(), 3);
    // From another network there is room for one more, and then for nobody.
    const mail = { mailFrom: 'x@y.org', recipients: ['alice@direct.alpha.example'], message };
    await world.messaging.acceptInbound(mail, 'elsewhere');
    const full = { code: 'MESSAGING_SPOOL_FULL' };
    await assert.rejects(
      world.messaging.acceptInbound({ ...mail, mailFrom: 'z@y.org' }, 'somewhere else'),
      full,
    );
    assert.throws(() => world.messaging.checkSpool({ network: 'third', sizeBytes: 1 }), full);
    open.resolve();
    await world.db.deleteFrom('inbound_mail').execute();
    await waitUntil(async () => (await offer('e')) === 250, 'room again');
  });

  test('that is not encrypted is not even spooled, and the operator can see that it came', async (t) => {
    const world = await startTestHttp({ isStarted: false });
    t.after(() => world.close());
    const listener = await startSmtpListener({
      host: '127.0.0.1',
      port: 0,
      hostname: 'mx.alpha.example',
      trust: world.trust,
      messaging: world.messaging,
      disk: { requireRoom: () => {} },
      log: silentLog,
    });
    t.after(() => listener.close());
    for (const type of [
      'text/plain',
      'multipart/signed; protocol="application/pkcs7-signature"; boundary=x',
      'application/pkcs7-mime; smime-type=signed-data',
      'application/octet-stream; name=letter.doc',
    ]) {
      const outcome = await sendMail({
        host: '127.0.0.1',
        port: listener.port,
        hostname: 'peer.example',
        mailFrom: 'a@example.net',
        recipients: ['nobody@direct.alpha.example'],
        message: Buffer.from(`From: a@example.net\r\nContent-Type: ${type}\r\n\r\nhello\r\n`),
        timeoutMs: 20_000,
      });
      assert.deepEqual(
        outcome.rejected.map(({ code, enhancedCode }) => [code, enhancedCode]),
        [[554, '5.6.1']],
        type,
      );
    }
    assert.equal((await world.db.selectFrom('inbound_mail').select('id').execute()).length, 0);
    await world.audit.flush();
    const rows = await world.audit.find({ action: 'message.reject' });
    assert.equal(rows.length, 4);
    const relayed = await sendMail({
      host: '127.0.0.1',
      port: listener.port,
      hostname: 'peer.example',
      mailFrom: 'a@example.net',
      recipients: ['b@elsewhere.example'],
      message: Buffer.from('From: a@example.net\r\n\r\nhello\r\n'),
      timeoutMs: 20_000,
    });
    assert.equal(relayed.rejected[0]?.enhancedCode, '5.7.1');
    await world.audit.flush();
    const [counted] = await world.audit.find({ action: 'message.reject', limit: 1 });
    const { reason, to } = counted?.objects ?? {};
    assert.deepEqual([reason, to], ['domain-not-hosted', 'b@elsewhere.example']);
    for (const type of ['application/x-pkcs7-mime', 'application/octet-stream; name="smime.p7m"']) {
      const outcome = await sendMail({
        host: '127.0.0.1',
        port: listener.port,
        hostname: 'peer.example',
        mailFrom: 'a@example.net',
        recipients: ['nobody@direct.alpha.example'],
        message: Buffer.from(`From: a@example.net\r\nContent-Type: ${type}\r\n\r\nMIIB\r\n`),
        timeoutMs: 20_000,
      });
      assert.equal(outcome.accepted.length, 1, type);
    }
  });
});

describe('validate', () => {
  let world: TestHttp;
  let running = 0;
  let most = 0;
  let discovered = 0;
  const open = Promise.withResolvers<void>();
  before(async () => {
    world = await startTestHttp({
      admission: {
        maxCheckedAddresses: 300,
        maxCheckedAddressesPerClient: 200,
        addressChecks: 10,
        addressChecksPerClient: 6,
      },
      resolveRecipients: async (recipients) => {
        running++;
        discovered++;
        most = Math.max(most, running);
        await open.promise;
        running--;
        return { usable: recipients.map((address) => ({ address, certificates: [] })), refused: [] };
      },
    });
  });
  after(() => {
    open.resolve();
    return world.close();
  });

  const ask = (n: number, token?: string) =>
    world.call('POST', '/messaging/dirmsg/validate', {
      body: {
        fromDirectAddress:
          token === undefined ? 'alice@direct.alpha.example' : 'mallory@direct.alpha.example',
        toDirectAddress: Array.from({ length: 100 }, (_, at) => `r${n}-${at}@${bob.split('@')[1]}`),
      },
      ...(token === undefined ? {} : { token }),
    });

  test('50 questions for 100 addresses start no more discoveries than there are slots; a client at its limit gets 429', async () => {
    let refused = 0;
    const questions = Array.from({ length: 50 }, async (_, n) => {
      const answer = await ask(n);
      if (answer.status === 429) refused++;
      return answer;
    });
    await waitUntil(() => running === 6, 'the share of one client');
    const other = ask(1, world.tokens.otherClient);
    await waitUntil(() => running === 10, 'the slots of all');
    // All clients together have no room for more.
    const third = await ask(2, world.tokens.otherClient);
    assert.equal(third.status, 503);
    assert.ok(Number(third.headers.get('retry-after')) > 0);
    await waitUntil(() => refused === 48, 'everything beyond the share to be refused');
    assert.equal(discovered, 10);
    open.resolve();
    const statuses = (await Promise.all(questions)).map(({ status }) => status);
    assert.equal(statuses.filter((status) => status === 200).length, 2);
    assert.equal(statuses.filter((status) => status === 429).length, 48);
    assert.equal((await other).status, 200);
    assert.equal(most, 10);
    assert.equal(discovered, 300);
    const again = await ask(3);
    assert.deepEqual(
      [again.status, (again.body as unknown as { result: unknown[] }).result.length],
      [200, 100],
    );
  });
});
