import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fc } from '../../../test/support/fast-check.ts';
import { decodeBase64 } from './decode-base64.ts';
import { base64LinesLength, createBase64Writer, writeBase64Lines } from './base64-lines.ts';
import { canonicalize } from './canonicalize.ts';
import { inspectBytes } from './inspect-bytes.ts';

/** The plain way to do it. */
function referenceLines(bytes: Uint8Array): string {
  return Buffer.from(bytes)
    .toString('base64')
    .replace(/.{1,76}/g, '$&\r\n');
}

/** Bytes without a pattern that a shifted copy would share. */
function sample(size: number): Buffer {
  return Buffer.from(Array.from({ length: size }, (_, index) => (index * 31 + (index >> 8) * 7) & 0xff));
}

test('base64 lines equal the plain encoding at every length and alignment', () => {
  const source = Buffer.from(Array.from({ length: 300 }, (_, index) => (index * 37) % 256));
  for (let length = 0; length <= source.length; length++) {
    const bytes = source.subarray(0, length);
    const expected = referenceLines(bytes);
    assert.equal(base64LinesLength(length), expected.length);
    const shifted = Buffer.alloc(expected.length + 3);
    const shift = length % 4;
    assert.equal(writeBase64Lines(bytes, shifted, shift), expected.length + shift);
    assert.equal(shifted.subarray(shift, expected.length + shift).toString(), expected);
  }
});

test('base64 lines of a long input cross all block borders', () => {
  const source = sample(57 * 1024 * 3 + 1);
  for (const around of [57 * 1024, 57 * 2048, source.length - 1]) {
    for (const size of [around - 1, around, around + 1]) {
      const expected = referenceLines(source.subarray(0, size));
      const target = Buffer.alloc(expected.length);
      writeBase64Lines(source.subarray(0, size), target, 0);
      assert.equal(target.toString(), expected);
    }
  }
});

test('base64 lines are the same for all chunks and offsets, and nothing is written after them', () => {
  const bytes = sample(130_001);
  const expected = referenceLines(bytes);
  for (const step of [1, 16, 57, 1000, 58_368, 65_536]) {
    const offset = step % 7;
    const target = Buffer.alloc(offset + expected.length + 100, '#');
    const writer = createBase64Writer(target, offset);
    for (let at = 0; at < bytes.length; at += step) writer.write(bytes.subarray(at, at + step));
    assert.equal(writer.finish(), offset + expected.length);
    assert.ok(
      target.equals(Buffer.from(`${'#'.repeat(offset)}${expected}${'#'.repeat(100)}`)),
      `chunks of ${step}`,
    );
  }
});

test('canonical line ends equal the plain replacement, and inspection counts the changes', () => {
  const pieces = fc.array(
    fc.constantFrom('\r', '\n', '\r\n', 'a', 'é', '\0', '\t', 'some text without an end', '  '),
    { maxLength: 60 },
  );
  fc.assert(
    fc.property(pieces, fc.integer({ min: 0, max: 3 }), (list, shift) => {
      const text = list.join('');
      const bytes = Buffer.from(`${'#'.repeat(shift)}${text}`).subarray(shift);
      const expected = text.replace(/\r\n|\r|\n/g, '\r\n');
      const traits = inspectBytes(bytes);
      assert.equal(canonicalize(bytes).toString(), expected);
      assert.equal(traits.bareLineEnds, expected.length - text.length);
      assert.equal(traits.hasNul, text.includes('\0'));
      assert.equal(traits.hasHighBytes, text.includes('é'));
      const lines = expected.split('\r\n').map((line) => Buffer.byteLength(line));
      if (!text.replaceAll('\r\n', '').includes('\r'))
        assert.equal(traits.longestLineBytes, Math.max(...lines));
    }),
  );
});

test('canonical bytes are returned without a copy', () => {
  const bytes = Buffer.from('a\r\nb');
  assert.equal(canonicalize(bytes).buffer, bytes.buffer);
  assert.equal(canonicalize(bytes).byteOffset, bytes.byteOffset);
});

test('large bodies are decoded equally for all line lengths', () => {
  const source = Buffer.from(Array.from({ length: 300_001 }, (_, index) => (index * 7919) % 256));
  const lines = referenceLines(source);
  const at = 200_000 - (200_000 % 78);
  const variants: string[] = [
    lines,
    lines.replaceAll('\r\n', '\n'),
    lines.replaceAll('\r\n', ''),
    // One line feed alone, a blank, a longer and a shorter line, each with the same number of bytes as
    // before.
    `${lines.slice(0, at)}${lines.slice(at, at + 76)} \n${lines.slice(at + 78)}`,
    `${lines.slice(0, at)} ${lines.slice(at, at + 76)}\n${lines.slice(at + 78)}`,
    `${lines.slice(0, at)}${lines.slice(at, at + 40)}\r\n${lines.slice(at + 40, at + 76)}${lines.slice(at + 78)}`,
    `${lines.slice(0, at)}!!${lines.slice(at)}`,
    `${lines}\r\n\r\n`,
    lines.trimEnd(),
  ];
  for (const text of variants) assert.ok(decodeBase64(Buffer.from(text, 'latin1')).equals(source));
});
