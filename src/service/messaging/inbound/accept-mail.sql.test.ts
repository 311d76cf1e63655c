import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { CodedError } from '../../../core/index.ts';
import {
  alice,
  anna,
  bob,
  createTestNodes,
  openPlain,
  spoolAll,
  startTestMessaging,
  waitUntil,
  type StartOptions,
  type TestMessaging,
} from '../../../../test/messaging/start-messaging.ts';
import { createMessagingOperator } from '../operator/operator.ts';
import { defaultDirectLimits } from './accept-mail.ts';

const hour = 3_600_000;
const day = 24 * hour;
let world: TestMessaging;
let counter = 0;
/** On a busy machine judging takes long. */
const directLimits = { ...defaultDirectLimits, budgetMs: 120_000 };
before(async () => {
  world = await startTestMessaging({ directLimits });
});
after(() => world.close());
afterEach(() => {
  world.setOpenIncoming(openPlain);
  world.deliveries.splice(0);
});

const mail = (id = `<a${counter++}@direct.beta.example>`, headers = '', body = 'Hello'): Buffer =>
  Buffer.from(`${bob}\nFrom: ${bob}\r\nTo: ${alice}\r\nMessage-ID: ${id}\r\n${headers}\r\n${body}`);
const accept = (message: Buffer, { on = world, mailFrom = bob as string, network = '' } = {}) =>
  on.messaging.acceptInbound({ mailFrom, recipients: [alice], message }, network);
const inbox = async (on = world) => (await on.messaging.listInbox(on.clinic, { limit: 100 })).messages;
const spooled = (on = world) => on.db.selectFrom('inbound_mail').selectAll().execute();
const reasons = async (on = world) =>
  (await on.audit.find({ action: 'message.reject' })).map(({ objects }) => objects?.['reason']);
const coded = (code: string, kind: 'unavailable' | 'untrusted') =>
  new CodedError({ [code]: { kind } }, code, 'x');

const gates: (() => void)[] = [];

/** Holds an attempt up until it is released, or until the world is closed. */
function createGate(): { held: Promise<void>; release(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  gates.push(resolve);
  return { held: promise, release: resolve };
}

function openGates(): void {
  for (const open of gates.splice(0)) open();
}

async function withWorld(
  options: StartOptions,
  work: (other: TestMessaging) => Promise<void>,
): Promise<void> {
  const other = await startTestMessaging({ directLimits, ...options });
  try {
    await work(other);
  } finally {
    openGates();
    await other.close();
  }
}

describe('small mail whose sender is known', () => {
  it('is in the inbox and answered before the edge says 250, with one transaction and nothing spooled', async () => {
    await withWorld({ idleMs: 600_000 }, async (other) => {
      await accept(mail(), { on: other });
      await waitUntil(async () => (await spooled(other)).length === 0);
      const before = other.storage.counts();
      assert.equal(await accept(mail(), { on: other }), undefined);
      const after = other.storage.counts();
      assert.equal(after.transactions - before.transactions, 1);
      assert.deepEqual([(await inbox(other)).length, other.deliveries.length], [2, 2]);
      assert.deepEqual(await spooled(other), []);
    });
  });

  it('AS-78: rejected mail is audited and gone, without being spooled', async () => {
    world.setOpenIncoming(async () => {
      throw coded('DIRECT_SENDER_UNTRUSTED', 'untrusted');
    });
    await accept(mail());
    assert.deepEqual([(await reasons())[0], await spooled()], ['DIRECT_SENDER_UNTRUSTED', []]);
  });

  it('one id joins the audit rows of a message', async () => {
    await accept(mail('<joined@direct.beta.example>'));
    const [received] = await world.audit.find({ action: 'message.receive' });
    const [answered] = await world.audit.find({ action: 'mdn.processed' });
    assert.deepEqual(
      [received?.objects?.['messageId'], answered?.objects?.['messageId']],
      ['<joined@direct.beta.example>', '<joined@direct.beta.example>'],
    );
    assert.equal(answered?.objects?.['deliveryId'], world.deliveries.at(-1)?.deliveryId);
    assert.equal(world.deliveries.at(-1)?.messageId, '<joined@direct.beta.example>');
  });

  it('its page shows when it was stored, also where its certificates took minutes', async () => {
    world.setOpenIncoming((envelope, options) => {
      world.clock.advance(120_000);
      return openPlain(envelope, options);
    });
    await accept(mail('<slow@direct.beta.example>'));
    const operator = createMessagingOperator({ ...world, emit: () => {}, operator: 'operator:dana' });
    const { audit } = await operator.explain('<slow@direct.beta.example>');
    assert.equal(audit[0]?.action, 'message.receive');
  });

  it('is spooled if judging takes longer than the budget; the late judgement stores nothing', async () => {
    await withWorld({ directLimits: { ...defaultDirectLimits, budgetMs: 50 } }, async (other) => {
      const { held, release } = createGate();
      let calls = 0;
      other.setOpenIncoming(async (envelope, options) => {
        if (calls++ === 0) await held;
        return openPlain(envelope, options);
      });
      // Judging is held until it is released below.
      assert.notEqual(await accept(mail(), { on: other }), undefined);
      await waitUntil(async () => (await inbox(other)).length === 1);
      release();
      // The peer was slow once, so the next mail is not waited for.
      assert.notEqual(await accept(mail(), { on: other }), undefined);
      await waitUntil(async () => (await inbox(other)).length === 2 && (await spooled(other)).length === 0);
      assert.equal(other.deliveries.length, 2);
    });
  });

  it('is spooled beyond the share of its peer, while another peer still gets through', async () => {
    await withWorld({ directLimits: { ...defaultDirectLimits, share: 1 } }, async (other) => {
      const { held, release } = createGate();
      other.setOpenIncoming(async (envelope, options) => {
        if (Buffer.from(envelope.message).includes('slow')) await held;
        return openPlain(envelope, options);
      });
      const slow = accept(mail(undefined, '', 'slow'), { on: other, network: 'A' });
      assert.notEqual(await accept(mail(), { on: other, network: 'A' }), undefined);
      assert.equal(await accept(mail(), { on: other, network: 'B' }), undefined);
      release();
      await slow;
      await waitUntil(async () => (await inbox(other)).length === 3);
    });
  });

  it('is spooled with its error when something of ours is broken, and retried', async () => {
    let isBroken = true;
    world.setOpenIncoming(async (envelope, options) => {
      if (isBroken) throw coded('X_DOWN', 'unavailable');
      return openPlain(envelope, options);
    });
    const before = (await inbox()).length;
    const id = await accept(mail());
    const [row] = await spooled();
    assert.deepEqual([row?.id, row?.last_error, row?.attempts], [id, 'X_DOWN', 1]);
    isBroken = false;
    world.clock.advance(5_000);
    await waitUntil(async () => (await inbox()).length === before + 1);
    assert.deepEqual(await spooled(), []);
  });
});

describe('the spool', () => {
  it('an undecided sender is rejected after three attempts, and the last reply says so', async () => {
    await withWorld({}, async (other) => {
      const asked: (boolean | undefined)[] = [];
      other.setOpenIncoming(async (_envelope, { allowFetch, isLastAttempt }) => {
        if (allowFetch === false) throw coded('DIRECT_SENDER_NEEDS_FETCH', 'unavailable');
        asked.push(isLastAttempt);
        throw coded('DIRECT_SENDER_UNDECIDED', 'unavailable');
      });
      await accept(mail(), { on: other });
      for (const [attempt, minutes] of [1, 5].entries()) {
        await waitUntil(
          async () => asked.length === attempt + 1 && (await spooled(other))[0]?.lease_token === null,
        );
        other.clock.advance(minutes * 60_000);
      }
      await waitUntil(async () => (await spooled(other)).length === 0);
      assert.deepEqual(asked, [false, false, true]);
      assert.deepEqual(await reasons(other), ['DIRECT_SENDER_UNDECIDED']);
      assert.equal((await other.audit.find({ action: 'message.reject' }))[0]?.objects['detail'], 'x');
      assert.deepEqual([await inbox(other), other.deliveries], [[], []]);
    });
  });

  it('an undecided sender is asked about three times although its mail was claimed by a node that was killed before', async () => {
    const node = await createTestNodes();
    const other = await startTestMessaging({ node, isStarted: false });
    try {
      const asked: (boolean | undefined)[] = [];
      other.setOpenIncoming(async (_envelope, { isLastAttempt }) => {
        asked.push(isLastAttempt);
        throw coded('DIRECT_SENDER_UNDECIDED', 'unavailable');
      });
      await accept(mail(), { on: other });
      await other.db.updateTable('inbound_mail').set({ attempts: 1, needs_fetch: 1 }).execute();
      await other.messaging.start();
      for (let attempts = 1; attempts < 3; attempts++) {
        await waitUntil(
          async () => asked.length === attempts && (await spooled(other))[0]?.lease_token === null,
        );
        other.clock.advance(5 * 60_000);
      }
      await waitUntil(async () => (await spooled(other)).length === 0);
      assert.deepEqual(asked, [false, false, true]);
    } finally {
      await other.close();
    }
  });

  it('mail that a node held in memory when it ended, without having tried it, has all its attempts left', async () => {
    const node = await createTestNodes();
    let asked = 0;
    for (let run = 0; run < 4; run++) {
      // It works on the mail of the run before as soon as it starts.
      const one = await startTestMessaging({ node, isStarted: false });
      const { held } = createGate();
      let begun = 0;
      one.setOpenIncoming(async (_envelope, { allowFetch }) => {
        if (allowFetch === false) throw coded('DIRECT_SENDER_NEEDS_FETCH', 'unavailable');
        begun++;
        await held;
        asked++;
        throw coded('DIRECT_SENDER_UNDECIDED', 'unavailable');
      });
      try {
        await one.messaging.start();
        if (run === 0) for (let index = 0; index < 12; index++) await accept(mail(), { on: one });
        await waitUntil(() => begun === 2, 'the first two');
      } finally {
        const closed = one.close();
        openGates();
        await closed;
      }
    }
    const last = await startTestMessaging({ node, isStarted: false });
    try {
      const rows = await spooled(last);
      assert.deepEqual(
        rows.map(({ attempts }) => attempts).toSorted((a, b) => a - b),
        [0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1],
      );
      assert.equal(asked, 8);
    } finally {
      await last.close();
    }
  });

  it('mail that turns out to need fetches moves to the other lane', async () => {
    await withWorld({ directLimits: spoolAll }, async (other) => {
      const lanes: unknown[] = [];
      other.setOpenIncoming(async (envelope, options) => {
        lanes.push(options.allowFetch);
        if (options.allowFetch === false) throw coded('DIRECT_SENDER_NEEDS_FETCH', 'unavailable');
        return openPlain(envelope, options);
      });
      await accept(mail(), { on: other });
      await waitUntil(async () => (await inbox(other)).length === 1);
      assert.deepEqual(lanes, [false, true]);
    });
  });

  it('is capped per sender domain, and per network for unknown senders: more is deferred', async () => {
    const settings = { maxWaitingPerSenderDomain: 3, maxUndecidedPerNetwork: 2 };
    await withWorld({ isStarted: false, settings }, async (other) => {
      for (let index = 0; index < 3; index++) await accept(mail(), { on: other });
      await assert.rejects(accept(mail(), { on: other }), { code: 'MESSAGING_SPOOL_FULL' });
      assert.notEqual(await accept(mail(), { on: other, mailFrom: 'x@other.example' }), undefined);
    });
    await withWorld({ settings: { ...settings, maxWaitingPerSenderDomain: 100 } }, async (other) => {
      other.setOpenIncoming(async (_envelope, { allowFetch }) => {
        if (allowFetch === false) throw coded('DIRECT_SENDER_NEEDS_FETCH', 'unavailable');
        throw coded('DIRECT_SENDER_UNDECIDED', 'unavailable');
      });
      for (let index = 0; index < 2; index++) await accept(mail(), { on: other, network: 'A' });
      await assert.rejects(accept(mail(), { on: other, network: 'A' }), { code: 'MESSAGING_SPOOL_FULL' });
      assert.notEqual(await accept(mail(), { on: other, network: 'B' }), undefined);
    });
  });

  it('large mail is opened one at a time where memory holds no more, and small mail does not wait for it', async () => {
    const large = (): Buffer => mail(undefined, '', 'x'.repeat(400_000));
    for (const [maxWorkBytes, atOnce] of [
      [2_000_000, 1],
      [50_000_000, 2],
    ] as const) {
      await withWorld({ settings: { maxWorkBytes } }, async (other) => {
        const gate = createGate();
        const open: number[] = [];
        let most = 0;
        other.setOpenIncoming(async (envelope, options) => {
          if (envelope.message.length < 400_000) return openPlain(envelope, options);
          most = Math.max(most, open.push(0));
          await gate.held;
          open.pop();
          return openPlain(envelope, options);
        });
        for (let count = 0; count < 2; count++) await accept(large(), { on: other, network: `${count}` });
        await accept(mail(), { on: other, network: '0' });
        await waitUntil(async () => most === atOnce && (await inbox(other)).length === 1);
        gate.release();
        await waitUntil(async () => (await inbox(other)).length === 3);
        assert.equal(most, atOnce);
      });
    }
  });

  it('mail whose lease another node has claimed is stored only by that node', async () => {
    const node = await createTestNodes();
    // It does not look again, as if it stood still.
    const one = await startTestMessaging({ node, directLimits: spoolAll, idleMs: 600_000 });
    const two = await startTestMessaging({ node, directLimits: spoolAll, isStarted: false });
    try {
      const { held, release } = createGate();
      let isOpening = false;
      one.setOpenIncoming(async (envelope, options) => {
        isOpening = true;
        await held;
        return openPlain(envelope, options);
      });
      await accept(mail(), { on: one });
      await waitUntil(() => isOpening);
      // As after a standstill: the lease has run out, and the other node claims the mail.
      const [row] = await spooled(one);
      node.clock.advance(10 * 60_000);
      await two.messaging.start();
      await waitUntil(async () => (await inbox(two)).length === 1);
      release();
      await waitUntil(() => one.logLines.some((line) => line.includes('lease was lost')));
      assert.notEqual(row?.lease_token, null);
      assert.deepEqual([one.deliveries.length, two.deliveries.length], [0, 1]);
      assert.equal((await inbox(two)).length, 1);
    } finally {
      openGates();
      await one.close();
      await two.close();
    }
  });
});

describe('the register of received mail', () => {
  const receivedTwice = async (id: string, between: () => Promise<void>) => {
    const message = mail(id);
    await accept(Buffer.from(message));
    await between();
    world.deliveries.splice(0);
    const before = (await inbox()).length;
    await accept(Buffer.from(message));
    return { isNew: (await inbox()).length > before, answers: world.deliveries.length };
  };

  it('AS-82: a replay is no new mail, also when the first copy was deleted long ago', async () => {
    const result = await receivedTwice('<old@direct.beta.example>', async () => {
      await world.db.deleteFrom('inbox_copy').execute();
      await world.db.deleteFrom('inbox_message').execute();
      world.clock.advance(365 * day);
    });
    assert.deepEqual(result, { isNew: false, answers: 1 });
  });

  it('a duplicate is answered once an hour', async () => {
    const message = mail('<hourly@direct.beta.example>');
    await accept(Buffer.from(message));
    world.deliveries.splice(0);
    for (let count = 0; count < 5; count++) await accept(Buffer.from(message));
    assert.equal(world.deliveries.length, 1);
    world.clock.advance(hour - 1);
    await accept(Buffer.from(message));
    assert.equal(world.deliveries.length, 1);
    world.clock.advance(1);
    await accept(Buffer.from(message));
    assert.equal(world.deliveries.length, 2);
  });

  it('a replay to another of our addresses is new to that address only', async () => {
    const message = mail('<spread@direct.beta.example>');
    await accept(Buffer.from(message));
    const before = await inbox();
    await world.messaging.acceptInbound({ mailFrom: bob, recipients: [alice, anna], message });
    const added = (await inbox()).filter(
      ({ messageId }) => !before.some((old) => old.messageId === messageId),
    );
    assert.deepEqual(
      added.map(({ recipient }) => recipient),
      [anna],
    );
  });

  it('mail dated or signed too long ago, or in the future, is rejected; its sender is notified once', async () => {
    const dated = (offsetMs: number): string =>
      `Date: ${new Date(world.clock.now().getTime() + offsetMs).toUTCString().replace('GMT', '+0000')}\r\n`;
    const before = (await inbox()).length;
    await accept(mail(undefined, dated(-29 * day)));
    await accept(mail(undefined, dated(day - hour)));
    assert.equal((await inbox()).length, before + 2);
    world.deliveries.splice(0);
    const old = mail(undefined, dated(-31 * day));
    await accept(Buffer.from(old));
    await accept(mail(undefined, dated(2 * day)));
    assert.deepEqual((await reasons()).slice(0, 2), ['date-in-future', 'date-too-old']);
    assert.deepEqual(
      world.deliveries.map(({ kind, recipients }) => [kind, recipients]),
      [
        ['dsn', [bob]],
        ['dsn', [bob]],
      ],
    );
    world.setOpenIncoming(async (envelope, options) => ({
      ...(await openPlain(envelope, options)),
      signedAt: new Date(world.clock.now().getTime() - 31 * day),
    }));
    await accept(mail(undefined, dated(0)));
    assert.equal((await reasons())[0], 'date-too-old');
    assert.equal((await inbox()).length, before + 2);
  });
});
