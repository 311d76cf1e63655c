/**
 * Two HISPs whose machines lose power at random moments: of their data folders, only what was flushed is left. What was answered with 200 or
 * 250, and what an MDN or a notification said, still holds.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { runKills } from '../processes/kills.ts';
import { requireNoFaults } from '../processes/traffic.ts';
import { startProcessWorld } from '../processes/world.ts';
import { prepareFaults, whyNoFaults } from '../support/faults.ts';
import { createRandom } from '../support/fast-check.ts';

test(
  'a loss of power takes no accepted message, no accepted mail and no outcome, and doubles nothing',
  { skip: whyNoFaults() ?? false },
  async (t) => {
    const folder = await mkdtemp(path.join(tmpdir(), 'openhisp-power-'));
    const faults = {
      sender: prepareFaults(path.join(folder, 'faults-sender'), path.join(folder, 'sender')),
      receiver: prepareFaults(path.join(folder, 'faults-receiver'), path.join(folder, 'receiver')),
    };
    const world = await startProcessWorld({
      folder,
      settings: () => ({ 'delivery.retryMinutes': '0.01,0.02,0.05', 'delivery.probeSeconds': '1' }),
      env: (who) => faults[who].env,
    });
    t.after(async () => {
      await world.close();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    });
    const report = await runKills(world, {
      kills: 6,
      atOnce: 6,
      pauseMs: 500,
      maxLifeMs: 1_500,
      random: createRandom('power loss'),
      folder,
      afterKill: (who) => faults[who].loseUnflushed(),
    });
    assert.ok(report.accepted > 0);
    requireNoFaults(report);
    assert.deepEqual(report.directory, []);
  },
);
