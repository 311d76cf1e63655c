import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sendChunkBytes } from './limits.ts';
import { isTooSlow } from './send-watch.ts';

interface Transfer {
  readonly sizeBytes: number;
  readonly windowMs: number;
  readonly totalMs: number;
  /** Bytes that the server has taken after this time. */
  readonly takenAfter: (ms: number) => number;
  /** Bytes that are handed over at a time. */
  readonly lumpBytes?: number;
}

/**
 * The time after which the message was aborted; undefined if the server has all of it, or its time is over.
 */
function findEnd({ sizeBytes, windowMs, totalMs, takenAfter, lumpBytes = sendChunkBytes }: Transfer) {
  const restAfter = (ms: number): number =>
    Math.max(0, sizeBytes - lumpBytes * Math.floor(takenAfter(ms) / lumpBytes));
  for (let ms = windowMs; ms < totalMs && restAfter(ms) > 0; ms += windowMs) {
    const restBytes = restAfter(ms);
    const gainedBytes = restAfter(ms - windowMs) - restBytes;
    if (isTooSlow({ gainedBytes, restBytes, windowMs, leftMs: totalMs - ms })) return ms;
  }
  return undefined;
}

const [minute, megabyte] = [60_000, 1_000_000];
const usual = { windowMs: minute, totalMs: 15 * minute };
const steady = (bytesPerSecond: number) => (ms: number) => (bytesPerSecond * ms) / 1000;

test('a server that slows down, but has the whole in time, is not aborted', () => {
  const takenAfter = (ms: number) => Math.min(ms / minute, 1) * 20 * megabyte + Math.max(0, ms - minute) * 20;
  assert.equal(findEnd({ ...usual, sizeBytes: 22 * megabyte, takenAfter }), undefined);
});

test('a message of few pieces is not aborted because a window passes without one', () => {
  const takenAfter = steady(4_000);
  assert.equal(findEnd({ ...usual, windowMs: 10_000, sizeBytes: 600_000, takenAfter }), undefined);
});

test('whatever the size and the window, a server with the rate that is needed is not aborted', () => {
  for (const windowMs of [1_000, 10_000, minute, 5 * minute])
    for (const sizeBytes of [100_000, 600_000, 3 * megabyte, 25 * megabyte, 60 * megabyte]) {
      const bytesPerSecond = (1.02 * sizeBytes) / (15 * 60);
      const transfer = { ...usual, windowMs, sizeBytes, takenAfter: steady(bytesPerSecond) };
      assert.equal(findEnd(transfer), undefined, `${sizeBytes} bytes, windows of ${windowMs} ms`);
      // A socket with a large buffer asks for more only now and then; after a whole window it would count as
      // silent.
      const lumpBytes = (0.95 * bytesPerSecond * windowMs) / 1000;
      if (lumpBytes > sendChunkBytes) assert.equal(findEnd({ ...transfer, lumpBytes }), undefined);
    }
});

test('a server that would not have the whole in time is aborted, the sooner the slower it is', () => {
  const endAt = (bytesPerSecond: number) =>
    findEnd({ ...usual, sizeBytes: 25 * megabyte, takenAfter: steady(bytesPerSecond), lumpBytes: 1 });
  assert.deepEqual([2_000, 10_000, 15_000].map(endAt), [minute, minute, 3 * minute]);
  // After a quick beginning, too.
  const takenAfter = (ms: number) => Math.min(ms, minute) * 200 + Math.max(0, ms - minute) * 2;
  assert.equal(findEnd({ ...usual, sizeBytes: 25 * megabyte, takenAfter }), 2 * minute);
});

test('the end of a message is left to its total time', () => {
  const nearlyOver = { gainedBytes: 0, windowMs: minute, leftMs: 1 };
  assert.equal(isTooSlow({ ...nearlyOver, restBytes: 0 }), false);
  assert.equal(isTooSlow({ ...nearlyOver, restBytes: 3 * sendChunkBytes }), false);
  assert.equal(isTooSlow({ ...nearlyOver, restBytes: 4 * sendChunkBytes }), true);
  assert.equal(isTooSlow({ ...nearlyOver, restBytes: 4 * sendChunkBytes, leftMs: -1 }), false);
});
