import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import {
  startDeliveryWorld,
  until,
  type DeliveryWorld,
  type RunningDelivery,
} from '../../../test/delivery/start-delivery.ts';
import { timeScale } from '../../../test/support/time-scale.ts';

/** Answers each command after `delayMs`, and takes every message. */
function slowly(delayMs: number, onData: (text: string) => void): (socket: Socket) => void {
  return (socket) => {
    let rest = '';
    let data: string[] | undefined;
    let replies = Promise.resolve();
    const reply = (text: string): void => {
      replies = replies.then(async () => {
        await wait(delayMs);
        if (!socket.destroyed) socket.write(`${text}\r\n`);
      });
    };
    socket.write('220 slow.example\r\n');
    socket.on('data', (chunk: Buffer) => {
      const lines = (rest + chunk.toString('latin1')).split('\r\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (data === undefined) {
          if (line === 'DATA') data = [];
          reply(line === 'DATA' ? '354 go' : '250 ok');
        } else if (line === '.') {
          onData(data.join('\n'));
          data = undefined;
          reply('250 2.0.0 taken');
        } else data.push(line);
      }
    });
  };
}

/** Takes a whole message and never answers it; counts them by `onData`. */
function silentAtEnd(onData: () => void): (socket: Socket) => void {
  return (socket) => {
    let isData = false;
    let tail = '';
    socket.write('220 silent.example\r\n');
    socket.on('data', (chunk: Buffer) => {
      if (isData) {
        tail = (tail + chunk.subarray(-5).toString('latin1')).slice(-5);
        if (tail === '\r\n.\r\n') onData();
        return;
      }
      isData = chunk.includes('DATA\r\n');
      socket.write(isData ? '354 go\r\n' : '250 ok\r\n'.repeat(chunk.toString().split('\r\n').length - 1));
    });
  };
}

/** Opens sessions, and answers nothing in them. */
function hangsInSession(socket: Socket): void {
  socket.write('220 hung.example\r\n');
  socket.on('data', (chunk: Buffer) => {
    if (/^EHLO/i.test(chunk.toString())) socket.write('250 hung.example\r\n');
  });
}

/** Serves so many connections at a time, each as `serve` does. The others wait for their greeting. */
function atATime(count: number, serve: (socket: Socket) => void): (socket: Socket) => void {
  const waiting: Socket[] = [];
  let served = 0;
  const serveNext = (): void => {
    const next = served < count ? waiting.shift() : undefined;
    if (next === undefined) return;
    served++;
    next.on('close', () => {
      served--;
      serveNext();
    });
    serve(next);
  };
  return (socket) => {
    waiting.push(socket);
    socket.on('close', () => {
      const at = waiting.indexOf(socket);
      if (at >= 0) waiting.splice(at, 1);
    });
    serveNext();
  };
}

/** Greets, and hangs up when a message is offered. */
function brokenAtMail(socket: Socket): void {
  socket.write('220 broken.example\r\n');
  socket.on('data', (chunk: Buffer) => {
    if (/^EHLO/i.test(chunk.toString())) socket.write('250 broken.example\r\n');
    else socket.destroy();
  });
}

/** Answers commands, and reads nothing of the message. */
function stopsReading(socket: Socket): void {
  socket.write('220 stopped.example\r\n');
  socket.on('data', (chunk: Buffer) => {
    const text = chunk.toString('latin1');
    if (text.includes('DATA\r\n')) {
      socket.pause();
      socket.write('250 ok\r\n'.repeat(text.split('\r\n').length - 2));
      socket.write('354 go\r\n');
    } else socket.write('250 ok\r\n'.repeat(text.split('\r\n').length - 1));
  });
}

const idsOf = (name: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${name}-${index}`);

const isBackingOff = async ({ delivery }: RunningDelivery, ids: readonly string[]): Promise<boolean> =>
  (await delivery.findWaiting(ids)).some((waiting) => waiting.isBackingOff);

describe('peers that are slow, silent or away', () => {
  let world: DeliveryWorld;
  const runs: RunningDelivery[] = [];
  let slowMail: string[] = [];

  before(async () => {
    world = await startDeliveryWorld();
    world.addDomain('good.example', '127.0.0.1');
    world.addDomain('silent.example', '127.0.0.2');
    world.addDomain('slow.example', '127.0.0.3');
    world.addDomain('away.example', '127.0.0.4');
    world.addDomain('gone.example', '127.0.0.6');
    await world.startPeer('127.0.0.1', 'take');
    await world.startPeer('127.0.0.2', () => {});
    await world.startPeer(
      '127.0.0.3',
      slowly(700, (text) => slowMail.push(text)),
    );
  });
  after(() => world.close());
  beforeEach(() => {
    world.mail.length = 0;
    world.logLines.length = 0;
    slowMail = [];
  });
  afterEach(async () => {
    // A silent peer would hold up the end until its time is over.
    await Promise.all(runs.splice(0).map((run) => run.close()));
    for (const table of ['delivery_destination', 'delivery', 'delivery_attempt'] as const)
      await world.db.deleteFrom(table).execute();
  });

  async function start(...options: Parameters<DeliveryWorld['start']>): Promise<RunningDelivery> {
    const run = await world.start(...options);
    runs.push(run);
    return run;
  }

  const destinationOf = (id: string, domain: string) =>
    world.db
      .selectFrom('delivery_destination')
      .selectAll()
      .where('delivery_id', '=', id)
      .where('domain', '=', domain)
      .executeTakeFirst();

  it('a domain that answers gets one copy while another one accepts and says nothing', async () => {
    const leaseMs = 300;
    const run = await start({ leaseMs, smtpTimeoutMs: 4_000 });
    await run.enqueue('both', ['x@good.example', 'y@silent.example']);
    const first = await destinationOf('both', 'silent.example');
    await until(() => run.outcomes.length === 1, 'the good domain');
    const isRenewedOften = async (): Promise<boolean> =>
      ((await destinationOf('both', 'silent.example'))?.lease_until ?? 0) >
      (first?.lease_until ?? 0) + 6 * leaseMs;
    await until(isRenewedOften, 'many leases');
    assert.deepEqual(
      run.outcomes.map(({ recipient, outcome }) => [recipient, outcome]),
      [['x@good.example', 'sent']],
    );
    assert.equal(world.mail.length, 1);
    assert.equal(world.connections.get('127.0.0.2'), 1);
    assert.equal(await destinationOf('both', 'good.example'), undefined);
  });

  it('two messages to a peer whose replies take longer than the lease arrive once each', async () => {
    const options = { leaseMs: 300 };
    const [run, other] = [await start(options), await start(options)];
    await run.enqueue('slow-1', ['x@slow.example']);
    await run.enqueue('slow-2', ['x@slow.example']);
    await until(() => run.outcomes.length + other.outcomes.length === 2, 'both outcomes', 60_000);
    const ids = slowMail.map((text) => /^Message-ID: <(.*)@/im.exec(text)?.[1]);
    assert.deepEqual([ids.length, new Set(ids)], [2, new Set(['slow-1', 'slow-2'])]);
    assert.ok((world.connections.get('127.0.0.3') ?? 0) <= 2);
  });

  it('a healthy destination is final while 50 messages wait for a silent one, before any of them times out', async () => {
    world.addDomain('mute.example', '127.0.0.7');
    const mute = await world.startPeer('127.0.0.7', () => {});
    const run = await start({ smtpTimeoutMs: 120_000 });
    for (let count = 0; count < 50; count++) await run.enqueue(`wait-${count}`, ['x@mute.example']);
    for (let count = 0; count < 5; count++) await run.enqueue(`healthy-${count}`, ['x@good.example']);
    await until(() => run.outcomes.length >= 5, 'the healthy destination');
    assert.equal(world.mail.length, 5);
    assert.deepEqual(await run.delivery.listAttempts(idsOf('wait', 50)), []);
    assert.deepEqual((await run.delivery.listQueue({ limit: 500 })).items.length, 50);
    await mute.close();
  });

  it('slow and healthy destinations are final while 50 others take messages and never answer', async () => {
    // All times are a tenth of those of a deployment, but for the reply that never comes.
    const run = await start({
      concurrency: 32,
      limits: { slowAfterMs: 500 },
      smtpTimeoutMs: 300_000,
    });
    let taken = 0;
    world.addDomain('hung.example', '127.0.0.8');
    const hung = await world.startPeer(
      '127.0.0.8',
      silentAtEnd(() => taken++),
    );
    world.addDomain('late.example', '127.0.0.9');
    let isLate = 0;
    await world.startPeer('127.0.0.9', (socket) => slowly(330, () => isLate++)(socket));
    for (let index = 0; index < 50; index++) world.addDomain(`hung${index}.example`, '127.0.0.8');
    for (let index = 0; index < 3; index++) world.addDomain(`late${index}.example`, '127.0.0.9');
    for (let count = 0; count < 4; count++)
      for (let index = 0; index < 50; index++)
        await run.enqueue(`hung-${index}-${count}`, [`x@hung${index}.example`]);
    const startedAt = performance.now();
    const enqueueLate = async (from: number, to: number): Promise<void> => {
      for (let count = from; count < to; count++)
        for (let index = 0; index < 3; index++)
          await run.enqueue(`late-${index}-${count}`, [`x@late${index}.example`]);
    };
    await enqueueLate(0, 1);
    for (let count = 0; count < 5; count++) await run.enqueue(`well-${count}`, ['x@good.example']);
    const sentTo = (name: string): number =>
      run.outcomes.filter(({ recipient, outcome }) => outcome === 'sent' && recipient.includes(name)).length;
    await until(() => sentTo('good') === 5, 'the healthy destination');
    const healthyMs = performance.now() - startedAt;
    await until(() => sentTo('late') === 3, 'the first message of the slow destinations');
    // By now they are known to be slow.
    await enqueueLate(1, 3);
    await until(() => sentTo('late') === 9, 'the slow destinations', 60_000);
    const slowMs = performance.now() - startedAt;
    assert.ok(healthyMs < 1_500 * timeScale(), `healthy after ${healthyMs} ms`);
    assert.ok(slowMs < 8_000 * timeScale(), `slow after ${slowMs} ms`);
    assert.equal(run.outcomes.length, 14);
    // One attempt for each destination that never answers, and no second copy.
    assert.equal(taken, 50);
    assert.equal(world.connections.get('127.0.0.8'), 50);
    await hung.close();
  });

  it('destinations that have answered are final at once while more than fit into memory have never answered', async () => {
    const run = await start({ limits: { slowAfterMs: 1_000 }, smtpTimeoutMs: 120_000 });
    const others = idsOf('other', 200);
    const mute = await world.startPeer('127.0.0.11', () => {});
    for (const name of others) world.addDomain(`${name}.example`, '127.0.0.11');
    await run.enqueue('known', ['x@good.example']);
    await until(() => run.outcomes.length === 1, 'the first answer');
    for (const name of others) await run.enqueue(name, [`x@${name}.example`]);
    // Stored without a lease, as a retry: claimed from the table, behind all others.
    const startedAt = performance.now();
    for (let count = 0; count < 20; count++) await run.enqueue(`again-${count}`, ['x@good.example']);
    await until(() => run.outcomes.length === 21, 'the known destination');
    const tookMs = performance.now() - startedAt;
    assert.ok(tookMs < 2_000 * timeScale(), `${tookMs} ms`);
    // The slow slots, at a concurrency of 8.
    assert.ok((world.connections.get('127.0.0.11') ?? 0) <= 128);
    await mute.close();
  });

  // All times are a tenth of those of a deployment.
  const tenth = { concurrency: 32, limits: { slowAfterMs: 500 }, smtpTimeoutMs: 6_000 };

  for (const { title, name, count, addressOf, behavior, withinMs } of [
    {
      title: 'the server of 400 others that were never tried opens no session',
      name: 'many',
      count: 400,
      addressOf: () => '127.0.0.15',
      behavior: () => {},
      withinMs: 4_000,
    },
    {
      title: 'the server of 400 others that were never tried opens sessions, and answers nothing in them',
      name: 'hung',
      count: 400,
      addressOf: () => '127.0.0.17',
      behavior: hangsInSession,
      withinMs: 4_000,
    },
    {
      title: '80 servers of others that were never tried open no session',
      name: 'each',
      count: 80,
      addressOf: (index: number) => `127.0.1.${index + 1}`,
      behavior: () => {},
      withinMs: 4_000,
    },
    {
      title: '400 servers of others that were never tried open no session',
      name: 'all',
      count: 400,
      addressOf: (index: number) => `127.0.${3 + (index >> 7)}.${1 + (index & 127)}`,
      behavior: () => {},
      withinMs: 4_000,
    },
  ])
    it(`a destination that was never tried is reached while ${title}`, async () => {
      const run = await start(tenth);
      const others = idsOf(name, count);
      const addresses = others.map((_, index) => addressOf(index));
      const mute = await Promise.all([...new Set(addresses)].map((one) => world.startPeer(one, behavior)));
      world.addDomain(`${name}-well.example`, '127.0.0.1');
      for (const [index, one] of others.entries()) {
        world.addDomain(`${one}.example`, addresses[index] ?? '');
        await run.enqueue(one, [`x@${one}.example`]);
      }
      const startedAt = performance.now();
      await run.enqueue(`${name}-well`, [`x@${name}-well.example`]);
      await until(() => run.outcomes.length === 1, 'the healthy destination');
      const tookMs = performance.now() - startedAt;
      assert.ok(tookMs < withinMs * timeScale(), `${tookMs} ms`);
      assert.equal(run.outcomes[0]?.outcome, 'sent');
      await Promise.all(mute.map((one) => one.close()));
    });

  it('a destination is reached soon after a start, although 30 before it with many messages each never answer', async () => {
    const dead = idsOf('dead', 30);
    const all = [...dead, 'alive'].map((one) => `${one}.example`);
    const before = await start();
    for (const domain of all) await before.delivery.hold(domain, { reason: 'test', author: 'operator:jo' });
    world.addDomain('alive.example', '127.0.0.1');
    const mute = await Promise.all(
      dead.map((one, index) => {
        const address = `127.0.2.${index + 1}`;
        world.addDomain(`${one}.example`, address);
        return world.startPeer(address, () => {});
      }),
    );
    for (const domain of all)
      for (let count = 0; count < 6; count++) await before.enqueue(`${domain}-${count}`, [`x@${domain}`]);
    await before.close();
    await world.db.deleteFrom('delivery_hold').execute();
    const startedAt = performance.now();
    const run = await start(tenth);
    await until(() => run.outcomes.length === 6, 'the destination that answers');
    const tookMs = performance.now() - startedAt;
    assert.ok(tookMs < 4_000 * timeScale(), `${tookMs} ms`);
    await Promise.all(mute.map((one) => one.close()));
  });

  it('a server of 30 destinations that serves two connections at a time gets all messages soon', async () => {
    const run = await start();
    const others = idsOf('few', 30);
    await world.startPeer(
      '127.0.0.18',
      atATime(
        2,
        slowly(10, (text) => slowMail.push(text)),
      ),
    );
    for (const one of others) world.addDomain(`${one}.example`, '127.0.0.18');
    const startedAt = performance.now();
    for (const one of others) await run.enqueue(one, [`x@${one}.example`]);
    await until(() => run.outcomes.length === 30, 'all of them');
    const tookMs = performance.now() - startedAt;
    assert.ok(tookMs < 8_000 * timeScale(), `${tookMs} ms`);
    assert.deepEqual(
      [new Set(run.outcomes.map(({ outcome }) => outcome)), slowMail.length],
      [new Set(['sent']), 30],
    );
    const attempts = await run.delivery.listAttempts(others);
    assert.equal(attempts.length, 30);
  });

  it('a destination that answers is reached while the server of 200 that have answered opens no session any more', async () => {
    const hour = 3_600_000;
    const run = await start({ ...tenth, retryWaitsMs: [hour], lifetimeMs: 24 * hour, probeWaitsMs: [1_000] });
    const others = idsOf('fallen', 200);
    const server = await world.startPeer('127.0.0.16', 'take');
    for (const one of others) world.addDomain(`${one}.example`, '127.0.0.16');
    await run.enqueue('before', ['x@good.example']);
    for (const one of others) await run.enqueue(one, [`x@${one}.example`]);
    await until(() => run.outcomes.length === 201, 'a first answer of each');
    await server.close();
    const mute = await world.startPeer('127.0.0.16', () => {});
    for (const one of others) await run.enqueue(`${one}-again`, [`x@${one}.example`]);
    const startedAt = performance.now();
    await run.enqueue('after', ['x@good.example']);
    await until(() => run.outcomes.length === 202, 'the healthy destination');
    const tookMs = performance.now() - startedAt;
    assert.ok(tookMs < 4_000 * timeScale(), `${tookMs} ms`);
    await mute.close();
    await world.startPeer('127.0.0.16', 'take');
    await until(() => run.outcomes.length === 402, 'the others, when their server is back', 60_000);
  });

  it('other peers get large and small messages while two that stop reading hold large ones', async () => {
    const run = await start({
      concurrency: 32,
      maxLargeBytes: 50_000_000,
      limits: { slowAfterMs: 300 },
      smtpTimeoutMs: 120_000,
    });
    const large = { text: `${'x'.repeat(70)}\r\n`.repeat(112_000) };
    const stopped = await world.startPeer('127.0.0.14', stopsReading);
    world.addDomain('stuck.example', '127.0.0.14');
    world.addDomain('still.example', '127.0.0.14');
    await run.enqueue('known', ['x@good.example']);
    await until(() => run.outcomes.length === 1, 'the first answer');
    for (const name of ['stuck', 'still'])
      for (let count = 0; count < 3; count++)
        await run.enqueue(`${name}-${count}`, [`x@${name}.example`], large);
    await until(() => world.connections.get('127.0.0.14') === 1, 'the message that holds the memory');
    const startedAt = performance.now();
    await run.enqueue('large', ['x@good.example'], large);
    for (let count = 0; count < 5; count++) await run.enqueue(`small-${count}`, ['x@good.example']);
    await run.enqueue('still-small', ['x@still.example']);
    await until(() => run.outcomes.length === 7, 'large and small messages');
    const tookMs = performance.now() - startedAt;
    assert.ok(tookMs < 4_000 * timeScale(), `${tookMs} ms`);
    // One message is in memory, whose peer does not take it; a small one does not wait for that.
    await until(() => world.connections.get('127.0.0.14') === 2, 'the small message of the other one');
    await stopped.close();
  });

  it('small messages to a destination that was never tried do not wait behind its large one, which waits for memory', async () => {
    const run = await start({ maxLargeBytes: 25_000_000, smtpTimeoutMs: 120_000 });
    const large = { text: `${'x'.repeat(70)}\r\n`.repeat(112_000) };
    const stopped = await world.startPeer('127.0.0.19', stopsReading);
    world.addDomain('clogged.example', '127.0.0.19');
    world.addDomain('fresh.example', '127.0.0.1');
    await run.enqueue('clogged', ['x@clogged.example'], large);
    await until(() => world.connections.get('127.0.0.19') === 1, 'the message that holds the memory');
    await run.enqueue('fresh-large', ['x@fresh.example'], large);
    for (let count = 0; count < 3; count++) await run.enqueue(`fresh-${count}`, ['x@fresh.example']);
    await until(() => run.outcomes.length === 3, 'the small messages');
    assert.ok(run.outcomes.every(({ messageId }) => messageId !== 'fresh-large'));
    await stopped.close();
    await until(() => run.outcomes.length === 4, 'the large message, when memory is free');
  });

  it('a peer that is back is found while a server of 60 other domains says nothing', async () => {
    const hour = 3_600_000;
    const run = await start({
      retryWaitsMs: [hour],
      lifetimeMs: 24 * hour,
      probeWaitsMs: [400],
      smtpTimeoutMs: 1_500,
    });
    const others = idsOf('dark', 60);
    const mute = await world.startPeer('127.0.0.12', () => {});
    for (const name of others) world.addDomain(`${name}.example`, '127.0.0.12');
    for (const name of others) await run.enqueue(name, [`x@${name}.example`]);
    world.addDomain('lit.example', '127.0.0.13');
    await run.enqueue('lit', ['x@lit.example']);
    const isTried = async (): Promise<boolean> =>
      (await run.delivery.listAttempts([...others, 'lit'])).length > 60;
    await until(isTried, 'an attempt for each');
    const startedAt = performance.now();
    await world.startPeer('127.0.0.13', 'take');
    await until(() => run.outcomes.length === 1, 'the peer that is back');
    const tookMs = performance.now() - startedAt;
    assert.ok(tookMs < 5_000 * timeScale(), `${tookMs} ms`);
    await mute.close();
  });

  it('an attempt that awaits the reply to a whole message keeps nothing of it', async () => {
    const run = await start({ smtpTimeoutMs: 300_000 });
    let taken = 0;
    world.addDomain('kept.example', '127.0.0.10');
    const peer = await world.startPeer(
      '127.0.0.10',
      silentAtEnd(() => taken++),
    );
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    collect();
    const before = process.memoryUsage().arrayBuffers;
    const text = `${'x'.repeat(70)}\r\n`.repeat(100_000);
    for (let index = 0; index < 8; index++) {
      world.addDomain(`kept${index}.example`, '127.0.0.10');
      await run.enqueue(`kept-${index}`, [`x@kept${index}.example`], { text });
    }
    await until(() => taken === 8, 'the messages');
    let grown = 0;
    await until(() => {
      collect();
      grown = process.memoryUsage().arrayBuffers - before;
      return grown < 8_000_000;
    }, 'less memory').catch(() => assert.fail(`${grown} bytes are kept`));
    await peer.close();
  });

  it('a peer that is away causes a back-off, costs few attempts, and gets all its mail once when it is back', async () => {
    const run = await start({
      retryWaitsMs: [50],
      limits: { failuresBeforeBackOff: 3, backOffMs: 400, maxBackOffMs: 400 },
    });
    const ids = Array.from({ length: 30 }, (_, index) => `away-${index}`);
    for (const id of ids) await run.enqueue(id, ['x@away.example']);
    await until(() => isBackingOff(run, ids), 'the back-off');
    const attempts = await run.delivery.listAttempts(ids);
    assert.ok(attempts.length < 15, `${attempts.length} attempts`);
    assert.ok(attempts.every(({ code, outcome }) => code === 'SMTP_UNREACHABLE' && outcome === 'deferred'));
    await world.startPeer('127.0.0.4', 'take');
    await until(() => run.outcomes.length === 30, 'all of them');
    assert.ok(run.outcomes.every(({ outcome }) => outcome === 'sent'));
    assert.equal(world.mail.length, 30);
    assert.equal(new Set(world.mail.map(({ text }) => /^Message-ID: (.*)$/im.exec(text)?.[1])).size, 30);
  });

  it('a peer that is back gets its mail when a probe finds it, long before its back-off and the waits of the mail end', async () => {
    const hour = 3_600_000;
    const options = {
      retryWaitsMs: [hour],
      lifetimeMs: 24 * hour,
      limits: { failuresBeforeBackOff: 3, backOffMs: hour, maxBackOffMs: hour },
      probeWaitsMs: [50, 100],
    };
    const run = await start(options);
    for (let count = 0; count < 20; count++) await run.enqueue(`back-${count}`, ['x@gone.example']);
    await until(() => isBackingOff(run, idsOf('back', 20)), 'the back-off');
    // A server that greets and then breaks off ends nothing: one attempt is spent; the back-off continues.
    const before = (await run.delivery.listAttempts(idsOf('back', 20))).length;
    const broken = await world.startPeer('127.0.0.6', brokenAtMail);
    await until(
      async () => (await run.delivery.listAttempts(idsOf('back', 20))).length > before,
      'an attempt after a probe',
    );
    assert.ok(await isBackingOff(run, idsOf('back', 20)));
    await broken.close();
    // Another run knows nothing of the outage but what the table says.
    await run.close();
    runs.splice(runs.indexOf(run), 1);
    const next = await start(options);
    await world.startPeer('127.0.0.6', 'take');
    await until(() => next.outcomes.length === 20, 'all of them');
    assert.equal(world.mail.length, 20);
    assert.deepEqual((await next.delivery.listQueue({ limit: 10 })).items, []);
  });
});

describe('a process that stood still for longer than its lease', () => {
  it('sends no data that another node may be sending', async () => {
    // Leases move by hand: to the process, the time between two replies is the standstill.
    const world = await startDeliveryWorld({ isSteady: true });
    world.addDomain('slow.example', '127.0.0.3');
    const received: string[] = [];
    const isAsked = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    await world.startPeer('127.0.0.3', (socket) => {
      slowly(0, (text) => received.push(text))(socket);
      socket.pause();
      isAsked.resolve();
      void goOn.promise.then(() => socket.resume());
    });
    const run = await world.start();
    try {
      await run.enqueue('paused', ['x@slow.example']);
      await isAsked.promise;
      world.clock.advance(120_000);
      await world.db
        .updateTable('delivery_destination')
        .set({ lease_token: 'another node', lease_until: world.clock.now().getTime() + 60_000 })
        .execute();
      goOn.resolve();
      await until(
        () => world.logLines.includes('a lease was lost; nothing was stored'),
        'the lease to be missed',
      );
      assert.deepEqual([received, run.outcomes], [[], []]);
      const [row] = await world.db.selectFrom('delivery_destination').selectAll().execute();
      assert.deepEqual([row?.lease_token, row?.attempts], ['another node', 0]);
    } finally {
      await run.close();
      await world.close();
    }
  });
});
