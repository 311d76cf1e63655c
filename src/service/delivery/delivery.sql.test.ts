import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { after, before, beforeEach, describe, it } from 'node:test';
import {
  from,
  plainMessage,
  startDeliveryWorld,
  until,
  type DeliveryWorld,
  type RunningDelivery,
} from '../../../test/delivery/start-delivery.ts';
import { createLog, createMetrics, createVault } from '../../platform/index.ts';
import { DnsError, createDnsResolver, type DnsResolver } from '../../lib/dns/index.ts';
import { SmtpError } from '../../lib/smtp/index.ts';
import { parseDirectAddress } from '../../lib/values/index.ts';
import { createDeliveryAdmin } from './index.ts';
import type { OutcomeListener } from './request.ts';
import { retryWaitMs } from './schedule.ts';

let world: DeliveryWorld;
let run: RunningDelivery;
let lastId = 0;
/** Connections to the peer that says nothing. */
const connected: Socket[] = [];

before(async () => {
  world = await startDeliveryWorld({ isSteady: true });
  world.addDomain('a.example', '127.0.0.1');
  world.addDomain('b.example', '127.0.0.1');
  world.addDomain('down.example', '127.0.0.9');
  world.addDomain('halfdown.example', '127.0.0.9', '127.0.0.1');
  world.addDomain('nomail.example');
  world.addDomain('refusing.example', '127.0.0.8', '127.0.0.1');
  world.addDomain('waiting.example', '127.0.0.7');
  world.addDomain('full.example', '127.0.0.6', '127.0.0.1');
  world.addDomain('fulldown.example', '127.0.0.6', '127.0.0.9');
  world.addDomain('allfull.example', '127.0.0.6', '127.0.0.5', '127.0.0.1');
  world.addDomain('late.example', '127.0.0.4', '127.0.0.1');
  await world.startPeer('127.0.0.1', 'take');
  await world.startPeer('127.0.0.8', (socket) => socket.end('554 5.7.1 Go away\r\n'));
  await world.startPeer('127.0.0.7', (socket) => void connected.push(socket));
  for (const full of ['127.0.0.6', '127.0.0.5'])
    await world.startPeer(full, answering({ RCPT: '452 4.3.1 No room' }));
  await world.startPeer('127.0.0.4', answering({ '.': '451 4.3.0 Not now' }));
});

after(() => world.close());

beforeEach(() => {
  world.mail.length = 0;
  world.answer = () => 'accept';
  world.hasKey = true;
});

const newId = (): string => `d${++lastId}`;

/** A mail server with these replies, by command or to the end of a message. */
const answering =
  (replies: Readonly<Record<string, string>>) =>
  (socket: Socket): void => {
    let rest = '';
    let isData = false;
    socket.write('220 mx.peer.example\r\n');
    socket.on('data', (chunk) => {
      const lines = (rest + chunk.toString('latin1')).split('\r\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (isData && line !== '.') continue;
        const [word = ''] = line.split(' ', 1);
        isData = word === 'DATA';
        socket.write(`${replies[word] ?? (isData ? '354 go' : '250 ok')}\r\n`);
      }
    });
  };

async function withRun(
  test: (id: string) => Promise<void>,
  ...options: Parameters<DeliveryWorld['start']>
): Promise<void> {
  run = await world.start(...options);
  try {
    await test(newId());
  } finally {
    await run.close();
  }
}

const rowsOf = async (id: string) => ({
  delivery: await world.db.selectFrom('delivery').selectAll().where('id', '=', id).execute(),
  destinations: await world.db
    .selectFrom('delivery_destination')
    .selectAll()
    .where('delivery_id', '=', id)
    .execute(),
});

/**
 * A process that runs out of sockets before the first server, or before the first query. The second server
 * cannot be reached at all.
 */
function withoutSocket(code: 'SMTP_NO_SOCKET' | 'DNS_NO_SOCKET'): Parameters<DeliveryWorld['start']>[0] {
  const resolver = createDnsResolver({ servers: [{ host: '127.0.0.1', port: world.dnsPort }] });
  const refuse = () => Promise.reject(new DnsError('DNS_NO_SOCKET', 'no socket could be opened'));
  return {
    limits: { failuresBeforeBackOff: 1, backOffMs: 3_600_000, maxBackOffMs: 3_600_000 },
    dns: code === 'SMTP_NO_SOCKET' ? resolver : { ...resolver, resolveMx: refuse, resolveAddresses: refuse },
    smtp: {
      send: ({ host }) =>
        Promise.reject(
          new SmtpError(host === '127.0.0.8' ? 'SMTP_NO_SOCKET' : 'SMTP_UNREACHABLE', 'not asked'),
        ),
      check: async () => {},
      close: async () => {},
    },
  };
}

function resolverWithout(host: string): DnsResolver {
  const resolver = createDnsResolver({ servers: [{ host: '127.0.0.1', port: world.dnsPort }] });
  return {
    ...resolver,
    resolveAddresses: (name) =>
      name === host
        ? Promise.reject(new DnsError('DNS_TIMEOUT', 'no answer'))
        : resolver.resolveAddresses(name),
  };
}

const hasOutcomes = (count: number) => until(() => run.outcomes.length === count, `${count} outcomes`);

describe('delivery', () => {
  it('AS-41: seals once, carries one message to each domain for all its recipients, and keeps no row', () =>
    withRun(async (id) => {
      const sealedBefore = world.sealed.length;
      await run.enqueue(id, ['x@a.example', 'y@a.example', 'z@b.example']);
      await hasOutcomes(3);
      assert.deepEqual(
        world.mail
          .map((one) => one.recipients.toSorted())
          .toSorted((a, b) => String(a[0]).localeCompare(String(b[0]))),
        [['x@a.example', 'y@a.example'], ['z@b.example']],
      );
      assert.ok(run.outcomes.every((one) => one.outcome === 'sent' && one.deliveryId === id));
      assert.deepEqual(await rowsOf(id), { delivery: [], destinations: [] });
      assert.deepEqual(
        world.sealed.slice(sealedBefore).map(({ recipients }) => recipients.toSorted()),
        [['x@a.example', 'y@a.example', 'z@b.example']],
      );
    }));

  it('of a message to one destination the row of its attempt is left', () =>
    withRun(async (id) => {
      await run.enqueue(id, ['x@a.example']);
      await hasOutcomes(1);
      const attempts = await run.delivery.listAttempts([id]);
      assert.deepEqual(
        attempts.map(({ domain, host, address, outcome, code }) => [domain, host, address, outcome, code]),
        [['a.example', 'mx0.a.example', '127.0.0.1', 'sent', '']],
      );
      assert.match(attempts[0]?.reply ?? '', /^250 /);
      assert.deepEqual(JSON.parse(attempts[0]?.certificates ?? ''), [
        { to: 'x@a.example', fingerprint: 'aa', anchor: 'bb' },
      ]);
    }));

  it('a large message is stored ahead of the transaction, arrives whole, and its parts are free to go', () =>
    withRun(async (id) => {
      const text = 'a line of some length\r\n'.repeat(150_000);
      const request = await run.delivery.prepare({
        deliveryId: id,
        kind: 'message',
        from,
        recipients: [parseDirectAddress('x@a.example')],
        message: plainMessage(id, text),
      });
      const sweepTimes = async () =>
        (
          await world.storage
            .tables<{ content: { sweep_at: number | null } }>()
            .selectFrom('content')
            .select('sweep_at')
            .execute()
        ).map((row) => row.sweep_at);
      assert.notDeepEqual(await sweepTimes(), [null]);
      await world.storage.transaction((tx) => run.delivery.enqueue(tx, request));
      await hasOutcomes(1);
      assert.ok(world.mail[0]?.text.includes(text));
      assert.deepEqual(await rowsOf(id), { delivery: [], destinations: [] });
      const times = await sweepTimes();
      assert.ok(times.length === 1 && times[0] !== null);
    }));

  it('AS-42, MDN-27: who has no certificate fails at once with its own reason, the others get the message', () =>
    withRun(async (id) => {
      await run.enqueue(id, [
        'unknown@a.example',
        'expired@a.example',
        'oldca@a.example',
        'x@a.example',
        'y@nomail.example',
        'z@gone.a.example',
      ]);
      await hasOutcomes(6);
      const found = Object.fromEntries(
        run.outcomes.map((one) => [one.recipient, [one.outcome, one.reason, one.statusCode]]),
      );
      assert.deepEqual(found, {
        'unknown@a.example': ['failed', 'no-certificate', '5.7.31'],
        'expired@a.example': ['failed', 'certificate-expired', undefined],
        // A CA certificate above it is expired, which the recipient cannot renew.
        'oldca@a.example': ['failed', 'untrusted', '5.7.31'],
        'x@a.example': ['sent', undefined, undefined],
        // A null MX.
        'y@nomail.example': ['failed', 'no-mail-host', '5.1.10'],
        'z@gone.a.example': ['failed', 'domain-not-found', undefined],
      });
    }));

  it('a mail host on a private address is not connected to unless that is allowed', () =>
    withRun(
      async (id) => {
        await run.enqueue(id, ['x@a.example']);
        await hasOutcomes(1);
        assert.deepEqual([run.outcomes[0]?.outcome, run.outcomes[0]?.reason], ['failed', 'no-mail-host']);
        assert.equal(world.mail.length, 0);
      },
      { allowsPrivateHosts: false },
    ));

  it('EDGE-07: a refused recipient fails with the reason of the peer; a 4xx waits and is retried', () =>
    withRun(async (id) => {
      world.answer = (address) => {
        if (address.startsWith('gone')) return { code: 550, enhancedCode: '5.1.1', text: 'No such mailbox' };
        if (address.startsWith('full')) return { code: 552, enhancedCode: '5.2.2', text: 'Mailbox full' };
        // Of the sender, although it is the answer to a recipient.
        if (address.startsWith('foreign'))
          return { code: 550, enhancedCode: '5.1.8', text: 'Domain of sender address does not exist' };
        return address.startsWith('later') ? { code: 451, enhancedCode: '4.3.0', text: 'Later' } : 'accept';
      };
      const foreign = 'foreign@a.example';
      await run.enqueue(id, ['gone@a.example', 'full@a.example', foreign, 'later@a.example', 'x@a.example']);
      await hasOutcomes(4);
      const reasons = Object.fromEntries(run.outcomes.map((one) => [one.recipient, one.reason ?? 'sent']));
      assert.deepEqual(reasons, {
        'gone@a.example': 'unknown-recipient',
        'full@a.example': 'smtp-rejected',
        [foreign]: 'smtp-rejected',
        'x@a.example': 'sent',
      });
      const [waiting] = await run.delivery.findWaiting([id]);
      assert.deepEqual(
        [
          waiting?.recipients,
          waiting?.attempts,
          waiting?.lastReason,
          waiting?.lastStatusCode,
          waiting?.isRunning,
        ],
        [['later@a.example'], 1, 'smtp-deferred', '4.3.0', false],
      );
      assert.ok((waiting?.nextAttemptAt.getTime() ?? 0) > world.clock.now().getTime());
      world.answer = () => 'accept';
      world.clock.advance(70_000);
      await hasOutcomes(5);
      assert.deepEqual(
        world.mail.map((one) => one.recipients),
        [['x@a.example'], ['later@a.example']],
      );
      const outcomes = (await run.delivery.listAttempts([id])).map(({ outcome }) => outcome);
      assert.deepEqual(outcomes, ['partial', 'sent']);
    }));

  it('stops when the time is over, and names the last real reason', () =>
    withRun(async (id) => {
      await run.enqueue(id, ['x@down.example', 'undecided@a.example']);
      const isTried = async (): Promise<boolean> =>
        (await rowsOf(id)).destinations.every((row) => row.attempts === 1 && row.lease_token === null);
      await until(isTried, 'the first attempts');
      world.clock.advance(61 * 60_000);
      await hasOutcomes(2);
      const found = Object.fromEntries(
        run.outcomes.map((one) => [one.recipient, [one.outcome, one.reason, one.text]]),
      );
      assert.match(
        String(found['x@down.example']),
        /^failed,unreachable,Retries ended after 1 hour; last problem: SMTP server 127\.0\.0\.9/,
      );
      assert.match(String(found['undecided@a.example']), /^failed,dns-failed,Retries ended after/);
    }));

  it('a name server that does not answer is its own reason, and the message waits', () =>
    withRun(async (id) => {
      await run.enqueue(id, ['x@nowhere.example']);
      const isWaiting = async (): Promise<boolean> =>
        (await run.delivery.findWaiting([id]))[0]?.lastReason === 'dns-failed';
      await until(isWaiting, 'the reason');
      assert.equal((await run.delivery.fail({ deliveryId: id })).failed, 1);
    }));

  it('an attempt that could open no socket says nothing about the destination, and the message waits', () =>
    withRun(async (id) => {
      await run.enqueue(id, ['x@refusing.example']);
      const wait = async () => (await run.delivery.findWaiting([id]))[0];
      await until(async () => (await wait())?.attempts === 1, 'the attempt');
      assert.deepEqual([(await wait())?.lastReason, (await wait())?.isBackingOff], ['internal', false]);
      assert.equal((await run.delivery.fail({ deliveryId: id })).failed, 1);
    }, withoutSocket('SMTP_NO_SOCKET')));

  it('a query that could open no socket says nothing about the destination', () =>
    withRun(async (id) => {
      await run.enqueue(id, ['x@a.example']);
      const wait = async () => (await run.delivery.findWaiting([id]))[0];
      await until(async () => (await wait())?.attempts === 1, 'the attempt');
      assert.deepEqual([(await wait())?.lastReason, (await wait())?.isBackingOff], ['internal', false]);
      assert.equal((await run.delivery.fail({ deliveryId: id })).failed, 1);
    }, withoutSocket('DNS_NO_SOCKET')));

  it('EDGE-07: a server that refuses the session does not speak for one whose address is not known at present', () =>
    withRun(
      async (id) => {
        await run.enqueue(id, ['x@refusing.example']);
        const wait = async () => (await run.delivery.findWaiting([id]))[0];
        await until(async () => (await wait())?.attempts === 1, 'the attempt');
        assert.equal((await wait())?.lastReason, 'dns-failed');
        assert.equal((await run.delivery.fail({ deliveryId: id })).failed, 1);
      },
      { dns: resolverWithout('mx1.refusing.example') },
    ));

  it('of a server that cannot be reached that is said, also next to one whose address is not known at present', () =>
    withRun(
      async (id) => {
        await run.enqueue(id, ['x@halfdown.example']);
        const wait = async () => (await run.delivery.findWaiting([id]))[0];
        await until(async () => (await wait())?.attempts === 1, 'the attempt');
        assert.equal((await wait())?.lastReason, 'unreachable');
        assert.equal((await run.delivery.fail({ deliveryId: id })).failed, 1);
      },
      { dns: resolverWithout('mx1.halfdown.example') },
    ));

  it('EDGE-07: a server that refuses the session speaks for itself; the next MX is asked', () =>
    withRun(async (id) => {
      await run.enqueue(id, ['x@refusing.example']);
      await hasOutcomes(1);
      assert.deepEqual([run.outcomes[0]?.outcome, world.mail.length], ['sent', 1]);
    }));

  it('EDGE-07: a server that takes no recipient now speaks for itself; the next MX is asked', () =>
    withRun(async (id) => {
      await run.enqueue(id, ['x@full.example', 'y@full.example']);
      await hasOutcomes(2);
      assert.ok(run.outcomes.every(({ outcome }) => outcome === 'sent'));
      assert.deepEqual(
        world.mail.map(({ recipients }) => recipients),
        [['x@full.example', 'y@full.example']],
      );
    }));

  it('the next MX speaks for the recipients that it refuses if it takes the message for others', () =>
    withRun(async (id) => {
      world.answer = (one) =>
        one.startsWith('x@') ? { code: 550, enhancedCode: '5.1.1', text: 'Unknown' } : 'accept';
      await run.enqueue(id, ['x@full.example', 'y@full.example']);
      await hasOutcomes(2);
      assert.deepEqual(
        new Map(run.outcomes.map(({ recipient, outcome, reason }) => [String(recipient), reason ?? outcome])),
        new Map([
          ['y@full.example', 'sent'],
          ['x@full.example', 'unknown-recipient'],
        ]),
      );
    }));

  for (const [title, domain, answer] of [
    ['refuses', 'full.example', { code: 550, enhancedCode: '5.7.1', text: 'No relaying' }],
    ['cannot be reached', 'fulldown.example', undefined],
    ['has no room either', 'allfull.example', undefined],
  ] as const) {
    it(`a message that a server takes later waits for it, if the next MX ${title}`, () =>
      withRun(
        async (id) => {
          if (answer !== undefined) world.answer = () => answer;
          await run.enqueue(id, [`x@${domain}`]);
          const wait = async () => (await run.delivery.findWaiting([id]))[0];
          await until(async () => (await wait())?.attempts === 1, 'the attempt');
          assert.equal((await wait())?.lastReason, 'smtp-deferred');
          const [attempt] = await run.delivery.listAttempts([id]);
          assert.deepEqual([attempt?.host, attempt?.reply], [`mx0.${domain}`, '452 No room']);
          // A deferral is no outage, so that other mail does not wait; and few servers are asked in vain.
          assert.deepEqual([(await wait())?.isBackingOff, world.mail.length], [false, 0]);
          assert.equal((await run.delivery.fail({ deliveryId: id })).failed, 1);
        },
        { limits: { failuresBeforeBackOff: 1, backOffMs: 3_600_000, maxBackOffMs: 3_600_000 } },
      ));
  }

  it('a message that a server has had and takes later is not sent to the next MX', () =>
    withRun(async (id) => {
      await run.enqueue(id, ['x@late.example']);
      const wait = async () => (await run.delivery.findWaiting([id]))[0];
      await until(async () => (await wait())?.attempts === 1, 'the attempt');
      assert.deepEqual([(await wait())?.lastReason, world.mail.length], ['smtp-deferred', 0]);
      assert.equal((await run.delivery.fail({ deliveryId: id })).failed, 1);
    }));

  it('a message that cannot be sealed fails instead of being tried forever', () =>
    withRun(async (id) => {
      world.hasKey = false;
      await run.enqueue(id, ['x@a.example']);
      await hasOutcomes(1);
      assert.deepEqual([run.outcomes[0]?.outcome, run.outcomes[0]?.reason], ['failed', 'sender-certificate']);
      assert.equal(world.mail.length, 0);
    }));

  it('an MDN that cannot be signed waits until the key is renewed', () =>
    withRun(async (id) => {
      world.hasKey = false;
      await run.enqueue(id, ['x@a.example'], { kind: 'mdn' });
      const isWaiting = async (): Promise<boolean> =>
        (await run.delivery.findWaiting([id]))[0]?.lastReason === 'sender-certificate';
      await until(isWaiting, 'the reason');
      assert.deepEqual([run.outcomes.length, world.mail.length], [0, 0]);
      world.hasKey = true;
      assert.deepEqual(await run.delivery.retry({ deliveryId: id }), { retried: 1, running: 0 });
      await hasOutcomes(1);
      assert.deepEqual([run.outcomes[0]?.outcome, world.mail.length], ['sent', 1]);
    }));

  it('a result that could not be stored is stored later, and the peer gets no second copy', () => {
    let failures = 3;
    return withRun(
      async (id) => {
        await run.enqueue(id, ['x@a.example']);
        await hasOutcomes(1);
        assert.deepEqual([failures, world.mail.length], [0, 1]);
        assert.deepEqual(await rowsOf(id), { delivery: [], destinations: [] });
      },
      {
        onEach: () => {
          if (failures === 0) return;
          failures--;
          throw new Error('the listener failed');
        },
      },
    );
  });

  it('a node that ends before it could store the result: the retry has the same Message-ID', async () => {
    const broken = await world.start({
      onEach: () => {
        throw new Error('the listener failed');
      },
    });
    const id = newId();
    await broken.enqueue(id, ['x@a.example']);
    await until(() => world.mail.length === 1, 'the first copy');
    await broken.close();
    assert.equal((await rowsOf(id)).destinations.length, 1);
    await withRun(async () => {
      // The lease of the node that ended runs out.
      world.clock.advance(61_000);
      await hasOutcomes(1);
      const ids = world.mail.map(({ text }) => /^Message-ID: (.*)$/im.exec(text)?.[1]);
      assert.deepEqual(ids, [`<${id}@own.example>`, `<${id}@own.example>`]);
    });
  });

  it('SEC-05: the stored message is not readable; a row stored without a lease can be taken by any node', async () => {
    const closed = await world.start();
    await closed.close();
    const id = newId();
    await closed.enqueue(id, ['x@a.example'], { text: 'very secret' });
    const { delivery, destinations } = await rowsOf(id);
    assert.equal(Buffer.from(delivery[0]?.sealed_message ?? []).includes('very secret'), false);
    assert.equal(destinations[0]?.lease_token, null);
    await withRun(() => hasOutcomes(1));
  });

  it('attempts older than the setting are deleted', async () => {
    await withRun(async (id) => {
      await run.enqueue(id, ['x@a.example']);
      await hasOutcomes(1);
    });
    world.clock.advance(2 * 86_400_000);
    await withRun(() =>
      until(
        async () => (await world.db.selectFrom('delivery_attempt').select('id').execute()).length === 0,
        'the attempts to be deleted',
      ),
    );
  });
});

describe('an attempt that failed', () => {
  it('leaves one line at the default level with reason, host and next time, and a count by reason', async () => {
    const lines: string[] = [];
    const metrics = createMetrics();
    const log = createLog({ level: 'info', isReadable: false, write: (line) => lines.push(line) });
    await withRun(
      async (id) => {
        world.answer = () => ({ code: 451, text: 'Later' });
        await run.enqueue(id, ['x@a.example']);
        await until(() => lines.length > 0, 'the line');
        const [waiting] = await run.delivery.findWaiting([id]);
        const [line = ''] = lines;
        const fields = JSON.parse(line) as Record<string, unknown>;
        assert.deepEqual(
          ['destination', 'reason', 'host', 'attempt', 'messageId', 'nextAttemptAt'].map(
            (name) => fields[name],
          ),
          ['a.example', 'smtp-deferred', 'mx0.a.example', 1, id, waiting?.nextAttemptAt.toISOString()],
        );
        assert.doesNotMatch(line, /x@a\.example/);
        assert.equal(lines.length, 1);
        await run.enqueue(newId(), ['x@nomail.example']);
        await hasOutcomes(1);
        await until(() => lines.length === 2, 'the line of the failure');
        assert.match(lines[1] ?? '', /"reason":"no-mail-host".*"nextAttemptAt":""/);
        const text = await metrics.text();
        for (const reason of ['smtp-deferred', 'no-mail-host'])
          assert.ok(
            text.includes(
              `openhisp_delivery_attempts_failed_total{kind="message",reason="${reason}",class="new"} 1`,
            ),
          );
        await run.delivery.fail({ deliveryId: id });
      },
      { log, metrics },
    );
  });
});

describe('attempts by class of the destination', () => {
  it('a destination is new, then steady or failing by its last attempt', async () => {
    const metrics = createMetrics();
    await withRun(
      async (id) => {
        await run.enqueue(id, ['x@a.example']);
        await hasOutcomes(1);
        await run.enqueue(newId(), ['x@a.example']);
        await hasOutcomes(2);
        const waiting = newId();
        await run.enqueue(waiting, ['x@down.example']);
        const attempts = (count: number) =>
          until(
            async () => (await run.delivery.findWaiting([waiting]))[0]?.attempts === count,
            `attempt ${count} to be over`,
          );
        await attempts(1);
        await run.delivery.retry({ deliveryId: waiting });
        await attempts(2);
        const text = await metrics.text();
        const value = (outcome: string, labels: string) =>
          new RegExp(`^openhisp_delivery_attempts_${outcome}_total\\{${labels}\\} (\\d+)$`, 'm').exec(
            text,
          )?.[1];
        assert.equal(value('succeeded', 'kind="message",class="new"'), '1');
        assert.equal(value('succeeded', 'kind="message",class="steady"'), '1');
        assert.equal(value('failed', 'kind="message",reason="unreachable",class="new"'), '1');
        assert.equal(value('failed', 'kind="message",reason="unreachable",class="failing"'), '1');
        await run.delivery.fail({ deliveryId: waiting });
      },
      { metrics },
    );
  });
});

describe('actions of operators on the queue', () => {
  /** As a command has it. */
  const openOther = (lifetimeMs?: number, onOutcome: OutcomeListener = async () => {}) =>
    createDeliveryAdmin({
      storage: world.storage,
      vault: createVault(Buffer.alloc(32, 7)),
      clock: world.clock,
      onOutcome,
      ...(lifetimeMs !== undefined && { lifetimeMs }),
    });

  it('another process can have a destination tried that this node leaves alone at present', () =>
    withRun(
      async (id) => {
        await run.enqueue(id, ['x@down.example']);
        const isBackingOff = async () => (await run.delivery.findWaiting([id]))[0]?.isBackingOff === true;
        await until(isBackingOff, 'the back-off');
        world.addDomain('down.example', '127.0.0.1');
        assert.deepEqual(await openOther().retry({ deliveryId: id }), { retried: 1, running: 0 });
        await hasOutcomes(1);
        assert.equal(run.outcomes[0]?.outcome, 'sent');
        world.addDomain('down.example', '127.0.0.9');
      },
      { limits: { failuresBeforeBackOff: 1, backOffMs: 3_600_000, maxBackOffMs: 3_600_000 } },
    ));

  it('what another process stores is sent by this node, with the time that it is given', () =>
    withRun(async (id) => {
      const other = openOther(3_600_000);
      const request = await other.prepare({
        deliveryId: id,
        kind: 'message',
        from: parseDirectAddress('alice@direct.example'),
        recipients: [parseDirectAddress('x@a.example')],
        message: plainMessage(id, 'hello'),
      });
      await run.delivery.hold('a.example', { reason: 'maintenance', author: 'operator:jo' });
      await world.storage.transaction((tx) => other.enqueue(tx, request));
      const [waiting] = await run.delivery.findWaiting([id]);
      // The shown time is that of the claim that ends it, ten minutes later.
      const shownMs = 3_600_000 + 600_000;
      assert.equal((waiting?.givesUpAt.getTime() ?? 0) - (waiting?.createdAt.getTime() ?? 0), shownMs);
      await run.delivery.release('a.example');
      await hasOutcomes(1);
      assert.equal(run.outcomes[0]?.outcome, 'sent');
    }));

  it('nothing goes to a destination on hold until it is released; others are not touched', () =>
    withRun(async (id) => {
      await run.delivery.hold('A.example', { reason: 'maintenance', author: 'operator:jo' });
      await run.enqueue(id, ['x@a.example', 'y@b.example']);
      await hasOutcomes(1);
      assert.equal(run.outcomes[0]?.recipient, 'y@b.example');
      const page = await run.delivery.listQueue({ domain: 'A.example', limit: 10 });
      assert.deepEqual(
        page.items.map(({ domain, isOnHold, attempts }) => [domain, isOnHold, attempts]),
        [['a.example', true, 0]],
      );
      assert.deepEqual(
        (await run.delivery.listHolds()).map(({ domain, reason, author, waiting, expiresAt }) => [
          domain,
          reason,
          author,
          waiting,
          expiresAt?.getTime(),
        ]),
        [['a.example', 'maintenance', 'operator:jo', 1, page.items[0]?.givesUpAt.getTime()]],
      );
      assert.equal(await run.delivery.release('a.example'), true);
      await hasOutcomes(2);
      assert.equal(await run.delivery.release('a.example'), false);
    }));

  it('mail whose recipients were changed in the database fails, is told once, and holds up nothing else', () =>
    withRun(async (id) => {
      await run.delivery.hold('a.example', { reason: 'maintenance', author: 'operator:jo' });
      const changed = ['not json', '{}', '[1,null]', '[]', 'null'];
      for (const [at] of [...changed, ''].entries()) await run.enqueue(`${id}-${at}`, ['x@a.example']);
      for (const [at, recipients] of changed.entries())
        await world.db
          .updateTable('delivery_destination')
          .set({ recipients })
          .where('delivery_id', '=', `${id}-${at}`)
          .execute();
      assert.deepEqual(await run.delivery.fail({ deliveryId: `${id}-4` }), { failed: 1, running: 0 });
      await run.delivery.release('a.example');
      await hasOutcomes(6);
      assert.deepEqual(
        run.outcomes
          .map(({ recipient, outcome, reason = '' }) => `${recipient} ${outcome} ${reason}`)
          .toSorted(),
        [...changed.map(() => '@a.example failed internal'), 'x@a.example sent '],
      );
      assert.equal(world.logLines.filter((line) => line.includes('cannot be read')).length, changed.length);
      assert.deepEqual(await rowsOf(`${id}-0`), { delivery: [], destinations: [] });
    }));

  it('a hold by another process counts within seconds, for new messages too', () =>
    withRun(async (id) => {
      const at = world.clock.now().getTime();
      await world.db
        .insertInto('delivery_hold')
        .values({ domain: 'a.example', reason: 'test', author: 'operator:jo', ends_at: null, created_at: at })
        .execute();
      await new Promise((resolve) => setTimeout(resolve, 2_500));
      await run.enqueue(id, ['x@a.example', 'y@b.example']);
      await hasOutcomes(1);
      assert.equal(run.outcomes[0]?.recipient, 'y@b.example');
      await world.db.deleteFrom('delivery_hold').execute();
      await hasOutcomes(2);
    }));

  it('a hold ends at its time, and what waited is sent; until then it is shown when that fails', async () => {
    await withRun(async (id) => {
      const at = world.clock.now().getTime();
      const endsAt = new Date(at + 600_000);
      await run.delivery.hold('a.example', { reason: 'maintenance', author: 'operator:jo', endsAt });
      await run.enqueue(id, ['x@a.example']);
      const [hold] = await run.delivery.listHolds();
      assert.deepEqual(hold?.endsAt, endsAt);
      // One hour, and ten minutes for an attempt that was never made.
      assert.deepEqual(hold.expiresAt, new Date(at + 3_600_000 + 600_000));
    });
    world.clock.advance(600_000);
    await withRun(async () => {
      await hasOutcomes(1);
      assert.equal(run.outcomes[0]?.outcome, 'sent');
      assert.deepEqual(await run.delivery.listHolds(), []);
    });
  });

  it('what is on hold for longer than a delivery may last fails, and leaves the queue', async () => {
    const id = newId();
    await withRun(async () => {
      await run.delivery.hold('a.example', { reason: 'maintenance', author: 'operator:jo' });
      await run.enqueue(id, ['x@a.example']);
    });
    // Longer than it lasts, and than the first attempt may come late.
    world.clock.advance(3_600_000 + 600_001);
    // Overdue deliveries are looked for at the start, too.
    await withRun(async () => {
      await hasOutcomes(1);
      const { outcome, reason, text = '' } = run.outcomes[0] ?? {};
      assert.deepEqual([outcome, reason], ['failed', 'cancelled']);
      assert.match(text, /an operator of this service holds all mail to a\.example/);
      assert.doesNotMatch(text, /maintenance/);
      assert.deepEqual(await rowsOf(id), { delivery: [], destinations: [] });
      await run.delivery.release('a.example');
    });
    assert.equal(world.mail.length, 0);
  });

  it('a message that waits is retried at once on demand', () =>
    withRun(async (id) => {
      world.answer = () => ({ code: 451, text: 'Later' });
      await run.enqueue(id, ['x@a.example']);
      const isWaiting = async (): Promise<boolean> =>
        (await run.delivery.findWaiting([id]))[0]?.attempts === 1;
      await until(isWaiting, 'the first attempt');
      world.answer = () => 'accept';
      assert.deepEqual(await run.delivery.retry({ domain: 'a.example' }), { retried: 1, running: 0 });
      await hasOutcomes(1);
      assert.equal(run.outcomes[0]?.outcome, 'sent');
    }));

  it('an attempt in progress is counted, and left alone', () =>
    withRun(async (id) => {
      await run.enqueue(id, ['x@waiting.example']);
      await until(() => connected.length === 1, 'the connection');
      assert.deepEqual(await run.delivery.retry({ domain: 'Waiting.example' }), {
        retried: 0,
        running: 1,
      });
      assert.deepEqual(await run.delivery.retry({ deliveryId: id }), { retried: 0, running: 1 });
      assert.deepEqual(await run.delivery.retry({ deliveryId: 'other' }), { retried: 0, running: 0 });
      connected[0]?.end('554 5.7.1 Go away\r\n');
      await hasOutcomes(1);
      assert.equal(connected.length, 1);
    }));

  it('a message can be failed, and is gone from the queue', () =>
    withRun(async (id) => {
      await run.delivery.hold('a.example', { reason: 'test', author: 'operator:jo' });
      await run.enqueue(id, ['x@a.example', 'y@a.example']);
      assert.deepEqual(await run.delivery.fail({ deliveryId: id }), { failed: 2, running: 0 });
      assert.deepEqual(
        run.outcomes.map(({ outcome, reason }) => [outcome, reason]),
        [
          ['failed', 'cancelled'],
          ['failed', 'cancelled'],
        ],
      );
      assert.deepEqual(await rowsOf(id), { delivery: [], destinations: [] });
      await run.delivery.release('a.example');
    }));

  it('what has ended since it was selected is not told as being tried', () =>
    withRun(async () => {
      assert.deepEqual(await run.delivery.retry({ ids: ['ended'] }), { retried: 0, running: 0 });
      assert.deepEqual(await run.delivery.fail({ ids: ['ended'] }), { failed: 0, running: 0 });
    }));

  it('a change that an error breaks off is recorded, as far as it went', () =>
    withRun(async (id) => {
      await run.delivery.hold('a.example', { reason: 'test', author: 'operator:jo' });
      for (const one of [1, 2, 3]) await run.enqueue(`${id}-${one}`, ['x@a.example', 'y@a.example']);
      let calls = 0;
      const other = openOther(undefined, async () => {
        if (++calls === 2) throw new Error('the disk is full');
      });
      const records: unknown[] = [];
      const record = async (changed: unknown) => void records.push(changed);
      await other.retry({ domain: 'a.example' }, record);
      await assert.rejects(other.fail({ domain: 'a.example' }, record), /the disk is full/);
      assert.deepEqual(records, [
        { count: 3, running: 0, domains: ['a.example', 'a.example', 'a.example'] },
        { count: 2, running: 0, domains: ['a.example'] },
      ]);
      // The other process has claimed them.
      world.clock.advance(60_001);
      for (const one of [1, 2, 3]) await run.delivery.fail({ deliveryId: `${id}-${one}` });
      await run.delivery.release('a.example');
    }));

  it('the queue is listed page by page, oldest first', () =>
    withRun(async () => {
      await run.delivery.hold('a.example', { reason: 'test', author: 'operator:jo' });
      const ids = Array.from({ length: 5 }, newId);
      for (const id of ids) {
        world.clock.advance(1);
        await run.enqueue(id, ['x@a.example']);
      }
      const seen: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await run.delivery.listQueue({ limit: 2, ...(cursor === undefined ? {} : { cursor }) });
        seen.push(...page.items.map(({ deliveryId }) => deliveryId));
        cursor = page.next;
      } while (cursor !== undefined);
      assert.deepEqual(seen, ids);
      for (const id of ids) await run.delivery.fail({ deliveryId: id });
      await run.delivery.release('a.example');
    }));
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
  assert.ok(retryWaitMs(2, [1000, 5000], () => 0) < retryWaitMs(2, [1000, 5000], () => 0.999));
});
