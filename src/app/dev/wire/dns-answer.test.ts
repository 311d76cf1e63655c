import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeDnsAnswer } from './dns-answer.ts';

/** A message with one question for `direct.b.example` of a type. */
function message(flags: number, answers: number, type: number): Buffer {
  const header = Buffer.alloc(12);
  header.writeUInt16BE(flags, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(answers, 6);
  const name = Buffer.concat(
    ['Direct', 'b', 'example'].map((label) => Buffer.from([label.length, ...Buffer.from(label)])),
  );
  return Buffer.concat([header, name, Buffer.from([0, 0, type, 0, 1])]);
}

test('shows question and answer of a DNS message as text', () => {
  assert.deepEqual(describeDnsAnswer(message(0x8400, 2, 37)), {
    name: 'direct.b.example',
    question: 'CERT direct.b.example?',
    answer: '2 CERT records',
  });
  assert.equal(describeDnsAnswer(message(0x8403, 0, 15))?.answer, 'no such name');
  assert.equal(describeDnsAnswer(message(0x8400, 0, 15))?.answer, 'no MX record');
  assert.equal(describeDnsAnswer(message(0x8600, 0, 37))?.answer, 'too long for UDP, retry over TCP');
  assert.equal(describeDnsAnswer(message(0x8402, 0, 1))?.answer, 'error 2');
});

test('finds nothing in bytes that are no DNS message', () => {
  assert.equal(describeDnsAnswer(Buffer.from('short')), undefined);
  assert.equal(describeDnsAnswer(message(0x8400, 1, 37).subarray(0, 20)), undefined);
  assert.equal(describeDnsAnswer(Buffer.alloc(64, 0xc0)), undefined);
});
