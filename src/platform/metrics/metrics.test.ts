import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMetrics } from './create-metrics.ts';
import { createEmit } from './events.ts';

test('counters, gauges, measured values and histograms appear in the text', async () => {
  const metrics = createMetrics();
  metrics.counter({ name: 'a_total', help: 'a', labels: ['outcome'] }).add({ outcome: 'ok' }, 2);
  metrics.gauge({ name: 'b', help: 'b' }).set(7);
  metrics.measured({ name: 'c', help: 'c' }, async () => 8);
  metrics.histogram({ name: 'd', help: 'd', buckets: [1, 2] }).observe(1.5);
  const text = await metrics.text();
  for (const line of ['a_total{outcome="ok"} 2', 'b 7', 'c 8', 'd_bucket{le="2"} 1'])
    assert.ok(text.includes(line), line);
});

test('two sets of metrics do not know of each other', async () => {
  createMetrics().counter({ name: 'same_total', help: 'x' }).add();
  assert.ok(!(await createMetrics().text()).includes('same_total'));
});

test('an event is defined once, counted and written to the log; fields never become labels', async () => {
  const lines: unknown[] = [];
  const write = (fields: unknown, text: string): void => void lines.push([fields, text]);
  const metrics = createMetrics();
  const emit = createEmit(
    { sent: { counter: 'sent_total', help: 'x', labels: ['outcome'], level: 'info', text: 'message sent' } },
    { metrics, log: { debug: write, info: write, warn: write, error: write } },
  );
  emit('sent', { outcome: 'ok' }, { messageId: 'm1' });
  assert.deepEqual(lines, [[{ event: 'sent', outcome: 'ok', messageId: 'm1' }, 'message sent']]);
  const text = await metrics.text();
  assert.ok(text.includes('sent_total{outcome="ok"} 1'));
  assert.ok(!text.includes('m1'));
});
