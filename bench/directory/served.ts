/**
 * A shape of data through the program itself: `node bench/directory/served.ts [--records 3000000] [--shape street]
 * [--csv FILE] [--data FOLDER] [--only PATTERN]`. `openhisp directory import` next to a running `openhisp serve`, a
 * restart of that, and then each query and each kind of suggestion over a socket, as a client asks. Prints a table, and
 * what is above its target. A data folder that is named is kept, and what it holds is not imported again. Reads `/proc`.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { openIndex, readSnapshot } from '../../src/lib/provider-index/index.ts';
import { timingOf } from './engine.ts';
import { measureEach, toQueryString, type RequestTiming } from './http-each.ts';
import { fetchToken, startLoad, type Load } from './http-target.ts';
import type { LoadOrder } from './http-load.ts';
import { writeSampleCsv } from './import.ts';
import { medianOf } from './median.ts';
import { freePort } from '../../test/support/processes.ts';
import { benchQueries } from './queries.ts';
import { isShape } from './shapes.ts';
import { pathOf, typedKinds } from './suggestions/typed-kinds.ts';

const { values: options } = parseArgs({
  options: {
    records: { type: 'string', default: '3000000' },
    shape: { type: 'string', default: 'street' },
    csv: { type: 'string' },
    data: { type: 'string' },
    only: { type: 'string', default: '' },
  },
});
const { shape } = options;
if (!isShape(shape)) throw new Error(`no shape ${shape}`);
const targetMs = { p95: 10, first: 30, suggestion: 15, misspelt: 30 };
const program = path.resolve(import.meta.dirname, '../../bin/openhisp.js');
const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-bench-'));
const dataDir = options.data ?? path.join(folder, 'data');
const port = await freePort();
const baseUrl = `http://127.0.0.1:${port}`;
const env = {
  ...process.env,
  OPENHISP_DATA_DIR: dataDir,
  OPENHISP_HTTP_PORT: String(port),
  OPENHISP_SMTP_PORT: '0',
  OPENHISP_LOG_LEVEL: 'warn',
  OPENHISP_DIRECTORY_REQUESTS_PER_SECOND: '100000',
  OPENHISP_DIRECTORY_REQUESTS_BURST: '100000',
  OPENHISP_DIRECTORY_RECORDS_PER_DAY: '1000000000',
};
const searchPath = '/provider-directory/v2/providers';
const log = (text: string): void => console.error(`${new Date().toISOString().slice(11, 19)} ${text}`);

interface Used {
  readonly peakBytes: number;
  readonly residentBytes: number;
  readonly cpuSeconds: number;
}

/** What a process has used so far. */
function usedBy(pid: number | undefined): Used | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const kb = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]);
    const [user = 0, system = 0] = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
      .slice(11, 13)
      .map(Number);
    if (!(kb('VmHWM') > 0)) return undefined;
    return {
      peakBytes: kb('VmHWM') * 1024,
      residentBytes: kb('VmRSS') * 1024,
      cpuSeconds: (user + system) / 100,
    };
  } catch {
    return undefined;
  }
}

/** Runs a command to its end. */
async function run(...args: string[]): Promise<{ out: string; seconds: number; used: Used | undefined }> {
  const startMs = performance.now();
  const child = spawn(process.execPath, [program, ...args], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let out = '';
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  let used: Used | undefined;
  const sampling = setInterval(() => (used = usedBy(child.pid) ?? used), 20);
  const [code] = (await once(child, 'close')) as [number | null];
  clearInterval(sampling);
  if (code !== 0) throw new Error(`openhisp ${args.join(' ')} ended with ${code}`);
  return { out, seconds: (performance.now() - startMs) / 1000, used };
}

let serving: ChildProcess | undefined;

/** Until it is ready to answer. */
async function serve(): Promise<{ child: ChildProcess; readySeconds: number }> {
  const startMs = performance.now();
  const child = spawn(process.execPath, [program, 'serve'], { env, stdio: ['ignore', 'ignore', 'inherit'] });
  serving = child;
  for (;;) {
    if (child.exitCode !== null) throw new Error('openhisp serve has ended');
    const isReady = await fetch(`${baseUrl}/health/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) return { child, readySeconds: (performance.now() - startMs) / 1000 };
    await sleep(10);
  }
}

async function stop(child: ChildProcess): Promise<void> {
  child.kill('SIGTERM');
  await once(child, 'close');
}

/** The first answer of each kind, then the others. */
async function measureSuggestions(load: Load): Promise<RequestTiming[]> {
  const timings: RequestTiming[] = [];
  for (const [name, list] of Object.entries(typedKinds)) {
    const order = { connections: 1, seconds: 600, maxRequests: list.length * 10 };
    const { latenciesMs } = await load.run({ ...order, paths: list.map(pathOf) });
    const firstMs = Math.max(...latenciesMs.slice(0, list.length));
    timings.push({ name, totalCount: list.length, firstMs, ...timingOf(latenciesMs.slice(list.length)) });
  }
  return timings;
}

function bytesPerRecord(): { index: number; words: number; records: number } {
  const snapshotDir = path.join(dataDir, 'directory');
  const file = readdirSync(snapshotDir).find((name) => name.endsWith('.idx')) ?? '';
  const index = openIndex(readSnapshot(path.join(snapshotDir, file)));
  const parts = index.memory();
  const sum = (list: typeof parts): number =>
    list.reduce((all, { bytes }) => all + bytes, 0) / index.recordCount;
  return {
    index: sum(parts),
    words: sum(parts.filter(({ part }) => part.includes('.words.'))),
    records: index.recordCount,
  };
}

const ms = (value: number): string => value.toFixed(1);
const worstOf = (timings: readonly RequestTiming[], of: (timing: RequestTiming) => number): RequestTiming =>
  timings.reduce((a, b) => (of(b) > of(a) ? b : a));

try {
  const csv = options.csv ?? path.join(folder, 'providers.csv');
  const isImported = existsSync(path.join(dataDir, 'directory'));
  if (!isImported && !existsSync(csv)) await writeSampleCsv(csv, Number(options.records), { shape });
  if (!existsSync(dataDir)) await run('init');
  const created = await run(
    'client',
    'create',
    'benchmark',
    '--scope',
    'provider-directory',
    '--data-use-accepted',
    '--json',
  );
  const client = JSON.parse(created.out) as { clientId: string; clientSecret: string };
  const [loadAtStart = 0] = loadavg();
  const before = await serve();
  log('importing');
  const imported = isImported ? undefined : await run('directory', 'import', csv);
  const importRows: readonly (readonly [string, string])[] = [
    ['import by the command, s by the clock', ms(imported?.seconds ?? Number.NaN)],
    ['its processor time, s', ms(imported?.used?.cpuSeconds ?? Number.NaN)],
    ['its peak memory, GB', ((imported?.used?.peakBytes ?? Number.NaN) / 1e9).toFixed(2)],
  ];
  for (const [name, value] of importRows) log(`${name}: ${value}`);
  const authorization = `Bearer ${await fetchToken(baseUrl, client)}`;
  log('counting');
  const count = async (query: string): Promise<number> => {
    const answer = await fetch(`${baseUrl}${searchPath}?${query}`, { headers: { authorization } });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${query}: ${answer.status} ${text}`);
    return Number((JSON.parse(text) as { totalCount: string }).totalCount);
  };
  while ((await count('')) === 0) await sleep(100);
  const queries = [];
  for (const query of benchQueries(options.only))
    queries.push({ ...query, totalCount: await count(toQueryString(query, 0)) });
  await stop(before.child);
  const { child, readySeconds } = await serve();
  log('measuring');
  const load = startLoad(baseUrl, authorization);
  const target = {
    ask: (asked: readonly string[], order: Omit<LoadOrder, 'paths'>) =>
      load.run({ ...order, paths: asked.map((one) => `${searchPath}?${one}`) }),
  };
  const each = await measureEach(target, queries);
  const suggestions = await measureSuggestions(load);
  const used = usedBy(child.pid);
  load.close();
  await stop(child);
  const bytes = bytesPerRecord();
  const slow = each.filter(({ p95Ms }) => p95Ms > targetMs.p95);
  const isLate = ({ name, p95Ms }: RequestTiming): boolean =>
    p95Ms > (name === 'misspelt' ? targetMs.misspelt : targetMs.suggestion);
  const slowFirst = each.filter(({ firstMs }) => firstMs > targetMs.first);
  const p95s = each.map(({ p95Ms }) => p95Ms).toSorted((a, b) => a - b);
  const worst = worstOf(each, ({ p95Ms }) => p95Ms);
  const first = worstOf(each, ({ firstMs }) => firstMs);
  const exact = worstOf(
    suggestions.filter(({ name }) => name !== 'misspelt'),
    ({ p95Ms }) => p95Ms,
  );
  const list = (timings: readonly RequestTiming[]): string =>
    timings
      .map(
        ({ name, firstMs, p50Ms, p95Ms }) =>
          `\`${name}\` first ${ms(firstMs)}, p50 ${ms(p50Ms)}, p95 ${ms(p95Ms)}`,
      )
      .join('; ');
  const rows: readonly (readonly [string, string])[] = [
    ['records', String(bytes.records)],
    ['load of the machine, start and end', `${ms(loadAtStart)}, ${ms(loadavg()[0] ?? 0)}`],
    ...importRows,
    [
      'index, bytes per record (words of suggestions)',
      `${bytes.index.toFixed(0)} (${bytes.words.toFixed(0)})`,
    ],
    ['a new process to ready, s', readySeconds.toFixed(2)],
    ['resident after all queries, GB', ((used?.residentBytes ?? Number.NaN) / 1e9).toFixed(2)],
    ['queries', String(each.length)],
    ['median of their p50, ms', ms(medianOf(each.map(({ p50Ms }) => p50Ms)))],
    ['their p95: 95 % at most, ms', ms(p95s[Math.ceil(p95s.length * 0.95) - 1] ?? Number.NaN)],
    [`above ${targetMs.p95} ms at p95`, String(slow.length)],
    ['slowest p95, ms', `${ms(worst.p95Ms)} (${worst.name})`],
    ['slowest first answer, ms', `${ms(first.firstMs)} (${first.name})`],
    ['suggestions: slowest p95 of a kind, ms', `${ms(exact.p95Ms)} (${exact.name})`],
    ['suggestions: misspelt, p95, ms', ms(suggestions.find(({ name }) => name === 'misspelt')?.p95Ms ?? 0)],
  ];
  console.log(`| measure | ${shape} |\n|---|---:|`);
  for (const [name, value] of rows) console.log(`| ${name} | ${value} |`);
  console.log(`\nSuggestions: ${list(suggestions)}.`);
  console.log(`\nAbove the target: ${list([...slow, ...suggestions.filter(isLate)])}.`);
  if (slowFirst.length > 0) console.log(`\nFirst answers above ${targetMs.first} ms: ${list(slowFirst)}.`);
} finally {
  serving?.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
}
