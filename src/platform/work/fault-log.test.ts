import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../core/index.ts';
import { createFaultLog } from './fault-log.ts';

test('a step that fails four times per second for two minutes is three lines, and one when it works again', () => {
  let now = 0;
  const lines: (readonly [count: unknown, hasError: boolean, text: string])[] = [];
  const note = (fields: Readonly<Record<string, unknown>>, text: string): void =>
    void lines.push([fields['count'], 'error' in fields, text]);
  const faults = createFaultLog('delivery', { ...silentLog, error: note, info: note }, () => now);
  faults.worked('claim');
  for (; now <= 120_000; now += 250) faults.failed('claim', new Error('unreachable'));
  faults.worked('release');
  faults.worked('claim');
  faults.worked('claim');
  faults.failed('claim', new Error('unreachable'));
  assert.deepEqual(lines, [
    [undefined, true, 'a worker could not claim'],
    [241, false, 'a worker still cannot claim'],
    [481, false, 'a worker still cannot claim'],
    [481, false, 'a worker can claim again'],
    [undefined, true, 'a worker could not claim'],
  ]);
});
