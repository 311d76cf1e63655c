/** A world with faults of its machines, and what must hold while there is one and afterwards. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { prepareFaults, type Faults } from '../support/faults.ts';
import { waitUntil } from '../support/processes.ts';
import { requireNoFaults, startTraffic, type Traffic } from './traffic.ts';
import { startProcessWorld, type HispProcess, type ProcessWorld } from './world.ts';

export const settings = {
  'delivery.retryMinutes': '0.01,0.02,0.05',
  'delivery.probeSeconds': '1',
  // The fault itself is tested, not the guard in front of it.
  'admission.minFreeDiskBytes': '0',
};
const limitMs = 120_000;

interface Faulty {
  readonly world: ProcessWorld;
  readonly faults: Faults;
}

export async function startFaulty(t: TestContext, url?: string): Promise<Faulty> {
  const folder = await mkdtemp(path.join(tmpdir(), 'openhisp-faults-'));
  const faults = prepareFaults(path.join(folder, 'faults'), path.join(folder, 'sender'));
  const world = await startProcessWorld({
    folder,
    settings: (who) => ({
      ...settings,
      ...(who === 'sender' && url !== undefined && { 'storage.url': url }),
    }),
    env: (who) => (who === 'sender' ? faults.env : {}),
  });
  t.after(async () => {
    faults.setDisk('well');
    await world.close();
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  return { world, faults };
}

async function problemsOf(hisp: HispProcess): Promise<readonly string[]> {
  const response = await fetch(`${hisp.ready.baseUrl}/health/ready`);
  const body = (await response.json()) as { errors?: { field: string }[] };
  assert.equal(response.status, body.errors === undefined ? 200 : 503);
  return body.errors?.map(({ field }) => field) ?? [];
}

export const until = (what: string, isTrue: () => boolean | Promise<boolean>): Promise<void> =>
  waitUntil(isTrue, { what, timeoutMs: limitMs });
/** The directory is empty, which is not what these tests are about. */
export const isReported = (hisp: HispProcess) => async () => (await problemsOf(hisp)).includes('storage');
export const isWell = (hisp: HispProcess) => async () => !(await problemsOf(hisp)).includes('storage');

export async function acceptMore(traffic: Traffic, count: number): Promise<void> {
  const before = traffic.accepted;
  await until(`${count} more messages`, () => traffic.accepted >= before + count);
}

export async function requireAll(traffic: Traffic): Promise<void> {
  requireNoFaults(await traffic.finish());
}

export async function survivesClockJumps({ world, faults }: Faulty): Promise<void> {
  const traffic = startTraffic(world, { atOnce: 4, pauseMs: 300 });
  await acceptMore(traffic, 10);
  for (const seconds of [3_600, 0, -3_600, 0]) {
    faults.shiftClock(seconds);
    await acceptMore(traffic, 10);
    assert.equal(await isWell(world.sender)(), true);
  }
  await requireAll(traffic);
}

/** Sends under a fault of the sender's database are refused, `/health/ready` reports it, and nothing is lost. The process stays. */
export async function breaksAndRecovers(
  world: ProcessWorld,
  breakIt: () => Promise<void> | void,
  mend: () => Promise<void>,
): Promise<void> {
  const { pid } = world.sender.process;
  const traffic = startTraffic(world, { atOnce: 4, pauseMs: 300 });
  await acceptMore(traffic, 10);
  await breakIt();
  await until('health to tell', isReported(world.sender));
  await until('sends to be refused', () => traffic.refusedInARow(world.sender) > 5);
  await mend();
  await until('health', isWell(world.sender));
  await acceptMore(traffic, 10);
  await requireAll(traffic);
  assert.equal(world.sender.process.pid, pid);
  assert.equal(world.sender.process.exitCode, null);
}
