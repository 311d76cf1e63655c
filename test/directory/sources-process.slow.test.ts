/** Sources by the command line while a server runs, and a process that is killed in the middle of a merge. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ShownRecord, SourceStatus } from '../../src/service/directory/index.ts';
import type { DirectoryTables } from '../../src/service/directory/store/tables.ts';
import { startTestDirectory, toCsv, type TestDirectory } from './start-directory.ts';
import { createDeadline } from '../support/time-scale.ts';

const cli = path.join(import.meta.dirname, 'run-cli.ts');

const ana = { serv_direct_addr: 'ana@d.example', prov_npi: '1000000004' };

let world: TestDirectory;
beforeEach(async () => {
  world = await startTestDirectory({ pollIntervalMs: 200 });
});
afterEach(() => world.close());

interface Finished {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
  readonly errors: string;
}

function run(...args: readonly string[]): { child: ChildProcess; done: Promise<Finished> } {
  const { location } = world.database;
  const storage =
    location.url === undefined
      ? { OPENHISP_STORAGE_FILE: location.file }
      : { OPENHISP_STORAGE_URL: location.url };
  const child = spawn(process.execPath, [cli, 'directory', ...args], {
    env: { ...process.env, ...storage, OPENHISP_DATA_DIR: world.folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [out, errors] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  return { child, done: once(child, 'close').then(([code, signal]) => ({ code, signal, out, errors })) };
}

async function succeed(...args: readonly string[]): Promise<string> {
  const { code, out, errors } = await run(...args).done;
  assert.equal(code, 0, errors);
  return out;
}

async function csvFile(name: string, rows: readonly Record<string, string>[]): Promise<string> {
  const file = path.join(world.folder, `${name}.csv`);
  await writeFile(file, toCsv(rows));
  return file;
}

async function untilServed(phone: string): Promise<void> {
  const deadline = createDeadline(30_000);
  for (;;) {
    const { body } = await world.search({ serv_direct_addr: 'ana@d.example' });
    if (body.providers?.[0]?.['org_phone'] === phone) return;
    assert.ok(!deadline.isOver(), `${phone} is not served`);
    await sleep(50);
  }
}

test('imports into sources, shows, orders, opens, schedules, rolls back and removes them', async () => {
  await succeed('import', await csvFile('one', [{ ...ana, org_phone: '1' }]), '--source', 'county', '--open');
  await succeed(
    'import',
    await csvFile('two', [{ ...ana, org_phone: '2', org_name: 'Two' }]),
    '--source',
    'state',
  );
  await untilServed('1');
  const sources = JSON.parse(await succeed('sources', '--json')) as SourceStatus[];
  assert.deepEqual(
    sources.map(({ name, exportRight, active }) => [name, exportRight, active?.recordCount]),
    [
      ['county', 'open', 1],
      ['state', 'closed', 1],
    ],
  );
  const [shown] = JSON.parse(await succeed('show', 'ana@d.example', '--json')) as ShownRecord[];
  assert.equal(shown?.isOpen, false);
  assert.deepEqual(shown?.values.org_name, { value: 'Two', source: 'state' });
  assert.deepEqual(shown?.values.org_phone, { value: '1', source: 'county' });
  assert.match(await succeed('show', String(shown?.id)), /county \(open\) says: .*org_phone=1/);
  assert.match(
    await succeed('status'),
    /merged, 1 records, from county, state[^]*2\. state \(closed\): load/,
  );
  assert.match(await succeed('source', 'order', 'state'), /1\. state[^]*2\. county/);
  await untilServed('2');
  await succeed('source', 'export', 'state', 'open');
  const [open] = JSON.parse(await succeed('show', 'ana@d.example', '--json')) as ShownRecord[];
  assert.equal(open?.isOpen, true);
  assert.match(
    await succeed(
      'source',
      'schedule',
      'state',
      '--every',
      '24h',
      '--path',
      path.join(world.folder, 'two.csv'),
    ),
    /scheduled: .*two\.csv, every 1440 min, last check never/,
  );
  await succeed('import', await csvFile('two', [{ ...ana, org_phone: '3' }]), '--source', 'state');
  await untilServed('3');
  const refused = await run('rollback').done;
  assert.equal(refused.code, 1);
  assert.match(refused.errors, /Name the source: state, county/);
  await succeed('rollback', '--source', 'state');
  await untilServed('2');
  await succeed('source', 'remove', 'state');
  await untilServed('1');
  const missing = await run('show', 'nobody@d.example').done;
  assert.deepEqual([missing.code, missing.out], [1, 'No record found.\n']);
  await succeed('source', 'remove', 'county');
});

test('killed in the middle of a merge: the old directory is served, and nothing is left behind', async () => {
  const crowd = (phone: string): Record<string, string>[] =>
    Array.from({ length: 60_000 }, (_, index) => ({
      serv_direct_addr: `p${index}@d.example`,
      org_phone: phone,
    }));
  await world.load(toCsv([{ ...ana, org_phone: '1' }, ...crowd('')]), 'full', { sourceName: 'county' });
  await world.load(toCsv([{ ...ana, org_phone: '2' }]), 'full', { sourceName: 'state' });
  await untilServed('1');
  const db = world.storage.tables<DirectoryTables>();
  const blocksOf = async (): Promise<string> =>
    JSON.stringify(
      await db
        .selectFrom('directory_block')
        .select(['load_id', 'sequence'])
        .orderBy('load_id')
        .orderBy('sequence')
        .execute(),
    );
  const before = await blocksOf();
  const { child, done } = run('import', await csvFile('large', crowd('555')), '--source', 'npd');
  const deadline = createDeadline(120_000);
  for (;;) {
    const merging = await db
      .selectFrom('directory_load')
      .innerJoin('directory_block', 'directory_block.load_id', 'directory_load.id')
      .select('directory_load.id')
      .where('state', '=', 'merging')
      .executeTakeFirst();
    if (merging !== undefined) break;
    assert.ok(!deadline.isOver(), 'no merge has stored a block');
    await sleep(2);
  }
  child.kill('SIGKILL');
  assert.equal((await done).signal, 'SIGKILL');
  assert.notEqual(await blocksOf(), before, 'it has left blocks');
  await world.directory.refresh();
  const { body } = await world.search({ org_phone: '555' });
  assert.equal(body.totalCount, '0');
  const { running, loads, sources } = await world.directory.status();
  assert.equal(running, undefined);
  assert.deepEqual(
    loads.slice(0, 2).map(({ state, kind }) => [kind, state]),
    [
      ['merged', 'failed'],
      ['full', 'failed'],
    ],
  );
  assert.deepEqual(
    sources.map(({ name }) => name),
    ['county', 'state'],
  );
  assert.equal(await blocksOf(), before, 'the look at the status has cleared it away');
  await world.load(toCsv([{ ...ana, org_phone: '3' }]), 'full', { sourceName: 'npd' });
  await untilServed('3');
});
