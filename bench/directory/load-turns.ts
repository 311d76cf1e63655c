/**
 * Measures the turns of a serving process's main thread, and its memory, while loads become searchable:
 * `node bench/directory/load-turns.ts [--records 300000] [--by command|server|inside] [--least 10]`. By commands, as an operator types them;
 * by the server, as uploads, scheduled loads and rollbacks of the console are made; or inside the serving process, for comparison.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { DirectoryProcessConfig } from '../../src/app/server/directory-process.ts';
import { loadConfig } from '../../src/platform/index.ts';
import { createProcessJobs, openInput } from '../../src/service/directory/index.ts';
import { watchLoop } from '../service/watch-loop.ts';
import { openDirectory, writeSampleCsv } from './import.ts';

const { values: options } = parseArgs({
  options: {
    records: { type: 'string', default: '300000' },
    by: { type: 'string', default: 'command' },
    least: { type: 'string', default: '10' },
    release: { type: 'string' },
  },
});
const records = Number(options.records);

const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-turns-'));
const first = path.join(folder, 'first.csv');
await writeSampleCsv(first, records);
const { second, change } = writeParts();
const { directory, close } = await openDirectory(folder);

const { storage, vault, admission, ...config } = loadConfig({}, undefined, { dataDir: folder });
const jobs = createProcessJobs<DirectoryProcessConfig>(
  new URL('../../src/app/server/directory-process.ts', import.meta.url),
  {
    storage: { ...storage, file: path.join(folder, 'openhisp.db') },
    vault,
    admission,
    directory: { ...config.directory, snapshotDir: path.join(folder, 'directory') },
  },
);

/** Four in ten rows of the first file with two in ten new addresses, and a thousand rows with other telephones. */
function writeParts(): { second: string; change: string } {
  const [header = '', ...rows] = readFileSync(first, 'utf8').trimEnd().split('\n');
  const write = (name: string, lines: readonly string[]): string => {
    const file = path.join(folder, name);
    writeFileSync(file, [header, ...lines, ''].join('\n'));
    return file;
  };
  const others = rows.slice(0, records * 0.2).map((row) => row.replace('@', '.other@'));
  const changed = rows.slice(0, 1000).map((row) => row.replace(/[0-9]{3}-[0-9]{4}/, '555-0000'));
  return {
    second: write('second.csv', [...rows.slice(0, records * 0.4), ...others]),
    change: write('change.csv', changed),
  };
}

async function run(...args: readonly string[]): Promise<void> {
  const program = path.resolve(import.meta.dirname, '../../bin/openhisp.js');
  const child = spawn(process.execPath, [program, 'directory', ...args], {
    env: { ...process.env, OPENHISP_DATA_DIR: folder },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${args.join(' ')}: ${errors}`);
}

async function load(
  file: string,
  sourceName: string,
  kind: 'full' | 'incremental' = 'full',
): Promise<unknown> {
  if (options.by === 'server') return jobs.load({ path: file, sourceName, kind, actor: 'system' });
  if (options.by === 'inside')
    return directory.importFiles({ files: await openInput(file), kind, sourceName });
  return run('import', file, '--source', sourceName, ...(kind === 'full' ? [] : ['--incremental']));
}

async function rollBack(sourceName: string): Promise<unknown> {
  if (options.by === 'server') return jobs.rollBack({ sourceName, actor: 'system' });
  return run('rollback', '--source', sourceName);
}

async function measure(what: string, work: () => Promise<unknown>): Promise<void> {
  const before = process.memoryUsage.rss();
  let peak = before;
  const timer = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss());
  }, 50);
  const watch = await watchLoop();
  const startMs = performance.now();
  await work();
  await directory.refresh();
  const seconds = (performance.now() - startMs) / 1000;
  // The threads take the new index.
  await sleep(500);
  clearInterval(timer);
  const holds = await watch.stop(Number(options.least));
  const longest = (of: 'cpuMs' | 'lengthMs'): string =>
    Math.max(0, ...holds.map((hold) => hold[of])).toFixed(0);
  const memory = [before, peak, process.memoryUsage.rss()].map((bytes) => (bytes / 1e6).toFixed(0));
  console.log(
    `| ${what} | ${seconds.toFixed(1)} s | ${longest('cpuMs')} ms | ${longest('lengthMs')} ms | ${memory.join(', ')} MB |`,
  );
  for (const { lengthMs, cpuMs, causes } of holds.toSorted((a, b) => b.cpuMs - a.cpuMs).slice(0, 3)) {
    console.error(`  ${cpuMs.toFixed(0).padStart(4)} of ${lengthMs.toFixed(0).padStart(4)} ms`);
    for (const [name, ms] of causes.filter(([, one]) => one >= 2))
      console.error(`        ${ms.toFixed(1).padStart(6)}  ${name}`);
  }
}

try {
  console.log('| step | until searchable | longest turn: processor time | clock | RSS before, peak, after |');
  console.log('|---|---:|---:|---:|---:|');
  await measure(`first source, ${records} rows`, () => load(first, 'directtrust'));
  await measure('first source again', () => load(first, 'directtrust'));
  await measure('1000 rows of it', () => load(change, 'directtrust', 'incremental'));
  await measure('second source, merged', () => load(second, 'npd'));
  await measure('1000 rows of the first', () => load(change, 'directtrust', 'incremental'));
  const { release } = options;
  if (release !== undefined && options.by === 'server')
    await measure('a release of the national directory', () => load(release, 'national'));
  await measure('rollback of the first', () => rollBack('directtrust'));
  await measure('removal of the second', () => run('source', 'remove', 'npd'));
} finally {
  await close();
  rmSync(folder, { recursive: true, force: true });
}
