import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collectParts } from './collect-parts.ts';
import { parseEntity } from './mime-entity.ts';
import { decodeBody, readText } from './decode-body.ts';
import { MimeError } from './errors.ts';
import { splitParts } from './split-parts.ts';

const entityOf = (...lines: string[]): ReturnType<typeof parseEntity> =>
  parseEntity(Buffer.from(lines.join('\r\n')));
const codeOf = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    if (error instanceof MimeError) return error.code;
    throw error;
  }
  return 'no error';
};

test('header fields are unfolded, found in any case and kept as raw bytes (RFC 5322 §2.2.3)', () => {
  const entity = entityOf('Subject: one', '\ttwo', 'sUBJECT : three', '', 'body');
  assert.deepEqual(entity.headers('subject'), ['one\ttwo', 'three']);
  assert.equal(Buffer.from(entity.headerFields[0]?.raw ?? []).toString(), 'Subject: one\r\n\ttwo\r\n');
  assert.equal(Buffer.from(entity.bodyBytes).toString(), 'body');
});

test('bare LF, a missing body, a missing header section and an mbox line are read', () => {
  assert.equal(parseEntity(Buffer.from('A: 1\nB: 2\n\nx\n')).header('b'), '2');
  assert.equal(parseEntity(Buffer.from('A: 1')).header('a'), '1');
  assert.equal(parseEntity(Buffer.from('A: 1')).bodyBytes.length, 0);
  assert.equal(Buffer.from(parseEntity(Buffer.from('\r\nplain')).bodyBytes).toString(), 'plain');
  assert.equal(
    Buffer.from(parseEntity(Buffer.from('no header here\r\nplain')).bodyBytes).toString(),
    'no header here\r\nplain',
  );
  assert.equal(parseEntity(Buffer.from('From a@b Sat Nov 21\nA: 1\n\nx')).header('a'), '1');
});

test('blanks before the very first line hide no header section', () => {
  const read = (text: string) => {
    const entity = parseEntity(Buffer.from(text));
    const fields = entity.headerFields.map(({ name, value }) => `${name}=${value}`);
    return [...fields, Buffer.from(entity.bodyBytes).toString()];
  };
  assert.deepEqual(read(' Received: from a\r\n  by b\r\nA: 1\r\n\r\nx'), [
    'Received=from a  by b',
    'A=1',
    'x',
  ]);
  assert.deepEqual(read('\tA: 1\n\nx'), ['A=1', 'x']);
  assert.deepEqual(read('  left over\r\n\tof a field\r\nA: 1\r\n\r\nx'), ['A=1', 'x']);
  assert.deepEqual(read('  a text alone\r\nand more'), ['  a text alone\r\nand more']);
  assert.deepEqual(read('  a text\r\n\r\nA: 1'), ['  a text\r\n\r\nA: 1']);
  assert.deepEqual(read('  \r\nA: 1'), ['A: 1']);
  assert.deepEqual(read('   '), ['   ']);
});

test('header bytes above 127 are read as UTF-8, else as Latin-1', () => {
  assert.equal(parseEntity(Buffer.from('A: é\r\n\r\n')).header('a'), 'é');
  assert.equal(parseEntity(Buffer.from('A: é\r\n\r\n', 'latin1')).header('a'), 'é');
});

test('Content-Type: odd capitals, comments, missing quotes and RFC 2231 parameters', () => {
  const type = entityOf(
    'content-TYPE: Text/PLAIN (plain); Charset = "utf-8" ; name*0*=UTF-8\'\'%C3%A9; name*1=".txt"',
    '',
    '',
  ).contentType;
  assert.equal(type.mediaType, 'text/plain');
  assert.equal(type.parameters.get('charset'), 'utf-8');
  assert.equal(type.parameters.get('name'), 'é.txt');
  assert.equal(entityOf('Content-Type: nonsense', '', '').contentType.mediaType, 'text/plain');
});

test('AS-81: a Windows path in place of a file name is cut to its last part, quotes in a name are kept', () => {
  for (const [written, read] of [
    ['"C:\\docs\\summary.pdf"', 'summary.pdf'],
    ['"C:\\\\docs\\\\summary.pdf"', 'summary.pdf'],
    ['"a \\"b\\".pdf"', 'a "b".pdf'],
    ['C:\\docs\\summary.pdf', 'summary.pdf'],
  ] as const) {
    const text = `Content-Type: application/pdf\r\nContent-Disposition: attachment; filename=${written}; size=1\r\n\r\nx`;
    const entity = parseEntity(Buffer.from(text));
    assert.equal(collectParts(entity)[0]?.fileName, read, written);
    assert.equal(entity.disposition?.parameters.get('size'), '1');
  }
});

test('parts are the exact bytes between the delimiters for any content', () => {
  const first = 'X: 1\r\n\r\n--almost\r\n --b\r\n--bb\r\n--b-\r\ntrailing blank \r\n\r\n';
  const entity = parseEntity(
    Buffer.from(
      `Content-Type: multipart/mixed; boundary=b\r\n\r\npreamble\r\n--b \r\n${first}\r\n--b\r\n\r\n\r\n--b--\r\nepilogue\r\n--b\r\nno part`,
    ),
  );
  assert.equal(Buffer.from(entity.parts[0]?.bytes ?? []).toString(), first);
  assert.equal(Buffer.from(entity.parts[1]?.bytes ?? []).toString(), '\r\n');
  assert.equal(Buffer.from(entity.parts[2]?.bytes ?? []).toString(), 'no part');
  assert.deepEqual(
    entity.outside.map(({ bodyBytes }) => Buffer.from(bodyBytes).toString().trim()),
    ['preamble', 'epilogue'],
  );
});

test('a missing last delimiter, bare LF and empty parts are tolerated', () => {
  const texts = (body: string): string[] =>
    splitParts(Buffer.from(body), 'b', { maxParts: 10 }).parts.map((part) => part.toString());
  assert.deepEqual(texts('--b\n1\n--b\n2\n'), ['1', '2\n']);
  assert.deepEqual(texts('--b\r\n--b\r\nx\r\n--b--'), ['', 'x']);
  assert.deepEqual(texts('--b--\r\n'), []);
  assert.deepEqual(texts('nothing'), []);
  assert.deepEqual(texts(''), []);
});

test('views share memory with the source', () => {
  const source = Buffer.from('Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nab\r\n--b--');
  const body = parseEntity(source).parts[0]?.bodyBytes;
  assert.equal(body?.buffer, source.buffer);
});

test('a multipart that was encoded as a whole is still opened', () => {
  const inner = Buffer.from('--b\r\n\r\nab\r\n--b--').toString('base64');
  assert.equal(
    readText(
      entityOf('Content-Type: multipart/mixed; boundary=b', 'Content-Transfer-Encoding: base64', '', inner)
        .parts[0] ?? entityOf(),
    ),
    'ab',
  );
});

test('MIME_TOO_DEEP, MIME_TOO_MANY_PARTS and MIME_HEADER_TOO_LARGE refuse hostile trees', () => {
  const nested = (depth: number): string =>
    depth === 0
      ? '\r\nx'
      : `Content-Type: multipart/mixed; boundary=b${depth}\r\n\r\n--b${depth}\r\n${nested(depth - 1)}\r\n--b${depth}--\r\n`;
  const walk = (entity: ReturnType<typeof parseEntity>): number =>
    entity.parts.reduce((sum, part) => sum + walk(part), 1);
  assert.equal(
    codeOf(() => walk(parseEntity(Buffer.from(nested(30))))),
    'MIME_TOO_DEEP',
  );
  assert.equal(walk(parseEntity(Buffer.from(nested(20)))), 21);
  assert.equal(
    codeOf(() =>
      walk(
        parseEntity(
          Buffer.from(`Content-Type: multipart/mixed; boundary=b\r\n\r\n${'--b\r\n\r\n'.repeat(5000)}`),
        ),
      ),
    ),
    'MIME_TOO_MANY_PARTS',
  );
  assert.equal(
    codeOf(() => parseEntity(Buffer.from(`A: ${'x'.repeat(70_000)}\r\n\r\n`))),
    'MIME_HEADER_TOO_LARGE',
  );
  assert.equal(
    codeOf(() => parseEntity(Buffer.from('A: x\r\n'.repeat(2000)))),
    'MIME_HEADER_TOO_LARGE',
  );
  assert.equal(
    codeOf(() => parseEntity(Buffer.from(`A: ${'x\r\n '.repeat(40_000)}\r\n\r\n`))),
    'MIME_HEADER_TOO_LARGE',
  );
});

test('MIME_TOO_DEEP also bounds the passes over a large message', () => {
  const head = (level: number): string =>
    `Content-Type: multipart/mixed; boundary=b${level}\r\n\r\n--b${level}\r\n`;
  const bytes = Buffer.concat([
    Buffer.from(Array.from({ length: 20 }, (_, level) => head(level)).join('')),
    Buffer.alloc(2_000_000, '\n-'),
  ]);
  const walk = (entity: ReturnType<typeof parseEntity>): number =>
    entity.parts.reduce((sum, part) => sum + walk(part), 1);
  assert.equal(
    codeOf(() => walk(parseEntity(bytes))),
    'MIME_TOO_DEEP',
  );
  assert.equal(walk(parseEntity(bytes, { maxPasses: 30 })), 21);
});

test('the limit on parts holds for the whole tree', () => {
  const inner = `Content-Type: multipart/mixed; boundary=i\r\n\r\n${'--i\r\n\r\n\r\n'.repeat(20)}--i--`;
  const entity = parseEntity(
    Buffer.from(`Content-Type: multipart/mixed; boundary=o\r\n\r\n${`--o\r\n${inner}\r\n`.repeat(20)}--o--`),
    { maxParts: 100 },
  );
  assert.equal(
    codeOf(() => entity.parts.map((part) => part.parts.length)),
    'MIME_TOO_MANY_PARTS',
  );
});

test('bodies: base64 with noise, pieces padded apart, quoted-printable with faults, unknown encodings (AS-81)', () => {
  const bodyOf = (encoding: string, body: string): string =>
    decodeBody(entityOf(`Content-Transfer-Encoding: ${encoding}`, '', body)).toString('latin1');
  assert.equal(bodyOf('BASE64 ', 'aGVs\r\n bG8=\r\n'), 'hello');
  assert.equal(bodyOf('base64', 'aGVsbG8=\r\naGVsbG8='), 'hellohello');
  assert.equal(bodyOf('base64', 'a*G?Vs!bG8'), 'hello');
  assert.equal(
    bodyOf('Quoted-Printable', 'a=3Db=\r\nc= \n=C3=a9=ZZ= x \t\r\nend='),
    'a=bc\u00c3\u00a9=ZZ= x\r\nend',
  );
  assert.equal(bodyOf('x-unknown', 'a=3D'), 'a=3D');
  assert.equal(bodyOf('8bit', 'a\0b'), 'a\0b');
});

test('text is decoded in its character set, with a guess where the name is wrong', () => {
  const textOf = (charset: string, bytes: Buffer): string =>
    readText(
      parseEntity(
        Buffer.concat([Buffer.from(`Content-Type: text/plain; charset=${charset}\r\n\r\n`), bytes]),
      ),
    );
  assert.equal(textOf('iso-8859-1', Buffer.from([0xe9])), 'é');
  assert.equal(textOf('us-ascii', Buffer.from('é')), 'é');
  assert.equal(textOf('utf-8', Buffer.from([0xe9])), 'é');
  assert.equal(textOf('no-such-thing', Buffer.from('é')), 'é');
  assert.equal(textOf('utf-16le', Buffer.from('é', 'utf16le')), 'é');
});
