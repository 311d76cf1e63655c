/**
 * Several sources at full size: `node bench/directory/merged.ts [--records 3000000] [--rounds 5]`. One source of so many rows, a second of a third
 * of them and a third of a sixth, each with three in ten of its rows in the first one, whose blank telephones they fill; each load by the command,
 * while a process serves. Then the searches of the benchmark over the merge and over one source of the same visible rows, in turn.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { generateProviders } from '../../src/app/dev/sample-directory.ts';
import { loadBuiltInGazetteer } from '../../src/lib/geo/index.ts';
import type { ProviderRecord } from '../../src/lib/provider-record/index.ts';
import { recordFields } from '../../src/service/directory/index.ts';
import { openDirectory, sampleQueries, type OpenDirectory } from './import.ts';

const { values: options } = parseArgs({
  options: { records: { type: 'string', default: '3000000' }, rounds: { type: 'string', default: '5' } },
});
const records = Number(options.records);
const extra = Math.round((records / 3) * 0.7);
const extraOfThird = Math.round((records / 6) * 0.7);
const folder = await mkdtemp(path.join(tmpdir(), 'openhisp-merged-'));
const fileOf = (name: string): string => path.join(folder, `${name}.csv`);
const names = ['directtrust', 'npd', 'nppes', 'visible'] as const;

async function writeFiles(): Promise<void> {
  const gazetteer = loadBuiltInGazetteer();
  const outs = Object.fromEntries(names.map((name) => [name, createWriteStream(fileOf(name))]));
  const pending = Object.fromEntries(names.map((name) => [name, [] as string[]]));
  const put = (name: string, line: string): void => void pending[name]?.push(line);
  const flush = async (): Promise<void> => {
    for (const name of names) {
      const lines = pending[name]?.splice(0) ?? [];
      if (lines.length > 0 && outs[name]?.write(`${lines.join('\n')}\n`) === false)
        await once(outs[name], 'drain');
    }
  };
  for (const name of names) put(name, recordFields.map((field) => field.wireName).join(','));
  let at = 0;
  for (const record of generateProviders({
    count: records + extra + extraOfThird,
    seed: 20_261_121,
    gazetteer,
  })) {
    const line = lineOf(record);
    put('visible', line);
    if (at < records) {
      const isInSecond = at % 10 === 0;
      const isInThird = at % 20 === 1;
      put('directtrust', isInSecond || isInThird ? lineOf({ ...record, phone: '' }) : line);
      if (isInSecond) put('npd', line);
      if (isInThird) put('nppes', line);
    } else put(at < records + extra ? 'npd' : 'nppes', line);
    if (++at % 20_000 === 0) await flush();
  }
  await flush();
  for (const name of names) {
    outs[name]?.end();
    if (outs[name] !== undefined) await once(outs[name], 'finish');
  }
}

function lineOf(record: ProviderRecord): string {
  return recordFields
    .map(({ field }) => {
      const text = record[field];
      return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    })
    .join(',');
}

/** The command, as typed: seconds, processor time and peak memory. */
async function load(dataDir: string, name: string, source: string): Promise<void> {
  const program = path.resolve(import.meta.dirname, '../../bin/openhisp.js');
  const startMs = performance.now();
  const child = spawn(process.execPath, [program, 'directory', 'import', fileOf(name), '--source', source], {
    env: { ...process.env, OPENHISP_DATA_DIR: dataDir },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const phases: string[] = [];
  child.stderr.on('data', (chunk: Buffer) => {
    const phase = /^(\w+):/.exec(chunk.toString())?.[1];
    if (phase !== undefined && !phases.at(-1)?.startsWith(phase))
      phases.push(`${phase} from ${((performance.now() - startMs) / 1000).toFixed(0)} s`);
  });
  let [peak, cpu] = [0, 0];
  const ended = once(child, 'close');
  while (child.exitCode === null) {
    const status = await readFile(`/proc/${child.pid}/status`, 'utf8').catch(() => '');
    const stat = (await readFile(`/proc/${child.pid}/stat`, 'utf8').catch(() => ''))
      .split(') ')[1]
      ?.split(' ');
    peak = Math.max(peak, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0));
    cpu = Math.max(cpu, (Number(stat?.[11] ?? 0) + Number(stat?.[12] ?? 0)) / 100);
    await sleep(50);
  }
  const [code] = (await ended) as [number];
  if (code !== 0) throw new Error(`${name} was not loaded`);
  const seconds = (performance.now() - startMs) / 1000;
  console.log(
    `| ${path.basename(dataDir)}: ${name} | ${seconds.toFixed(0)} s | ${cpu.toFixed(1)} s | ${(peak / 1000).toFixed(0)} MB | ${phases.join(', ')} |`,
  );
}

const searcher = { client: { clientId: 'benchmark', limits: {}, dataUseAcceptedAt: new Date(0) } };

async function compare(merged: OpenDirectory, single: OpenDirectory): Promise<void> {
  const queries = sampleQueries(20_000).flatMap(({ distinct }) =>
    distinct.slice(0, 20).map((text) => [...new URLSearchParams(text)] as [string, string][]),
  );
  const ratios: number[] = [];
  const sums = [0, 0];
  const median = (all: readonly number[]): number => all.toSorted((a, b) => a - b)[all.length >> 1] ?? 0;
  for (const parameters of queries) {
    const times: [number[], number[]] = [[], []];
    for (let round = 0; round < Number(options.rounds); round++) {
      for (const [which, { directory }] of [merged, single].entries()) {
        const startMs = performance.now();
        await directory.search(parameters, searcher);
        times[which]?.push(performance.now() - startMs);
      }
    }
    const [a, b] = [median(times[0]), median(times[1])];
    ratios.push(a / b);
    sums[0] = (sums[0] ?? 0) + a;
    sums[1] = (sums[1] ?? 0) + b;
  }
  ratios.sort((a, b) => a - b);
  const at = (share: number): string => (ratios[Math.floor(ratios.length * share)] ?? 0).toFixed(2);
  console.log(
    `${queries.length} searches, merged/single: median ${at(0.5)}, a tenth below ${at(0.1)}, a tenth above ${at(0.9)}; sums ${sums.map((sum) => sum.toFixed(0)).join(', ')} ms`,
  );
}

const rss = (): string => `${(process.memoryUsage.rss() / 1e6).toFixed(0)} MB`;
const dirOf = async (name: string): Promise<string> => {
  const dir = path.join(folder, name);
  await mkdir(dir, { recursive: true });
  return dir;
};

try {
  await writeFiles();
  console.log('| folder: file | clock | processor time | peak memory | phases |');
  console.log('|---|---:|---:|---:|---|');
  const together = await dirOf('together');
  const alone = await dirOf('alone');
  // They make the installations that the commands load into.
  const merged = await openDirectory(together);
  const single = await openDirectory(alone);
  await load(together, 'directtrust', 'directtrust');
  await merged.directory.refresh();
  console.log(`serving one source: ${rss()}`);
  for (const name of ['npd', 'nppes']) {
    await load(alone, name, 'default');
    await load(together, name, name);
    await merged.directory.refresh();
    console.log(`serving the merge: ${rss()}`);
  }
  await load(alone, 'visible', 'default');
  await single.directory.refresh();
  const counts = await Promise.all(
    [merged, single].map(async ({ directory }) => (await directory.status()).served?.recordCount),
  );
  console.log(`records served: ${counts.join(', ')}`);
  await compare(merged, single);
  await load(together, 'npd', 'npd');
  await merged.close();
  await single.close();
} finally {
  await rm(folder, { recursive: true, force: true });
}
