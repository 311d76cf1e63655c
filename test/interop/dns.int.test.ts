/** Our resolver against BIND, and dig and a resolving BIND against our server. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test, type TestContext } from 'node:test';
import {
  certificateTypes,
  createDnsResolver,
  createDnsServer,
  createStaticZone,
  type DnsRecord,
} from '../../src/lib/dns/index.ts';
import { certLine, startNamed } from '../support/named.ts';
import { needsPrograms, runProgram } from '../support/processes.ts';

const domain = 'direct.example.org';
const small = new Uint8Array(randomBytes(700));
const large = new Uint8Array(randomBytes(2_500));
const odd = new Uint8Array(randomBytes(50));

async function startPeer(t: TestContext) {
  const named = await startNamed([
    {
      name: domain,
      lines: [
        certLine('bob', small),
        certLine('big', large),
        certLine('twice', small),
        certLine('twice', odd),
        certLine('url', Buffer.from('https://pki.example.org/bob.cer'), 'IPKIX'),
        certLine('pgp', odd, 'PGP'),
        certLine("o'brien+tag=x", odd),
        certLine('@', odd),
        '@ IN MX 10 mx1',
        '@ IN MX 20 mx2',
        '@ IN TXT "one" "two"',
        'mx1 IN A 127.0.0.1',
        'mx1 IN AAAA ::1',
        '_ldap._tcp IN SRV 0 100 10389 mx1',
        '_ldap._tcp IN SRV 1 0 389 .',
        'alias IN CNAME bob',
        'far IN CNAME alias',
        'a.b IN A 127.0.0.1',
        'dangling IN CNAME nobody',
      ],
    },
    { name: 'null.example.org', lines: ['@ IN MX 0 .'] },
  ]);
  t.after(() => named.stop());
  const resolver = createDnsResolver({ servers: [{ host: '127.0.0.1', port: named.port }], cache: false });
  t.after(() => resolver.close());
  return resolver;
}

test('BIND answers our resolver', needsPrograms('named'), async (t) => {
  const resolver = await startPeer(t);
  const certs = async (name: string) => (await resolver.resolveCert(`${name}.${domain}`)).records;

  await t.test('DISC-03: CERT records, octet by octet', async () => {
    assert.deepEqual(await certs('bob'), [{ certificateType: 1, keyTag: 0, algorithm: 0, data: small }]);
    assert.deepEqual((await resolver.resolveCert(domain)).records.length, 1);
  });
  await t.test('DISC-05, D14: an answer over the size of a datagram comes over TCP', async () => {
    const answer = await resolver.resolveCert(`big.${domain}`);
    assert.deepEqual([answer.transport, answer.records[0]?.data], ['tcp', large]);
    assert.equal((await resolver.resolveCert(`bob.${domain}`)).transport, 'udp');
  });
  await t.test('DISC-10, D9: several certificates at one name', async () => {
    const sizes = (await certs('twice')).map((record) => record.data.length).toSorted((a, b) => a - b);
    assert.deepEqual(sizes, [50, 700]);
  });
  await t.test('DISC-04: IPKIX carries a URL, other types are passed on with their number', async () => {
    const [url] = await certs('url');
    assert.equal(url?.certificateType, certificateTypes.ipkix);
    assert.equal(Buffer.from(url?.data ?? []).toString(), 'https://pki.example.org/bob.cer');
    assert.equal((await certs('pgp'))[0]?.certificateType, 3);
  });
  await t.test('DISC-02: names made from unusual local parts', async () => {
    assert.equal((await certs("O'Brien+Tag=X")).length, 1);
  });
  await t.test('EDGE-07: MX, addresses, null MX', async () => {
    const mx = (await resolver.resolveMx(domain)).records.toSorted((a, b) => a.priority - b.priority);
    assert.deepEqual(mx, [
      { priority: 10, exchange: `mx1.${domain}` },
      { priority: 20, exchange: `mx2.${domain}` },
    ]);
    assert.deepEqual((await resolver.resolveAddresses(`mx1.${domain}`)).records, ['127.0.0.1', '::1']);
    assert.deepEqual((await resolver.resolveMx('null.example.org')).records, [{ priority: 0, exchange: '' }]);
  });
  await t.test('DISC-06: SRV', async () => {
    const srv = (await resolver.resolveSrv(`_ldap._tcp.${domain}`)).records.toSorted(
      (a, b) => a.priority - b.priority,
    );
    assert.deepEqual(srv, [
      { priority: 0, weight: 100, port: 10_389, target: `mx1.${domain}` },
      { priority: 1, weight: 0, port: 389, target: '' },
    ]);
  });
  await t.test('NS and SOA', async () => {
    assert.deepEqual((await resolver.resolveNs(domain)).records, [`ns.${domain}`]);
    assert.equal((await resolver.resolveSoa(domain)).records[0]?.minimumSeconds, 60);
  });
  await t.test('aliases are followed', async () => {
    const answer = await resolver.resolveCert(`far.${domain}`);
    assert.deepEqual([answer.status, answer.records.length], ['found', 1]);
    assert.equal((await resolver.resolveCert(`dangling.${domain}`)).status, 'nxdomain');
  });
  await t.test('D11: absence of the name and of the type, each with the time it may be kept', async () => {
    const missing = await resolver.resolveCert(`nobody.${domain}`);
    assert.deepEqual([missing.status, missing.ttlSeconds], ['nxdomain', 60]);
    assert.equal((await resolver.resolveCert(`mx1.${domain}`)).status, 'nodata');
    assert.equal((await resolver.resolveCert(`b.${domain}`)).status, 'nodata');
  });
  await t.test('DISC-11: a zone that the server does not serve is a transient failure', async () => {
    await assert.rejects(resolver.resolveCert('elsewhere.net'), {
      code: 'DNS_SERVER_FAILURE',
      isTransient: true,
    });
  });
});

const ownRecords: readonly DnsRecord[] = [
  {
    name: domain,
    type: 'SOA',
    ttlSeconds: 3600,
    data: {
      primaryServer: `ns.${domain}`,
      mailbox: `hostmaster.${domain}`,
      serial: 20_261_121,
      refreshSeconds: 3600,
      retrySeconds: 600,
      expireSeconds: 86_400,
      minimumSeconds: 60,
    },
  },
  { name: domain, type: 'NS', ttlSeconds: 300, data: `ns.${domain}` },
  { name: domain, type: 'MX', ttlSeconds: 300, data: { priority: 10, exchange: `mx.${domain}` } },
  { name: domain, type: 'TXT', ttlSeconds: 300, data: ['one', 'two'] },
  { name: `ns.${domain}`, type: 'A', ttlSeconds: 300, data: '127.0.0.1' },
  { name: `mx.${domain}`, type: 'AAAA', ttlSeconds: 300, data: '2001:db8::25' },
  {
    name: `_ldap._tcp.${domain}`,
    type: 'SRV',
    ttlSeconds: 300,
    data: { priority: 0, weight: 100, port: 389, target: `ldap.${domain}` },
  },
  ...(
    [
      ['bob', small],
      ['big', large],
      [undefined, odd],
    ] as const
  ).map(([label, data]) => ({
    name: label === undefined ? domain : `${label}.${domain}`,
    type: 'CERT' as const,
    ttlSeconds: 300,
    data: { certificateType: 1, keyTag: 0, algorithm: 0, data },
  })),
];

async function startOwn(t: TestContext): Promise<number> {
  const zone = createStaticZone(domain, ownRecords);
  const server = await createDnsServer({ host: '127.0.0.1', port: 0, zones: () => [zone] });
  t.after(() => server.close());
  return server.port;
}

async function dig(port: number, ...args: string[]): Promise<string> {
  const result = await runProgram('dig', [
    '@127.0.0.1',
    '-p',
    String(port),
    '+tries=1',
    '+time=5',
    '+norecurse',
    ...args,
  ]);
  return result.stdout.toString();
}

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');

test('dig reads our server', needsPrograms('dig'), async (t) => {
  const port = await startOwn(t);

  await t.test('H1, H2: the certificates of an address and of the domain', async () => {
    const short = (await dig(port, '+short', `bob.${domain}`, 'CERT')).trim();
    assert.equal(short.replaceAll(' ', ''), `PKIX00${base64(small)}`);
    assert.equal(
      (await dig(port, '+short', domain, 'CERT')).trim().replaceAll(' ', ''),
      `PKIX00${base64(odd)}`,
    );
  });
  await t.test('HOST-02: TC without EDNS0, complete with it, TCP for larger answers', async () => {
    assert.match(await dig(port, '+noedns', '+ignore', `bob.${domain}`, 'CERT'), /flags: qr aa tc/);
    assert.match(await dig(port, '+bufsize=512', '+ignore', `bob.${domain}`, 'CERT'), /flags: qr aa tc/);
    assert.doesNotMatch(await dig(port, '+bufsize=4096', '+ignore', `bob.${domain}`, 'CERT'), / tc/);
    assert.match(await dig(port, '+bufsize=4096', '+ignore', `big.${domain}`, 'CERT'), /flags: qr aa tc/);
    const overTcp = await dig(port, '+short', `big.${domain}`, 'CERT');
    assert.equal(overTcp.trim().replaceAll(' ', ''), `PKIX00${base64(large)}`);
    assert.match(await dig(port, '+tcp', domain, 'MX'), /ANSWER: 1/);
  });
  await t.test('HOST-02, HOST-04: SOA, NS, MX, SRV, A, AAAA, TXT', async () => {
    const short = async (name: string, type: string) => (await dig(port, '+short', name, type)).trim();
    assert.equal(
      await short(domain, 'SOA'),
      `ns.${domain}. hostmaster.${domain}. 20261121 3600 600 86400 60`,
    );
    assert.equal(await short(domain, 'NS'), `ns.${domain}.`);
    assert.equal(await short(domain, 'MX'), `10 mx.${domain}.`);
    assert.equal(await short(`_ldap._tcp.${domain}`, 'SRV'), `0 100 389 ldap.${domain}.`);
    assert.equal(await short(`ns.${domain}`, 'A'), '127.0.0.1');
    assert.equal(await short(`mx.${domain}`, 'AAAA'), '2001:db8::25');
    assert.equal(await short(domain, 'TXT'), '"one" "two"');
  });
  await t.test('HOST-02: names without case, echoed as asked', async () => {
    const text = await dig(port, 'DiReCt.ExAmPlE.oRg', 'MX');
    assert.match(text, /^DiReCt\.ExAmPlE\.oRg\.\s+300\s+IN\s+MX/m);
  });
  await t.test('NXDOMAIN and NODATA with the SOA', async () => {
    const missing = await dig(port, `nobody.${domain}`, 'CERT');
    assert.match(missing, /status: NXDOMAIN/);
    assert.match(missing, /AUTHORITY SECTION[^]*\s60\s+IN\s+SOA/);
    const nodata = await dig(port, `ns.${domain}`, 'CERT');
    assert.match(nodata, /status: NOERROR[^]*ANSWER: 0, AUTHORITY: 1/);
  });
  await t.test('foreign zones, transfers and other classes are refused', async () => {
    assert.match(await dig(port, 'example.com', 'A'), /status: REFUSED/);
    assert.match(await dig(port, domain, 'AXFR'), /Transfer failed/);
    assert.match(await dig(port, '-c', 'CH', 'version.bind', 'TXT'), /status: REFUSED/);
  });
  await t.test('cookies, DNSSEC OK, unknown options and versions do no harm', async () => {
    assert.match(
      await dig(port, '+cookie', '+dnssec', '+nsid', '+ednsopt=65001:cafe', domain, 'MX'),
      /status: NOERROR/,
    );
    assert.match(await dig(port, '+edns=1', '+noednsnegotiation', domain, 'MX'), /status: BADVERS/);
    assert.match(await dig(port, domain, 'TYPE65280'), /status: NOERROR[^]*ANSWER: 0/);
    assert.match(
      await dig(port, '+tcp', '+keepopen', domain, 'MX', domain, 'NS', domain, 'ANY'),
      /status: NOERROR/,
    );
  });
});

test(
  'HOST-02: a resolving BIND finds our records, and our resolver gets them from it',
  needsPrograms('named'),
  async (t) => {
    const port = await startOwn(t);
    const named = await startNamed(
      [],
      [
        'recursion yes;',
        'allow-recursion { any; };',
        'forward only;',
        `forwarders { 127.0.0.1 port ${port}; };`,
      ],
    );
    t.after(() => named.stop());
    const resolver = createDnsResolver({ servers: [{ host: '127.0.0.1', port: named.port }] });
    t.after(() => resolver.close());
    assert.deepEqual((await resolver.resolveCert(`big.${domain}`)).records[0]?.data, large);
    assert.deepEqual((await resolver.resolveMx(domain)).records, [
      { priority: 10, exchange: `mx.${domain}` },
    ]);
    assert.equal((await resolver.resolveCert(`nobody.${domain}`)).status, 'nxdomain');
  },
);
