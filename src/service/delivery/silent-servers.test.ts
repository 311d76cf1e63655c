import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSilentServers } from './silent-servers.ts';

const host = { name: 'mx.example', address: '192.0.2.1' };

function createWorld() {
  let nowMs = 1_000;
  const servers = createSilentServers(5_000, () => nowMs);

  /** An attempt whose session opens, or which fails, when the test says so; undefined if the server was not asked. */
  function ask() {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    let isAsked = false;
    const ended = servers
      .open(host, async ({ onOpen, signal }) => {
        isAsked = true;
        signal.addEventListener('abort', () => reject(new Error('aborted')));
        await promise;
        onOpen(false);
      })
      .then(
        () => 'open',
        (error: Error) => error.message,
      );
    const settle = (end: () => void) => async (): Promise<string> => {
      end();
      return ended;
    };
    return { isAsked, ended, open: settle(resolve), fail: settle(() => reject(new Error('failed'))) };
  }

  return {
    ask,
    probe: () => servers.noteSession(host.address),
    wait(ms: number) {
      for (const endsAt = nowMs + ms; nowMs < endsAt; servers.check()) nowMs += 1_000;
    },
    standStill(ms: number) {
      nowMs += ms;
      servers.check();
    },
  };
}

test('a server that opens no session is asked by one attempt at a time, until it opens one', async () => {
  const { ask, wait } = createWorld();
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
  const { ask, wait, probe } = createWorld();
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
