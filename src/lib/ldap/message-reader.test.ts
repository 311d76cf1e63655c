import assert from 'node:assert/strict';
import { test } from 'node:test';
import { processorMs } from '../../../test/support/processor-time.ts';
import { der } from '../asn1/index.ts';
import { createMessageReader } from './message-reader.ts';

const message = (id: number, octets: number): Buffer =>
  der.sequence(der.integer(id), der.tlv(0x64, der.octetString(Buffer.alloc(octets)), der.sequence()));

test('messages are the same however they are cut', () => {
  const bytes = Buffer.concat([message(1, 10), message(2, 300), message(3, 0), message(4, 70_000)]);
  for (const size of [1, 2, 3, 7, 100, 1_000, bytes.length]) {
    const ids: number[] = [];
    const reader = createMessageReader(({ id }) => ids.push(id));
    for (let at = 0; at < bytes.length; at += size) reader.push(bytes.subarray(at, at + size));
    assert.deepEqual(ids, [1, 2, 3, 4], `pieces of ${size}`);
  }
});

test('SEC-11: a large message that ends in single octets costs no more than another', async () => {
  const bytes = message(1, 4_000_000);
  const ids: number[] = [];
  const reader = createMessageReader(({ id }) => ids.push(id));
  const slow = 3_000;
  const tookMs = await processorMs(() => {
    reader.push(bytes.subarray(0, bytes.length - slow));
    for (let at = bytes.length - slow; at < bytes.length; at++) reader.push(bytes.subarray(at, at + 1));
  });
  assert.deepEqual(ids, [1]);
  // Joined anew for each octet, it takes seconds.
  assert.ok(tookMs < 500, `${Math.round(tookMs)} ms`);
});

test('SEC-11: pieces of a message are copied: a small one keeps far more memory than its octets', () => {
  const bytes = message(1, 70_000);
  const ends: Buffer[] = [];
  const reader = createMessageReader(({ body: { source, start, end } }) =>
    ends.push(Buffer.from(source.subarray(start, end))),
  );
  for (let at = 0; at < bytes.length; at += 500) {
    const piece = Buffer.from(bytes.subarray(at, at + 500));
    reader.push(piece);
    piece.fill(0xff);
  }
  assert.equal(ends.length, 1);
  // Not deepEqual, which compares two large buffers that differ for minutes.
  assert.ok(ends[0]?.equals(bytes.subarray(-ends[0].length)));
});

test('SEC-11: many messages with many small elements are refused before they take a hundred times their octets', () => {
  const values = Array.from({ length: 400 }, () => der.octetString(Buffer.alloc(0)));
  const many = der.sequence(
    der.integer(1),
    der.tlv(0x64, der.octetString(Buffer.alloc(0)), der.sequence(...values)),
  );
  const reader = createMessageReader(() => {});
  for (let count = 0; count < 240; count++) reader.push(many);
  assert.throws(
    () => {
      for (let count = 0; count < 20; count++) reader.push(many);
    },
    { code: 'LDAP_MESSAGE_INVALID' },
  );
});
