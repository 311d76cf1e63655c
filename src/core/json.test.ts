import assert from 'node:assert/strict';
import { test } from 'node:test';
import { processorMs } from '../../test/support/processor-time.ts';
import { describeBadJson, findJsonFault, jsonLimits } from './json.ts';

const problemOf = (json: string, encoding: BufferEncoding = 'utf8') => {
  const found = findJsonFault(Buffer.from(json, encoding));
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

test('commas alone, which are no values, are passed in linear time and without memory', async () => {
  const tookMs = await processorMs(() => findJsonFault(Buffer.from(`[${','.repeat(20_000_000)}`)));
  assert.ok(tookMs < 2000, `${tookMs} ms`);
});

const unlimited = Object.fromEntries(
  Object.keys(jsonLimits).map((name) => [name, Infinity]),
) as unknown as typeof jsonLimits;

test('the path of a fault is cut, and a long one or a deep one costs no more time', async () => {
  const strings = '"",'.repeat(100_000);
  const hostile = [
    `{"${'n'.repeat(500_000)}":[${strings}"\\ud83d"]}`,
    `${'['.repeat(200_000)}${strings}"\\ud83d"${']'.repeat(200_000)}`,
  ];
  for (const json of hostile) {
    const tookMs = await processorMs(() =>
      assert.equal(findJsonFault(Buffer.from(json), unlimited)?.field.length, 200),
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

const reasonOf = (json: string): string | undefined => findJsonFault(Buffer.from(json))?.reason;
const { maxDepth, maxNames, maxValues, maxNameBytes, maxLiteralBytes } = jsonLimits;
const names = (count: number): string => Array.from({ length: count }, (_, n) => `"${n}":0`).join(',');

test('finds depth, names, values and lengths beyond the limits, and nothing at the limits', () => {
  assert.equal(reasonOf('['.repeat(maxDepth) + ']'.repeat(maxDepth)), undefined);
  assert.equal(reasonOf('['.repeat(maxDepth + 1)), 'too_deep');
  assert.equal(reasonOf('{"a":'.repeat(maxDepth + 1)), 'too_deep');
  assert.equal(reasonOf(`{${names(maxNames)}}`), undefined);
  assert.equal(reasonOf(`{${names(maxNames + 1)}}`), 'too_many');
  assert.equal(reasonOf(`[${'1,'.repeat(maxValues - 2)}1]`), undefined);
  for (const value of ['1', '""', '[]', 'null'])
    assert.equal(reasonOf(`[${`${value},`.repeat(maxValues)}1]`), 'too_many', value);
  assert.equal(reasonOf(`{"${'n'.repeat(maxNameBytes)}":"${'v'.repeat(1_000_000)}"}`), undefined);
  assert.equal(reasonOf(`{"${'n'.repeat(maxNameBytes + 1)}" \t:1}`), 'too_long');
  assert.equal(reasonOf(`[${'1'.repeat(maxLiteralBytes + 1)}]`), 'too_long');
  assert.equal(reasonOf('x'.repeat(maxLiteralBytes + 1)), 'too_long');
});

test('what stands inside a string counts as one value', () => {
  const text = '[{,":'.repeat(100_000).replaceAll('"', String.raw`\"`);
  assert.equal(reasonOf(`{"a":"${text}"}`), undefined);
  assert.equal(reasonOf(String.raw`["\\",${'['.repeat(maxDepth)}`), 'too_deep');
  // The string has no end.
  assert.equal(reasonOf(`"${'['.repeat(1000)}`), undefined);
});

test('40 MB are looked through without memory, and a text of quotes and backslashes in linear time', async () => {
  const hostile = ['[', '{"a":', '"",', '\\"', '\\', ' ', '"'].map((piece) =>
    Buffer.alloc(40_000_000, piece),
  );
  const before = process.memoryUsage().rss;
  const tookMs = await processorMs(() => {
    for (const json of hostile) findJsonFault(json);
    findJsonFault(Buffer.concat([Buffer.from('"'), ...hostile.slice(3, 5)]));
  });
  assert.ok(tookMs < 10_000, `${tookMs} ms`);
  assert.ok(process.memoryUsage().rss - before < 200_000_000);
});
