import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { type Budget, createBudget, type Reservation, type TableConnection } from '../../core/index.ts';
import { type DnsAnswer, DnsError, type MxRecord } from '../dns/index.ts';
import { checkEnvelope, isHostOrLiteral, isMailbox, readPath } from './address.ts';
import { createConnectionTable, networkOf, replyToRefused } from './connection-table.ts';
import { requirePublicHosts, resolveMailHosts } from './mail-hosts.ts';
import { type CollectedMessage, collectMessage } from './receive.ts';
import { readReply } from './reply.ts';

const local64 = 'a'.repeat(64);

test('RFC 5321 §4.1.2: mailboxes that SMTP can carry', () => {
  for (const address of [
    "o'brien+x=y@direct.example.org",
    `${local64}@a.org`,
    '"a b"@a.org',
    '"a\\"b"@a.org',
    'a@[192.0.2.1]',
    'a@[IPv6:2001:db8::1]',
  ]) {
    assert.ok(isMailbox(address), address);
  }
});

test('SEC-12: addresses that could smuggle commands or parameters are refused', () => {
  const bad = [
    'a@b.org\r\nRSET',
    'a@b.org>',
    '<a@b.org',
    'a@b.org SIZE=1',
    'a b@c.org',
    'a@b..org',
    '@b.org',
    'a@',
    'a',
    '',
    'ü@b.org',
  ];
  const more = [
    'a@-b.org',
    `${local64}a@b.org`,
    `a@${'b'.repeat(64)}.org`,
    '"a>b"@c.org',
    '"a\rb"@c.org',
    '"a"b"@c.org',
    'a\0@b.org',
    'a@[x]',
    '.a@b.org',
    'a..b@c.org',
  ];
  for (const address of [...bad, ...more]) {
    assert.equal(isMailbox(address), false, address);
    assert.throws(() => checkEnvelope('', [address]), { code: 'SMTP_ADDRESS_INVALID' });
    if (address !== '')
      assert.throws(() => checkEnvelope(address, ['a@b.org']), { code: 'SMTP_ADDRESS_INVALID' });
  }
  assert.throws(() => checkEnvelope('a@b.org', []), { code: 'SMTP_ADDRESS_INVALID' });
  checkEnvelope('', ['a@b.org']);
  for (const name of ['', 'a b', 'a\r\nb', '[x]', 'a_b']) assert.equal(isHostOrLiteral(name), false, name);
});

test('received domains are brought back to their form on the wire', () => {
  assert.equal(readPath('a@bücher.example'), 'a@xn--bcher-kva.example');
  assert.equal(readPath('A@Example.org'), 'A@Example.org');
  assert.equal(readPath('ü@example.org'), undefined);
});

test('RFC 3463: replies with and without enhanced codes, over several lines', () => {
  assert.deepEqual(readReply('550 5.1.1 No such mailbox'), {
    code: 550,
    enhancedCode: '5.1.1',
    text: 'No such mailbox',
  });
  assert.deepEqual(readReply('450-4.2.1 Try\r\n450 4.2.1 later'), {
    code: 450,
    enhancedCode: '4.2.1',
    text: 'Try  later',
  });
  assert.deepEqual(readReply('421'), { code: 421, text: '' });
  assert.deepEqual(readReply('550 5.1.1.9 x\u001b[2J'), { code: 550, text: '5.1.1.9 x [2J' });
  assert.equal(readReply('550 '.padEnd(10_000, 'x'))?.text.length, 500);
  for (const text of ['', 'hello', '99 x', '5500', '650 x']) assert.equal(readReply(text), undefined, text);
});

type Answers = Readonly<Record<string, readonly string[] | 'nxdomain' | 'fails'>>;

function fakeDns(mx: DnsAnswer<MxRecord>['status'] | readonly MxRecord[], addresses: Answers) {
  const status = typeof mx === 'string' ? mx : 'found';
  return {
    resolveMx: async () =>
      ({ status, records: typeof mx === 'string' ? [] : mx, ttlSeconds: 1, transport: 'udp' }) as const,
    resolveAddresses: async (name: string) => {
      const found = addresses[name] ?? 'nxdomain';
      if (found === 'fails') throw new DnsError('DNS_TIMEOUT', 'no answer');
      if (found === 'nxdomain')
        return { status: 'nxdomain', records: [], ttlSeconds: 1, transport: 'udp' } as const;
      return { status: 'found', records: found, ttlSeconds: 1, transport: 'udp' } as const;
    },
  };
}

test('EDGE-07: mail hosts by MX priority, equal ones shuffled', async () => {
  const mx = [
    { priority: 20, exchange: 'c' },
    { priority: 10, exchange: 'a' },
    { priority: 10, exchange: 'b' },
  ];
  const dns = fakeDns(mx, { a: ['192.0.2.1', '2001:db8::1'], b: ['192.0.2.2'], c: ['192.0.2.3'] });
  const lots =
    (...values: number[]) =>
    () =>
      values.shift() ?? 0;
  const names = async (random: () => number) =>
    (await resolveMailHosts('d.org', dns, random)).hosts.map((host) => `${host.name} ${host.address}`);
  assert.deepEqual(await names(lots(0, 0.1, 0.2)), [
    'a 192.0.2.1',
    'a 2001:db8::1',
    'b 192.0.2.2',
    'c 192.0.2.3',
  ]);
  assert.deepEqual(await names(lots(0, 0.2, 0.1)), [
    'b 192.0.2.2',
    'a 192.0.2.1',
    'a 2001:db8::1',
    'c 192.0.2.3',
  ]);
});

test('EDGE-07: without MX the domain itself; hosts without address are left out', async () => {
  assert.deepEqual(await resolveMailHosts('d.org', fakeDns('nodata', { 'd.org': ['192.0.2.1'] })), {
    hosts: [{ name: 'd.org', address: '192.0.2.1' }],
  });
  const mx = [
    { priority: 1, exchange: 'gone' },
    { priority: 2, exchange: 'slow' },
    { priority: 3, exchange: 'here' },
  ];
  const { hosts, unresolved } = await resolveMailHosts(
    'd.org',
    fakeDns(mx, { slow: 'fails', here: ['192.0.2.1'] }),
  );
  assert.deepEqual(
    hosts.map((host) => host.name),
    ['here'],
  );
  assert.equal((unresolved as DnsError).code, 'DNS_TIMEOUT');
});

test('mail hosts at private addresses are left out, and none else is a permanent failure', () => {
  const at = (address: string) => ({ name: 'mx', address });
  const hosts = [
    at('10.0.0.1'),
    at('8.8.8.8'),
    at('127.0.0.1'),
    at('::ffff:192.168.0.1'),
    at('2606:4700::1'),
  ] as const;
  assert.deepEqual(
    requirePublicHosts('d.org', { hosts }).hosts.map(({ address }) => address),
    ['8.8.8.8', '2606:4700::1'],
  );
  const none = [at('127.0.0.1'), at('fd00::1')] as const;
  assert.throws(() => requirePublicHosts('d.org', { hosts: none }), {
    code: 'SMTP_MAIL_HOST_PRIVATE',
    isTransient: false,
  });
  const unresolved = new DnsError('DNS_TIMEOUT', 'no answer');
  assert.throws(() => requirePublicHosts('d.org', { hosts: none, unresolved }), unresolved);
});

test('EDGE-07, RFC 7505: null MX, missing domains and hosts without address are permanent, silence is not', async () => {
  await assert.rejects(resolveMailHosts('d.org', fakeDns([{ priority: 0, exchange: '' }], {})), {
    code: 'SMTP_NULL_MX',
    isTransient: false,
  });
  await assert.rejects(resolveMailHosts('d.org', fakeDns('nxdomain', {})), {
    code: 'SMTP_DOMAIN_UNKNOWN',
    isTransient: false,
  });
  for (const dns of [fakeDns('nodata', {}), fakeDns([{ priority: 0, exchange: 'gone' }], {})]) {
    await assert.rejects(resolveMailHosts('d.org', dns), { code: 'SMTP_NO_MAIL_HOST', isTransient: false });
  }
  const unsure = fakeDns(
    [
      { priority: 0, exchange: 'gone' },
      { priority: 1, exchange: 'slow' },
    ],
    { slow: 'fails' },
  );
  await assert.rejects(resolveMailHosts('d.org', unsure), { code: 'DNS_TIMEOUT', isTransient: true });
});

const streamOf = (...chunks: readonly (Buffer | string)[]): Readable =>
  Readable.from(chunks.map((chunk) => Buffer.from(chunk as string)));

function reserve(budget: Budget, bytes: number): Reservation {
  const reservation = budget.reserve('peer', bytes);
  assert.ok(typeof reservation !== 'string');
  return reservation;
}

test('SEC-11: a message over the limit or the budget is read to its end, not kept, and releases what it held', async () => {
  const stream = (count: number) => streamOf(...Array.from({ length: count }, () => Buffer.alloc(100)));
  const budget = createBudget({ total: 1_000 });
  const collect = (source: Readable, maxBytes: number, reservation: Reservation) =>
    collectMessage(source, { maxBytes, reservation, maxHeaderBytes: 1000 });
  const held = reserve(budget, 100);
  const whole = await collect(stream(5), 500, held);
  assert.equal(whole.outcome === 'whole' && whole.message.length, 500);
  assert.equal(budget.used, 500);
  assert.equal((await collect(stream(6), 500, reserve(budget, 100))).outcome, 'too-large');
  assert.equal(budget.used, 500);
  // 500 of 1,000 are taken; another 600 do not fit.
  assert.equal((await collect(stream(6), 10_000, reserve(budget, 100))).outcome, 'no-memory');
  assert.equal(budget.used, 500);
  held.release();
  held.release();
  assert.equal(budget.used, 0);
  const broken = Readable.from(
    (async function* () {
      yield Buffer.alloc(1);
      throw new Error('gone');
    })(),
  );
  assert.equal((await collect(broken, 500, reserve(budget, 100))).outcome, 'broken-off');
  assert.equal(budget.used, 0);
});

test('the header is checked once, when it is whole, and a refused message is not kept', async () => {
  const budget = createBudget({ total: 10_000 });
  const run = async (refuses: boolean, ...chunks: readonly string[]) => {
    const headers: string[] = [];
    const result: CollectedMessage = await collectMessage(streamOf(...chunks), {
      maxBytes: 5_000,
      reservation: reserve(budget, 10),
      maxHeaderBytes: 1_000,
      checkHeader: (header) => {
        headers.push(header.toString());
        return refuses ? { code: 554, text: 'no' } : undefined;
      },
    });
    return { result, headers };
  };
  const accepted = await run(false, 'a: b\r\nc: d\r', '\n\r\nbody', '\r\n\r\nmore');
  assert.deepEqual(accepted.headers, ['a: b\r\nc: d\r\n\r\n']);
  assert.equal(
    accepted.result.outcome === 'whole' && accepted.result.message.toString(),
    'a: b\r\nc: d\r\n\r\nbody\r\n\r\nmore',
  );
  const used = budget.used;
  const refused = await run(true, 'a: b\r\n\r\n', 'x'.repeat(4_000));
  assert.deepEqual([refused.result.outcome, refused.headers.length, budget.used], ['refused', 1, used]);
  assert.deepEqual((await run(true, 'no header end')).headers, ['no header end']);
  const endless = await run(true, ...Array.from({ length: 30 }, () => 'x'.repeat(100)));
  assert.deepEqual(
    endless.headers.map((header) => header.length),
    [1_000],
  );
});

test('the network of a peer is its /24 or its /64', () => {
  for (const [address, network] of [
    ['192.0.2.77', '192.0.2.0/24'],
    ['::ffff:192.0.2.77', '192.0.2.0/24'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:0DB8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::', '2001:db8:1:2::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['64:ff9b::192.0.2.1', '64:ff9b:0:0::/64'],
  ] as const)
    assert.equal(networkOf(address), network);
});

test('connections are divided by address and network, and that of the largest share makes room when all are in use', () => {
  const table = createConnectionTable({
    maxConnections: 4,
    maxConnectionsPerPeer: 2,
    maxConnectionsPerNetwork: 3,
    evictIdleMs: 1_000,
  });
  const evicted: string[] = [];
  const entered: TableConnection[] = [];
  const connection = (remoteAddress: string, idleForMs: number | undefined): TableConnection => {
    const since = idleForMs === undefined ? undefined : performance.now() - idleForMs;
    return {
      remoteAddress,
      idleSinceMs: () => since,
      hasAsked: () => false,
      evict: () => void evicted.push(remoteAddress),
    };
  };
  const enter = (address: string, idleForMs: number | undefined) => {
    const one = connection(address, idleForMs);
    entered.push(one);
    const refused = table.enter(one);
    return refused && replyToRefused(refused).text;
  };
  assert.equal(enter('192.0.2.1', 5_000), undefined);
  assert.equal(enter('192.0.2.1', undefined), undefined);
  assert.equal(enter('192.0.2.1', 0), 'Too many connections from 192.0.2.1');
  assert.equal(enter('192.0.2.2', 9_000), undefined);
  assert.equal(enter('192.0.2.3', 0), 'Too many connections from 192.0.2.0/24');
  assert.equal(enter('198.51.100.1', 100), undefined);
  assert.deepEqual(evicted, []);
  assert.equal(enter('198.51.100.2', 100), undefined);
  assert.equal(enter('198.51.100.3', 100), undefined);
  assert.deepEqual(evicted, ['192.0.2.1', '192.0.2.2']);
  // Of those that are left none is idle for long enough.
  assert.equal(enter('203.0.113.1', 0), 'Too many connections, try again later');
  assert.equal(table.size, 4);
  // Who has left counts for nobody.
  const entering = connection('203.0.113.1', 0);
  for (let times = 0; times < 3; times++) {
    for (const one of entered.splice(0)) table.leave(one);
    assert.equal(table.enter(entering), undefined);
    entered.push(entering);
  }
});
