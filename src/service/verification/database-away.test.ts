/** What the background work says while the database is away: one line, not one per look. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createManualClock, silentLog, type Log } from '../../core/index.ts';
import type { Storage } from '../../platform/index.ts';
import { startVerification, type VerificationOptions } from './create-verification.ts';

const clock = createManualClock(new Date('2026-11-21T12:00:00Z'));
let asked = 0;
const tables = new Proxy(
  {},
  {
    get() {
      asked++;
      throw new Error('away');
    },
  },
);
const storage = { tables: () => tables, clock, run: { nodeId: 'n', runId: 'r' } } as unknown as Storage;

test('verification', async () => {
  const lines: string[] = [];
  const log: Log = { ...silentLog, error: (_fields, text) => void lines.push(text) };
  const verification = startVerification({
    storage,
    clock,
    log,
    lookMs: 5,
    slots: 4,
    listAddresses: () => undefined,
    isMailWaiting: async () => false,
    judgeWith: () => ({}),
    rates: {},
    sources: {},
    timing: {},
  } as unknown as VerificationOptions);
  await sleep(200);
  await verification.close();
  assert.ok(asked > 5, `${asked} looks`);
  assert.deepEqual(lines.toSorted(), [
    'a worker could not do its work',
    'a worker could not release leases of a former run',
  ]);
});
