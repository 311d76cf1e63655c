import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { hasNoDotLine, isReadyToSend } from './quick-connection.ts';

/** The rule of RFC 5321, checked byte by byte. */
function needsNoChange(text: string, before: string): boolean {
  const whole = before + text;
  const isWhole = !/\r(?!\n)|(?<!\r)\n|\n\./.test(`${whole}${text.endsWith('\r') ? '\n' : ''}`);
  return isWhole && !(before === '' && text.startsWith('.'));
}

test('a piece is passed on as it is exactly if nothing in it has to be changed', () => {
  const byte = fc.constantFrom('\r', '\n', '.', 'a', '\r\n', '\r\n.');
  fc.assert(
    fc.property(
      fc.array(byte, { minLength: 1, maxLength: 12 }),
      fc.constantFrom('', '\r', '\r\n', 'a'),
      (bytes, before) => {
        const text = bytes.join('');
        const last = before === '' ? false : before.charCodeAt(before.length - 1);
        const hasDotLine = /\n\./.test(before + text) || (before === '' && text.startsWith('.'));
        assert.equal(hasNoDotLine(Buffer.from(text), last), !hasDotLine, JSON.stringify([before, text]));
        assert.equal(
          isReadyToSend(Buffer.from(text), last),
          needsNoChange(text, before),
          JSON.stringify([before, text]),
        );
      },
    ),
    { numRuns: 5000 },
  );
});
