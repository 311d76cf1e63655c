import assert from 'node:assert/strict';
import { test } from 'node:test';
import { base64LinesSize, createBase64Writer } from './base64-writer.ts';

function write(chunks: readonly Uint8Array[], offset = 0): Buffer {
  const size = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  const target = Buffer.alloc(offset + base64LinesSize(size));
  const writer = createBase64Writer(target, offset);
  for (const chunk of chunks) writer.write(chunk);
  assert.equal(writer.finish(), target.length);
  return target.subarray(offset);
}

/** Bytes without a pattern that a shifted copy would share. */
function sample(size: number): Buffer {
  return Buffer.from(Array.from({ length: size }, (_, index) => (index * 31 + (index >> 8) * 7) & 0xff));
}

test('writes lines of 76 characters, each with CRLF (RFC 2045 §6.8)', () => {
  for (const size of [0, 1, 2, 3, 56, 57, 58, 114, 58_367, 58_368, 58_369, 120_000]) {
    const bytes = sample(size);
    const expected = bytes.toString('base64').replace(/.{1,76}/g, '$&\r\n');
    assert.equal(write([bytes]).toString('latin1'), expected, `${size} bytes`);
  }
});

test('the same comes out whatever the chunks and the offset', () => {
  const bytes = sample(130_001);
  const whole = write([bytes]);
  for (const step of [1, 16, 57, 1000, 58_368, 65_536]) {
    const chunks = [];
    for (let at = 0; at < bytes.length; at += step) chunks.push(bytes.subarray(at, at + step));
    assert.ok(write(chunks, step % 7).equals(whole), `chunks of ${step}`);
  }
});
