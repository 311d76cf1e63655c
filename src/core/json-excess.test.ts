import assert from 'node:assert/strict';
import { test } from 'node:test';
import { processorMs } from '../../test/support/processor-time.ts';
import { findJsonExcess, jsonLimits } from './json-excess.ts';

const reasonOf = (json: string): string | undefined => findJsonExcess(Buffer.from(json))?.reason;
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
    for (const json of hostile) findJsonExcess(json);
    findJsonExcess(Buffer.concat([Buffer.from('"'), ...hostile.slice(3, 5)]));
  });
  assert.ok(tookMs < 10_000, `${tookMs} ms`);
  assert.ok(process.memoryUsage().rss - before < 200_000_000);
});
