import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { CsvReader } from './csv-reader.ts';

function readAll(
  text: string,
  pieceLength = text.length || 1,
): { line: number; fields: readonly string[] }[] {
  const reader = new CsvReader({ delimiter: ',', maxRowLength: 1000 });
  const rows = [];
  for (let at = 0; at < text.length; at += pieceLength)
    rows.push(...reader.push(text.slice(at, at + pieceLength)));
  rows.push(...reader.end());
  return rows.map(({ line, fields }) => ({ line, fields }));
}

test('RFC 4180: quoted fields may hold delimiters, doubled quotes and ends of line; line numbers count them', () => {
  const rows = readAll('a,"b,c","d ""e"""\r\n"x\ny",,z\nlast,1,2');
  assert.deepEqual(rows, [
    { line: 1, fields: ['a', 'b,c', 'd "e"'] },
    { line: 2, fields: ['x\ny', '', 'z'] },
    { line: 4, fields: ['last', '1', '2'] },
  ]);
});

test('empty lines are passed over and counted', () => {
  assert.deepEqual(readAll('a,b\n\n\nc,d\n'), [
    { line: 1, fields: ['a', 'b'] },
    { line: 4, fields: ['c', 'd'] },
  ]);
});

test('a row with misplaced quotes is reported and the next row is read', () => {
  const reader = new CsvReader({ delimiter: ',', maxRowLength: 1000 });
  const rows = [...reader.push('a,b"c\n"x"y,z\nok,"1"\n'), ...reader.end()];
  assert.deepEqual(rows, [
    { line: 1, fields: [], isMisquoted: true },
    { line: 2, fields: [], isMisquoted: true },
    { line: 3, fields: ['ok', '1'] },
  ]);
});

test('a quote that is never closed and an endless row break the file', () => {
  assert.throws(() => readAll('a,"b\nc,d\n'), { code: 'DIRECTORY_FILE_BROKEN' });
  const reader = new CsvReader({ delimiter: ',', maxRowLength: 10 });
  assert.throws(() => reader.push('a'.repeat(11)), { code: 'DIRECTORY_FILE_BROKEN' });
});

test('columns that are not wanted come as empty texts', () => {
  const reader = new CsvReader({ delimiter: ',', maxRowLength: 1000, wanted: [false, true] });
  assert.deepEqual(reader.push('"a","b"\n'), [{ line: 1, fields: ['', 'b'] }]);
});

test('what is written is read back, however the pieces are cut', () => {
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
