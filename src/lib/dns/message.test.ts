import assert from 'node:assert/strict';
import { test } from 'node:test';
import packet from 'dns-packet';
import { fc } from '../../../test/support/fast-check.ts';
import { DnsError } from './errors.ts';
import { dataOf, readMessage, rcodes, writeQuery, writeResponse } from './message.ts';
import { readRdata } from './rdata.ts';
import { typeCodes, type DnsRecord, type RecordType } from './records.ts';

const soa = {
  primaryServer: 'ns.example.org',
  mailbox: 'hostmaster.example.org',
  serial: 4_000_000_000,
  refreshSeconds: 1,
  retrySeconds: 2,
  expireSeconds: 3,
  minimumSeconds: 60,
};

const records: readonly DnsRecord[] = [
  { name: 'example.org', type: 'A', ttlSeconds: 1, data: '192.0.2.1' },
  { name: 'example.org', type: 'AAAA', ttlSeconds: 2, data: '2001:db8::1' },
  { name: 'example.org', type: 'AAAA', ttlSeconds: 2, data: '::' },
  { name: 'example.org', type: 'NS', ttlSeconds: 3, data: 'ns.example.org' },
  { name: 'example.org', type: 'CNAME', ttlSeconds: 4, data: 'other.example.org' },
  { name: 'example.org', type: 'SOA', ttlSeconds: 5, data: soa },
  { name: 'example.org', type: 'MX', ttlSeconds: 6, data: { priority: 10, exchange: 'mx.example.org' } },
  { name: 'example.org', type: 'TXT', ttlSeconds: 7, data: ['one', 'two', ''] },
  {
    name: '_ldap._tcp.example.org',
    type: 'SRV',
    ttlSeconds: 8,
    data: { priority: 0, weight: 100, port: 10_389, target: 'ldap.example.org' },
  },
  {
    name: 'bob.example.org',
    type: 'CERT',
    ttlSeconds: 9,
    data: { certificateType: 1, keyTag: 0xfffe, algorithm: 5, data: Uint8Array.of(0x30, 3, 2, 1, 5) },
  },
];

const query = readMessage(writeQuery({ id: 7, name: 'Example.ORG', type: 'CERT', isEdns: true }));

test('records of every type survive writing and reading', () => {
  const bytes = writeResponse(query, { rcode: 0, isAuthoritative: true, answers: records }, 65_535);
  const message = readMessage(bytes);
  assert.equal(message.questions[0]?.name, 'Example.ORG');
  assert.deepEqual(
    message.answers.map((raw, index) => {
      const type = records[index]?.type as RecordType;
      assert.equal(raw.type, typeCodes[type]);
      const data = readRdata(type, bytes, raw.dataStart, raw.dataEnd);
      return { name: raw.name, type, ttlSeconds: raw.ttlSeconds, data };
    }),
    records,
  );
});

test('an independent codec reads our messages', () => {
  const written = packet.decode(
    writeResponse(query, { rcode: 3, isAuthoritative: true, answers: records }, 65_535),
  );
  assert.equal('rcode' in written && written.rcode, 'NXDOMAIN');
  assert.equal(written.flag_aa, true);
  assert.equal(written.flag_ra, false);
  const byType = (type: string) => written.answers?.find((answer) => answer.type === type);
  assert.deepEqual(byType('SRV'), {
    name: '_ldap._tcp.example.org',
    type: 'SRV',
    ttl: 8,
    class: 'IN',
    flush: false,
    data: { priority: 0, weight: 100, port: 10_389, target: 'ldap.example.org' },
  });
  assert.match(JSON.stringify(byType('SOA')), /"serial":4000000000.*"minimum":60/);
  assert.match(JSON.stringify(byType('AAAA')), /2001:db8::1/);
  assert.equal(written.additionals?.[0]?.type, 'OPT');
});

test('DISC-03: reads messages of an independent codec, with the CERT data octet by octet', () => {
  const rdata = Buffer.from('0001abcd05cafe', 'hex');
  const bytes = packet.encode({
    type: 'response',
    id: 9,
    flags: packet.AUTHORITATIVE_ANSWER | packet.RECURSION_AVAILABLE,
    questions: [{ name: 'example.org', type: 'CERT' }],
    answers: [
      { name: 'example.org', type: 'CERT', ttl: 300, data: rdata },
      { name: 'example.org', type: 'MX', ttl: 300, data: { preference: 5, exchange: 'mx.example.org' } },
      { name: 'example.org', type: 'TXT', ttl: 300, data: ['x'] },
    ],
  });
  const message = readMessage(bytes);
  assert.equal(message.isAuthoritative && message.isRecursionAvailable && message.isResponse, true);
  assert.deepEqual(dataOf(message, message.answers, 'CERT'), [
    { certificateType: 1, keyTag: 0xabcd, algorithm: 5, data: Uint8Array.of(0xca, 0xfe) },
  ]);
  assert.deepEqual(dataOf(message, message.answers, 'MX'), [{ priority: 5, exchange: 'mx.example.org' }]);
});

test('DISC-05: an answer that does not fit is replaced by an empty one with TC; additional addresses are omitted first', () => {
  const answers: DnsRecord[] = [
    { name: 'example.org', type: 'TXT', ttlSeconds: 1, data: ['x'.repeat(250), 'y'.repeat(150)] },
  ];
  const additionals: DnsRecord[] = [
    { name: 'ns.example.org', type: 'TXT', ttlSeconds: 1, data: ['z'.repeat(100)] },
  ];
  const fields = { rcode: rcodes.noError, isAuthoritative: true, answers, additionals };
  const trimmed = readMessage(writeResponse(query, fields, 512));
  assert.deepEqual([trimmed.isTruncated, trimmed.answers.length, trimmed.additionals.length], [false, 1, 1]);
  const cut = readMessage(writeResponse(query, fields, 300));
  assert.deepEqual([cut.isTruncated, cut.answers.length, cut.edns !== undefined], [true, 0, true]);
});

test('RFC 2181 §8: a TTL with the highest bit counts as zero', () => {
  const bytes = writeResponse(
    query,
    { rcode: 0, isAuthoritative: true, answers: records.slice(0, 1) },
    65_535,
  );
  const message = readMessage(bytes);
  const ttlAt = (message.answers[0]?.dataStart ?? 0) - 6;
  bytes.writeUInt32BE(0x8000_0001, ttlAt);
  assert.equal(readMessage(bytes).answers[0]?.ttlSeconds, 0);
});

test('SEC-11: data longer or shorter than its type says is refused, not read past', () => {
  const bytes = writeResponse(query, { rcode: 0, isAuthoritative: true, answers: records }, 65_535);
  const message = readMessage(bytes);
  message.answers.forEach((raw, index) => {
    const type = records[index]?.type as RecordType;
    if (type === 'CERT' || type === 'TXT') return;
    for (const shift of [-1, 1]) {
      assert.throws(
        () => readRdata(type, bytes, raw.dataStart, raw.dataEnd + shift),
        { code: 'DNS_MESSAGE_INVALID' },
        type,
      );
    }
  });
  assert.throws(() => readRdata('CERT', Buffer.alloc(4), 0, 4), { code: 'DNS_MESSAGE_INVALID' });
  assert.throws(() => readRdata('TXT', Buffer.of(5, 65), 0, 2), { code: 'DNS_MESSAGE_INVALID' });
});

test('SEC-11: counts that the length cannot hold are refused before anything is built', () => {
  const bytes = Buffer.alloc(12);
  for (const at of [4, 6, 8, 10]) {
    const claim = Buffer.from(bytes);
    claim.writeUInt16BE(65_535, at);
    assert.throws(() => readMessage(claim), { code: 'DNS_MESSAGE_INVALID' });
  }
  assert.throws(() => readMessage(Buffer.alloc(11)), { code: 'DNS_MESSAGE_INVALID' });
});

test('SEC-11: every cut and every changed octet is read or refused with our own error', () => {
  const bytes = writeResponse(query, { rcode: 0, isAuthoritative: true, answers: records }, 65_535);
  const read = (hostile: Buffer) => {
    try {
      const message = readMessage(hostile);
      for (const type of Object.keys(typeCodes) as RecordType[]) dataOf(message, message.answers, type);
    } catch (error) {
      if (!(error instanceof DnsError)) throw error;
    }
  };
  for (let length = 0; length < bytes.length; length++) read(bytes.subarray(0, length));
  fc.assert(
    fc.property(fc.nat(bytes.length - 1), fc.nat(255), (at, octet) => {
      const changed = Buffer.from(bytes);
      changed[at] = octet;
      read(changed);
    }),
    { numRuns: 2_000 },
  );
});

test('RFC 9619: a message with two questions is refused, however long it is', () => {
  const one = writeQuery({ id: 1, name: 'example.org', type: 'MX', isEdns: false });
  const two = Buffer.concat([one, one.subarray(12)]);
  two.writeUInt16BE(2, 4);
  assert.equal(readMessage(one).questions.length, 1);
  assert.throws(() => readMessage(two), { code: 'DNS_MESSAGE_INVALID' });
});

test('records that cannot be written are refused', () => {
  const write = (record: DnsRecord) => () =>
    writeResponse(query, { rcode: 0, isAuthoritative: true, answers: [record] }, 512);
  assert.throws(write({ name: 'x', type: 'A', ttlSeconds: 1, data: 'x' }), { code: 'DNS_MESSAGE_INVALID' });
  assert.throws(write({ name: 'x', type: 'AAAA', ttlSeconds: 1, data: '1.2.3.4' }), {
    code: 'DNS_MESSAGE_INVALID',
  });
  assert.throws(write({ name: 'x', type: 'TXT', ttlSeconds: 1, data: ['x'.repeat(256)] }), {
    code: 'DNS_MESSAGE_INVALID',
  });
  assert.throws(write({ name: 'x', type: 'NS', ttlSeconds: 1, data: 'a..b' }), { code: 'DNS_NAME_INVALID' });
});
