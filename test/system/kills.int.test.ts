import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { runKills } from '../processes/kills.ts';
import { startProcessWorld } from '../processes/world.ts';

test('HISPs killed at random moments lose nothing, double nothing and tell every outcome once', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'openhisp-kills-'));
  const settings = () => ({ 'delivery.retryMinutes': '0.01,0.02,0.05' });
  const world = await startProcessWorld({ folder, settings });
  try {
    const report = await runKills(world, { kills: 6, atOnce: 4, maxLifeMs: 1500, random: Math.random });
    const { accepted, processed, others, lost, doubled, untold, contradicted } = report;
    assert.ok(accepted > 0);
    assert.deepEqual(
      { processed, others, lost, doubled, untold, contradicted },
      { processed: accepted, others: [], lost: [], doubled: [], untold: [], contradicted: [] },
    );
  } finally {
    await world.close();
    await rm(folder, { recursive: true, force: true });
  }
});
