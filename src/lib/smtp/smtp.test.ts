import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { DnsError, type DnsAnswer, type MxRecord } from '../dns/index.ts';
import { checkEnvelope, isHostOrLiteral, isMailbox, readPath } from './address.ts';
import { resolveMailHosts } from './mail-hosts.ts';
import { collectMessage, createByteBudget } from './message-collector.ts';
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
    (await resolveMailHosts('d.org', dns, random)).map((host) => `${host.name} ${host.address}`);
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
  assert.deepEqual(await resolveMailHosts('d.org', fakeDns('nodata', { 'd.org': ['192.0.2.1'] })), [
    { name: 'd.org', address: '192.0.2.1', priority: 0 },
  ]);
  const mx = [
    { priority: 1, exchange: 'gone' },
    { priority: 2, exchange: 'slow' },
    { priority: 3, exchange: 'here' },
  ];
  const hosts = await resolveMailHosts('d.org', fakeDns(mx, { slow: 'fails', here: ['192.0.2.1'] }));
  assert.deepEqual(
    hosts.map((host) => host.name),
    ['here'],
  );
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

test('SEC-11: a message over the limit or the budget is read to its end and not kept', async () => {
  const stream = (count: number) => Readable.from(Array.from({ length: count }, () => Buffer.alloc(100)));
  const budget = createByteBudget(1_000);
  const whole = await collectMessage(stream(5), 500, budget);
  assert.equal(whole.outcome === 'whole' && whole.message.length, 500);
  assert.equal((await collectMessage(stream(6), 500, budget)).outcome, 'too-large');
  // 500 of 1,000 are taken; another 600 do not fit.
  assert.equal((await collectMessage(stream(6), 10_000, budget)).outcome, 'no-memory');
  whole.release();
  whole.release();
  assert.equal((await collectMessage(stream(10), 10_000, budget)).outcome, 'whole');
  const broken = Readable.from(
    (async function* () {
      yield Buffer.alloc(1);
      throw new Error('gone');
    })(),
  );
  assert.equal((await collectMessage(broken, 500, createByteBudget(10))).outcome, 'broken-off');
});
