import {
  collectParts,
  decodeWords,
  MimeError,
  parseEntity,
  readDate,
  readMailboxes,
  readMessageIds,
  unwrapEntity,
  wrapMessage,
  type MimeEntity,
} from '../../src/lib/mime/index.ts';
import { main, type FuzzTarget } from './fuzz.ts';

const tokens = [
  '\r\n',
  '\n',
  '\r',
  '\r\n\r\n',
  '--b',
  '--b--',
  '\r\n--b\r\n',
  '\r\n--c--\r\n',
  'Content-Type: ',
  'multipart/mixed; boundary=b',
  'message/rfc822',
  'Content-Transfer-Encoding: base64\r\n',
  'Content-Transfer-Encoding: quoted-printable\r\n',
  '=?utf-8?B?w6k=?=',
  '=?utf-8?q?=c3=a9?=',
  "name*0*=utf-8''%c3%a9",
  'name*1=x',
  '"',
  '\\',
  '(',
  ')',
  '<',
  '>',
  '@',
  ',',
  ';',
  ':',
  '=',
  '=\r\n',
  '=C3=A9',
  'w6k=',
  '\0',
  '\xff',
  '\xc3\xa9',
  'charset=utf-16le',
  ' \t',
  'From: ',
];

/** Reads everything there is to read, and checks what must hold for any input. */
function readAll(entity: MimeEntity): number {
  if (entity.bodyBytes.length > entity.bytes.length) throw new Error('the body is longer than the entity');
  for (const { value, raw } of entity.headerFields) {
    if (/[\r\n\0]/.test(value)) throw new Error('a header value holds a line break');
    if (raw.length > entity.bytes.length) throw new Error('a field is longer than the entity');
    decodeWords(value);
    readMailboxes(value);
    readMessageIds(value);
    readDate(value);
  }
  const isEncoded = ['base64', 'quoted-printable'].includes(entity.transferEncoding);
  const mayCopy = isEncoded || /\r(?!\n)/.test(Buffer.from(entity.bodyBytes).toString('latin1'));
  return entity.parts.reduce((sum, part) => {
    if (!mayCopy && part.bytes.buffer !== entity.bytes.buffer) throw new Error('bytes were copied');
    return sum + readAll(part);
  }, 1);
}

function run(bytes: Buffer): string {
  try {
    const entity = parseEntity(bytes);
    const count = readAll(entity);
    for (const part of collectParts(entity)) {
      part.content();
      part.text();
      if (/[/\\\p{Cc}]/u.test(part.fileName ?? '')) throw new Error('a file name is unsafe');
      const inner = unwrapEntity(part.entity);
      if (inner !== undefined) readAll(parseEntity(inner));
    }
    const again = unwrapEntity(parseEntity(wrapMessage(bytes)));
    if (again === undefined || (!/(?<!\r)\n|\r(?!\n)/.test(bytes.toString('latin1')) && !again.equals(bytes)))
      throw new Error('wrapping changed the message');
    return `${Math.min(count, 5)} parts`;
  } catch (error) {
    if (error instanceof MimeError) return error.code;
    throw error;
  }
}

export const mimeTarget: FuzzTarget = { name: 'mime', tokens, run };

if (import.meta.main) await main(mimeTarget, process.argv.slice(2));
