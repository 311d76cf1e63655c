import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { silentLog } from '../../../core/index.ts';
import { defaultSettings } from '../../../platform/index.ts';
import type { DeliveryOutcome } from '../../delivery/index.ts';
import {
  alice,
  bob,
  carol,
  createTestNodes,
  newUrn,
  sendBody,
  startTestMessaging,
  waitUntil,
  type TestMessaging,
} from '../../../../test/messaging/start-messaging.ts';
import { isPostgres } from '../../../../test/support/storage.ts';
import { closeWindows, startWindowTimer } from './close-windows.ts';
import { MessagingError } from '../errors.ts';
import { failureReasons, waitingText } from '../reasons.ts';
import { rollUp, type SentMessageStatus } from './find-status.ts';
import type { MessagingDependencies } from '../ports.ts';

let world: TestMessaging;
before(async () => {
  world = await startTestMessaging({ settings: { processedWindowMinutes: 1, dispatchedWindowMinutes: 0.5 } });
});
after(() => world.close());
beforeEach(() => world.deliveries.splice(0));

async function send(changes: Record<string, unknown> = {}): Promise<{
  messageId: string;
  deliveryId: string;
  report(outcome: Partial<DeliveryOutcome> & Pick<DeliveryOutcome, 'outcome'>): Promise<void>;
  status(): Promise<SentMessageStatus>;
}> {
  const { messageId } = await world.messaging.send(world.clinic, sendBody(changes), {});
  const deliveryId = world.deliveries.at(-1)?.deliveryId ?? '';
  return {
    messageId,
    deliveryId,
    report: (outcome) => world.report({ deliveryId, ...outcome }),
    status: () => world.messaging.getStatus(world.clinic, messageId),
  };
}

const shown = (report: SentMessageStatus) =>
  report.recipients.map(({ address, state, reason, statusCode }) => [address, state, reason, statusCode]);

describe('Decision 0012: outcomes of delivery', () => {
  it('M4, MDN-30: each recipient has its own outcome', async () => {
    const message = await send({ toDirectAddress: [bob, carol] });
    await message.report({ outcome: 'sent' });
    await message.report({
      recipient: carol,
      outcome: 'failed',
      reason: 'untrusted',
      statusCode: '5.7.11',
      text: 'no anchor',
    });
    const report = await message.status();
    assert.deepEqual(shown(report), [
      [bob, 'sent', '', '2.0.0'],
      [carol, 'failed', 'untrusted', '5.7.11'],
    ]);
    assert.equal(report.status, 'sent');
    assert.equal(report.recipients[1]?.text, "The recipient's certificate is not trusted.");
  });

  it('an outcome of a whole domain is that of its undecided recipients', async () => {
    const message = await send({ toDirectAddress: [bob, carol] });
    for (const recipient of ['@direct.gamma.example', '@beta.example', '@direct.gamma.example'] as const)
      await message.report({ recipient, outcome: 'failed', reason: 'internal' });
    const status = await message.status();
    assert.deepEqual(shown(status), [
      [bob, 'queued', '', '2.0.0'],
      [carol, 'failed', 'internal', '5.3.0'],
    ]);
    assert.equal(status.recipients[1]?.history.length, 2);
  });

  const reasons: [NonNullable<DeliveryOutcome['reason']>, string][] = [
    ['no-certificate', '5.7.31'],
    ['untrusted', '5.7.11'],
    ['sender-certificate', '5.7.5'],
    ['unknown-recipient', '5.1.1'],
    ['smtp-rejected', '5.5.0'],
    ['certificate-expired', '5.7.11'],
    ['domain-not-found', '5.1.2'],
    ['no-mail-host', '5.4.4'],
    ['dns-failed', '5.4.3'],
    ['unreachable', '5.4.1'],
    ['tls-failed', '5.7.10'],
    ['gateway-unavailable', '5.4.1'],
    ['smtp-deferred', '5.4.7'],
    ['cancelled', '5.3.2'],
    ['internal', '5.3.0'],
  ];
  for (const [reason, code] of reasons) {
    it(`MDN-27, DSN-04: ${reason} is reported immediately and has the status code ${code} unless the far side gave one`, async () => {
      const message = await send();
      await message.report({ outcome: 'failed', reason });
      assert.deepEqual(shown(await message.status()), [[bob, 'failed', reason, code]]);
      const other = await send();
      await other.report({ outcome: 'failed', reason, statusCode: '5.9.9' });
      assert.deepEqual(shown(await other.status()), [[bob, 'failed', reason, '5.9.9']]);
    });
  }

  it('a late report changes nothing but is in the history', async () => {
    const message = await send();
    await message.report({ outcome: 'failed', reason: 'no-certificate' });
    await message.report({ outcome: 'sent' });
    const [recipient] = (await message.status()).recipients;
    assert.equal(recipient?.state, 'failed');
    assert.deepEqual(
      recipient?.history.map(({ event, status, isLate }) => [event, status, isLate]),
      [
        ['accepted', 'queued', false],
        ['refused', 'failed', false],
        ['sent', 'failed', true],
      ],
    );
  });

  it('an outcome of an MDN touches no message', async () => {
    const message = await send();
    await message.report({ kind: 'mdn', outcome: 'failed', reason: 'internal' });
    assert.equal((await message.status()).status, 'queued');
  });

  it('cleans and truncates the text of the other server', async () => {
    const message = await send();
    await message.report({
      outcome: 'failed',
      reason: 'smtp-rejected',
      text: `550 no\r\nsuch\u0000 ${'x'.repeat(500)}`,
    });
    const diagnostic = (await message.status()).recipients[0]?.history.at(-1)?.diagnostic ?? '';
    assert.match(diagnostic, /^550 no such x{280,300}$/);
    assert.equal(diagnostic.length, 300);
  });
});

describe('MDN-25: windows are rows', () => {
  it('no processed MDN in time: expired, which is not failed', async () => {
    const message = await send();
    await message.report({ outcome: 'sent' });
    world.clock.advance(59_999);
    assert.equal((await message.status()).status, 'sent');
    world.clock.advance(1);
    await waitUntil(async () => (await message.status()).status === 'expired');
    assert.deepEqual(shown(await message.status()), [[bob, 'expired', 'no-processed-mdn', '5.4.71']]);
  });

  it('a message that waits to be sent does not expire', async () => {
    const message = await send();
    world.clock.advance(24 * 3_600_000);
    await closeWindows({ ...dependenciesOf(world) });
    assert.equal((await message.status()).status, 'queued');
  });

  it('a recipient whose row was changed in the database keeps no other window open', async () => {
    // As many as are closed at once. The window of a recipient that nothing was sent to cannot end.
    await send({
      toDirectAddress: Array.from({ length: 20 }, (_, index) => `r${index}@direct.beta.example`),
    });
    const message = await send();
    await message.report({ outcome: 'sent' });
    const setDeadline = (deadline_at: number | null) =>
      world.db.updateTable('message_recipient').set({ deadline_at }).where('state', '=', 'queued').execute();
    await setDeadline(1);
    world.clock.advance(60_000);
    await waitUntil(async () => (await message.status()).status === 'expired');
    await setDeadline(null);
  });

  it('a timer that expired while no node ran is found at the next start', async () => {
    const stopped = await startTestMessaging({
      isStarted: false,
      settings: { processedWindowMinutes: 1, dispatchedWindowMinutes: 0.5 },
    });
    try {
      const { messageId } = await stopped.messaging.send(stopped.clinic, sendBody(), {});
      await stopped.report({ deliveryId: stopped.deliveries[0]?.deliveryId ?? '', outcome: 'sent' });
      stopped.clock.advance(3_600_000);
      await stopped.messaging.start();
      await waitUntil(
        async () => (await stopped.messaging.getStatus(stopped.clinic, messageId)).status === 'expired',
      );
    } finally {
      await stopped.close();
    }
  });
});

describe('while a recipient waits', () => {
  const wait = {
    id: 'w',
    messageId: '<w>',
    kind: 'message',
    sender: bob,
    domain: 'direct.beta.example',
    recipients: [bob],
    createdAt: new Date(0),
    attempts: 2,
    nextAttemptAt: new Date('2026-11-21T12:05:00.000Z'),
    givesUpAt: new Date('2026-11-22T12:00:00.000Z'),
    isRunning: false,
    isOnHold: false,
    isBackingOff: false,
  } as const;

  it('reports the reason of the last attempt and the time of the next one', async () => {
    const message = await send({ toDirectAddress: [bob, carol] });
    world.waiting.push({
      ...wait,
      deliveryId: message.deliveryId,
      lastReason: 'unreachable',
      lastStatusCode: '5.4.1',
    });
    const [waits, fresh] = (await message.status()).recipients;
    assert.deepEqual(
      [waits?.state, waits?.reason, waits?.statusCode, waits?.text, waits?.attempts, waits?.nextAttemptAt],
      [
        'queued',
        'unreachable',
        '4.4.1',
        "Not sent yet. The recipient's mail server cannot be reached. The delivery will be retried.",
        2,
        wait.nextAttemptAt,
      ],
    );
    assert.deepEqual([fresh?.reason, fresh?.text], ['', 'Stored; not sent yet.']);
    await message.report({ outcome: 'sent' });
    assert.equal((await message.status()).recipients[0]?.nextAttemptAt, undefined);
    world.waiting.length = 0;
  });

  for (const reason of Object.keys(failureReasons) as NonNullable<DeliveryOutcome['reason']>[])
    it(`never says "not sent yet" and nothing else after a failed attempt: ${reason}`, () => {
      const text = waitingText({ ...wait, lastReason: reason });
      assert.match(text, /^Not sent yet\. .+\. The delivery will be retried\.$/);
      assert.doesNotMatch(text, /too long/);
    });

  it('says that the operator holds the destination, and promises no time', async () => {
    const message = await send();
    world.waiting.push({ ...wait, deliveryId: message.deliveryId, attempts: 0, isOnHold: true });
    const [held] = (await message.status()).recipients;
    assert.match(held?.text ?? '', /on hold/);
    assert.equal(held?.nextAttemptAt, undefined);
    world.waiting.length = 0;
  });
});

describe('status of messages', () => {
  it("another client's message does not exist", async () => {
    const { messageId } = await send();
    const error = await world.messaging
      .getStatus(world.otherClient, messageId)
      .catch((reason: unknown) => reason);
    assert.ok(error instanceof MessagingError && error.code === 'MESSAGING_MESSAGE_NOT_FOUND');
    for (const id of [newUrn(), 'x', '', 'urn:uuid:1'])
      await assert.rejects(world.messaging.getStatus(world.clinic, id), {
        code: 'MESSAGING_MESSAGE_NOT_FOUND',
      });
  });
  it('takes the bare UUID too', async () => {
    const { messageId } = await send();
    assert.equal(
      (await world.messaging.getStatus(world.clinic, messageId.slice(9).toUpperCase())).messageId,
      messageId,
    );
  });
  it('answers up to 100 ids at once, in the order asked for, and names the unknown ones', async () => {
    const ids = [(await send()).messageId, (await send()).messageId];
    const foreign = await world.messaging.send(
      world.otherClient,
      sendBody({ fromDirectAddress: 'mallory@direct.alpha.example' }),
      {},
    );
    const unknown = [newUrn(), foreign.messageId];
    const answer = await world.messaging.listStatus(world.clinic, {
      messageIds: [ids[1], ...unknown, ids[0]],
    });
    assert.deepEqual(
      answer.found.map((report) => report.messageId),
      [ids[1], ids[0]],
    );
    assert.deepEqual(answer.unknown, unknown);
    assert.equal(
      (await world.messaging.listStatus(world.clinic, { messageIds: Array.from({ length: 100 }, newUrn) }))
        .unknown.length,
      100,
    );
  });
  it('refuses 101 ids, an empty list, and invalid ids', async () => {
    const faults = async (body: unknown) => {
      const error = await world.messaging.listStatus(world.clinic, body).catch((reason: unknown) => reason);
      assert.ok(error instanceof MessagingError);
      return error.problems.map(({ field, reason }) => `${field} ${reason}`);
    };
    assert.deepEqual(await faults({ messageIds: Array.from({ length: 101 }, newUrn) }), [
      'messageIds too_many',
    ]);
    assert.deepEqual(await faults({ messageIds: [] }), ['messageIds required']);
    assert.deepEqual(await faults(undefined), ['messageIds required']);
    assert.deepEqual(await faults({ messageIds: newUrn() }), ['messageIds invalid']);
    assert.deepEqual(await faults({ messageIds: [newUrn(), 'x', 5], more: 1 }), [
      'more unknown',
      'messageIds[1] invalid',
      'messageIds[2] invalid',
    ]);
  });
});

describe('Decision 0012: one word for a whole message', () => {
  const cases: [Parameters<typeof rollUp>[0], string, string][] = [
    [['queued', 'processed'], 'queued', 'queued'],
    [['sent', 'failed'], 'sent', 'sent'],
    [['processed', 'processed'], 'processed', 'processed'],
    [['processed', 'failed'], 'partial', 'processed'],
    [['processed', 'dispatched'], 'partial', 'processed'],
    [['failed', 'expired'], 'failed', 'failed'],
    [['expired', 'expired'], 'expired', 'expired'],
    [['dispatched'], 'dispatched', 'dispatched'],
  ];
  for (const [states, general, final] of cases) {
    it(`${states.join(', ')}: ${general}; with final delivery asked for: ${final}`, () => {
      assert.equal(rollUp(states, 'general'), general);
      assert.equal(rollUp(states, 'final-delivery'), final);
    });
  }
});

function dependenciesOf({ storage, clock, webhooks, audit }: TestMessaging): MessagingDependencies {
  return {
    storage,
    clock,
    webhooks,
    audit,
    settings: { processedWindowMinutes: 1, dispatchedWindowMinutes: 0.5 },
  } as unknown as MessagingDependencies;
}

describe('windows that end while no node runs', () => {
  const minute = 60_000;

  async function sendBefore(downMs: number) {
    const node = await createTestNodes();
    const first = await startTestMessaging({ node });
    const { messageId } = await first.messaging.send(first.clinic, sendBody(), {});
    await first.report({ deliveryId: first.deliveries.at(-1)?.deliveryId ?? '', outcome: 'sent' });
    node.clock.advance(50 * minute);
    await first.close();
    node.clock.advance(downMs);
    const next = await startTestMessaging({ node });
    const state = async () => (await next.messaging.getStatus(next.clinic, messageId)).recipients[0]?.state;
    return { node, next, state, wireId: `<${messageId.slice(9)}@direct.alpha.example>` };
  }
  const isExtended = ({ logLines }: TestMessaging): boolean =>
    logLines.some((line) => line.includes('no MDNs could be received'));
  const mdn = (wireId: string): string =>
    `From: ${bob}\nTo: ${alice}\nMessage-ID: <late@direct.beta.example>\nMIME-Version: 1.0\nContent-Type: multipart/report; report-type=disposition-notification; boundary=r\n\n--r\n\nx\n--r\nContent-Type: message/disposition-notification\n\nFinal-Recipient: rfc822; ${bob}\nOriginal-Message-ID: ${wireId}\nDisposition: automatic-action/MDN-sent-automatically; processed\n--r--\n`;

  it('are extended, because MDNs could not arrive: one that its server sends again counts', async () => {
    const { node, next, state, wireId } = await sendBefore(120 * minute);
    try {
      await waitUntil(async () => isExtended(next) || (await state()) === 'expired', 'the first look');
      assert.equal(await state(), 'sent');
      node.clock.advance(30 * minute);
      await next.receive({ from: bob, to: [alice], inner: mdn(wireId) });
      assert.equal(await state(), 'processed');
    } finally {
      await next.close();
    }
  });

  it('end soon after all the same', async () => {
    const { node, next, state } = await sendBefore(120 * minute);
    try {
      await waitUntil(() => isExtended(next), 'the longer wait');
      node.clock.advance(34 * minute);
      // Ten looks.
      await sleep(200);
      assert.equal(await state(), 'sent');
      node.clock.advance(2 * minute);
      await waitUntil(async () => (await state()) === 'expired', 'the end');
    } finally {
      await next.close();
    }
  });

  it('are not extended after a restart of seconds', async () => {
    const { next, state } = await sendBefore(10 * minute + 30_000);
    try {
      await waitUntil(async () => (await state()) === 'expired', 'the end');
      assert.ok(!isExtended(next));
    } finally {
      await next.close();
    }
  });
});

describe(
  'windows that end in an outage of the database under two nodes',
  { skip: !isPostgres && 'several nodes need PostgreSQL' },
  () => {
    const minute = 60_000;

    /** Two nodes look for closed windows; time passes and the database is away when the test says so. */
    async function startTwo(recipients: number, msOfFirstRead = 0) {
      const node = await createTestNodes();
      const nodes = [
        await startTestMessaging({ node, isStarted: false }),
        await startTestMessaging({ node, isStarted: false }),
      ] as const;
      const [first] = nodes;
      await first.messaging.send(first.clinic, sendBody(), {});
      await first.report({ deliveryId: first.deliveries.at(-1)?.deliveryId ?? '', outcome: 'sent' });
      // One per second, the first of them that of the message.
      const same = `message_id, position, address, state, has_dispatched_notice, reason, status_code, status_at, event_count, created_at, sender_key, client_id`;
      await node.database.runRaw(`insert into message_recipient (id, address_key, deadline_at, ${same})
      select 'r' || n, address_key || n, deadline_at + n * 1000, ${same}
      from message_recipient, generate_series(1, ${recipients - 1}) as n`);
      const network = {
        away: new Set<number>(),
        passedMs: 0,
        looks: [0, 0],
        looking: 0,
        transactions: 0,
        mostTransactions: Infinity,
        onRead: undefined as (() => void) | undefined,
      };
      if (msOfFirstRead > 0) {
        network.away.add(1);
        network.onRead = () => {
          network.onRead = undefined;
          node.clock.advance(msOfFirstRead);
          network.passedMs += msOfFirstRead;
        };
      }
      const looksOf = (at: number): number => network.looks[at] ?? 0;
      const logLines: string[] = [];
      const deps = nodes.map((one, at): MessagingDependencies => ({
        ...dependenciesOf(one),
        settings: defaultSettings.messaging,
        log: { ...silentLog, warn: (fields) => logLines.push(JSON.stringify(fields)) },
        storage: {
          ...one.storage,
          tables: <T>() => {
            network.onRead?.();
            return one.storage.tables<T>();
          },
          tryRunExclusive: async (task, work) => {
            if (network.away.has(at)) throw new Error('away');
            network.looking++;
            try {
              return await one.storage.tryRunExclusive(task, work);
            } finally {
              network.looking--;
              network.looks[at] = looksOf(at) + 1;
            }
          },
          transaction: (work, options) =>
            network.transactions++ < network.mostTransactions
              ? one.storage.transaction(work, options)
              : Promise.reject(new Error('away')),
        },
      }));
      const timers = deps.map((one) => startWindowTimer(one, 10, () => network.passedMs));
      const countStates = async () => {
        const rows = await first.db
          .selectFrom('message_recipient')
          .select(['state', 'deadline_at'])
          .execute();
        return Object.fromEntries(
          ['sent', 'expired'].map((state) => [state, rows.filter((row) => row.state === state).length]),
        );
      };
      const look = async (at: number): Promise<void> => {
        const before = looksOf(at);
        // The next one may have begun before.
        await waitUntil(() => looksOf(at) >= before + 2, `node ${at}`);
      };
      return {
        network,
        logLines,
        countStates,
        look,
        bothLook: () => Promise.all([look(0), look(1)]),
        /** The database is away from both, at a moment at which none of them looks. */
        async endNetwork() {
          network.away = new Set([0, 1]);
          await waitUntil(() => network.looking === 0, 'the end of looks');
        },
        wait(ms: number) {
          node.clock.advance(ms);
          network.passedMs += ms;
        },
        async close() {
          for (const timer of timers) await timer.close();
          for (const one of nodes) await one.close();
        },
      };
    }

    it('are extended once, by one of them, and end 35 minutes after it', async () => {
      const { network, logLines, countStates, bothLook, endNetwork, wait, close } = await startTwo(30);
      try {
        await bothLook();
        await endNetwork();
        wait(90 * minute);
        await sleep(50);
        network.away.clear();
        await bothLook();
        assert.deepEqual(await countStates(), { sent: 30, expired: 0 });
        assert.deepEqual(logLines, ['{"recipients":30,"minutes":35}']);
        for (let time = 0; time < 34; time++) {
          wait(minute);
          await bothLook();
        }
        assert.deepEqual(await countStates(), { sent: 30, expired: 0 });
        wait(2 * minute);
        await waitUntil(async () => (await countStates())['expired'] === 30, 'the end');
        assert.equal(logLines.length, 1);
      } finally {
        await close();
      }
    });

    it('are extended also if a node was in the middle of a look when the outage began', async () => {
      const { network, countStates, bothLook, wait, close } = await startTwo(30);
      try {
        await bothLook();
        network.onRead = () => {
          network.onRead = undefined;
          network.away = new Set([0, 1]);
          wait(90 * minute);
        };
        await waitUntil(() => network.onRead === undefined, 'the outage');
        await sleep(50);
        network.away.clear();
        await bothLook();
        assert.deepEqual(await countStates(), { sent: 30, expired: 0 });
      } finally {
        await close();
      }
    });

    it('are extended also if the outage begins in the first look of a node', async () => {
      const { countStates, look, close } = await startTwo(30, 90 * minute);
      try {
        await look(0);
        assert.deepEqual(await countStates(), { sent: 30, expired: 0 });
      } finally {
        await close();
      }
    });

    it('are all extended, also if the first node that looks fails halfway', async () => {
      const { network, countStates, bothLook, endNetwork, wait, close } = await startTwo(500);
      try {
        await bothLook();
        await endNetwork();
        // Some have ended for more than a minute, most are about to end.
        wait(62 * minute);
        await sleep(50);
        network.mostTransactions = network.transactions + 1;
        network.away.clear();
        await waitUntil(() => network.transactions > network.mostTransactions, 'the end halfway');
        network.mostTransactions = Infinity;
        await bothLook();
        wait(30 * minute);
        await bothLook();
        assert.deepEqual(await countStates(), { sent: 500, expired: 0 });
      } finally {
        await close();
      }
    });

    it('are not extended if one of the nodes was not affected', async () => {
      const { network, logLines, countStates, look, bothLook, wait, close } = await startTwo(1);
      try {
        await bothLook();
        network.away.add(0);
        for (let passed = 0; passed < 64; passed++) {
          wait(minute - 1_000);
          await look(1);
        }
        network.away.clear();
        await bothLook();
        assert.deepEqual(await countStates(), { sent: 0, expired: 1 });
        assert.deepEqual(logLines, []);
      } finally {
        await close();
      }
    });
  },
);
