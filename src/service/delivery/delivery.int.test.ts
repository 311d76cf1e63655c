import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { createServer } from 'node:net';
import path from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { openTestStorage } from '../../../test/support/storage.ts';
import { createManualClock, silentLog, type Closable } from '../../core/index.ts';
import { createDnsResolver, createDnsServer, createStaticZone, type DnsRecord } from '../../lib/dns/index.ts';
import { createSmtpClient, createSmtpServer, type SmtpReply } from '../../lib/smtp/index.ts';
import { parseDirectAddress, type DirectAddress } from '../../lib/values/index.ts';
import { loadMasterKey, openVault, tablesOf, type Storage, type Vault } from '../../platform/index.ts';
import { AgentError, type Agent } from '../agent/index.ts';
import { createDelivery, type Delivery, type DeliveryOutcome, type DeliveryTables } from './index.ts';
import { defaultRetryWaitsMs, retryWaitMs } from './schedule.ts';

// Sealing and trust have tests of their own; here they are a seam that lets everybody through but two.
const agent: Agent = {
  async resolveRecipients(_from, recipients) {
    const refusal = (recipient: DirectAddress, isTransient: boolean) => ({
      recipient,
      reason: 'no-certificate' as const,
      code: 'DIRECT_RECIPIENT_CERTIFICATE_MISSING',
      statusCode: '5.7.31',
      text: 'No certificate is published for the address.',
      isTransient,
    });
    return {
      usable: recipients
        .filter((one) => !/^(?:unknown|undecided)@/.test(one))
        .map((address) => ({ address, certificates: [] })),
      refused: recipients
        .filter((one) => /^(?:unknown|undecided)@/.test(one))
        .map((one) => refusal(one, one.startsWith('undecided'))),
    };
  },
  async seal(_from, message) {
    if (Buffer.from(message).includes('unsealable')) throw new AgentError('AGENT_NO_SIGNING_KEY', 'no key');
    return message;
  },
  openIncoming: () => Promise.reject(new Error('not used')),
  close: async () => {},
};

const from = parseDirectAddress('sender@direct.own.example');
const to = (text: string): DirectAddress => parseDirectAddress(text);
const message = (text: string): Uint8Array => Buffer.from(`From: ${from}\r\nSubject: x\r\n\r\n${text}\r\n`);

const refusingAddress = '127.0.0.8';
const clock = createManualClock(new Date('2026-06-01T12:00:00Z'));
const parts: Closable[] = [];
let folder: string;
let storage: Storage;
let vault: Vault;
let peerPort: number;
let dnsPort: number;
let mail: { mailFrom: string; recipients: readonly string[]; text: string }[] = [];
let reply: (address: string) => 'accept' | SmtpReply = () => 'accept';

function zone(domain: string, mailHost: string, address?: string) {
  const soa = {
    primaryServer: 'ns.test',
    mailbox: 'h.test',
    serial: 1,
    refreshSeconds: 1,
    retrySeconds: 1,
    expireSeconds: 1,
    minimumSeconds: 0,
  };
  const records: DnsRecord[] = [
    { name: domain, type: 'SOA', ttlSeconds: 0, data: soa },
    { name: domain, type: 'MX', ttlSeconds: 0, data: { priority: 1, exchange: mailHost } },
  ];
  if (address !== undefined) records.push({ name: mailHost, type: 'A', ttlSeconds: 0, data: address });
  if (domain === 'refusing.example') {
    const backup = `backup.${domain}`;
    records.push({ name: domain, type: 'MX', ttlSeconds: 0, data: { priority: 2, exchange: backup } });
    records.push({ name: backup, type: 'A', ttlSeconds: 0, data: '127.0.0.1' });
  }
  return createStaticZone(domain, records);
}

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'openhisp-delivery-'));
  storage = await openTestStorage();
  vault = await openVault({
    storage,
    masterKey: loadMasterKey({ file: path.join(folder, 'key'), createsFile: true }),
    clock,
  });
  const server = await createSmtpServer({
    host: '127.0.0.1',
    port: 0,
    hostname: 'mx.peer.example',
    handlers: {
      onRecipient: async (address) => reply(address),
      onMessage: async ({ mailFrom, recipients, message: bytes }) =>
        void mail.push({ mailFrom, recipients, text: Buffer.from(bytes).toString() }),
    },
  });
  peerPort = server.port;
  const dns = await createDnsServer({
    host: '127.0.0.1',
    port: 0,
    zones: () => [
      zone('a.example', 'mx.a.example', '127.0.0.1'),
      zone('b.example', 'mx.b.example', '127.0.0.1'),
      zone('down.example', 'mx.down.example', '127.0.0.9'),
      zone('nomail.example', ''),
      zone('refusing.example', 'mx.refusing.example', refusingAddress),
    ],
  });
  dnsPort = dns.port;
  const refusing = createServer((socket) => socket.end('554 5.7.1 Go away\r\n'));
  await new Promise<void>((resolve) => refusing.listen(peerPort, refusingAddress, () => resolve()));
  parts.push({ close: () => new Promise((resolve) => refusing.close(() => resolve())) });
  parts.push(server, dns);
});

after(async () => {
  for (const part of parts) await part.close();
  await storage.close();
  await rm(folder, { recursive: true, force: true });
});

beforeEach(() => {
  mail = [];
  reply = () => 'accept';
});

interface Run {
  readonly delivery: Delivery;
  readonly outcomes: DeliveryOutcome[];
  close(): Promise<void>;
}

async function start(onOutcome: (outcome: DeliveryOutcome) => void = () => {}): Promise<Run> {
  const outcomes: DeliveryOutcome[] = [];
  const dns = createDnsResolver({ servers: [{ host: '127.0.0.1', port: dnsPort }], cache: false });
  const smtp = createSmtpClient({ hostname: 'mx.own.example', timeoutMs: 2000 });
  const delivery = await createDelivery({
    storage,
    vault,
    clock,
    log: silentLog,
    agent,
    dns,
    smtp,
    nodeId: 'node-1',
    peerPort,
    idleMs: 20,
    retryWaitsMs: [60_000],
    onOutcome: async (_tx, outcome) => {
      onOutcome(outcome);
      outcomes.push(outcome);
    },
  });
  const close = async (): Promise<void> => {
    for (const part of [delivery, smtp, dns]) await part.close();
  };
  return { delivery, outcomes, close };
}

async function enqueue(run: Run, id: string, recipients: readonly string[], text = 'hello'): Promise<void> {
  await storage.transaction((tx) =>
    run.delivery.enqueue(tx, {
      deliveryId: id,
      kind: 'message',
      from,
      recipients: recipients.map(to),
      message: message(text),
    }),
  );
  run.delivery.wake();
}

const settled = async (fits: () => boolean): Promise<void> => {
  for (let tries = 0; !fits(); tries++) {
    assert.ok(tries < 500, 'not settled in time');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
};

const rowOf = (id: string) =>
  tablesOf<DeliveryTables>(storage.db)
    .selectFrom('delivery')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirstOrThrow();

describe('delivery', () => {
  it('AS-41: carries one message to each domain once, for all its recipients, and forgets the content', async () => {
    const run = await start();
    await enqueue(run, 'd1', ['x@a.example', 'y@a.example', 'z@b.example']);
    await settled(() => run.outcomes.length === 3);
    assert.deepEqual(
      mail
        .map((one) => one.recipients.toSorted())
        .toSorted((a, b) => String(a[0]).localeCompare(String(b[0]))),
      [['x@a.example', 'y@a.example'], ['z@b.example']],
    );
    assert.ok(run.outcomes.every((one) => one.outcome === 'sent' && one.deliveryId === 'd1'));
    const row = await rowOf('d1');
    assert.deepEqual([row.is_done, row.sealed_message, row.lease_owner], [1, null, null]);
    await run.close();
  });

  it('a large message is stored ahead of the transaction, arrives whole, and its parts are free to go', async () => {
    const run = await start();
    const text = 'a line of some length\r\n'.repeat(150_000);
    const request = await run.delivery.prepare({
      deliveryId: 'large',
      kind: 'message',
      from,
      recipients: [to('x@a.example')],
      message: message(text),
    });
    const sweepTimes = async () =>
      (
        await storage
          .tables<{ content: { sweep_at: number | null } }>()
          .selectFrom('content')
          .select('sweep_at')
          .execute()
      ).map((row) => row.sweep_at);
    assert.notDeepEqual(await sweepTimes(), [null]);
    await storage.transaction((tx) => run.delivery.enqueue(tx, request));
    assert.deepEqual(await sweepTimes(), [null]);
    assert.ok(((await rowOf('large')).sealed_message?.length ?? 0) < 100);
    const before = mail.length;
    run.delivery.wake();
    await settled(() => run.outcomes.length === 1);
    assert.ok(mail[before]?.text.includes(text));
    assert.equal((await rowOf('large')).sealed_message, null);
    assert.notDeepEqual(await sweepTimes(), [null]);
    await run.close();
  });

  it('AS-42, MDN-27: who has no certificate fails at once, the others get the message', async () => {
    const run = await start();
    await enqueue(run, 'd2', ['unknown@a.example', 'x@a.example', 'y@nomail.example']);
    await settled(() => run.outcomes.length === 3);
    const byRecipient = new Map(run.outcomes.map((one) => [String(one.recipient), one]));
    assert.equal(byRecipient.get('x@a.example')?.outcome, 'sent');
    assert.deepEqual(
      [byRecipient.get('unknown@a.example')?.reason, byRecipient.get('unknown@a.example')?.statusCode],
      ['no-certificate', '5.7.31'],
    );
    // A null MX.
    assert.deepEqual(
      [byRecipient.get('y@nomail.example')?.reason, byRecipient.get('y@nomail.example')?.statusCode],
      ['smtp-rejected', '5.1.10'],
    );
    await run.close();
  });

  it('EDGE-07: a refused recipient fails with the reason of the peer; a 4xx waits and is tried again', async () => {
    const run = await start();
    reply = (address) => {
      if (address.startsWith('gone')) return { code: 550, enhancedCode: '5.1.1', text: 'No such mailbox' };
      if (address.startsWith('full')) return { code: 552, enhancedCode: '5.2.2', text: 'Mailbox full' };
      return address.startsWith('later') ? { code: 451, enhancedCode: '4.3.0', text: 'Later' } : 'accept';
    };
    await enqueue(run, 'd3', ['gone@a.example', 'full@a.example', 'later@a.example', 'x@a.example']);
    await settled(() => run.outcomes.length === 3);
    const reasons = Object.fromEntries(run.outcomes.map((one) => [one.recipient, one.reason ?? 'sent']));
    assert.deepEqual(reasons, {
      'gone@a.example': 'unknown-recipient',
      'full@a.example': 'smtp-rejected',
      'x@a.example': 'sent',
    });
    await settled(() => mail.length === 1);
    assert.equal((await rowOf('d3')).is_done, 0);
    reply = () => 'accept';
    clock.advance(70_000);
    run.delivery.wake();
    await settled(() => run.outcomes.length === 4);
    assert.deepEqual(
      mail.map((one) => one.recipients),
      [['x@a.example'], ['later@a.example']],
    );
    await run.close();
  });

  it('gives up when the time is over, and says why', async () => {
    const run = await start();
    await enqueue(run, 'd4', ['x@down.example', 'undecided@a.example']);
    for (let hour = 0; hour < 3 && run.outcomes.length < 2; hour++) {
      const attempts = (await rowOf('d4')).attempts;
      await settled(() => run.outcomes.length === 2 || mail.length > 0 || attempts >= 0);
      await new Promise((resolve) => setTimeout(resolve, 150));
      clock.advance(31 * 60_000);
      run.delivery.wake();
    }
    await settled(() => run.outcomes.length === 2);
    assert.ok(
      run.outcomes.every(
        (one) =>
          one.outcome === 'failed' &&
          one.statusCode === '5.4.7' &&
          (one.text ?? '').includes('Retries are used up'),
      ),
    );
    await run.close();
  });

  it('EDGE-07: a server that refuses the session speaks for itself; the next MX is asked', async () => {
    const run = await start();
    await enqueue(run, 'd8', ['x@refusing.example']);
    await settled(() => run.outcomes.length === 1);
    assert.deepEqual([run.outcomes[0]?.outcome, mail.length], ['sent', 1]);
    await run.close();
  });

  it('a message that cannot be sealed fails instead of being tried for ever', async () => {
    const run = await start();
    await enqueue(run, 'd5', ['x@a.example'], 'unsealable');
    await settled(() => run.outcomes.length === 1);
    assert.deepEqual([run.outcomes[0]?.outcome, run.outcomes[0]?.reason], ['failed', 'internal']);
    assert.equal(mail.length, 0);
    await run.close();
  });

  it('an outcome that its listener could not store is not lost: the recipient is tried again', async () => {
    let isBroken = true;
    const run = await start(() => {
      if (isBroken) throw new Error('the listener failed');
    });
    await enqueue(run, 'd6', ['x@a.example']);
    await settled(() => mail.length >= 1);
    await new Promise((resolve) => setTimeout(resolve, 100));
    assert.equal((await rowOf('d6')).is_done, 0);
    isBroken = false;
    await run.close();
    const again = await start();
    clock.advance(70_000);
    again.delivery.wake();
    await settled(() => again.outcomes.length === 1);
    assert.equal((await rowOf('d6')).is_done, 1);
    await again.close();
  });

  it('SEC-05: the stored message is not readable, and a lease of a former run is taken back at start', async () => {
    const run = await start();
    await run.close();
    await storage.transaction((tx) =>
      run.delivery.enqueue(tx, {
        deliveryId: 'd7',
        kind: 'message',
        from,
        recipients: [to('x@a.example')],
        message: message('very secret'),
      }),
    );
    await tablesOf<DeliveryTables>(storage.db)
      .updateTable('delivery')
      .set({ lease_owner: 'node-1', lease_until: clock.now().getTime() + 3_600_000 })
      .where('id', '=', 'd7')
      .execute();
    assert.equal(Buffer.from((await rowOf('d7')).sealed_message ?? []).includes('very secret'), false);
    const again = await start();
    await settled(() => again.outcomes.length === 1);
    await again.close();
  });
});

it('waits grow, repeat the last one, and are spread', () => {
  assert.equal(
    retryWaitMs(1, [1000, 5000], () => 0.5),
    1000,
  );
  assert.equal(
    retryWaitMs(9, [1000, 5000], () => 0.5),
    5000,
  );
  assert.ok(retryWaitMs(2, defaultRetryWaitsMs, () => 0) < retryWaitMs(2, defaultRetryWaitsMs, () => 0.999));
});
