/**
 * Faults of the machine under two HISPs that send to each other: a disk that is full or read-only, a clock that jumps, and a database that
 * is away. `/health/ready` reports it, nothing is lost, and everything resumes automatically when the fault is over.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { faultsOf, startTraffic, type Traffic } from '../processes/traffic.ts';
import { startProcessWorld, type HispProcess, type ProcessWorld } from '../processes/world.ts';
import { prepareFaults, whyNoFaults, type Faults } from '../support/faults.ts';
import { startPostgres } from '../support/postgres.ts';
import { createDatabaseAt, needsBothEngines } from '../support/storage.ts';
import { waitUntil } from '../support/processes.ts';

const settings = {
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

async function startFaulty(t: TestContext): Promise<Faulty> {
  const folder = await mkdtemp(path.join(tmpdir(), 'openhisp-faults-'));
  const faults = prepareFaults(path.join(folder, 'faults'), path.join(folder, 'sender'));
  const world = await startProcessWorld({
    folder,
    settings: () => settings,
    env: (who) => (who === 'sender' ? faults.env : {}),
  });
  t.after(async () => {
    faults.setDisk('well');
    await world.close();
    await rm(folder, { recursive: true, force: true });
  });
  return { world, faults };
}

async function problemsOf(hisp: HispProcess): Promise<readonly string[]> {
  const response = await fetch(`${hisp.ready.baseUrl}/health/ready`);
  const body = (await response.json()) as { errors?: { field: string }[] };
  assert.equal(response.status, body.errors === undefined ? 200 : 503);
  return body.errors?.map(({ field }) => field) ?? [];
}

const until = (what: string, isTrue: () => boolean | Promise<boolean>): Promise<void> =>
  waitUntil(isTrue, { what, timeoutMs: limitMs });
/** The directory is empty, which is not what these tests are about. */
const isReported = (hisp: HispProcess) => async () => (await problemsOf(hisp)).includes('storage');
const isWell = (hisp: HispProcess) => async () => !(await problemsOf(hisp)).includes('storage');

async function acceptMore(traffic: Traffic, count: number): Promise<void> {
  const before = traffic.accepted;
  await until(`${count} more messages`, () => traffic.accepted >= before + count);
}

async function requireAll(traffic: Traffic): Promise<void> {
  const account = await traffic.finish();
  assert.deepEqual(
    { ...faultsOf(account), processed: account.processed },
    {
      others: [],
      lost: [],
      doubled: [],
      unreported: [],
      contradicted: [],
      reportedAgain: [],
      processed: account.accepted,
    },
  );
}

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

test('the clock of the machine jumps by an hour, forward and back', { skip }, async (t) => {
  const { world, faults } = await startFaulty(t);
  const traffic = startTraffic(world, { atOnce: 4, pauseMs: 300 });
  await acceptMore(traffic, 10);
  for (const seconds of [3_600, 0, -3_600, 0]) {
    faults.shiftClock(seconds);
    await acceptMore(traffic, 10);
    assert.equal(await isWell(world.sender)(), true);
  }
  await requireAll(traffic);
});

test('a database that is away for longer than the leases', needsBothEngines(), async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'openhisp-away-'));
  const postgres = await startPostgres();
  t.after(async () => {
    await postgres.stop();
    await rm(folder, { recursive: true, force: true });
  });
  const url = await createDatabaseAt(postgres, 'sender');
  const world = await startProcessWorld({
    folder,
    settings: (who) => ({
      ...settings,
      'delivery.leaseSeconds': '5',
      ...(who === 'sender' && { 'storage.url': url }),
    }),
  });
  t.after(() => world.close());
  const traffic = startTraffic(world, { atOnce: 4, pauseMs: 300 });
  await acceptMore(traffic, 10);
  const { pid } = world.sender.process;
  const back = postgres.restart('fast', 20_000);
  await until('health to tell', isReported(world.sender));
  await until('sends to be refused', () => traffic.refusedInARow(world.sender) > 5);
  await back;
  await until('health', isWell(world.sender));
  await acceptMore(traffic, 10);
  await requireAll(traffic);
  assert.equal(world.sender.process.pid, pid);
});
