/** Which of a destination's mail servers is asked, and when, if one of them breaks: real sockets, and a message of 650 kB. */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import tls from 'node:tls';
import { makeTlsCertificate } from '../support/tls-certificate.ts';
import { startDeliveryWorld, until, type DeliveryWorld, type StartOptions } from './start-delivery.ts';

const largeText = `${'x'.repeat(70)}\r\n`.repeat(9_000);
/** More than the system's buffers hold. */
const hugeText = largeText.repeat(30);
const [first, second] = ['127.0.0.21', '127.0.0.22'];

let world: DeliveryWorld;
let lastId = 0;
/** What the first server does at each point; '' says nothing, `undefined` is the usual reply. */
let manners: Manners = {};
/** Messages that the first server was given to the end. */
let whole = 0;
let sessions = 0;
const certificate = makeTlsCertificate('mx0.two.example');

interface Manners {
  readonly MAIL?: Step;
  readonly RCPT?: Step;
  readonly DATA?: Step;
  /** Once it has read some of the data. */
  readonly inside?: Step;
  readonly dot?: Step;
  /** Messages that it takes before it does so. */
  readonly takesFirst?: number;
  readonly startsTls?: boolean;
}

type Step = string | ((socket: Socket) => void);

const hangUp = (socket: Socket): void => void socket.destroy();
const reset = (socket: Socket): void => void socket.resetAndDestroy();
const halfClose = (socket: Socket): void => void socket.end();
const stopReading = (socket: Socket): void => void socket.pause();

before(async () => {
  world = await startDeliveryWorld({ isSteady: true });
  world.addDomain('two.example', first, second);
  world.addDomain('one.example', first);
  world.addDomain('three.example', first, '127.0.0.23', second);
  world.addDomain('both.example', first, '127.0.0.24');
  await world.startPeer(first, (socket) => {
    sessions++;
    serve(socket, true);
  });
  await world.startPeer('127.0.0.23', (socket) => socket.destroy());
  await world.startPeer('127.0.0.24', (socket) => serve(socket, true));
  await world.startPeer(second, 'take');
});

after(() => world.close());

beforeEach(() => {
  world.mail.length = 0;
  manners = {};
  whole = sessions = 0;
  world.answer = () => 'accept';
});

function serve(socket: Socket, greets: boolean): void {
  let tail = '';
  let isData = false;
  let bytes = 0;
  const act = (step: Step | undefined, usual: string): void => {
    const isUsual = step === undefined || whole < (manners.takesFirst ?? 0);
    if (isUsual) socket.write(`${usual}\r\n`);
    else if (typeof step === 'function') step(socket);
    else if (step !== '') socket.write(`${step}\r\n`);
  };
  socket.on('error', () => {});
  if (greets) socket.write('220 mx0\r\n');
  socket.on('data', (chunk: Buffer) => {
    if (isData) {
      bytes += chunk.length;
      tail = (tail + chunk.subarray(-5).toString('latin1')).slice(-5);
      if (manners.inside !== undefined && bytes > 100_000 && whole >= (manners.takesFirst ?? 0)) {
        isData = false;
        socket.removeAllListeners('data');
        act(manners.inside, '');
        if (typeof manners.inside === 'string') socket.end();
        return;
      }
      if (tail !== '\r\n.\r\n') return;
      isData = false;
      act(manners.dot, '250 2.0.0 queued');
      whole++;
      return;
    }
    for (const line of chunk.toString('latin1').split('\r\n')) {
      if (line.startsWith('EHLO'))
        socket.write(manners.startsTls && greets ? '250-mx0\r\n250 STARTTLS\r\n' : '250 mx0\r\n');
      else if (line.startsWith('STARTTLS')) {
        socket.write('220 go\r\n');
        socket.removeAllListeners('data');
        const secure = new tls.TLSSocket(socket, { isServer: true, key: certificate, cert: certificate });
        return serve(secure, false);
      } else if (line.startsWith('MAIL')) act(manners.MAIL, '250 ok');
      else if (line.startsWith('RCPT')) act(manners.RCPT, '250 ok');
      else if (line.startsWith('DATA')) {
        isData = manners.DATA === undefined;
        bytes = 0;
        tail = '';
        act(manners.DATA, '354 go');
      } else if (line !== '') socket.write('250 ok\r\n');
    }
  });
}

async function deliver(
  domain: string,
  how: Manners,
  use: (id: string, run: Awaited<ReturnType<DeliveryWorld['start']>>) => Promise<void>,
  options: StartOptions = {},
): Promise<void> {
  const run = await world.start({ smtpTimeoutMs: 1_000, ...options });
  const id = `n${++lastId}`;
  manners = how;
  try {
    await run.enqueue(id, [`x@${domain}`], { text: manners.inside === stopReading ? hugeText : largeText });
    await use(id, run);
    await run.delivery.fail({ deliveryId: id });
  } finally {
    await run.close();
  }
}

/** Before the end of the message: the server cannot have accepted it. */
const breaks: Readonly<Record<string, Manners>> = {
  'closes at MAIL': { MAIL: hangUp },
  'closes at RCPT': { RCPT: hangUp },
  'closes at DATA': { DATA: hangUp },
  'resets at DATA': { DATA: reset },
  'defers DATA': { DATA: '451 4.3.0 Not now' },
  'says 421 at DATA': { DATA: '421 4.3.2 Closing' },
  'closes inside the data': { inside: hangUp },
  'resets inside the data': { inside: reset },
  'half-closes inside the data': { inside: halfClose },
  'says 421 inside the data': { inside: '421 4.4.2 Timeout' },
  'says 451 inside the data': { inside: '451 4.3.0 Disk error' },
  'says 250 inside the data': { inside: '250 2.0.0 queued' },
  'talks nonsense inside the data': { inside: 'what?' },
  'stops reading inside the data': { inside: stopReading },
  'asks for the data and says nothing more': { DATA: '' },
};

for (const [what, how] of Object.entries(breaks))
  test(`the next MX is asked at once when the first ${what}`, () =>
    deliver('two.example', how, async (_id, run) => {
      await until(() => run.outcomes.length === 1, 'the outcome');
      assert.equal(run.outcomes[0]?.outcome, 'sent');
      assert.deepEqual([world.mail.length, whole], [1, 0]);
      assert.ok(world.mail[0]?.text.includes(largeText), 'the whole message');
    }));

test('the next MX is asked at once when a TLS session breaks inside the data', () => {
  return deliver('two.example', { inside: hangUp, startsTls: true }, async (_id, run) => {
    await until(() => run.outcomes.length === 1, 'the outcome');
    assert.deepEqual([run.outcomes[0]?.outcome, world.mail.length], ['sent', 1]);
  });
});

test('a kept session that breaks inside the data is no reason to give the server up, and after a new one the next MX is asked', () =>
  deliver('two.example', { inside: hangUp, takesFirst: 1 }, async (_id, run) => {
    await until(() => run.outcomes.length === 1, 'the first');
    assert.equal(whole, 1);
    await run.enqueue(`n${++lastId}`, ['x@two.example'], { text: largeText });
    await until(() => run.outcomes.length === 2, 'the second');
    assert.deepEqual([run.outcomes[1]?.outcome, world.mail.length, sessions], ['sent', 1, 2]);
  }));

test('the third MX is asked when the first breaks inside the data and the second at once', () =>
  deliver('three.example', { inside: hangUp }, async (_id, run) => {
    await until(() => run.outcomes.length === 1, 'the outcome');
    assert.deepEqual([run.outcomes[0]?.outcome, world.mail.length], ['sent', 1]);
  }));

test('a message that breaks at every MX waits, and its destination counts as unreachable', () =>
  deliver('both.example', { inside: hangUp }, async (id, run) => {
    const waiting = async () => (await run.delivery.findWaiting([id]))[0];
    await until(async () => (await waiting())?.attempts === 1, 'the attempt');
    assert.equal((await waiting())?.lastReason, 'unreachable');
  }));

/** The server has had the message to the end, and may have accepted it, or says that it will later. */
const lateBreaks: Readonly<Record<string, Manners>> = {
  closes: { dot: hangUp },
  resets: { dot: reset },
  'says 421': { dot: '421 4.3.2 Closing' },
  'says 451': { dot: '451 4.3.0 Not now' },
  'says nothing': { dot: '' },
};

for (const [what, how] of Object.entries(lateBreaks))
  test(`a server that ${what} after the end of the message is the only one asked then; the retry begins elsewhere`, () =>
    deliver('two.example', how, async (id, run) => {
      const waiting = async () => (await run.delivery.findWaiting([id]))[0];
      await until(async () => (await waiting())?.attempts === 1, 'the attempt');
      assert.deepEqual([world.mail.length, whole], [0, 1]);
      manners = {};
      await run.delivery.retry({ deliveryId: id });
      await until(() => run.outcomes.length === 1, 'the retry');
      assert.deepEqual([run.outcomes[0]?.outcome, world.mail.length, whole], ['sent', 1, 1]);
    }));

test('a retry by another process begins elsewhere, too', async () => {
  manners = { dot: '451 4.3.0 Not now' };
  const id = `n${++lastId}`;
  const one = await world.start();
  await one.enqueue(id, ['x@two.example']);
  await until(async () => (await one.delivery.findWaiting([id]))[0]?.attempts === 1, 'the attempt');
  await one.close();
  const other = await world.start();
  await other.delivery.retry({ deliveryId: id });
  await until(() => other.outcomes.length === 1, 'the retry');
  assert.deepEqual([world.mail.length, whole], [1, 1]);
  await other.close();
});

test('a retry goes to the same server if the destination has no other', () =>
  deliver('one.example', { dot: '451 4.3.0 Not now' }, async (id, run) => {
    await until(async () => (await run.delivery.findWaiting([id]))[0]?.attempts === 1, 'the attempt');
    manners = {};
    await run.delivery.retry({ deliveryId: id });
    await until(() => run.outcomes.length === 1, 'the retry');
    assert.deepEqual([run.outcomes[0]?.outcome, whole], ['sent', 2]);
  }));

test('what another server refuses in a retry is not final while the first may still take the message', () =>
  deliver('two.example', { RCPT: '451 4.7.1 Greylisted' }, async (id, run) => {
    world.answer = () => ({ code: 550, enhancedCode: '5.7.1', text: 'No relaying' });
    const waiting = async () => (await run.delivery.findWaiting([id]))[0];
    await until(async () => (await waiting())?.attempts === 1, 'the first attempt');
    await run.delivery.retry({ deliveryId: id });
    await until(async () => (await waiting())?.attempts === 2, 'the second attempt');
    assert.deepEqual([(await waiting())?.lastReason, run.outcomes], ['smtp-deferred', []]);
    manners = {};
    await run.delivery.retry({ deliveryId: id });
    await until(() => run.outcomes.length === 1, 'the third attempt');
    assert.deepEqual([run.outcomes[0]?.outcome, whole], ['sent', 1]);
  }));

test('recipients beyond what the server takes at once are sent to in the same session', async () => {
  const run = await world.start();
  const all = ['a', 'b', 'c', 'd', 'e'].map((name) => `${name}@two.example`);
  manners = { MAIL: hangUp };
  let asked = 0;
  world.answer = () =>
    [3, 4, 5].includes(++asked)
      ? { code: 452, enhancedCode: '4.5.3', text: 'Too many recipients' }
      : 'accept';
  try {
    await run.enqueue(`n${++lastId}`, all);
    await until(() => run.outcomes.length === 5, 'all outcomes');
  } finally {
    await run.close();
  }
  assert.deepEqual(world.mail.flatMap(({ recipients }) => recipients).toSorted(), all);
  assert.ok(run.outcomes.every(({ outcome }) => outcome === 'sent'));
});
