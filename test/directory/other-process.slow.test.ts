/** Loads made by the command line while a server runs: noticed, killed, starved of disk space. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdir, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { listLoads, type LoadReport } from '../../src/service/directory/index.ts';
import type { DirectoryTables } from '../../src/service/directory/store/tables.ts';
import { waitUntil } from '../support/processes.ts';
import { startTestDirectory, toCsv, type TestDirectory } from './start-directory.ts';
import { createDeadline } from '../support/time-scale.ts';

const cli = path.join(import.meta.dirname, 'run-cli.ts');

let world: TestDirectory;
before(async () => {
  world = await startTestDirectory({ pollIntervalMs: 200 });
  await world.load(toCsv([{ serv_direct_addr: 'old@d.example' }]));
});
after(() => world.close());

interface Run {
  readonly child: ChildProcess;
  readonly done: Promise<{ code: number | null; signal: NodeJS.Signals | null; out: string; errors: string }>;
}

function storageOf({ database: { location } }: TestDirectory): NodeJS.ProcessEnv {
  return location.url === undefined
    ? { OPENHISP_STORAGE_FILE: location.file }
    : { OPENHISP_STORAGE_URL: location.url };
}

function run(args: readonly string[], options: { input?: string; shell?: string } = {}): Run {
  const command =
    options.shell === undefined
      ? [process.execPath, cli, ...args]
      : ['/bin/bash', '-c', `${options.shell} exec "$0" "$@"`, process.execPath, cli, ...args];
  const child = spawn(command[0] ?? '', command.slice(1), {
    env: { ...process.env, ...storageOf(world), OPENHISP_DATA_DIR: world.folder },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let [out, errors] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  child.stdin.end(options.input ?? '');
  return { child, done: once(child, 'close').then(([code, signal]) => ({ code, signal, out, errors })) };
}

async function served(): Promise<unknown[]> {
  return ((await world.search({ limit: 1000, sort_by: 'serv_direct_addr' })).body.providers ?? []).map(
    (record) => record['serv_direct_addr'],
  );
}

async function untilServed(address: string): Promise<void> {
  const deadline = createDeadline(20_000);
  while (!(await served()).includes(address)) {
    assert.ok(!deadline.isOver(), `${address} is not served`);
    await sleep(50);
  }
}

async function blockCount(): Promise<number> {
  return (
    await world.storage.tables<DirectoryTables>().selectFrom('directory_block').select('sequence').execute()
  ).length;
}

/** Enough rows that an import takes seconds. */
async function writeLargeFile(): Promise<string> {
  const file = path.join(world.folder, 'large.csv');
  await writeFile(
    file,
    toCsv(
      Array.from({ length: 120_000 }, (_, index) => ({
        serv_direct_addr: `large${index}@d.example`,
        org_zip: '02139',
      })),
    ),
  );
  return file;
}

describe('the command line', () => {
  test('imports while a server runs, which notices by itself', async () => {
    const file = path.join(world.folder, 'cli.csv');
    await writeFile(file, toCsv([{ serv_direct_addr: 'from-cli@d.example' }, { serv_direct_addr: 'bad' }]));
    const { code, out, errors } = await run(['directory', 'import', file, '--accept-loss', '--json']).done;
    assert.equal(code, 0, errors);
    const report = JSON.parse(out) as LoadReport;
    assert.deepEqual([report.loaded, report.refusedRows], [1, 1]);
    assert.match(errors, /^reading: /m, 'plain progress lines where there is no terminal');
    await untilServed('from-cli@d.example');
    assert.deepEqual(await served(), ['from-cli@d.example']);
  });

  test('reads standard input, increments, reports, shows the status and rolls back', async () => {
    const input = 'serv_direct_addr\nfrom-stdin@d.example\n';
    assert.equal((await run(['directory', 'import', '-', '--incremental'], { input }).done).code, 0);
    await untilServed('from-stdin@d.example');
    assert.match((await run(['directory', 'report']).done).out, /incremental load of standard input/);
    assert.match(
      (await run(['directory', 'status']).done).out,
      /Active: +load 3, ready, incremental, 2 records/,
    );
    assert.match((await run(['directory', 'rollback']).done).out, /Load 2 .* is active again/);
    await world.directory.refresh();
    assert.deepEqual(await served(), ['from-cli@d.example']);
  });

  test('a refused load ends with exit code 1 and one clear line', async () => {
    const { code, errors } = await run(['directory', 'import', '-'], { input: 'nothing,here\n1,2\n' }).done;
    assert.equal(code, 1);
    assert.match(errors, /No file has the columns of a directory/);
  });
});

describe('a load that dies', () => {
  test('killed in the middle: the old directory is served, and the next load deletes the leftovers', async () => {
    const before = await served();
    const blocksBefore = await blockCount();
    const { child, done } = run(['directory', 'import', await writeLargeFile()]);
    while ((await blockCount()) < blocksBefore + 3) await sleep(5);
    assert.equal((await world.directory.status()).running?.state, 'loading');
    child.kill('SIGKILL');
    assert.equal((await done).signal, 'SIGKILL');
    assert.ok((await blockCount()) > blocksBefore, 'the dead load has left blocks');
    // PostgreSQL ends the lock of the dead process once it has noticed that its connection is gone.
    await waitUntil(
      async () => {
        await world.directory.refresh();
        return (await world.directory.status()).running === undefined;
      },
      { timeoutMs: 60_000, what: 'the end of the dead load' },
    );
    assert.deepEqual(await served(), before);
    const { loads } = await world.directory.status();
    assert.equal(loads[0]?.state, 'failed');
    const { out } = await run(['directory', 'report']).done;
    assert.match(out, /^full load of large\.csv .*\nABORTED: It was interrupted, and could store no report/);
    const { loads: listed } = await listLoads(world.storage, { limit: 1 });
    assert.match(listed[0]?.report?.failure ?? '', /^It was interrupted/);
    await world.load(toCsv([{ serv_direct_addr: 'after-kill@d.example' }]));
    assert.deepEqual(await served(), ['after-kill@d.example']);
    assert.ok((await blockCount()) <= 3);
    world.clock.set(new Date());
  });

  test('out of disk space: the old directory serves, and nothing is left behind', async () => {
    const before = await served();
    const sizes = async (): Promise<number> => {
      const files = (await readdir(world.snapshotDir)).map((name) =>
        stat(path.join(world.snapshotDir, name)),
      );
      return (await Promise.all(files)).reduce((sum, file) => sum + file.size, 0);
    };
    const sizeBefore = await sizes();
    // No file may grow beyond 4 MB: the snapshot of the index does not fit.
    const { code, errors } = await run(['directory', 'import', await writeLargeFile()], {
      shell: "trap '' XFSZ; ulimit -f 4000;",
    }).done;
    assert.equal(code, 1, errors);
    assert.match(errors, /The directory snapshot could not be written: file too large$/m);
    const { out } = await run(['directory', 'report']).done;
    assert.match(out, /^ABORTED: .*The directory snapshot could not be written: file too large$/m);
    await world.directory.refresh();
    assert.deepEqual(await served(), before);
    assert.equal(await sizes(), sizeBefore);
    assert.equal((await world.directory.status()).loads[0]?.state, 'failed');
  });
});

test('a file that is refused before its load begins is listed with the reason', async () => {
  const file = path.join(world.folder, 'shapes.csv');
  await writeFile(file, 'colour,shape\nred,round\n');
  const { code, errors } = await run(['directory', 'import', file, '--source', 'shapes']).done;
  assert.equal(code, 1);
  assert.match(errors, /No file has the columns/);
  const missing = await run(['directory', 'import', path.join(world.folder, 'none.csv')]).done;
  assert.equal(missing.code, 1);
  assert.match(
    (await run(['directory', 'status']).done).out,
    /^ {2}load \d+, failed, full, .*none\.csv.*\n {7}ABORTED: none\.csv cannot be read: not found\n {2}load /m,
  );
  const { loads } = await listLoads(world.storage, { limit: 2 });
  assert.deepEqual(
    loads.map(({ state, source, sourceName }) => [state, source, sourceName]),
    [
      ['failed', 'none.csv', 'default'],
      ['failed', 'shapes.csv', 'shapes'],
    ],
  );
  assert.match(loads[0]?.report?.failure ?? '', /none\.csv cannot be read/);
  assert.match(loads[1]?.startedBy ?? '', /^operator:./);
});
