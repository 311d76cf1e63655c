import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fc } from '../../../test/support/fast-check.ts';
import { inspectBytes, type ByteTraits } from './inspect-bytes.ts';

/** The plain way to do it. A bare CR ends no line. */
function referenceTraits(bytes: Uint8Array): ByteTraits {
  const text = Buffer.from(bytes).toString('latin1');
  return {
    bareLineEnds: [...text.replaceAll('\r\n', '').matchAll(/[\r\n]/g)].length,
    hasHighBytes: /[\u0080-\u00ff]/.test(text),
    hasNul: text.includes('\0'),
    longestLineBytes: Math.max(...text.split(/\r\n|\n/).map((line) => line.length)),
  };
}

/** Runs of equally long lines with now and then something else in them. */
const lines = fc
  .array(
    fc.record({
      lineBytes: fc.integer({ min: 0, max: 90 }),
      count: fc.integer({ min: 1, max: 6 }),
      end: fc.constantFrom('\r\n', '\r\n', '\r\n', '\n', '\r', '\r\r\n', ''),
    }),
    { maxLength: 8 },
  )
  .map((runs) =>
    runs.map(({ lineBytes, count, end }) => `${'x'.repeat(lineBytes)}${end}`.repeat(count)).join(''),
  );

test('inspection finds a stray byte at every position, as a plain reading does', () => {
  const stray = fc.record({
    at: fc.nat(),
    byte: fc.constantFrom(0, 9, 10, 13, 0x1f, 0x20, 0x7f, 0x80, 0xff),
  });
  fc.assert(
    fc.property(
      lines,
      fc.array(stray, { maxLength: 3 }),
      fc.integer({ min: 0, max: 7 }),
      (text, strays, shift) => {
        // At every alignment, for words are read where the processor likes them.
        const bytes = Buffer.from(`${'#'.repeat(shift)}${text}`, 'latin1').subarray(shift);
        for (const { at, byte } of strays) if (bytes.length > 0) bytes[at % bytes.length] = byte;
        assert.deepEqual(inspectBytes(bytes), referenceTraits(bytes));
      },
    ),
    { numRuns: 2000 },
  );
});

test('inspection reads no byte outside its input', () => {
  const around = Buffer.from(`\0\n${'x'.repeat(20)}\r\n${'y'.repeat(20)}\r\n\0`);
  const traits = inspectBytes(around.subarray(2, around.length - 2));
  assert.deepEqual(traits, { bareLineEnds: 1, hasHighBytes: false, hasNul: false, longestLineBytes: 21 });
});
