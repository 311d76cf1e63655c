import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { SMTPStream } from 'smtp-server/lib/smtp-stream.js';
import { passPlainData } from './quick-data.ts';

interface Parsed {
  readonly message: string;
  readonly commands: readonly string[];
}

/** What a session makes of these chunks, after DATA. */
async function parse(chunks: readonly string[], isQuick: boolean): Promise<Parsed> {
  const parser = new SMTPStream();
  if (isQuick) passPlainData(parser);
  const commands: string[] = [];
  parser.oncommand = (command, next) => {
    commands.push(command.toString('latin1'));
    next?.();
  };
  const data = parser.startDataMode(Infinity);
  const pieces: Buffer[] = [];
  data.on('data', (piece: Buffer) => pieces.push(piece));
  data.once('end', () => parser.continue());
  for (const chunk of chunks) parser.write(Buffer.from(chunk, 'latin1'));
  await turns(40);
  return { message: Buffer.concat(pieces).toString('latin1'), commands };
}

/** A message that begins its end and does not end keeps the parser waiting, so that no event tells when all is read. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}

const line = `${'A'.repeat(76)}\r\n`;
const piece = fc.oneof(
  { weight: 3, arbitrary: fc.nat(40).map((count) => line.repeat(count)) },
  { weight: 1, arbitrary: fc.constantFrom('.', '\r\n.', '\r\n..', '\n.\n', '\r', 'a.b', '.'.repeat(1200)) },
);

/** Cuts a text at these shares of its length. */
function cut(text: string, shares: readonly number[]): string[] {
  const places = [0, ...shares.map((share) => Math.round(share * text.length)), text.length];
  const sorted = places.toSorted((a, b) => a - b);
  return sorted.slice(1).map((place, index) => text.slice(sorted[index], place));
}

test('messages are read as by the library, however they are cut', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(piece, { maxLength: 8 }),
      fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 5 }),
      async (pieces, shares) => {
        const chunks = cut(`${pieces.join('')}\r\n.\r\nQUIT\r\n`, shares).filter((chunk) => chunk !== '');
        assert.deepEqual(await parse(chunks, true), await parse(chunks, false));
      },
    ),
    { numRuns: 300 },
  );
});

test('the end of a message is found at every cut', async () => {
  const body = line.repeat(40);
  const text = `${body}.\r\nQUIT\r\n`;
  for (let at = body.length - 6; at < text.length; at++)
    for (const next of [1, 2, 3, 100])
      assert.deepEqual(
        await parse(
          [text.slice(0, at), text.slice(at, at + next), text.slice(at + next)].filter(Boolean),
          true,
        ),
        { message: body, commands: ['QUIT'] },
        `${at} ${next}`,
      );
});

test('a reader that pauses loses nothing', async () => {
  const parser = new SMTPStream();
  passPlainData(parser);
  const data = parser.startDataMode(Infinity);
  const written = Array.from({ length: 40 }, () => line.repeat(200));
  for (const chunk of written) parser.write(Buffer.from(chunk));
  parser.write(Buffer.from('.\r\n'));
  const pieces: Buffer[] = [];
  for await (const chunk of data) {
    pieces.push(chunk as Buffer);
    await turns(1);
  }
  assert.equal(Buffer.concat(pieces).toString(), written.join(''));
  assert.equal(parser.dataBytes, line.length * 200 * 40);
});

test('a message whose reader has gone is read to its end', async () => {
  const parser = new SMTPStream();
  passPlainData(parser);
  const data = parser.startDataMode(Infinity);
  const commands: string[] = [];
  parser.oncommand = (command) => commands.push(command.toString());
  parser.continue();
  for (let turn = 0; turn < 10; turn++) parser.write(Buffer.from(line.repeat(500)));
  await turns(1);
  data.destroy();
  parser.write(Buffer.from('.\r\nQUIT\r\n'));
  await turns(20);
  assert.deepEqual(commands, ['QUIT']);
});
