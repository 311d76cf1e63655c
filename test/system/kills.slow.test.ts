import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { startKillWorld } from '../processes/kill-world.ts';
import { runKills } from '../processes/kills.ts';
import { requireNoFaults } from '../processes/traffic.ts';
import { createRandom } from '../support/fast-check.ts';
import { needsBothEngines } from '../support/storage.ts';

async function requireNothingLost(onPostgres: boolean, kills: number): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'openhisp-kills-'));
  const { world, options, close } = await startKillWorld(folder, onPostgres);
  try {
    const report = await runKills(world, {
      ...options,
      kills,
      atOnce: 4,
      maxLifeMs: 1500,
      random: createRandom('kills'),
    });
    assert.ok(report.accepted > 0);
    assert.ok(report.loads > 0);
    assert.ok(!onPostgres || (report.kills['database'] ?? 0) > 0);
    requireNoFaults(report);
    assert.deepEqual(report.directory, []);
  } finally {
    await close();
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

test('HISPs killed at random moments lose nothing, duplicate nothing and report every outcome once', () =>
  requireNothingLost(false, 6));

test('the same of nodes over one PostgreSQL that is itself restarted', needsBothEngines(), () =>
  requireNothingLost(true, 8),
);
