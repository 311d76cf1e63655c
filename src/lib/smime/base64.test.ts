import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { base64LinesSize, createBase64Writer } from './base64-writer.ts';
import { decodeBase64Lines } from './decode-base64-lines.ts';

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

test('decodes what it writes, at any size', () => {
  for (const size of [0, 1, 57, 98_303, 98_304, 98_305, 300_000]) {
    const bytes = sample(size);
    assert.ok(decodeBase64Lines(write([bytes])).equals(bytes), `${size} bytes`);
  }
});

const bytes = sample(300_000);
const text = bytes.toString('base64');
const lines = text.match(/.{1,76}/g) ?? [];

const layouts: Readonly<Record<string, string>> = {
  'one line': text,
  'line feeds only': lines.join('\n'),
  'lines of 64': (text.match(/.{1,64}/g) ?? []).join('\r\n'),
  'lines of 75, no whole groups': (text.match(/.{1,75}/g) ?? []).join('\r\n'),
  'lines of 60,000': (text.match(/.{1,60000}/g) ?? []).join('\r\n'),
  'a blank at every line end': lines.map((line) => `${line} `).join('\r\n'),
  'one line shorter than the others': `${lines[0]?.slice(0, 40)}\r\n${lines[0]?.slice(40)}\r\n${lines.slice(1).join('\r\n')}`,
  'a character too many in a late line': lines
    .map((line, index) => (index === 3000 ? `${line}!` : line))
    .join('\r\n'),
  'a foreign character inside a late line': lines
    .map((line, index) => (index === 3000 ? `${line.slice(0, 9)}!${line.slice(9)}` : line))
    .join('\r\n'),
  'mixed line ends': lines.map((line, index) => line + (index % 3 === 0 ? '\n' : '\r\n')).join(''),
  'empty lines before and after': `\r\n\r\n${lines.join('\r\n')}\r\n\r\n\r\n`,
};

for (const [name, layout] of Object.entries(layouts)) {
  test(`decodes base64 with ${name}`, () => {
    assert.ok(decodeBase64Lines(Buffer.from(layout, 'latin1')).equals(bytes));
  });
}

test('decodes as Node does, whatever the text', () => {
  const characters = fc.constantFrom(...'ABCDwxyz0189+/', '\n', '\r\n', ' ', '!');
  fc.assert(
    fc.property(fc.array(characters, { maxLength: 400 }), (parts) => {
      const input = Buffer.from(parts.join(''), 'latin1');
      assert.deepEqual(decodeBase64Lines(input), Buffer.from(input.toString('latin1'), 'base64'));
    }),
  );
});
