import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusedStatus, usualPatience, withPatience } from './download-file.ts';

test('RFC 9110 §10.2.3: a download waits for the time that the server asks for, and no longer than its own pause without', async () => {
  for (const [headers, leastMs] of [
    [{ 'retry-after': '1' }, 990],
    [{}, 0],
    [{ 'retry-after': 'soon' }, 0],
  ] as const) {
    const startedAt = performance.now();
    let tries = 0;
    await withPatience({ ...usualPatience, firstPauseMs: 1 }, async () => {
      if (++tries === 1) throw refusedStatus('the file', { status: 503, headers });
    });
    const tookMs = performance.now() - startedAt;
    assert.equal(tries, 2);
    assert.ok(tookMs >= leastMs, String(tookMs));
  }
});
