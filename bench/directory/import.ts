/**
 * From a CSV file to a searchable directory: `node bench/directory/import.ts [records] [shape]`.
 * By the command that an operator types, while a running service answers; a restart reads the snapshot.
 */
import { createWriteStream } from 'node:fs';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { once } from 'node:events';
import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { silentLog, systemClock } from '../../src/core/index.ts';
import { loadBuiltInGazetteer } from '../../src/lib/geo/index.ts';
import type { ProviderRecord } from '../../src/lib/provider-record/index.ts';
import {
  hasDataKeys,
  loadConfig,
  loadMasterKeys,
  openStorage,
  openVault,
  type Storage,
  type Vault,
} from '../../src/platform/index.ts';
import { createAudit } from '../../src/service/audit/index.ts';
import { createDirectory, recordFields, type Directory } from '../../src/service/directory/index.ts';
import { formatChanges, measureChanges, type ChangeTiming } from './changes.ts';
import { httpQueries, type HttpQuery } from './http-queries.ts';
import { isShape, recordsOfShape, type ShapeName } from './shapes.ts';

export interface ImportTiming {
  readonly records: number;
  readonly csvBytes: number;
  /** From the command to an answer of the service that has the new directory. */
  readonly searchableSeconds: number;
  /** Until the command has ended. */
  readonly commandSeconds: number;
  /** Processor time of the command; more meaningful than the clock on a shared machine. */
  readonly cpuSeconds: number;
  /** The service meanwhile: one search after the other, the slowest in a hundred and the slowest. */
  readonly p99Ms: number;
  readonly slowestMs: number;
  /** A new process to its first answer, from the snapshot. */
  readonly restartSeconds: number;
  readonly changes: ChangeTiming;
  readonly databaseBytes: number;
  readonly snapshotBytes: number;
  readonly indexBytes: number;
  readonly peakResidentBytes: number;
}

export interface OpenDirectory {
  readonly directory: Directory;
  readonly storage: Storage;
  readonly vault: Vault;
  readonly audit: ReturnType<typeof createAudit>;
  readonly snapshotDir: string;
  close(): Promise<void>;
}

const gazetteer = loadBuiltInGazetteer();

/** Queries for the directory that `measureImport` makes. */
export const sampleQueries = (records: number, shape: ShapeName = 'zip'): HttpQuery[] =>
  httpQueries(records, shape);

interface SampleCsv {
  readonly change?: ((record: ProviderRecord) => ProviderRecord) | undefined;
  readonly shape?: ShapeName;
}

/**
 * Writes the benchmark's records in our own columns: those of the shape `zip` without coordinates, so that the gazetteer has its work,
 * those of others with them, and with a key, since one address may have several records.
 */
export async function writeSampleCsv(
  file: string,
  records: number,
  { change = (record) => record, shape = 'zip' }: SampleCsv = {},
): Promise<void> {
  const isPlain = shape === 'zip';
  const out = createWriteStream(file, { highWaterMark: 1 << 22 });
  const names = recordFields.map((field) => field.wireName);
  out.write(`${[...names, ...(isPlain ? [] : ['lat', 'lng', 'key'])].join(',')}\n`);
  let lines: string[] = [];
  for (const one of recordsOfShape(shape, records)) {
    const record = change(one);
    const texts = recordFields.map(({ field }) => toField(record[field]));
    const { latitude = '', longitude = '', id } = record;
    lines.push((isPlain ? texts : [...texts, latitude, longitude, id]).join(','));
    if (lines.length < 20_000) continue;
    if (!out.write(`${lines.join('\n')}\n`)) await once(out, 'drain');
    lines = [];
  }
  out.end(lines.length > 0 ? `${lines.join('\n')}\n` : '');
  await once(out, 'finish');
}

function toField(text: string): string {
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** The directory over the data of a folder, with limits that no benchmark meets. */
export async function openDirectory(folder: string): Promise<OpenDirectory> {
  const storage = await openStorage({ file: path.join(folder, 'openhisp.db') });
  await storage.migrate();
  // As a command opens it: both append to the audit chain.
  const settings = loadConfig({}, undefined, { dataDir: folder }).vault;
  const keys = loadMasterKeys(settings, !(await hasDataKeys(storage)));
  const vault = await openVault({ storage, ...keys, clock: systemClock });
  const audit = createAudit({ storage, vault, clock: systemClock, log: silentLog });
  const snapshotDir = path.join(folder, 'directory');
  const directory = await createDirectory({
    storage,
    clock: systemClock,
    log: silentLog,
    audit,
    gazetteer,
    snapshotDir,
    limits: { requestsPerSecond: 1e9, requestsBurst: 1e9, recordsPerDay: 1e15 },
  });
  await directory.refresh();
  return {
    directory,
    storage,
    vault,
    audit,
    snapshotDir,
    async close() {
      await directory.close();
      await audit.close();
      await storage.close();
    },
  };
}

/** Imports `records` invented records into `folder` and measures. */
export async function measureImport(
  folder: string,
  records: number,
  shape: ShapeName = 'zip',
): Promise<ImportTiming> {
  const csv = path.join(folder, 'providers.csv');
  await writeSampleCsv(csv, records, { shape });
  const opened = await openDirectory(folder);
  const startMs = performance.now();
  const command = runImport(folder, csv);
  const latencies: number[] = [];
  let { served } = await opened.directory.status();
  while ((served?.recordCount ?? 0) === 0) {
    const askedMs = performance.now();
    await opened.directory.search([['prov_last_name', 'smith']], { client: searcher });
    latencies.push(performance.now() - askedMs);
    await sleep(20);
    if (latencies.length % 10 === 0) ({ served } = await opened.directory.status());
  }
  const searchableMs = performance.now();
  const { cpuSeconds, endedMs } = await command;
  latencies.sort((a, b) => a - b);
  await opened.close();
  const restartMs = performance.now();
  const again = await openDirectory(folder);
  const restartedMs = performance.now();
  const changes = await measureChanges(again);
  await again.close();
  return {
    records,
    csvBytes: (await stat(csv)).size,
    searchableSeconds: (searchableMs - startMs) / 1000,
    commandSeconds: (endedMs - startMs) / 1000,
    cpuSeconds,
    p99Ms: latencies[Math.floor(latencies.length * 0.99)] ?? Number.NaN,
    slowestMs: latencies.at(-1) ?? Number.NaN,
    restartSeconds: (restartedMs - restartMs) / 1000,
    changes,
    databaseBytes: (await stat(path.join(folder, 'openhisp.db'))).size,
    snapshotBytes: await sizeOfFiles(path.join(folder, 'directory')),
    indexBytes: served?.memoryBytes ?? 0,
    peakResidentBytes: process.resourceUsage().maxRSS * 1024,
  };
}

const searcher = { clientId: 'benchmark', limits: {}, dataUseAcceptedAt: new Date(0) };

/** `openhisp directory import`, as typed; the shell reports its processor time. */
async function runImport(folder: string, csv: string): Promise<{ cpuSeconds: number; endedMs: number }> {
  const program = path.resolve(import.meta.dirname, '../../bin/openhisp.js');
  const child = spawn(
    '/bin/bash',
    [
      '-c',
      '"$@" >/dev/null 2>&1 || exit 1; times',
      'bash',
      process.execPath,
      program,
      'directory',
      'import',
      csv,
    ],
    { env: { ...process.env, OPENHISP_DATA_DIR: folder }, stdio: ['ignore', 'pipe', 'inherit'] },
  );
  let out = '';
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error('the import failed');
  const [, children = ''] = out.trim().split('\n');
  const seconds = Array.from(
    children.matchAll(/(\d+)m([\d.]+)s/g),
    ([, minutes, rest]) => Number(minutes) * 60 + Number(rest),
  );
  return { cpuSeconds: seconds.reduce((sum, one) => sum + one, 0), endedMs: performance.now() };
}

async function sizeOfFiles(folder: string): Promise<number> {
  let size = 0;
  for (const name of await readdir(folder)) size += (await stat(path.join(folder, name))).size;
  return size;
}

/** The figures as lines for a person. */
export function formatImport(timing: ImportTiming): string[] {
  const perRecord = (bytes: number): string => `${(bytes / timing.records).toFixed(0)} bytes per record`;
  return [
    `${timing.records} records, CSV of ${(timing.csvBytes / 1e6).toFixed(0)} MB`,
    `from \`openhisp directory import\` to searchable in the running service: ${timing.searchableSeconds.toFixed(1)} s; the command ended after ${timing.commandSeconds.toFixed(1)} s`,
    `processor time of the command: ${timing.cpuSeconds.toFixed(1)} s`,
    `searches of the service meanwhile: 99 in 100 within ${timing.p99Ms.toFixed(1)} ms, the slowest ${timing.slowestMs.toFixed(0)} ms`,
    `restart from the snapshot: ${timing.restartSeconds.toFixed(2)} s`,
    ...formatChanges(timing.changes),
    `database ${perRecord(timing.databaseBytes)}, snapshot ${perRecord(timing.snapshotBytes)}, index ${perRecord(timing.indexBytes)}`,
    `peak memory of the serving process: ${(timing.peakResidentBytes / 1e6).toFixed(0)} MB`,
  ];
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const folder = await mkdtemp(path.join(tmpdir(), 'openhisp-bench-'));
  try {
    const [records = '3000000', shape = 'zip'] = process.argv.slice(2);
    if (!isShape(shape)) throw new Error(`no shape ${shape}`);
    console.log(formatImport(await measureImport(folder, Number(records), shape)).join('\n'));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
