import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SmtpError } from '../../lib/smtp/index.ts';
import { createSilentServers } from './silent-servers.ts';

const host = { name: 'mx.example', address: '192.0.2.1' };
const mostSilent = 3;

function createWorld() {
  let nowMs = 1_000;
  const servers = createSilentServers(5_000, mostSilent, () => nowMs);

  /** An attempt that goes on, or fails, when the test says so; once `kept` has, if it is to use a kept session first. */
  function ask(kept?: Promise<void>, server = host) {
    const session = Promise.withResolvers<'new' | 'kept'>();
    const ready = Promise.withResolvers<void>();
    let isAsked = false;
    const ended = servers
      .ask(server, async ({ onOpening, onOpen, onKept, onReady, signal }) => {
        if (kept !== undefined) {
          isAsked = true;
          await kept;
        }
        onOpening();
        isAsked = true;
        signal.addEventListener('abort', () => session.reject(new Error('aborted')));
        if ((await session.promise) === 'new') onOpen();
        else onKept();
        await ready.promise;
        onReady();
      })
      .then(
        () => 'open',
        (error: Error) => error.message,
      );
    const settle = (end: () => void) => async (): Promise<string> => {
      end();
      return ended;
    };
    const failWith = (error: Error) =>
      settle(() => {
        session.reject(error);
        ready.reject(error);
        ready.promise.catch(() => {});
      })();
    return {
      isAsked,
      ended,
      /** The server has opened the session, and asks for nothing. */
      openOnly: () => session.resolve('new'),
      take: () => session.resolve('kept'),
      ready: settle(() => ready.resolve()),
      open: settle(() => {
        session.resolve('new');
        ready.resolve();
      }),
      failWith,
      fail: () => failWith(new Error('failed')),
    };
  }

  const wait = (ms: number): void => {
    for (const endsAt = nowMs + ms; nowMs < endsAt; servers.check()) nowMs += 1_000;
  };

  return {
    ask,
    wait,
    /** The server has opened a session at once. */
    openOne: () => ask().open(),
    /** A message goes through a session that was kept. */
    useKept: () => servers.ask(host, async ({ onReady }) => onReady()),
    probe: () => servers.noteSession(host.address),
    standStill(ms: number) {
      nowMs += ms;
      servers.check();
    },
  };
}

test('a server that opens no session is asked by one attempt at a time, until it opens one', async () => {
  const { ask, wait, openOne } = createWorld();
  await openOne();
  const both = [ask(), ask()];
  assert.deepEqual(
    both.map(({ isAsked }) => isAsked),
    [true, true],
  );
  wait(6_000);
  assert.equal(await both[1]?.ended, 'mx.example has opened no session for 6 s');
  assert.equal(await ask().ended, 'mx.example has opened no session for 6 s');
  wait(54_000);
  assert.equal(await both[0]?.fail(), 'failed');
  const next = ask();
  assert.equal(next.isAsked, true, 'the one that decides');
  assert.equal(await ask().ended, 'mx.example has opened no session for 60 s', 'it is silent still');
  assert.equal(await next.open(), 'open');
  assert.deepEqual([ask().isAsked, ask().isAsked], [true, true]);
});

test('a server that opens a session for a probe is silent no longer, although an attempt still waits for it', async () => {
  const { ask, wait, probe, openOne } = createWorld();
  await openOne();
  const stuck = ask();
  wait(6_000);
  assert.equal(ask().isAsked, false);
  probe();
  assert.equal(ask().isAsked, true);
  assert.equal(await stuck.open(), 'open');
});

test('a server that refuses at once is asked by all', async () => {
  const { ask, wait } = createWorld();
  for (let count = 0; count < 3; count++) {
    assert.equal(await ask().fail(), 'failed');
    wait(6_000);
  }
  assert.deepEqual([ask().isAsked, ask().isAsked], [true, true]);
});

test('an attempt that could open no socket proves nothing about the server', async () => {
  const { ask, wait } = createWorld();
  const stuck = ask();
  wait(8_000);
  assert.equal(await ask().failWith(new SmtpError('SMTP_NO_SOCKET', 'no socket')), 'no socket');
  wait(4_000);
  assert.equal(ask().isAsked, false);
  assert.equal(await stuck.open(), 'open');
});

test('a server that opens other sessions meanwhile is not silent', async () => {
  const { ask, wait } = createWorld();
  const stuck = ask();
  wait(4_000);
  assert.equal(await ask().open(), 'open');
  wait(4_000);
  assert.equal(ask().isAsked, true);
  wait(4_000);
  assert.equal(ask().isAsked, false, 'by now it is');
  await stuck.fail();
});

test('a server that lets clients wait for its greeting has that time on top, but not any', async () => {
  const { ask, wait } = createWorld();
  const first = ask();
  wait(6_000);
  await first.open();
  const second = ask();
  wait(10_000);
  assert.equal(ask().isAsked, true);
  wait(2_000);
  assert.equal(ask().isAsked, false);
  wait(30_000);
  await second.open();
  ask();
  wait(16_000);
  assert.equal(ask().isAsked, false);
});

test('time in which this process stood still is no silence of a server', async () => {
  const { ask, standStill } = createWorld();
  const both = [ask(), ask()];
  standStill(60_000);
  for (const one of both) assert.equal(await one.open(), 'open');
});

test('a server that has never opened a session may take twice as long', async () => {
  const { ask, wait } = createWorld();
  const first = ask();
  wait(10_000);
  const second = ask();
  assert.equal(second.isAsked, true);
  wait(1_000);
  assert.equal(ask().isAsked, false);
  assert.equal(await second.ended, 'mx.example has opened no session for 11 s');
  assert.equal(await first.open(), 'open');
});

test('a server that was silent long ago is asked anew by all', async () => {
  const { ask, wait, openOne } = createWorld();
  await openOne();
  const late = ask();
  wait(60_000);
  assert.equal(await late.fail(), 'failed');
  wait(6 * 3_600_000);
  const burst = Array.from({ length: 20 }, () => ask());
  assert.ok(burst.every(({ isAsked }) => isAsked));
  wait(5_000);
  for (const one of burst) assert.equal(await one.open(), 'open');
});

test('a kept session proves nothing; once it is lost, its attempt waits for a new one like any other', async () => {
  const { ask, wait, openOne } = createWorld();
  await openOne();
  const stuck = ask();
  const [early, late] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const kept = [ask(early.promise), ask(late.promise)] as const;
  wait(4_000);
  early.resolve();
  await early.promise;
  wait(2_000);
  assert.equal(await kept[0].ended, 'mx.example has opened no session for 6 s', 'ended while it waits');
  assert.equal(ask(Promise.resolve()).isAsked, true, 'a kept session is used meanwhile');
  late.resolve();
  assert.equal(await kept[1].ended, 'mx.example has opened no session for 6 s', 'refused');
  assert.equal(await stuck.open(), 'open');
});

test('of a server that takes messages in kept sessions, and opens no other, that is said', async () => {
  const { ask, wait, openOne, useKept } = createWorld();
  await openOne();
  const waiting = [ask(), ask()] as const;
  wait(4_000);
  await useKept();
  wait(2_000);
  const message = 'mx.example takes messages in the sessions that are open, and has opened no other for 6 s';
  assert.deepEqual([await waiting[1].ended, await ask().ended], [message, message]);
  assert.equal(await waiting[0].open(), 'open');
  const later = [ask(), ask()] as const;
  wait(12_000);
  assert.equal(await later[1].ended, 'mx.example has opened no session for 12 s');
  assert.equal(await later[0].open(), 'open');
});

test('kept sessions leave nothing behind that later attempts are held against', async () => {
  const { ask, wait, openOne } = createWorld();
  await openOne();
  const kept = ask(Promise.withResolvers<void>().promise);
  wait(30_000);
  assert.deepEqual([kept.isAsked, ask().isAsked, ask().isAsked], [true, true, true]);
});

test('a server that opens sessions, and asks for no message in them, is asked by a few attempts at a time', async () => {
  const { ask, wait, openOne, probe } = createWorld();
  await openOne();
  const stuck = Array.from({ length: 20 }, () => ask());
  for (const one of stuck.slice(0, 10)) one.openOnly();
  await Promise.resolve();
  wait(6_000);
  const message = 'mx.example has asked for no message for 6 s';
  assert.deepEqual(new Set(await Promise.all(stuck.slice(10).map(({ ended }) => ended))), new Set([message]));
  assert.equal(await ask().ended, message, 'those that have a session wait');
  probe();
  assert.equal(ask().isAsked, false, 'a session proves nothing any more');
  for (const one of stuck.slice(0, 3)) await one.fail();
  assert.deepEqual([ask().isAsked, ask().isAsked], [true, false], 'eight at a time');
  assert.equal(await stuck[3]?.ready(), 'open');
  assert.deepEqual([ask().isAsked, ask().isAsked], [true, true]);
  for (const one of stuck.slice(4, 10)) assert.equal(await one.ready(), 'open');
});

test('a server that takes long over one recipient is still asked by others', async () => {
  const { ask, wait, openOne } = createWorld();
  await openOne();
  const slow = ask();
  slow.openOnly();
  await Promise.resolve();
  wait(20_000);
  assert.equal(ask().isAsked, true);
  assert.equal(await slow.ready(), 'open');
});

test('attempts that get kept sessions one after the other make no server silent, and hide none', async () => {
  const { ask, wait, openOne } = createWorld();
  await openOne();
  const first = ask();
  wait(4_000);
  const second = ask();
  first.take();
  await Promise.resolve();
  wait(4_000);
  assert.equal(ask().isAsked, true, 'the second one has waited for 4 s');
  wait(2_000);
  assert.equal(ask().isAsked, false);
  second.take();
  assert.equal(await second.ready(), 'open');
  assert.equal(await first.ready(), 'open');
});

test('of more silent servers than may be waited for, the one that has been asked longest is not, unless it has opened a session', async () => {
  const { ask, wait } = createWorld();
  const askServer = (index: number) =>
    ask(undefined, { name: `mx${index}.example`, address: `192.0.2.${index}` });
  const hung = askServer(0);
  hung.openOnly();
  await Promise.resolve();
  const [first, ...others] = [1, 2, 3, 4].map((index) => askServer(index));
  wait(12_000);
  assert.equal(await first?.ended, 'mx1.example has opened no session for 12 s');
  for (const one of others) assert.equal(await one.open(), 'open');
  assert.equal(await hung.ready(), 'open');
});

test('a server that has opened a session is none of those that must not be too many', async () => {
  const { ask, wait } = createWorld();
  const [first, ...others] = [1, 2, 3, 4].map((index) =>
    ask(undefined, { name: `mx${index}.example`, address: `192.0.2.${index}` }),
  );
  const hung = others.at(-1);
  hung?.openOnly();
  await Promise.resolve();
  wait(12_000);
  assert.equal(await first?.open(), 'open');
  assert.equal(await hung?.ready(), 'open');
});
