import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fc } from '../../../../test/support/fast-check.ts';
import { CsvReader, type CsvRow } from './csv-reader.ts';

function keep({ line, fields, isMisquoted }: CsvRow) {
  return { line, fields, ...(isMisquoted === true ? { isMisquoted } : {}) };
}

function readAll(
  text: string,
  pieceLength = text.length * 4 || 1,
  options: { readonly columnCount?: number } = {},
): ReturnType<typeof keep>[] {
  const reader = new CsvReader({ delimiter: ',', maxRowBytes: 1000, ...options });
  const bytes = Buffer.from(text);
  const rows = [];
  for (let at = 0; at < bytes.length; at += pieceLength)
    for (const row of reader.push(bytes.subarray(at, at + pieceLength))) rows.push(keep(row));
  for (const row of reader.end()) rows.push(keep(row));
  return rows;
}

test('RFC 4180: quoted fields may hold delimiters, doubled quotes and ends of line; line numbers count them', () => {
  const rows = readAll('a,"b,c","d ""e"""\r\n"x\ny",,z\nlast,1,2');
  assert.deepEqual(rows, [
    { line: 1, fields: ['a', 'b,c', 'd "e"'] },
    { line: 2, fields: ['x\ny', '', 'z'] },
    { line: 4, fields: ['last', '1', '2'] },
  ]);
});

test('empty lines are skipped and counted', () => {
  assert.deepEqual(readAll('a,b\n\n\nc,d\n'), [
    { line: 1, fields: ['a', 'b'] },
    { line: 4, fields: ['c', 'd'] },
  ]);
});

test('a row with misplaced quotes is reported and the next row is read', () => {
  assert.deepEqual(readAll('a,b"c\n"x"y,z\nok,"1"\n'), [
    { line: 1, fields: [], isMisquoted: true },
    { line: 2, fields: [], isMisquoted: true },
    { line: 3, fields: ['ok', '1'] },
  ]);
});

test('the rows after a quote that opens by mistake are read, wherever the pieces end', () => {
  const text = 'a,"b\nc,d\n"e",f\ng,"h\n"\ni,"j",k\n"l\nm",n\n';
  const expected = [
    { line: 1, fields: [], isMisquoted: true },
    { line: 2, fields: ['c', 'd'] },
    { line: 3, fields: ['e', 'f'] },
    { line: 4, fields: ['g', 'h\n'] },
    { line: 6, fields: ['i', 'j', 'k'] },
    { line: 7, fields: ['l\nm', 'n'] },
  ];
  for (let pieceLength = 1; pieceLength <= text.length; pieceLength++)
    assert.deepEqual(readAll(text, pieceLength), expected, `pieces of ${pieceLength}`);
});

test('a row of several lines with another number of columns counts as misquoted', () => {
  const reader = new CsvReader({ delimiter: ',', maxRowBytes: 1000, columnCount: 2 });
  const rows = [
    ...Array.from(reader.push(Buffer.from('a,"b\nc,d\ne,f",g\n"h\ni",j\n"k",l,m\n')), keep),
    ...Array.from(reader.push(Buffer.from('"n\no"')), keep),
    ...Array.from(reader.end(), keep),
  ];
  assert.deepEqual(rows, [
    { line: 1, fields: [], isMisquoted: true },
    { line: 2, fields: ['c', 'd'] },
    { line: 3, fields: [], isMisquoted: true },
    { line: 4, fields: ['h\ni', 'j'] },
    { line: 6, fields: ['k', 'l', 'm'] },
    { line: 7, fields: ['n\no'] },
  ]);
});

test('a quote that no other one follows costs its row alone, however far the end of the file is and wherever the pieces end', () => {
  for (const count of [1, 3, 249, 250, 251, 1000]) {
    const good = Array.from({ length: count }, (_, at) => `${at},b`);
    const expected = [
      { line: 1, fields: ['h', 'i'] },
      { line: 2, fields: [], isMisquoted: true },
      ...good.map((row, at) => ({ line: at + 3, fields: row.split(',') })),
    ];
    for (const pieceLength of [1, 7, 999, 1000, 1001, 100_000])
      assert.deepEqual(
        readAll(`h,i\nx,"y\n${good.join('\n')}\n`, pieceLength, { columnCount: 2 }),
        expected,
        `${count} rows, pieces of ${pieceLength}`,
      );
  }
});

test('a row of several lines that is longer than any row may be counts as misquoted, wherever the pieces end', () => {
  const inside = Array.from({ length: 300 }, (_, at) => `${at},b`);
  const text = `x,"y\n${inside.join('\n')}\nz"\nd,e\n`;
  const expected = [
    { line: 1, fields: [], isMisquoted: true },
    ...inside.map((row, at) => ({ line: at + 2, fields: row.split(',') })),
    { line: 302, fields: [], isMisquoted: true },
    { line: 303, fields: ['d', 'e'] },
  ];
  for (const pieceLength of [1, 7, 999, 1000, 1001, 100_000])
    assert.deepEqual(readAll(text, pieceLength, { columnCount: 2 }), expected, `pieces of ${pieceLength}`);
});

test('a quote that is never closed breaks the file if no good row follows, and so does an endless row', () => {
  for (const text of ['a,"b', 'a,"b\n', 'a,"b\nc', 'a,"b\nc\nd\n', 'a,b\nc,"d\ne,f,g\n', 'a,"b\nc,"d\n'])
    for (let pieceLength = 1; pieceLength <= text.length; pieceLength++)
      assert.throws(
        () => readAll(text, pieceLength, { columnCount: 2 }),
        { code: 'DIRECTORY_FILE_BROKEN', message: /a quote that is never closed/ },
        JSON.stringify(text),
      );
  const reader = new CsvReader({ delimiter: ',', maxRowBytes: 10 });
  assert.throws(() => [...reader.push(Buffer.from('a'.repeat(11)))], { code: 'DIRECTORY_FILE_BROKEN' });
});

test('columns that are not wanted come as empty texts', () => {
  const reader = new CsvReader({ delimiter: ',', maxRowBytes: 1000, wanted: [false, true] });
  assert.deepEqual(Array.from(reader.push(Buffer.from('"a","b"\n')), keep), [{ line: 1, fields: ['', 'b'] }]);
});

test('reads back its own output for every split into chunks', () => {
  const field = fc.string({ unit: fc.constantFrom('a', ',', '"', '\n', '\r', ' ', 'é'), maxLength: 6 });
  const table = fc.array(fc.array(field, { minLength: 2, maxLength: 4 }), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(
      table,
      fc.integer({ min: 1, max: 9 }),
      fc.constantFrom('\n', '\r\n'),
      (rows, pieceLength, ending) => {
        const text = rows
          .map((row) => row.map((value) => `"${value.replaceAll('"', '""')}"`).join(',') + ending)
          .join('');
        assert.deepEqual(
          readAll(text, pieceLength).map((row) => row.fields),
          rows,
        );
      },
    ),
  );
});

test('rows without quotes are cut at every delimiter and line feed, and a CR before a line feed belongs to it', () => {
  const unit = fc.constantFrom('a', ',', '\n', '\r', '\r\n', ' ', 'é', '\u{1f600}', '\u0001');
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 30 }), fc.integer({ min: 1, max: 9 }), (text, pieceLength) => {
      const lines = text.split('\n').map((line) => line.replace(/\r$/, ''));
      const expected = lines.flatMap((line, at) =>
        line === '' ? [] : [{ line: at + 1, fields: line.split(',') }],
      );
      assert.deepEqual(readAll(text, pieceLength), expected);
    }),
    { numRuns: 1000 },
  );
});

test('bytes that are not UTF-8 become replacement characters, in rows with and without quotes', () => {
  const reader = new CsvReader({ delimiter: ',', maxRowBytes: 1000 });
  const bytes = Buffer.from('a\xff,b\n"\xe2\x82",c\n', 'latin1');
  assert.deepEqual(Array.from(reader.push(bytes), keep), [
    { line: 1, fields: ['a\ufffd', 'b'] },
    { line: 2, fields: ['\ufffd', 'c'] },
  ]);
});

test('a row of very many columns is read', () => {
  const values = Array.from({ length: 1000 }, (_, at) => String(at % 10));
  const reader = new CsvReader({ delimiter: ',', maxRowBytes: 10_000 });
  assert.deepEqual(Array.from(reader.push(Buffer.from(`${values.join(',')}\n`)), keep), [
    { line: 1, fields: values },
  ]);
});
