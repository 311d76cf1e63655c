/**
 * Faults of the machine under two HISPs that send to each other: a disk that is full or read-only, a clock that jumps.
 * `/health/ready` reports it, nothing is lost, and everything resumes automatically when the fault is over.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  acceptMore,
  isReported,
  isWell,
  requireAll,
  startFaulty,
  survivesClockJumps,
  until,
} from '../processes/faulty.ts';
import { startTraffic } from '../processes/traffic.ts';
import { whyNoFaults } from '../support/faults.ts';

const skip = whyNoFaults() ?? false;

for (const state of ['full', 'read-only'] as const)
  test(
    `a disk that is ${state}: sends are refused, health reports it, and all continues when it is well again`,
    { skip },
    async (t) => {
      const { world, faults } = await startFaulty(t);
      const { pid } = world.sender.process;
      // Also where nobody sends anything.
      faults.setDisk(state);
      await until('health to tell', isReported(world.sender));
      faults.setDisk('well');
      await until('health', isWell(world.sender));
      const traffic = startTraffic(world, { atOnce: 4, pauseMs: 300 });
      await acceptMore(traffic, 10);
      faults.setDisk(state);
      await until('health to tell', isReported(world.sender));
      await until('sends to be refused', () => traffic.refusedInARow(world.sender) > 5);
      faults.setDisk('well');
      await until('health', isWell(world.sender));
      await acceptMore(traffic, 10);
      await requireAll(traffic);
      assert.equal(world.sender.process.pid, pid);
      assert.equal(world.sender.process.exitCode, null);
    },
  );

test('the clock of the machine jumps by an hour, forward and back', { skip }, async (t) =>
  survivesClockJumps(await startFaulty(t)),
);
