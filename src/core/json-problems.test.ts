import assert from 'node:assert/strict';
import { test } from 'node:test';
import { processorMs } from '../../test/support/processor-time.ts';
import { describeBadJson, findJsonProblem } from './json-problems.ts';

const problemOf = (json: string, encoding: BufferEncoding = 'utf8') => {
  const found = findJsonProblem(Buffer.from(json, encoding));
  return found === undefined ? undefined : `${found.reason} ${found.field}`;
};

test('finds the field whose text is not UTF-8', () => {
  assert.equal(problemOf('{"a":1,"name":"José"}', 'latin1'), 'not_utf8 name');
  assert.equal(problemOf('{"list":[{"a":"x"},{"b":["y","é"]}]}', 'latin1'), 'not_utf8 list[1].b[1]');
  assert.equal(problemOf('{"é":1}', 'latin1'), 'not_utf8 ?');
  assert.equal(problemOf('é', 'latin1'), 'not_utf8 ');
  assert.equal(problemOf('{"name":"José é 𝒳"}'), undefined);
});

test('finds half a surrogate pair, which no UTF-8 can carry', () => {
  assert.equal(problemOf(String.raw`{"name":"\ud83d"}`), 'not_utf8 name');
  assert.equal(problemOf(String.raw`{"name":"\ud83d\ude00 \\ud83d"}`), undefined);
});

test('finds a name that an object has twice, however it is written', () => {
  assert.equal(problemOf('{"to":"a","from":"b","to" : "c"}'), 'duplicate to');
  assert.equal(problemOf(String.raw`{"to":"a","t\u006f":"c"}`), 'duplicate to');
  assert.equal(problemOf('{"l":[{"a":1},{"a":1,"b":{"c":1,"c":2}}]}'), 'duplicate l[1].b.c');
});

test('takes the same text as name and value, in other objects and inside strings', () => {
  assert.equal(
    problemOf(String.raw`{"a":"a","b":{"a":1},"c":[{"a":1},{"a":"\",\"a\":1"}],"d":"\\"}`),
    undefined,
  );
  for (const text of ['', '[]', '{}', '"a"', '1', '{"a":"', '}}]]', '{"a":1,,"b"'])
    assert.equal(problemOf(text), undefined, text);
});

test('the path of a fault is cut, and a long one or a deep one costs no more time', async () => {
  const strings = '"",'.repeat(100_000);
  const hostile = [
    `{"${'n'.repeat(500_000)}":[${strings}"\\ud83d"]}`,
    `${'['.repeat(200_000)}${strings}"\\ud83d"${']'.repeat(200_000)}`,
  ];
  for (const json of hostile) {
    const tookMs = await processorMs(() =>
      assert.equal(findJsonProblem(Buffer.from(json))?.field.length, 200),
    );
    // Copying the whole path for each string takes 10 s.
    assert.ok(tookMs < 2000, `${tookMs} ms`);
  }
});

test('names the place of what is not JSON, and repeats nothing of it', () => {
  const detailOf = (json: string): string => {
    try {
      JSON.parse(json);
    } catch (error) {
      return describeBadJson(error).detail;
    }
    return 'JSON';
  };
  assert.equal(detailOf('{"a":"b",\n "text":"two\nlines"}'), 'The body is not JSON (line 2, column 13).');
  assert.equal(detailOf('{"a":"Doe" "b":1}'), 'The body is not JSON (line 1, column 12).');
  for (const json of ['{"name":Doe}', '', `{"a":"(line 7 column 7)`, "'(line 7 column 7)'"])
    assert.match(detailOf(json), /^The body is not JSON(?: \(line 1, column \d+\))?\.$/, json);
});
