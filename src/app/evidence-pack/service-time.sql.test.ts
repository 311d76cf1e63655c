import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createManualClock, silentLog } from '../../core/index.ts';
import { createVault } from '../../platform/index.ts';
import { createAudit } from '../../service/audit/index.ts';
import { createMigratedDatabase } from '../../../test/support/storage.ts';
import { measureServiceTime } from './service-time.ts';

test('the time in service is of all nodes together, and ends at the last heartbeat before a crash', async (t) => {
  const storage = await (await createMigratedDatabase()).open();
  const clock = createManualClock(new Date(0));
  const audit = createAudit({ storage, vault: createVault(Buffer.alloc(32, 1)), clock, log: silentLog });
  t.after(async () => {
    await audit.close();
    await storage.close();
  });
  for (const [time, what, node, lostAt] of [
    ['2026-01-31T23:00:00.000Z', 'start', 'a'],
    ['2026-01-31T23:30:00.000Z', 'start', 'b'],
    ['2026-02-01T01:00:00.000Z', 'stop', 'a'],
    // Killed at two; for an hour nobody served.
    ['2026-02-01T03:00:00.000Z', 'start', 'b', '2026-02-01T02:00:00.000Z'],
    ['2026-02-01T04:00:00.000Z', 'stop', 'b'],
    // The clock of a node that starts may be behind its own heartbeat.
    ['2026-02-01T05:00:00.000Z', 'start', 'a'],
    ['2026-02-01T06:00:00.000Z', 'start', 'a', '2026-02-01T07:00:00.000Z'],
  ] as const) {
    clock.set(new Date(time));
    const objects = { node, ...(lostAt !== undefined && { lostAt }) };
    await audit.recordNow({ action: `service.${what}`, actor: 'system', outcome: 'ok', objects });
  }
  const measure = (since: string, until: string) =>
    measureServiceTime(storage, { since: new Date(since), until: new Date(until) });
  const hour = 3600;
  assert.deepEqual(await measure('2026-01-01', '2026-02-01T08:00:00Z'), [
    // Of January, what was before the first start does not count.
    { month: '2026-01', seconds: hour, served: hour },
    { month: '2026-02', seconds: 8 * hour, served: 2 * hour + hour + 3 * hour },
  ]);
  assert.deepEqual(await measure('2026-02-01T02:30:00Z', '2026-02-01T03:30:00Z'), [
    { month: '2026-02', seconds: hour, served: hour / 2 },
  ]);
  assert.deepEqual(await measure('2025-01-01', '2026-01-01'), []);
});
