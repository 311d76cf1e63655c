import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMetrics } from '../../platform/index.ts';
import { startMetrics } from './start-metrics.ts';

test('the metrics port answers /metrics and nothing else', async () => {
  const listener = await startMetrics(createMetrics(), { host: '127.0.0.1', port: 0 });
  try {
    const at = (path: string, init?: RequestInit) => fetch(`http://127.0.0.1:${listener.port}${path}`, init);
    const found = await at('/metrics');
    assert.deepEqual(
      [found.status, found.headers.get('content-type')?.startsWith('text/plain')],
      [200, true],
    );
    assert.equal((await at('/health/live')).status, 404);
    assert.equal((await at('/metrics', { method: 'POST' })).status, 404);
  } finally {
    await listener.close();
  }
});
