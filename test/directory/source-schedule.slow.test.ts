/** Scheduled loads: a file becomes a source's next generation when it has changed, on one node. */
import assert from 'node:assert/strict';
import { readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import type { DirectoryProcessConfig } from '../../src/app/server/directory-process.ts';
import { silentLog } from '../../src/core/index.ts';
import { loadConfig } from '../../src/platform/index.ts';
import { createProcessJobs, removeSource, scheduleSource } from '../../src/service/directory/index.ts';
import { followSchedules, runSchedules } from '../../src/service/directory/jobs/schedule.ts';
import { isPostgres } from '../support/storage.ts';
import { createDeadline } from '../support/time-scale.ts';
import { endpoint, writeLines } from './npd/release-files.ts';
import { startReleaseServer } from './npd/release-server.ts';
import { startTestDirectory, testGazetteer, toCsv, type TestDirectory } from './start-directory.ts';

const hourMs = 3_600_000;

let world: TestDirectory;
let file: string;
beforeEach(async () => {
  world = await startTestDirectory({ pollIntervalMs: 60_000 });
  file = path.join(world.folder, 'county.csv');
});
afterEach(() => world.close());

const contextOf = (node: TestDirectory) => ({ ...node, log: silentLog, gazetteer: testGazetteer() });

/** Writes a file of one record that looks as if it had been written some minutes ago. */
async function writeOld(name: string, minutesAgo: number): Promise<void> {
  await writeFile(file, toCsv([{ serv_direct_addr: `${name}@d.example` }]));
  const at = new Date(Date.now() - minutesAgo * 60_000);
  await utimes(file, at, at);
}

async function addresses(): Promise<unknown[]> {
  await world.directory.refresh();
  // Past the HTTP API, whose tokens expire while the clock advances.
  const caller = { client: { clientId: 'schedule', limits: {}, dataUseAcceptedAt: new Date() } };
  const { json } = await world.directory.search([], caller);
  const { providers } = JSON.parse(Buffer.from(json).toString()) as { providers: Record<string, unknown>[] };
  return providers.map((record) => record['serv_direct_addr']);
}

async function countySource() {
  const { sources } = await world.directory.status();
  return sources.find(({ name }) => name === 'county');
}

test('a file is loaded when its time has come and it has changed, and not before', async () => {
  await writeOld('first', 30);
  await scheduleSource(world, 'county', { path: file, everyMs: hourMs });
  assert.deepEqual(await runSchedules(contextOf(world)), ['county']);
  assert.deepEqual(await addresses(), ['first@d.example']);
  assert.equal(
    (await world.audit.find({})).find(({ action }) => action === 'directory.load')?.actor,
    'system',
  );
  await writeOld('second', 20);
  assert.deepEqual(await runSchedules(contextOf(world)), [], 'its time has not come');
  world.clock.advance(hourMs);
  assert.deepEqual(await runSchedules(contextOf(world)), ['county']);
  assert.deepEqual(await addresses(), ['second@d.example']);
  const { active } = (await countySource()) ?? {};
  world.clock.advance(hourMs);
  assert.deepEqual(await runSchedules(contextOf(world)), [], 'it has not changed');
  assert.equal((await countySource())?.active?.id, active?.id);
  await scheduleSource(world, 'county', undefined);
  await writeOld('third', 10);
  world.clock.advance(hourMs);
  assert.deepEqual(await runSchedules(contextOf(world)), [], 'the schedule has ended');
});

test('a file that is still being written waits, and one that is not on this node is left to others', async () => {
  await writeFile(file, toCsv([{ serv_direct_addr: 'half@d.example' }]));
  await scheduleSource(world, 'county', { path: file, everyMs: hourMs });
  assert.deepEqual(await runSchedules(contextOf(world)), []);
  await rm(file);
  assert.deepEqual(await runSchedules(contextOf(world)), []);
  assert.equal((await countySource())?.schedule?.checkedAt, undefined, 'another node may have it');
  await writeOld('whole', 5);
  assert.deepEqual(await runSchedules(contextOf(world)), ['county']);
});

test('a file that no node finds shows in the status until one does', async () => {
  await writeOld('first', 30);
  await scheduleSource(world, 'county', { path: file, everyMs: hourMs });
  await runSchedules(contextOf(world));
  const failureAfter = async (minutes: number) => {
    world.clock.advance(minutes * 60_000);
    await runSchedules(contextOf(world));
    return (await countySource())?.schedule?.failure;
  };
  const { mtime } = await stat(file);
  const content = await readFile(file);
  await rm(file);
  assert.equal(await failureAfter(60), undefined, 'another node may have it');
  const missing = `the service does not find the file: ENOENT: no such file or directory, stat '${file}'`;
  assert.equal(await failureAfter(11), missing);
  const firstFailedAt = world.clock.now().toISOString();
  assert.equal(await failureAfter(60), missing);
  assert.equal((await countySource())?.schedule?.failedSince, firstFailedAt);
  await writeFile(file, content);
  await utimes(file, mtime, mtime);
  assert.equal(await failureAfter(1), undefined, 'it is there again, unchanged');
  assert.equal((await countySource())?.schedule?.failedSince, undefined);
  await scheduleSource(world, 'county', { path: `${file}.misspelt`, everyMs: hourMs });
  assert.match((await failureAfter(0)) ?? '', /no such file or directory, stat '.*\.misspelt'/);
});

test('two nodes that find different faults of a file report each of them once', async () => {
  const place = path.join(world.folder, 'share');
  await scheduleSource(world, 'county', { path: path.join(place, 'county.csv'), everyMs: hourMs });
  const warnings: object[] = [];
  const log = { ...silentLog, warn: (fields: object) => void warnings.push(fields) };
  const without = { ...contextOf(world), log, missing: new Map<string, string>() };
  const withFile = { ...without, missing: new Map<string, string>() };
  async function lookTwice(): Promise<string | undefined> {
    world.clock.advance(60_000);
    await runSchedules(without);
    await writeFile(place, '');
    await runSchedules(withFile);
    await rm(place);
    return (await countySource())?.schedule?.failure;
  }
  world.clock.advance(hourMs);
  for (let minutes = 0; minutes < 3; minutes++) assert.match((await lookTwice()) ?? '', /: ENOTDIR: /);
  assert.equal(warnings.length, 2);
  await scheduleSource(world, 'county', { path: path.join(place, 'county.csv'), everyMs: hourMs });
  assert.match((await lookTwice()) ?? '', /: ENOENT: /, 'the new schedule has a fault, too');
});

test('a file that is missing again, for the same reason as before, is reported again', async () => {
  await scheduleSource(world, 'county', { path: file, everyMs: hourMs });
  const context = { ...contextOf(world), missing: new Map<string, string>() };
  const failureAfter = async (minutes: number): Promise<string> => {
    world.clock.advance(minutes * 60_000);
    await runSchedules(context);
    return (await countySource())?.schedule?.failure ?? '';
  };
  assert.match(await failureAfter(71), /: ENOENT: /);
  await writeFile(file, 'x');
  const at = new Date(Date.now() - 600_000);
  await utimes(file, at, at);
  assert.doesNotMatch(await failureAfter(1), /^$|: ENOENT: /);
  await rm(file);
  assert.match(await failureAfter(71), /: ENOENT: /);
});

test('a broken file changes nothing that is served, shows in the status, and is replaced by the next one', async () => {
  await writeOld('first', 30);
  await scheduleSource(world, 'county', { path: file, everyMs: hourMs });
  await runSchedules(contextOf(world));
  const [{ mtime }, content] = [await stat(file), await readFile(file)];
  await writeFile(file, 'nothing,here\n1,2\n');
  const at = new Date(Date.now() - 120_000);
  await utimes(file, at, at);
  world.clock.advance(hourMs);
  assert.deepEqual(await runSchedules(contextOf(world)), []);
  assert.deepEqual(await addresses(), ['first@d.example']);
  assert.match((await countySource())?.schedule?.failure ?? '', /columns of a directory/);
  const firstFailedAt = world.clock.now().toISOString();
  for (const other of ['still,nothing\n1,2\n', 'nothing,here\n']) {
    await writeFile(file, other);
    await utimes(file, at, at);
    world.clock.advance(hourMs);
    assert.deepEqual(await runSchedules(contextOf(world)), []);
    assert.equal((await countySource())?.schedule?.failedSince, firstFailedAt);
  }
  await writeFile(file, content);
  await utimes(file, mtime, mtime);
  world.clock.advance(hourMs);
  assert.deepEqual(await runSchedules(contextOf(world)), []);
  assert.equal((await countySource())?.schedule?.failedSince, undefined, 'it is as it was loaded');
  await writeFile(file, 'nothing,here\n');
  await utimes(file, at, at);
  world.clock.advance(hourMs);
  await runSchedules(contextOf(world));
  assert.equal((await countySource())?.schedule?.failedSince, world.clock.now().toISOString());
  await writeOld('second', 10);
  world.clock.advance(hourMs);
  assert.deepEqual(await runSchedules(contextOf(world)), ['county']);
  assert.equal((await countySource())?.schedule?.failure, undefined);
  await removeSource(world, 'county');
  world.clock.advance(hourMs);
  assert.deepEqual(await runSchedules(contextOf(world)), []);
});

// On SQLite two processes share the folder whose file is the lock of a load.
const skip = !isPostgres && 'several nodes need PostgreSQL';
test('of two nodes that look at once one loads', { skip }, async () => {
  const other = await startTestDirectory({ sharesWith: world, snapshotFolder: 'other' });
  try {
    await writeOld('first', 30);
    await scheduleSource(world, 'county', { path: file, everyMs: hourMs });
    const results = await Promise.all([world, other].map((node) => runSchedules(contextOf(node))));
    assert.deepEqual(results.flat(), ['county']);
    assert.equal((await world.directory.status()).loads.length, 1);
  } finally {
    await other.close();
  }
});

/** Jobs as a server makes them: in processes of their own. */
function processJobs(): ReturnType<typeof createProcessJobs> {
  const { vault, directory, admission } = loadConfig({}, undefined, { dataDir: world.folder });
  const config: DirectoryProcessConfig = {
    storage: world.database.location,
    vault,
    admission: { ...admission, minFreeDiskBytes: 0 },
    directory: {
      ...directory,
      snapshotDir: world.snapshotDir,
      workDir: path.join(world.folder, 'work'),
      downloadHosts: ['localhost'],
      allowsPrivateTargets: true,
    },
  };
  const script = new URL('../../src/app/server/directory-process.ts', import.meta.url);
  return createProcessJobs(script, config);
}

test('a release is loaded by its URL, in a separate process, when there is another manifest', async () => {
  const folder = path.join(world.folder, 'release');
  const write = (name: string) => writeLines(folder, { Endpoint: [endpoint('a', `${name}@d.example`)] });
  await write('first');
  const server = await startReleaseServer(folder);
  try {
    const context = { ...contextOf(world), jobs: processJobs() };
    await scheduleSource(world, 'npd', { path: server.manifestUrl, everyMs: hourMs });
    assert.deepEqual(await runSchedules(context), ['npd']);
    assert.deepEqual(await addresses(), ['first@d.example']);
    const downloads = server.served.length;
    world.clock.advance(hourMs);
    assert.deepEqual(await runSchedules(context), [], 'the manifest is the same');
    assert.equal(server.served.length, downloads);
    const { sources } = await world.directory.status();
    assert.deepEqual(
      sources.map(({ schedule }) => [schedule?.checkedAt, schedule?.failure]),
      [[world.clock.now().toISOString(), undefined]],
    );
    await write('second');
    assert.deepEqual(await runSchedules(context), [], 'its time has not come');
    world.clock.advance(hourMs);
    assert.deepEqual(await runSchedules(context), ['npd']);
    assert.deepEqual(await addresses(), ['second@d.example']);
    server.meddle = (_, response, name) => {
      if (name !== 'manifest.json') return false;
      response.end('{}');
      return true;
    };
    world.clock.advance(hourMs);
    assert.deepEqual(await runSchedules(context), []);
    const [after] = (await world.directory.status()).sources;
    assert.match(after?.schedule?.failure ?? '', /Invalid manifest/);
    assert.deepEqual(await addresses(), ['second@d.example']);
  } finally {
    await server.close();
  }
});

test('a release in a folder is loaded when its manifest has changed', async () => {
  const folder = path.join(world.folder, 'release');
  const write = async (name: string, minutesAgo: number): Promise<void> => {
    await writeLines(folder, { Endpoint: [endpoint('a', `${name}@d.example`)] });
    const at = new Date(Date.now() - minutesAgo * 60_000);
    await utimes(path.join(folder, 'manifest.json'), at, at);
  };
  await write('first', 30);
  const context = { ...contextOf(world), jobs: processJobs() };
  await scheduleSource(world, 'npd', { path: folder, everyMs: hourMs });
  assert.deepEqual(await runSchedules(context), ['npd']);
  world.clock.advance(hourMs);
  assert.deepEqual(await runSchedules(context), []);
  await write('second', 20);
  world.clock.advance(hourMs);
  assert.deepEqual(await runSchedules(context), ['npd']);
  assert.deepEqual(await addresses(), ['second@d.example']);
});

test('closing ends the process of a load that is under way', async () => {
  const rows = Array.from({ length: 60_000 }, (_, index) => ({ serv_direct_addr: `m${index}@d.example` }));
  await writeFile(file, toCsv(rows));
  const at = new Date(Date.now() - hourMs);
  await utimes(file, at, at);
  await scheduleSource(world, 'county', { path: file, everyMs: hourMs });
  const context = { ...contextOf(world), jobs: processJobs() };
  const following = followSchedules(context, 10, () => assert.fail('loaded'));
  while ((await world.directory.status()).running === undefined)
    await new Promise((resolve) => setTimeout(resolve, 5));
  await following.close();
  // PostgreSQL releases the lock of a process that is gone when the statement ends which it was running.
  const deadline = createDeadline(10_000);
  while ((await world.directory.status()).loads[0]?.state === 'loading' && !deadline.isOver())
    await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal((await world.directory.status()).loads[0]?.state, 'failed');
  assert.deepEqual(await addresses(), []);
});

test('closing stops a load that is under way', async () => {
  const rows = Array.from({ length: 60_000 }, (_, index) => ({ serv_direct_addr: `m${index}@d.example` }));
  await writeFile(file, toCsv(rows));
  const at = new Date(Date.now() - hourMs);
  await utimes(file, at, at);
  await scheduleSource(world, 'county', { path: file, everyMs: hourMs });
  const following = followSchedules(contextOf(world), 10, () => assert.fail('loaded'));
  while ((await world.directory.status()).running === undefined)
    await new Promise((resolve) => setTimeout(resolve, 5));
  await following.close();
  assert.equal((await world.directory.status()).loads[0]?.state, 'failed');
  assert.deepEqual(await addresses(), []);
});
