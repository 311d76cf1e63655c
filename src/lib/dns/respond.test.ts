import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dataOf, type DnsMessage, readMessage, writeQuery } from './message.ts';
import { type RecordType, typeCodes } from './records.ts';
import { createStaticZone, respond } from './respond.ts';

const soa = {
  primaryServer: 'ns.direct.example.org',
  mailbox: 'hostmaster.direct.example.org',
  serial: 1,
  refreshSeconds: 3600,
  retrySeconds: 600,
  expireSeconds: 86_400,
  minimumSeconds: 60,
};

const cert = (octets: number) => ({
  certificateType: 1,
  keyTag: 0,
  algorithm: 0,
  data: new Uint8Array(octets).fill(7),
});

const zone = createStaticZone('direct.example.org', [
  { name: 'direct.example.org', type: 'SOA', ttlSeconds: 3600, data: soa },
  { name: 'direct.example.org', type: 'NS', ttlSeconds: 300, data: 'ns.direct.example.org' },
  {
    name: 'direct.example.org',
    type: 'MX',
    ttlSeconds: 300,
    data: { priority: 10, exchange: 'mx.direct.example.org' },
  },
  { name: 'mx.direct.example.org', type: 'A', ttlSeconds: 300, data: '192.0.2.1' },
  { name: 'bob.direct.example.org', type: 'CERT', ttlSeconds: 300, data: cert(600) },
  { name: 'big.direct.example.org', type: 'CERT', ttlSeconds: 300, data: cert(3000) },
  {
    name: '_ldap._tcp.direct.example.org',
    type: 'SRV',
    ttlSeconds: 300,
    data: { priority: 0, weight: 0, port: 389, target: 'mx.direct.example.org' },
  },
  { name: 'alias.direct.example.org', type: 'CNAME', ttlSeconds: 300, data: 'bob.direct.example.org' },
  { name: 'dangling.direct.example.org', type: 'CNAME', ttlSeconds: 300, data: 'nobody.direct.example.org' },
  { name: 'away.direct.example.org', type: 'CNAME', ttlSeconds: 300, data: 'host.elsewhere.org' },
  { name: 'loop.direct.example.org', type: 'CNAME', ttlSeconds: 300, data: 'loop.direct.example.org' },
]);

async function ask(
  name: string,
  type: RecordType,
  transport: 'udp' | 'tcp' = 'udp',
  isEdns = true,
): Promise<DnsMessage> {
  const response = await respond(writeQuery({ id: 1, name, type, isEdns }), transport, () => [zone]);
  assert.ok(response);
  return readMessage(response);
}

test('HOST-02, HOST-04: CERT, MX, SRV, SOA, NS and A are answered with authority', async () => {
  for (const [name, type] of [
    ['bob.direct.example.org', 'CERT'],
    ['direct.example.org', 'MX'],
    ['_ldap._tcp.direct.example.org', 'SRV'],
    ['direct.example.org', 'SOA'],
    ['direct.example.org', 'NS'],
    ['mx.direct.example.org', 'A'],
  ] as const) {
    const message = await ask(name, type);
    assert.deepEqual([message.rcode, message.isAuthoritative, message.answers.length], [0, true, 1], type);
    assert.equal(message.answers[0]?.type, typeCodes[type]);
    assert.equal(message.isRecursionAvailable, false);
  }
});

test('HOST-02: names match without case, and the case of the question comes back (0x20)', async () => {
  const message = await ask('BoB.dIrEcT.eXaMpLe.OrG', 'CERT');
  assert.equal(message.questions[0]?.name, 'BoB.dIrEcT.eXaMpLe.OrG');
  assert.equal(message.answers[0]?.name, 'BoB.dIrEcT.eXaMpLe.OrG');
});

test('HOST-02: TC over UDP when the answer does not fit, everything over TCP', async () => {
  const plain = await ask('bob.direct.example.org', 'CERT', 'udp', false);
  assert.deepEqual([plain.isTruncated, plain.answers.length, plain.edns], [true, 0, undefined]);
  assert.equal((await ask('bob.direct.example.org', 'CERT', 'udp', true)).answers.length, 1);
  assert.equal((await ask('big.direct.example.org', 'CERT', 'udp', true)).isTruncated, true);
  assert.equal((await ask('big.direct.example.org', 'CERT', 'tcp')).answers.length, 1);
});

test('RFC 6891 §6.2.3: an announced size below 512 counts as 512, and one above ours as ours', async () => {
  const query = writeQuery({ id: 1, name: 'direct.example.org', type: 'MX', isEdns: true });
  const sizeAt = query.length - 8;
  query.writeUInt16BE(20, sizeAt);
  const small = await respond(query, 'udp', () => [zone]);
  assert.equal(readMessage(small ?? Buffer.alloc(0)).isTruncated, false);
  const large = writeQuery({ id: 1, name: 'big.direct.example.org', type: 'CERT', isEdns: true });
  large.writeUInt16BE(65_535, large.length - 8);
  assert.equal(readMessage((await respond(large, 'udp', () => [zone])) ?? Buffer.alloc(0)).isTruncated, true);
});

test('RFC 2308 §2: a missing name is NXDOMAIN, a missing type NODATA, both with the SOA', async () => {
  const missing = await ask('nobody.direct.example.org', 'CERT');
  assert.deepEqual([missing.rcode, missing.isAuthoritative, missing.answers.length], [3, true, 0]);
  assert.equal(missing.authorities[0]?.type, typeCodes.SOA);
  assert.equal(missing.authorities[0]?.ttlSeconds, 60);
  const nodata = await ask('bob.direct.example.org', 'MX');
  assert.deepEqual([nodata.rcode, nodata.answers.length, nodata.authorities.length], [0, 0, 1]);
  // RFC 8020 §2: _tcp exists because something lies below it.
  assert.equal((await ask('_tcp.direct.example.org', 'SRV')).rcode, 0);
});

test('aliases are followed inside the zone only', async () => {
  const alias = await ask('alias.direct.example.org', 'CERT');
  assert.deepEqual(
    alias.answers.map((record) => record.type),
    [typeCodes.CNAME, typeCodes.CERT],
  );
  const dangling = await ask('dangling.direct.example.org', 'CERT');
  assert.deepEqual([dangling.rcode, dangling.answers.length], [3, 1]);
  const away = await ask('away.direct.example.org', 'A');
  assert.deepEqual(dataOf(away, away.answers, 'CNAME'), ['host.elsewhere.org']);
  assert.equal((await ask('loop.direct.example.org', 'A')).rcode, 2);
});

test('HOST-02: foreign zones are refused and nothing is looked up elsewhere', async () => {
  for (const name of ['example.org', 'other.org', 'baddirect.example.org', '']) {
    const message = await ask(name, 'A');
    assert.deepEqual([message.rcode, message.isAuthoritative, message.answers.length], [5, false, 0], name);
  }
});

test('the most specific zone answers', async () => {
  const inner = createStaticZone('sub.direct.example.org', [
    { name: 'sub.direct.example.org', type: 'SOA', ttlSeconds: 1, data: { ...soa, serial: 99 } },
  ]);
  const query = writeQuery({ id: 1, name: 'sub.direct.example.org', type: 'SOA', isEdns: false });
  const message = readMessage((await respond(query, 'udp', () => [inner, zone])) ?? Buffer.alloc(0));
  assert.equal(dataOf(message, message.answers, 'SOA')[0]?.serial, 99);
});

test('addresses of our mail and LDAP hosts come along', async () => {
  for (const [name, type] of [
    ['direct.example.org', 'MX'],
    ['_ldap._tcp.direct.example.org', 'SRV'],
  ] as const) {
    const message = await ask(name, type);
    assert.deepEqual(dataOf(message, message.additionals, 'A'), ['192.0.2.1']);
  }
});

test('transfers, other classes, other operations, several questions and newer EDNS are turned down', async () => {
  const change = async (edit: (query: Buffer) => void) => {
    const query = writeQuery({ id: 1, name: 'direct.example.org', type: 'MX', isEdns: true });
    edit(query);
    return readMessage((await respond(query, 'udp', () => [zone])) ?? Buffer.alloc(0)).rcode;
  };
  const typeAt = 12 + 20;
  assert.equal(await change((query) => query.writeUInt16BE(252, typeAt)), 5);
  assert.equal(await change((query) => query.writeUInt16BE(3, typeAt + 2)), 5);
  assert.equal(await change((query) => query.writeUInt8(0x28, 2)), 4);
  assert.equal(await change((query) => query.writeUInt16BE(0, 4)), 1);
  assert.equal(await change((query) => query.writeUInt8(1, query.length - 5)), 16);
  // RFC 8482: ANY gives one set of records.
  assert.equal(await change((query) => query.writeUInt16BE(255, typeAt)), 0);
});

test('SEC-11: responses and scraps are not answered, nonsense gives FORMERR', async () => {
  const response = writeQuery({ id: 1, name: 'direct.example.org', type: 'MX', isEdns: true });
  response.writeUInt8(0x80, 2);
  assert.equal(await respond(response, 'udp', () => [zone]), undefined);
  assert.equal(await respond(Buffer.alloc(11), 'udp', () => [zone]), undefined);
  const nonsense = Buffer.from('123401000001000000000000ff', 'hex');
  assert.equal((await respond(nonsense, 'udp', () => [zone]))?.toString('hex'), '123481010000000000000000');
});

test('RFC 6891 §6.1.1: a query with two OPT records is malformed', async () => {
  const query = writeQuery({ id: 1, name: 'direct.example.org', type: 'MX', isEdns: true });
  const opt = query.subarray(-11);
  const several = Buffer.concat([query, opt]);
  several.writeUInt16BE(2, 10);
  assert.equal(readMessage((await respond(query, 'udp', () => [zone])) ?? Buffer.alloc(0)).rcode, 0);
  assert.equal(readMessage((await respond(several, 'udp', () => [zone])) ?? Buffer.alloc(0)).rcode, 1);
});

test('a failing source gives SERVFAIL, so that the asker tries again, and is reported', async () => {
  const failing = { name: 'direct.example.org', findRecords: () => Promise.reject(new Error('database')) };
  const query = writeQuery({ id: 1, name: 'direct.example.org', type: 'MX', isEdns: false });
  const errors: unknown[] = [];
  const note = (error: unknown): void => void errors.push(error);
  for (const zones of [() => [failing], () => Promise.reject(new Error('database'))]) {
    assert.equal(readMessage((await respond(query, 'udp', zones)) ?? Buffer.alloc(0)).rcode, 2);
    assert.equal(readMessage((await respond(query, 'tcp', zones, note)) ?? Buffer.alloc(0)).rcode, 2);
  }
  assert.deepEqual(errors.map(String), ['Error: database', 'Error: database']);
});

test('a static zone refuses records of other zones', () => {
  assert.throws(
    () => createStaticZone('a.org', [{ name: 'b.org', type: 'A', ttlSeconds: 1, data: '192.0.2.1' }]),
    TypeError,
  );
});
