import assert from 'node:assert/strict';
import { createSocket, type Socket } from 'node:dgram';
import { createServer, type Server } from 'node:net';
import { test, type TestContext } from 'node:test';
import { createManualClock } from '../../core/index.ts';
import { askOverTcp, askOverUdp } from './exchange.ts';
import { readMessage, writeQuery, writeResponse, type DnsMessage } from './message.ts';
import type { DnsRecord } from './records.ts';
import { createDnsResolver, type DnsResolverOptions } from './resolver.ts';

type Reply = Buffer | undefined | (() => void);

interface Script {
  /** Undefined keeps silent. */
  udp?(query: DnsMessage, count: number): Reply | Reply[];
  tcp?(query: DnsMessage, count: number): Buffer | undefined;
  /** Octets written at once over TCP. Default: all. */
  readonly tcpOctets?: number;
}

interface ScriptedServer {
  readonly port: number;
  readonly udpQueries: DnsMessage[];
  readonly tcpQueries: DnsMessage[];
  readonly udpPorts: number[];
}

/** A server that says what the test wants, at the same port over UDP and TCP. */
async function startScripted(t: TestContext, script: Script): Promise<ScriptedServer> {
  const tcp: Server = createServer();
  await new Promise<void>((resolve) => tcp.listen(0, '127.0.0.1', resolve));
  const address = tcp.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const udp: Socket = createSocket('udp4');
  await new Promise<void>((resolve) => udp.bind(port, '127.0.0.1', resolve));
  const server: ScriptedServer = { port, udpQueries: [], tcpQueries: [], udpPorts: [] };
  udp.on('message', (bytes, peer) => {
    const query = readMessage(bytes);
    server.udpQueries.push(query);
    server.udpPorts.push(peer.port);
    for (const reply of [script.udp?.(query, server.udpQueries.length)].flat()) {
      if (Buffer.isBuffer(reply)) udp.send(reply, peer.port, peer.address);
    }
  });
  tcp.on('connection', (socket) => {
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      const query = readMessage(bytes.subarray(2));
      server.tcpQueries.push(query);
      const reply = script.tcp?.(query, server.tcpQueries.length);
      if (reply === undefined) return void socket.destroy();
      const framed = Buffer.concat([Buffer.of(reply.length >> 8, reply.length & 255), reply]);
      const size = script.tcpOctets ?? framed.length;
      const writeFrom = (at: number): void => {
        socket.write(framed.subarray(at, at + size));
        if (at + size < framed.length && !socket.destroyed) setImmediate(writeFrom, at + size);
      };
      writeFrom(0);
    });
  });
  t.after(() => {
    udp.close();
    tcp.close();
  });
  return server;
}

function resolverFor(
  t: TestContext,
  servers: readonly { port: number }[],
  options: Partial<DnsResolverOptions> = {},
) {
  const resolver = createDnsResolver({
    servers: servers.map(({ port }) => ({ host: '127.0.0.1', port })),
    timeoutMs: 5_000,
    attempts: 1,
    ...options,
  });
  t.after(() => resolver.close());
  return resolver;
}

const mx = (name: string): DnsRecord => ({
  name,
  type: 'MX',
  ttlSeconds: 60,
  data: { priority: 10, exchange: 'mx.example.org' },
});
const answerMx = (query: DnsMessage): Buffer =>
  writeResponse(
    query,
    { rcode: 0, isAuthoritative: true, answers: [mx(query.questions[0]?.name ?? '')] },
    65_535,
  );
const answerCode = (query: DnsMessage, rcode: number): Buffer =>
  writeResponse(query, { rcode, isAuthoritative: true }, 512);

test('DISC-05: asks with EDNS0, and over TCP when the answer is truncated', async (t) => {
  const server = await startScripted(t, {
    udp: (query) =>
      writeResponse(query, { rcode: 0, isAuthoritative: true, answers: [mx('x'), mx('y')] }, 20),
    tcp: answerMx,
  });
  const answer = await resolverFor(t, [server]).resolveMx('example.org');
  assert.deepEqual([answer.status, answer.transport, answer.records.length], ['found', 'tcp', 1]);
  assert.equal(server.udpQueries[0]?.edns?.udpOctets, 1232);
});

test('DISC-05: a large answer over TCP may come in single octets', async (t) => {
  const answers = Array.from({ length: 20 }, (_, keyTag) => ({
    name: 'example.org',
    type: 'CERT' as const,
    ttlSeconds: 60,
    data: { certificateType: 1, keyTag, algorithm: 0, data: Buffer.alloc(1500, keyTag) },
  }));
  const answer = (query: DnsMessage, octets: number) =>
    writeResponse(query, { rcode: 0, isAuthoritative: true, answers }, octets);
  const server = await startScripted(t, {
    udp: (query) => answer(query, 512),
    tcp: (query) => answer(query, 65_535),
    tcpOctets: 1,
  });
  const { records } = await resolverFor(t, [server]).resolveCert('example.org');
  assert.deepEqual(
    records.map(({ keyTag, data }) => [keyTag, data.length]),
    answers.map(({ data }) => [data.keyTag, 1500]),
  );
});

test('an answer over TCP takes no more memory than it is long', async (t) => {
  const server = await startScripted(t, { tcp: answerMx });
  const query = writeQuery({ id: 1, name: 'example.org', type: 'MX', isEdns: false });
  const { signal } = new AbortController();
  const ask = () =>
    askOverTcp({ server: { host: '127.0.0.1', port: server.port }, query, timeoutMs: 5000, signal });
  await ask();
  const before = process.memoryUsage().arrayBuffers;
  for (let count = 0; count < 200; count++) await ask();
  const octets = process.memoryUsage().arrayBuffers - before;
  assert.ok(octets < 200 * 8_192, `${octets} octets`);
});

test('DISC-05: asks over TCP when a datagram is cut off without saying so', async (t) => {
  const server = await startScripted(t, { udp: (query) => answerMx(query).subarray(0, 40), tcp: answerMx });
  assert.equal((await resolverFor(t, [server]).resolveMx('example.org')).transport, 'tcp');
});

test('RFC 5452 §9: ids and source ports are random, and an answer that does not match is ignored', async (t) => {
  const forged = (query: DnsMessage) => {
    const wrongId = answerMx(query);
    wrongId.writeUInt16BE(query.id ^ 1, 0);
    const wrongName = answerMx(query);
    wrongName.write('evil', 13);
    const notAResponse = Buffer.from(query.bytes);
    return [wrongId, wrongName, notAResponse, Buffer.from('x'), answerMx(query)];
  };
  const server = await startScripted(t, { udp: forged });
  const resolver = resolverFor(t, [server], { cache: false });
  for (let round = 0; round < 8; round++) {
    assert.equal((await resolver.resolveMx('example.org')).records[0]?.exchange, 'mx.example.org');
  }
  assert.ok(new Set(server.udpQueries.map((query) => query.id)).size > 4);
  assert.ok(new Set(server.udpPorts).size > 2);
});

test('RFC 5452: a rain of strays, or a name in another case than asked, is settled over TCP', async (t) => {
  const rain = await startScripted(t, {
    udp: (query) =>
      Array.from({ length: 40 }, () => {
        const stray = answerMx(query);
        stray.writeUInt16BE((query.id + 1) & 0xffff, 0);
        return stray;
      }),
    tcp: answerMx,
  });
  assert.equal((await resolverFor(t, [rain]).resolveMx('example.org')).transport, 'tcp');
  const lowerCase = await startScripted(t, {
    udp: (query) => {
      const reply = answerMx(query);
      reply.write(reply.toString('latin1', 12, 25).toLowerCase(), 12, 'latin1');
      return reply;
    },
    tcp: answerMx,
  });
  const random = { bytes: (length: number) => new Uint8Array(length).fill(0xff) };
  const answer = await resolverFor(t, [lowerCase], { random }).resolveMx('example.org');
  assert.deepEqual([answer.transport, lowerCase.udpQueries[0]?.questions[0]?.name], ['tcp', 'EXAMPLE.ORG']);
});

test('RFC 5452: a server that changes the case of names is asked in plain case from then on', async (t) => {
  const folded = (query: DnsMessage) => {
    const reply = answerMx(query);
    reply.write(reply.toString('latin1', 12, 25).toLowerCase(), 12, 'latin1');
    return reply;
  };
  const server = await startScripted(t, { udp: folded, tcp: folded });
  const random = { bytes: (length: number) => new Uint8Array(length).fill(0xff) };
  const resolver = resolverFor(t, [server], { random, cache: false });
  assert.equal((await resolver.resolveMx('example.org')).transport, 'tcp');
  assert.equal((await resolver.resolveMx('example.org')).transport, 'udp');
});

test('DISC-11: silence is a transient failure, and the next server is asked', async (t) => {
  const silent = await startScripted(t, {});
  await assert.rejects(resolverFor(t, [silent], { timeoutMs: 50 }).resolveMx('example.org'), {
    code: 'DNS_TIMEOUT',
    isTransient: true,
  });
  const good = await startScripted(t, { udp: answerMx });
  assert.equal(
    (await resolverFor(t, [silent, good], { timeoutMs: 1_000 }).resolveMx('example.org')).status,
    'found',
  );
});

test('a server that fails, refuses, refers or sends nonsense is skipped; alone, it is a transient failure', async (t) => {
  const good = await startScripted(t, { udp: answerMx });
  const referral = (query: DnsMessage) =>
    writeResponse(
      query,
      {
        rcode: 0,
        isAuthoritative: false,
        authorities: [{ name: 'org', type: 'NS', ttlSeconds: 1, data: 'ns.org' }],
      },
      512,
    );
  for (const [reply, code] of [
    [(query: DnsMessage) => answerCode(query, 2), 'DNS_SERVER_FAILURE'],
    [(query: DnsMessage) => answerCode(query, 5), 'DNS_SERVER_FAILURE'],
    [referral, 'DNS_SERVER_FAILURE'],
    [(query: DnsMessage) => Buffer.from(query.bytes.subarray(0, 13)), 'DNS_UNREACHABLE'],
  ] as const) {
    const bad = await startScripted(t, { udp: reply });
    await assert.rejects(resolverFor(t, [bad]).resolveMx('example.org'), { code, isTransient: true });
    assert.equal((await resolverFor(t, [bad, good]).resolveMx('example.org')).status, 'found');
  }
});

test('a port without a listener is a transient failure', async (t) => {
  const server = await startScripted(t, {});
  await assert.rejects(resolverFor(t, [{ port: 1 }]).resolveMx('example.org'), { code: 'DNS_UNREACHABLE' });
  assert.equal(server.udpQueries.length, 0);
});

test('a server to which this machine has no way is a transient failure', async (t) => {
  // No socket may be connected to the broadcast address, as none to an address without a route.
  const resolver = createDnsResolver({
    servers: [{ host: '255.255.255.255', port: 53 }],
    timeoutMs: 2000,
    attempts: 1,
  });
  t.after(() => resolver.close());
  await assert.rejects(resolver.resolveMx('example.org'), { code: 'DNS_UNREACHABLE', isTransient: true });
});

test('a query may be aborted at any moment of its beginning', async (t) => {
  const silent = await startScripted(t, {});
  const query = writeQuery({ id: 1, name: 'example.org', type: 'MX', isEdns: false });
  for (let ticks = 0; ticks < 6; ticks++) {
    const abort = new AbortController();
    const server = { host: '127.0.0.1', port: silent.port };
    const asked = askOverUdp({ server, query, timeoutMs: 5000, signal: abort.signal });
    const waitOrAbort = (left: number): void =>
      left === 0 ? abort.abort() : process.nextTick(waitOrAbort, left - 1);
    waitOrAbort(ticks);
    await assert.rejects(asked, { code: 'DNS_CLOSED' });
  }
});

test('over TCP, answers to other questions, too many octets and truncation are refused', async (t) => {
  const truncated = (query: DnsMessage) =>
    writeResponse(query, { rcode: 0, isAuthoritative: true, answers: [mx('x')] }, 20);
  const other = (query: DnsMessage) => {
    const reply = answerMx(query);
    reply.writeUInt16BE(query.id ^ 1, 0);
    return reply;
  };
  for (const tcp of [truncated, other, () => Buffer.alloc(100)]) {
    const server = await startScripted(t, { udp: truncated, tcp });
    await assert.rejects(resolverFor(t, [server]).resolveMx('example.org'), { code: 'DNS_MESSAGE_INVALID' });
  }
});

test('RFC 6891 §7: a server from before EDNS0 is asked again without', async (t) => {
  const server = await startScripted(t, {
    udp: (query) => (query.edns === undefined ? answerMx(query) : answerCode(query, 1)),
  });
  assert.equal((await resolverFor(t, [server]).resolveMx('example.org')).status, 'found');
  assert.equal(server.udpQueries.length, 2);
});

test('NXDOMAIN and NODATA are answers, kept by the minimum of the SOA', async (t) => {
  const soa = {
    name: 'org',
    type: 'SOA',
    ttlSeconds: 3600,
    data: {
      primaryServer: 'ns.org',
      mailbox: 'x.org',
      serial: 1,
      refreshSeconds: 1,
      retrySeconds: 1,
      expireSeconds: 1,
      minimumSeconds: 120,
    },
  } as const;
  const server = await startScripted(t, {
    udp: (query) =>
      writeResponse(
        query,
        { rcode: query.questions[0]?.type === 15 ? 3 : 0, isAuthoritative: true, authorities: [soa] },
        512,
      ),
  });
  const clock = createManualClock(new Date('2026-01-01T00:00:00Z'));
  const resolver = resolverFor(t, [server], { clock });
  assert.deepEqual(await resolver.resolveMx('example.org'), {
    status: 'nxdomain',
    records: [],
    ttlSeconds: 120,
    transport: 'udp',
  });
  assert.equal((await resolver.resolveSrv('example.org')).status, 'nodata');
  await resolver.resolveMx('EXAMPLE.org');
  assert.equal(server.udpQueries.length, 2);
  clock.advance(121_000);
  await resolver.resolveMx('example.org');
  assert.equal(server.udpQueries.length, 3);
});

test('equal questions at the same time are asked once', async (t) => {
  const server = await startScripted(t, { udp: answerMx });
  const resolver = resolverFor(t, [server]);
  const answers = await Promise.all(Array.from({ length: 10 }, () => resolver.resolveMx('example.org')));
  assert.deepEqual([answers.length, server.udpQueries.length], [10, 1]);
});

test('aliases are followed over several answers, and circles end', async (t) => {
  const alias = (name: string, target: string): DnsRecord => ({
    name,
    type: 'CNAME',
    ttlSeconds: 30,
    data: target,
  });
  const server = await startScripted(t, {
    udp: (query) => {
      const name = query.questions[0]?.name ?? '';
      const answers =
        name.toLowerCase() === 'a.org'
          ? [alias(name, 'b.org')]
          : name.toLowerCase() === 'c.org'
            ? [alias(name, 'C.org')]
            : [mx(name)];
      return writeResponse(query, { rcode: 0, isAuthoritative: true, answers }, 512);
    },
  });
  const resolver = resolverFor(t, [server]);
  const answer = await resolver.resolveMx('a.org');
  assert.deepEqual([answer.status, answer.ttlSeconds, server.udpQueries.length], ['found', 30, 2]);
  await assert.rejects(resolver.resolveMx('c.org'), { code: 'DNS_ALIAS_LOOP' });
});

test('addresses: one family suffices, and absence needs both', async (t) => {
  const server = await startScripted(t, {
    udp: (query) => {
      const name = query.questions[0]?.name ?? '';
      if (query.questions[0]?.type === 28) return answerCode(query, 2);
      if (name.toLowerCase() !== 'v4.org')
        return writeResponse(query, { rcode: 0, isAuthoritative: true }, 512);
      return writeResponse(
        query,
        { rcode: 0, isAuthoritative: true, answers: [{ name, type: 'A', ttlSeconds: 5, data: '192.0.2.9' }] },
        512,
      );
    },
  });
  const resolver = resolverFor(t, [server]);
  assert.deepEqual((await resolver.resolveAddresses('v4.org')).records, ['192.0.2.9']);
  await assert.rejects(resolver.resolveAddresses('none.org'), { code: 'DNS_SERVER_FAILURE' });
});

test('refuses names that cannot be queried; closing ends queries in progress', async (t) => {
  const asked = Promise.withResolvers<void>();
  const silent = await startScripted(t, {
    udp: () => {
      asked.resolve();
      return undefined;
    },
  });
  const resolver = resolverFor(t, [silent], { timeoutMs: 60_000 });
  await assert.rejects(resolver.resolveMx('a..b'), { code: 'DNS_NAME_INVALID', isTransient: false });
  const pending = resolver.resolveMx('example.org');
  void asked.promise.then(() => resolver.close());
  await assert.rejects(pending, { code: 'DNS_CLOSED' });
  await assert.rejects(resolver.resolveMx('example.net'), { code: 'DNS_CLOSED' });
});
