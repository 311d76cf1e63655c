import assert from 'node:assert/strict';
import { test } from 'node:test';
import { releasePage, takePage } from './page-memory.ts';

test('memory that was given back is used for a page of about the same size, once', () => {
  const first = takePage(100_000);
  const second = takePage(100_000);
  assert.notEqual(first.buffer, second.buffer);
  releasePage(first);
  releasePage(first);
  const third = takePage(70_000);
  assert.equal(third.buffer, first.buffer);
  assert.deepEqual([third.byteOffset, third.length], [0, 70_000]);
  assert.notEqual(takePage(100_000).buffer, first.buffer);
  assert.notEqual(takePage(20_000).buffer, second.buffer);
});

test('memory of other sizes, and bytes that are no page, are left to the garbage collector', () => {
  const others = [takePage(0), takePage(10), takePage(4_000_000), Buffer.alloc(1 << 17)];
  assert.deepEqual(
    others.map(({ length }) => length),
    [0, 10, 4_000_000, 1 << 17],
  );
  for (const bytes of others) releasePage(bytes);
  for (const bytes of others)
    assert.ok(others.every(({ buffer }) => takePage(bytes.length).buffer !== buffer));
});

test('only a few pages are kept', () => {
  const pages = Array.from({ length: 50 }, () => takePage(300_000));
  for (const page of pages) releasePage(page);
  const buffers = new Set(pages.map(({ buffer }) => buffer));
  const again = pages.map(() => takePage(300_000)).filter(({ buffer }) => buffers.has(buffer));
  assert.equal(again.length, 4);
});
