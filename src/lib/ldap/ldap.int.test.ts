import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { openSocketFrom } from '../../../test/support/open-socket.ts';
import { der } from '../asn1/index.ts';
import { createLdapClient, type LdapClientOptions } from './client.ts';
import { createMessageReader } from './message-reader.ts';
import {
  operations,
  writeBindRequest,
  writeEntry,
  writeResult,
  writeSearchRequest,
  type LdapMessage,
} from './message.ts';
import { createLdapResponder, type LdapResponderOptions } from './responder.ts';
import { findLdapTargets, type LdapTarget } from './targets.ts';
import { discoveryFilter } from './find-certificates.ts';

const certificate = Uint8Array.from({ length: 900 }, (_, index) => (index === 0 ? 0x30 : index & 0xff));
const dns: LdapClientOptions['dns'] = {
  resolveAddresses: async () => ({
    status: 'found',
    records: ['127.0.0.1'],
    ttlSeconds: 60,
    transport: 'udp',
  }),
};
const client = createLdapClient({ dns, allowPrivate: true, timeoutMs: 2_000 });
const target = (port: number): LdapTarget => ({ host: 'ldap.example.org', port, priority: 0, weight: 0 });

async function start(t: TestContext, options: Partial<LdapResponderOptions> = {}): Promise<number> {
  const responder = await createLdapResponder({
    host: '127.0.0.1',
    port: 0,
    findCertificates: (mail) => (mail === 'bob@direct.example.org' ? [certificate] : []),
    ...options,
  });
  t.after(() => responder.close());
  return responder.port;
}

/** A server that answers every connection with the same octets, or keeps silent. */
async function startRude(t: TestContext, answer?: Uint8Array): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', () => {
      if (answer !== undefined) socket.write(answer);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return (server.address() as AddressInfo).port;
}

test('HOST-03: our client finds the certificates that our responder publishes', async (t) => {
  const port = await start(t);
  const found = await client.findCertificates({ targets: [target(port)], mail: 'Bob@direct.example.org' });
  assert.equal(found.status, 'found');
  assert.deepEqual(
    found.certificates.map((one) => Buffer.compare(one, certificate)),
    [0],
  );
  assert.equal(
    (await client.findCertificates({ targets: [target(port)], mail: 'eve@direct.example.org' })).status,
    'absent',
  );
});

test('DISC-07: the next server is asked when one is down, silent, rude or endless; absence is final', async (t) => {
  const good = await start(t);
  const empty = await start(t, { findCertificates: () => [] });
  const endless = der.sequence(der.integer(1), der.tlv(0x64, Buffer.alloc(1_000_000)));
  const quick = createLdapClient({ dns, allowPrivate: true, timeoutMs: 400 });
  for (const port of [
    1,
    await startRude(t),
    await startRude(t, Buffer.from('HTTP/1.1 400\r\n')),
    await startRude(t, Buffer.concat(Array(8).fill(endless))),
  ]) {
    const answer = await quick.findCertificates({
      targets: [target(port), target(good)],
      mail: 'bob@direct.example.org',
    });
    assert.deepEqual(
      answer.attempts.map((attempt) => attempt.outcome),
      ['unreachable', 'found'],
    );
  }
  const absent = await client.findCertificates({
    targets: [target(empty), target(good)],
    mail: 'bob@direct.example.org',
  });
  assert.deepEqual([absent.status, absent.attempts.length], ['absent', 1]);
});

test('SEC-11: a flood of small messages, refusals and a good-bye count as no answer and harm nobody', async (t) => {
  const result = (id: number, operation: number, code: number) =>
    der.sequence(
      der.integer(id),
      der.tlv(
        0x60 | operation,
        der.enumerated(code),
        der.octetString(Buffer.alloc(0)),
        der.octetString(Buffer.alloc(0)),
      ),
    );
  const flood = Buffer.concat(Array.from({ length: 60_000 }, () => Buffer.from('30050201097800', 'hex')));
  const cases = [
    [flood, /too many messages/],
    [result(1, 1, 48), /refuses the anonymous bind with code 48/],
    [result(0, 24, 52), /ends the connection/],
    [Buffer.concat([result(1, 1, 0), result(2, 5, 0), result(3, 5, 51)]), /ends the search with code 51/],
    [der.sequence(der.integer(1), der.tlv(0x61)), /Not an LDAP message/],
  ] as const;
  for (const [answer, detail] of cases) {
    const port = await startRude(t, answer);
    const { status, attempts } = await client.findCertificates({ targets: [target(port)], mail: 'a@b.org' });
    assert.equal(status, 'unreachable');
    assert.match(attempts[0]?.detail ?? '', detail);
  }
});

test('DISC-11: a size limit, a referral or a reference without a certificate is no absence', async (t) => {
  const { searchResultDone, searchResultReference, bindResponse } = operations;
  const reference = der.sequence(
    der.integer(3),
    der.tlv(0x60 | searchResultReference, der.octetString(Buffer.from('ldap://other.example.org/o=a'))),
  );
  const entry = writeEntry(3, 'o=a', [{ name: 'userCertificate', values: [certificate] }]);
  const answerWith = (code: number, ...before: readonly Uint8Array[]): Buffer =>
    Buffer.concat([
      writeResult(1, bindResponse, 0),
      writeResult(2, searchResultDone, 0),
      ...before,
      writeResult(3, searchResultDone, code),
    ]);
  const statusOf = async (answer: Buffer): Promise<string> => {
    const targets = [target(await startRude(t, answer))];
    return (await client.findCertificates({ targets, mail: 'a@b.org' })).status;
  };
  assert.equal(await statusOf(answerWith(4)), 'unreachable');
  assert.equal(await statusOf(answerWith(10)), 'unreachable');
  assert.equal(await statusOf(answerWith(0, reference)), 'unreachable');
  for (const limit of [3, 4, 10, 11]) assert.equal(await statusOf(answerWith(limit, entry)), 'found');
  assert.equal(await statusOf(answerWith(0, entry, reference)), 'found');
  assert.equal(await statusOf(answerWith(0)), 'absent');
  for (const name of [
    'userCertificate;range=0-0',
    'USERCERTIFICATE;lang-en;BINARY',
    '2.5.4.36',
    '2.16.840.1.113730.3.1.40',
  ])
    assert.equal(
      await statusOf(answerWith(0, writeEntry(3, 'o=a', [{ name, values: [certificate] }]))),
      'found',
      name,
    );
  const other = writeEntry(3, 'o=a', [{ name: 'userCertificates', values: [certificate] }]);
  assert.equal(await statusOf(answerWith(0, other)), 'absent');
});

test('DISC-08: userSMIMECertificate is asked for and read', async (t) => {
  const requests: Buffer[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (data) => {
      requests.push(data);
      const values = { name: 'userSMIMECertificate;binary', values: [certificate] };
      if (requests.length === 1) socket.write(writeResult(1, operations.bindResponse, 0));
      if (requests.length === 2) socket.write(writeResult(2, operations.searchResultDone, 0));
      if (requests.length === 3)
        socket.write(
          Buffer.concat([writeEntry(3, 'o=a', [values]), writeResult(3, operations.searchResultDone, 0)]),
        );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const targets = [target((server.address() as AddressInfo).port)];
  const answer = await client.findCertificates({ targets, mail: 'a@b.org' });
  assert.deepEqual(answer.certificates.map(Buffer.from), [Buffer.from(certificate)]);
  assert.match(String(requests[2]), /userSMIMECertificate;binary/);
});

/**
 * A server with two naming contexts: the first answers with these certificates, the second with a code, or it
 * hangs up.
 */
async function startTwoContexts(
  t: TestContext,
  first: readonly Uint8Array[],
  second: number | 'hangs up',
): Promise<number> {
  const done = (id: number, operation = 5) => writeResult(id, operation, 0);
  const contexts = [Buffer.from('o=a'), Buffer.from('o=b')];
  const found = first.map((der) => writeEntry(3, 'o=a', [{ name: 'userCertificate;binary', values: [der] }]));
  const answers = [
    done(1, 1),
    Buffer.concat([writeEntry(2, '', [{ name: 'namingContexts', values: contexts }]), done(2)]),
    Buffer.concat([...found, done(3)]),
  ];
  const server = createServer((socket) => {
    let requests = 0;
    socket.on('error', () => {});
    socket.on('data', () => {
      const answer = answers[requests++];
      if (answer !== undefined) socket.write(answer);
      else if (second === 'hangs up') socket.destroy();
      else socket.write(writeResult(requests, 5, second));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return (server.address() as AddressInfo).port;
}

test('DISC-11: nothing in one context is no absence while another one may still have it', async (t) => {
  const ask = async (second: number | 'hangs up'): Promise<string> => {
    const port = await startTwoContexts(t, [], second);
    return (await client.findCertificates({ targets: [target(port)], mail: 'a@b.org' })).status;
  };
  const outcomesOf = (seconds: readonly (number | 'hangs up')[]) => Promise.all(seconds.map(ask));
  assert.deepEqual(await outcomesOf([3, 4, 10, 51, 52, 'hangs up']), Array(6).fill('unreachable'));
  // The others are closed to us for good.
  assert.deepEqual(await outcomesOf([0, 1, 50, 53]), Array(4).fill('absent'));
});

test('DISC-11: what one context has is not all while another one may have more', async (t) => {
  const ask = async (second: number | 'hangs up') => {
    const port = await startTwoContexts(t, [certificate], second);
    const answer = await client.findCertificates({ targets: [target(port)], mail: 'a@b.org' });
    return [answer.status, answer.certificates.length, answer.isIncomplete, answer.attempts[0]?.detail];
  };
  const busy = 'The LDAP server ends the search with code 51';
  assert.deepEqual(await ask(51), ['found', 1, true, busy]);
  assert.deepEqual(await ask('hangs up'), ['found', 1, true, 'The LDAP server closed the connection']);
  assert.deepEqual(await ask(50), ['found', 1, undefined, undefined]);
});

test('DISC-07: no server, or none that answers, is reported as unreachable', async () => {
  assert.equal((await client.findCertificates({ targets: [], mail: 'a@b.org' })).status, 'unreachable');
  const answer = await client.findCertificates({ targets: [target(1)], mail: 'a@b.org' });
  assert.equal(answer.status, 'unreachable');
  assert.match(answer.attempts[0]?.detail ?? '', /ECONNREFUSED/);
  const failingDns = createLdapClient({
    dns: { resolveAddresses: () => Promise.reject(new Error('no answer')) },
  });
  assert.equal(
    (await failingDns.findCertificates({ targets: [target(389)], mail: 'a@b.org' })).status,
    'unreachable',
  );
});

test('SEC-11: servers on private addresses are not asked unless allowed', async (t) => {
  const port = await start(t);
  const guarded = createLdapClient({ dns });
  const answer = await guarded.findCertificates({ targets: [target(port)], mail: 'bob@direct.example.org' });
  assert.deepEqual(
    [answer.status, answer.attempts[0]?.detail],
    ['unreachable', '127.0.0.1 is not a public address'],
  );
});

test('DISC-06: SRV targets by priority, then the highest weight first', async () => {
  const record = (priority: number, weight: number, name: string) => ({
    priority,
    weight,
    port: 389,
    target: name,
  });
  const answer = {
    status: 'found',
    records: [record(1, 0, 'c'), record(0, 0, 'b'), record(0, 100, 'a'), record(0, 5, '')],
    ttlSeconds: 1,
    transport: 'udp',
  } as const;
  const asked: string[] = [];
  const resolveSrv = async (name: string) => {
    asked.push(name);
    return answer;
  };
  const targets = await findLdapTargets('direct.example.org', { resolveSrv });
  assert.deepEqual(
    targets.map(({ host }) => host),
    ['a', 'b', 'c'],
  );
  assert.deepEqual(asked, ['_ldap._tcp.direct.example.org']);
});

test('SEC-12: a filter cannot be broken out of', async (t) => {
  const asked: string[] = [];
  const port = await start(t, {
    findCertificates: (mail) => {
      asked.push(mail);
      return [];
    },
  });
  await client.findCertificates({ targets: [target(port)], mail: 'a)(mail=*)(x=@b.org' });
  assert.deepEqual(asked, ['a)(mail=*)(x=@b.org']);
});

test('SEC-11: oversized, indefinite and non-LDAP requests end the connection, others continue', async (t) => {
  const port = await start(t);
  for (const bytes of ['3084ffffffff', '3080', '474554202f', '30820000ff']) {
    const socket = connect({ host: '127.0.0.1', port });
    socket.on('error', () => {});
    socket.resume();
    socket.write(Buffer.concat([Buffer.from(bytes, 'hex'), Buffer.alloc(20_000)]));
    await new Promise((resolve) => socket.once('close', resolve));
  }
  assert.equal(
    (await client.findCertificates({ targets: [target(port)], mail: 'bob@direct.example.org' })).status,
    'found',
  );
});

test('requests in pieces and in one piece are answered in their order', async (t) => {
  const port = await start(t);
  const bind = (id: number) =>
    der.sequence(
      der.integer(id),
      der.tlv(0x60, der.integer(3), der.octetString(Buffer.alloc(0)), der.implicit(0, false)),
    );
  const socket = connect({ host: '127.0.0.1', port, noDelay: true });
  await once(socket, 'connect');
  const count = 60;
  const all = Buffer.concat(Array.from({ length: count }, (_, id) => bind(id + 1)));
  socket.write(all.subarray(0, 9));
  await new Promise((resolve) => setImmediate(resolve));
  socket.write(all.subarray(9));
  let received = Buffer.alloc(0);
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    received = Buffer.concat([received, chunk]);
    if (received.length >= count * 14) break;
  }
  const ids = Array.from({ length: count }, (_, index) => received[index * 14 + 4]);
  assert.deepEqual(
    ids,
    Array.from({ length: count }, (_, index) => index + 1),
  );
});

test('HOST-03: a client that closes its side right after its queries gets their answers', async (t) => {
  const port = await start(t, {
    async findCertificates() {
      await wait(50);
      return [certificate];
    },
  });
  const parameters = {
    base: 'o=openhisp',
    scope: 'sub',
    filter: discoveryFilter('bob@direct.example.org'),
    attributes: ['userCertificate;binary'],
    sizeLimit: 1,
    timeLimitSeconds: 1,
  } as const;
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
  t.after(() => socket.destroy());
  socket.end(
    Buffer.concat([
      writeBindRequest(1),
      writeSearchRequest(2, parameters),
      writeSearchRequest(3, parameters),
    ]),
  );
  const answers: LdapMessage[] = [];
  const reader = createMessageReader((message) => answers.push(message));
  for await (const chunk of socket as AsyncIterable<Buffer>) reader.push(chunk);
  assert.deepEqual(
    answers.map(({ id, operation }) => `${id}:${operation}`),
    ['1:1', '2:4', '2:5', '3:4', '3:5'],
  );
});

test('SEC-11: what a client sends after its unbind, or after nonsense, is dropped, and it is cut off', async (t) => {
  const port = await start(t);
  const unbind = Buffer.of(0x30, 5, 2, 1, 1, 0x42, 0);
  const requests = Buffer.concat(Array<Buffer>(4_000).fill(writeBindRequest(2)));
  for (const last of [unbind, Buffer.from('GET /')]) {
    const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
    t.after(() => socket.destroy());
    socket.on('error', () => {});
    socket.resume();
    socket.write(last);
    await once(socket, 'end');
    const before = process.memoryUsage().arrayBuffers;
    const flood = (): void => {
      while (!socket.destroyed && socket.write(requests));
    };
    socket.on('drain', flood);
    flood();
    const closed = new Promise((resolve) => socket.once('close', resolve));
    await Promise.race([closed, wait(5_000, undefined, { ref: false })]);
    assert.ok(socket.destroyed, 'still open');
    assert.ok(process.memoryUsage().arrayBuffers - before < 100_000_000);
  }
});

test('SEC-11: connections are limited for each peer', async (t) => {
  const port = await start(t, { limits: { maxConnectionsPerPeer: 1 } });
  const first = connect({ host: '127.0.0.1', port });
  await once(first, 'connect');
  const second = connect({ host: '127.0.0.1', port });
  second.on('error', () => {});
  second.resume();
  // An idle connection is closed after a minute.
  await once(second, 'close', { signal: AbortSignal.timeout(20_000) });
  assert.equal(first.destroyed, false);
  first.destroy();
});

test('SEC-11: when all connections are in use, one that asks nothing makes room, and one that waits for its answer does not', async (t) => {
  const answers = Promise.withResolvers<void>();
  let isSlow = false;
  const port = await start(t, {
    limits: { maxConnections: 3, evictIdleMs: 100 },
    async findCertificates() {
      if (isSlow) await answers.promise;
      return [certificate];
    },
  });
  const open = (host: number): Promise<Socket> => openSocketFrom(t, port, host);
  const ask = async (): Promise<string> =>
    (await client.findCertificates({ targets: [target(port)], mail: 'bob@direct.example.org' })).status;
  const idle = [await open(11), await open(12), await open(13)];
  const ended = Promise.race(idle.map((socket) => once(socket, 'close')));
  // A peer that sends its request in drops asks nothing either.
  for (const socket of idle) socket.write(Buffer.of(0x30));
  await wait(150);
  assert.equal(await ask(), 'found');
  await ended;
  await wait(150);
  isSlow = true;
  const asking = [ask(), ask(), ask()];
  await wait(150);
  assert.equal(await ask(), 'unreachable');
  answers.resolve();
  assert.deepEqual(await Promise.all(asking), ['found', 'found', 'found']);
});
