import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { fc } from '../../../test/support/fast-check.ts';
import { openSocketFrom } from '../../../test/support/open-socket.ts';
import { readMessage, writeQuery, type DnsMessage } from './message.ts';
import { createDnsResolver } from './resolver.ts';
import { createDnsServer, type DnsServerOptions } from './server.ts';
import { createStaticZone } from './respond.ts';

const zone = createStaticZone('direct.example.org', [
  {
    name: 'direct.example.org',
    type: 'SOA',
    ttlSeconds: 300,
    data: {
      primaryServer: 'ns.direct.example.org',
      mailbox: 'hostmaster.direct.example.org',
      serial: 1,
      refreshSeconds: 1,
      retrySeconds: 1,
      expireSeconds: 1,
      minimumSeconds: 60,
    },
  },
  {
    name: 'direct.example.org',
    type: 'MX',
    ttlSeconds: 300,
    data: { priority: 10, exchange: 'mx.direct.example.org' },
  },
  ...[600, 3000, 60_000].map((octets) => ({
    name: `c${octets}.direct.example.org`,
    type: 'CERT' as const,
    ttlSeconds: 300,
    data: { certificateType: 1, keyTag: 0, algorithm: 0, data: new Uint8Array(randomBytes(octets)) },
  })),
]);

async function start(t: TestContext, options: Partial<DnsServerOptions> = {}): Promise<number> {
  const server = await createDnsServer({ host: '127.0.0.1', port: 0, zones: () => [zone], ...options });
  t.after(() => server.close());
  return server.port;
}

function query(id: number, name = 'direct.example.org', type: 'MX' | 'CERT' = 'MX'): Buffer {
  return writeQuery({ id, name, type, isEdns: true });
}

function framed(message: Buffer): Buffer {
  return Buffer.concat([Buffer.of(message.length >> 8, message.length & 255), message]);
}

/** Reads until so many messages have come, or the connection ends. */
async function readMessages(socket: Socket, count: number): Promise<DnsMessage[]> {
  const messages: DnsMessage[] = [];
  let bytes = Buffer.alloc(0);
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    bytes = Buffer.concat([bytes, chunk]);
    while (bytes.length >= 2 && bytes.length >= 2 + bytes.readUInt16BE(0)) {
      messages.push(readMessage(bytes.subarray(2, 2 + bytes.readUInt16BE(0))));
      bytes = bytes.subarray(2 + bytes.readUInt16BE(0));
    }
    if (messages.length >= count) break;
  }
  return messages;
}

test('HOST-02: our resolver finds records at our server, over UDP and, when large, over TCP', async (t) => {
  const port = await start(t);
  const resolver = createDnsResolver({ servers: [{ host: '127.0.0.1', port }] });
  t.after(() => resolver.close());
  assert.equal((await resolver.resolveCert('c600.direct.example.org')).transport, 'udp');
  const large = await resolver.resolveCert('c3000.direct.example.org');
  assert.deepEqual([large.transport, large.records[0]?.data.length], ['tcp', 3000]);
  assert.equal((await resolver.resolveCert('nobody.direct.example.org')).status, 'nxdomain');
  await assert.rejects(resolver.resolveMx('elsewhere.org'), { code: 'DNS_SERVER_FAILURE' });
});

test('RFC 7766 §6.2.1.1: questions pipelined over one connection are all answered, also after the asker has ended', async (t) => {
  const port = await start(t);
  const socket = connect({ host: '127.0.0.1', port });
  const count = 200;
  socket.end(Buffer.concat(Array.from({ length: count }, (_, id) => framed(query(id)))));
  const messages = await readMessages(socket, Infinity);
  assert.equal(messages.length, count);
  assert.deepEqual(
    messages.map((message) => message.id).toSorted((a, b) => a - b),
    Array.from({ length: count }, (_, id) => id),
  );
});

test('RFC 7766 §6.2.1.1: an asker that has ended and reads slowly gets all answers', async (t) => {
  const port = await start(t);
  const socket = connect({ host: '127.0.0.1', port });
  t.after(() => socket.destroy());
  socket.pause();
  // More than the buffers of the kernel take, asked in few octets.
  const count = 600;
  const name = 'c60000.direct.example.org';
  socket.end(Buffer.concat(Array.from({ length: count }, (_, id) => framed(query(id, name, 'CERT')))));
  await new Promise((wait) => setTimeout(wait, 500));
  assert.equal((await readMessages(socket, Infinity)).length, count);
});

test('RFC 7766 §8: a question in single octets is answered', async (t) => {
  const port = await start(t);
  const socket = connect({ host: '127.0.0.1', port, noDelay: true });
  await once(socket, 'connect');
  for (const octet of framed(query(5))) {
    socket.write(Buffer.of(octet));
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.equal((await readMessages(socket, 1))[0]?.id, 5);
});

test('SEC-11: an asker that fetches no answers does not fill the memory, and ends with the idle time', async (t) => {
  const port = await start(t, { limits: { tcpIdleMs: 300, maxTcpConnectionsPerPeer: 1 } });
  const socket = connect({ host: '127.0.0.1', port });
  socket.on('error', () => {});
  socket.pause();
  await once(socket, 'connect');
  const batch = Buffer.concat(
    Array.from({ length: 1_000 }, (_, id) => framed(query(id, 'c3000.direct.example.org', 'CERT'))),
  );
  for (let round = 0; round < 20; round++) socket.write(batch);
  // Another connection is only served after this one has timed out.
  const isServed = async () => {
    const other = connect({ host: '127.0.0.1', port });
    other.on('error', () => {});
    other.write(framed(query(1)));
    const messages = await readMessages(other, 1).catch(() => []);
    other.destroy();
    return messages.length > 0;
  };
  for (let tries = 0; tries < 200 && !(await isServed()); tries++)
    await new Promise((wait) => setTimeout(wait, 50));
  // The client then gets the bytes that the kernel had accepted, not all answers.
  socket.resume();
  await new Promise((resolve) => socket.once('close', resolve));
  assert.ok(socket.bytesRead < (20 * 1_000 * 3_000) / 2, `${socket.bytesRead} octets`);
});

test('SEC-11: connections are limited for each peer; others are served again when one ends', async (t) => {
  const port = await start(t, { limits: { maxTcpConnectionsPerPeer: 2 } });
  const open = async () => {
    const socket = connect({ host: '127.0.0.1', port });
    await once(socket, 'connect');
    return socket;
  };
  const first = await open();
  const second = await open();
  const third = await open();
  third.on('error', () => {});
  await new Promise((resolve) => third.once('close', resolve));
  first.destroy();
  second.write(framed(query(9)));
  assert.equal((await readMessages(second, 1))[0]?.id, 9);
});

test('SEC-11: when all connections are in use, one that asks nothing makes room, and one that waits for its answer does not', async (t) => {
  const answers = Promise.withResolvers<void>();
  let isSlow = false;
  const port = await start(t, {
    limits: { maxTcpConnections: 3, tcpEvictIdleMs: 100 },
    zones: async () => {
      if (isSlow) await answers.promise;
      return [zone];
    },
  });
  const open = (host: number): Promise<Socket> => openSocketFrom(t, port, host);
  const ask = async (socket: Socket): Promise<number | undefined> => {
    socket.write(framed(query(9)));
    return (await readMessages(socket, 1))[0]?.id;
  };
  const idle = [await open(11), await open(12), await open(13)];
  const ended = Promise.race(idle.map((socket) => once(socket, 'close')));
  // A peer that sends its question in drops asks nothing either.
  for (const socket of idle) socket.write(Buffer.of(0));
  await new Promise((wait) => setTimeout(wait, 150));
  assert.equal(await ask(await open(21)), 9);
  await ended;
  await new Promise((wait) => setTimeout(wait, 150));
  isSlow = true;
  const asking = [await open(22), await open(23), await open(24)].map(ask);
  await new Promise((wait) => setTimeout(wait, 150));
  assert.equal(await ask(await open(25)), undefined);
  answers.resolve();
  assert.deepEqual(await Promise.all(asking), [9, 9, 9]);
});

test('SEC-11: hostile packets over UDP and TCP do not stop the service', async (t) => {
  const port = await start(t);
  const udp = createSocket('udp4');
  const whole = query(1);
  const hostile = [
    ...fc.sample(fc.uint8Array({ maxLength: 600 }), 300).map((bytes) => Buffer.from(bytes)),
    ...Array.from({ length: whole.length }, (_, length) => whole.subarray(0, length)),
    ...Array.from({ length: whole.length }, (_, at) => {
      const changed = Buffer.from(whole);
      changed[at] = 0xff;
      return changed;
    }),
  ];
  for (const bytes of hostile) await new Promise((resolve) => udp.send(bytes, port, '127.0.0.1', resolve));
  udp.close();
  for (const bytes of hostile.slice(0, 50)) {
    const socket = connect({ host: '127.0.0.1', port });
    socket.on('error', () => {});
    socket.end(framed(bytes));
    socket.resume();
    await new Promise((resolve) => socket.once('close', resolve));
  }
  const resolver = createDnsResolver({ servers: [{ host: '127.0.0.1', port }] });
  t.after(() => resolver.close());
  assert.equal((await resolver.resolveMx('direct.example.org')).status, 'found');
});

test('SEC-11: who asks too much over UDP is sent to TCP, and still gets everything', async (t) => {
  const port = await start(t, { limits: { udpResponsesPerSecond: 1, udpResponseBurst: 3 } });
  const resolver = createDnsResolver({ servers: [{ host: '127.0.0.1', port }], cache: false });
  t.after(() => resolver.close());
  const transports: string[] = [];
  for (let n = 0; n < 10; n++) transports.push((await resolver.resolveMx('direct.example.org')).transport);
  assert.deepEqual([transports[0], transports.at(-1)], ['udp', 'tcp']);
});

test('failures of the zones are reported, over UDP and over TCP', async (t) => {
  const errors: unknown[] = [];
  const port = await start(t, {
    zones: () => Promise.reject(new Error('database')),
    onError: (error) => errors.push(error),
  });
  const udp = createSocket('udp4');
  t.after(() => udp.close());
  udp.send(query(1), port, '127.0.0.1');
  const [answer] = (await once(udp, 'message')) as [Buffer];
  assert.equal(readMessage(answer).rcode, 2);
  const tcp = connect({ host: '127.0.0.1', port });
  t.after(() => tcp.destroy());
  tcp.write(framed(query(2)));
  assert.equal((await readMessages(tcp, 1))[0]?.rcode, 2);
  assert.deepEqual(errors.map(String), ['Error: database', 'Error: database']);
});

test('closing twice is harmless, and a port in use is reported', async (t) => {
  const server = await createDnsServer({ host: '127.0.0.1', port: 0, zones: () => [zone] });
  t.after(() => server.close());
  await assert.rejects(createDnsServer({ host: '127.0.0.1', port: server.port, zones: () => [] }), {
    code: 'EADDRINUSE',
  });
  await server.close();
  await server.close();
});
