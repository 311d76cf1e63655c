/**
 * Measures the cost of several sources: `node bench/directory/sources.ts [--records 300000]`. Processor time of all threads, and the
 * time on the wall, of loads into two sources, the second with four in ten of the first one's addresses, and of small changes of each.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock } from '../../src/core/index.ts';
import { openInput, removeSource, type ImportRequest } from '../../src/service/directory/index.ts';
import { openDirectory, writeSampleCsv } from './import.ts';

const { values: options } = parseArgs({ options: { records: { type: 'string', default: '300000' } } });
const records = Number(options.records);
const changedRows = 1000;

const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-sources-'));
const first = path.join(folder, 'first.csv');
await writeSampleCsv(first, records);
const [header = '', ...rows] = readFileSync(first, 'utf8').trimEnd().split('\n');

function writePart(name: string, lines: readonly string[]): string {
  const file = path.join(folder, name);
  writeFileSync(file, [header, ...lines, ''].join('\n'));
  return file;
}

const shared = rows.slice(0, records * 0.4);
const others = rows.slice(0, records * 0.2).map((row) => row.replace('@', '.other@'));
const second = writePart('second.csv', [...shared, ...others]);
const change = writePart(
  'change.csv',
  rows.slice(0, changedRows).map((row) => row.replace(/[0-9]{3}-[0-9]{4}/, '555-0000')),
);

const opened = await openDirectory(folder);

async function measure(what: string, work: () => Promise<unknown>): Promise<void> {
  const startMs = performance.now();
  const cpuAtStart = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(cpuAtStart);
  const seconds = (performance.now() - startMs) / 1000;
  console.log(`${what}: processor ${((user + system) / 1e6).toFixed(2)} s, wall ${seconds.toFixed(1)} s`);
}

async function load(file: string, sourceName: string, kind: ImportRequest['kind'] = 'full'): Promise<void> {
  await opened.directory.importFiles({ files: await openInput(file), kind, sourceName });
}

try {
  await measure(`the first source, ${records} rows`, () => load(first, 'directtrust'));
  await measure('the second source, merged as a whole', () => load(second, 'npd'));
  await measure(`${changedRows} rows of the second, overridden`, () => load(change, 'npd', 'incremental'));
  await measure(`${changedRows} rows of the first`, () => load(change, 'directtrust', 'incremental'));
  await measure('the first source again, merged as a whole', () => load(first, 'directtrust'));
  await measure('removal of the second', () => removeSource({ ...opened, clock: systemClock }, 'npd'));
} finally {
  await opened.close();
  rmSync(folder, { recursive: true, force: true });
}
