/**
 * From a CSV file to a searchable directory: `node bench/directory/import.ts [records]`.
 * The importing process is the one that serves, so that the times include the swap; a restart reads the snapshot.
 */
import { createWriteStream } from 'node:fs';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { generateProviders } from '../../src/app/dev/sample-directory.ts';
import { silentLog, systemClock } from '../../src/core/index.ts';
import { loadBuiltInGazetteer } from '../../src/lib/geo/index.ts';
import { openStorage, type Storage } from '../../src/platform/index.ts';
import { createAudit } from '../../src/service/audit/index.ts';
import {
  createDirectory,
  openInput,
  recordFields,
  type Directory,
  type ImportPhase,
} from '../../src/service/directory/index.ts';
import { formatChanges, measureChanges, type ChangeTiming } from './changes.ts';
import { httpQueries, type HttpQuery } from './http-queries.ts';

export interface ImportTiming {
  readonly records: number;
  readonly csvBytes: number;
  /** CSV to searchable. */
  readonly searchableSeconds: number;
  /** Of them, reading and storing; the index is built at the same time. */
  readonly readingSeconds: number;
  /** Of them, what the index needs after the last row, with its snapshot. */
  readonly indexingSeconds: number;
  /** Processor time of all threads for the import; tells more than the clock on a machine that is shared. */
  readonly cpuSeconds: number;
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
  readonly audit: ReturnType<typeof createAudit>;
  close(): Promise<void>;
}

const gazetteer = loadBuiltInGazetteer();
const seed = 20_261_121;

/** Queries for the directory that `measureImport` makes. */
export const sampleQueries = (records: number): HttpQuery[] => httpQueries(records, seed, gazetteer);

/** Writes the benchmark's records in our own columns, without coordinates, so that the gazetteer has its work. */
export async function writeSampleCsv(file: string, records: number): Promise<void> {
  const out = createWriteStream(file, { highWaterMark: 1 << 22 });
  out.write(`${recordFields.map((field) => field.wireName).join(',')}\n`);
  let lines: string[] = [];
  for (const record of generateProviders({ count: records, seed, gazetteer })) {
    lines.push(recordFields.map(({ field }) => toField(record[field])).join(','));
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
  const audit = createAudit({ storage, clock: systemClock, log: silentLog });
  const directory = await createDirectory({
    storage,
    clock: systemClock,
    log: silentLog,
    audit,
    gazetteer,
    snapshotDir: path.join(folder, 'directory'),
    limits: { requestsPerSecond: 1e9, requestsBurst: 1e9, recordsPerDay: 1e15 },
  });
  await directory.refresh();
  return {
    directory,
    storage,
    audit,
    async close() {
      await directory.close();
      await audit.close();
      await storage.close();
    },
  };
}

/** Imports `records` invented records into `folder` and measures. */
export async function measureImport(folder: string, records: number): Promise<ImportTiming> {
  const csv = path.join(folder, 'providers.csv');
  await writeSampleCsv(csv, records);
  const opened = await openDirectory(folder);
  const phases = new Map<ImportPhase, number>();
  const startMs = performance.now();
  const cpuAtStart = process.cpuUsage();
  await opened.directory.importFiles({
    files: await openInput(csv),
    kind: 'full',
    onProgress: ({ phase }) => {
      if (!phases.has(phase)) phases.set(phase, performance.now());
    },
  });
  const searchableMs = performance.now();
  const cpu = process.cpuUsage(cpuAtStart);
  const { served } = await opened.directory.status();
  await opened.close();
  const restartMs = performance.now();
  const again = await openDirectory(folder);
  const restartedMs = performance.now();
  const changes = await measureChanges(again);
  await again.close();
  const at = (phase: ImportPhase): number => phases.get(phase) ?? searchableMs;
  return {
    records,
    csvBytes: (await stat(csv)).size,
    searchableSeconds: (searchableMs - startMs) / 1000,
    readingSeconds: (at('indexing') - startMs) / 1000,
    indexingSeconds: (at('activating') - at('indexing')) / 1000,
    cpuSeconds: (cpu.user + cpu.system) / 1e6,
    restartSeconds: (restartedMs - restartMs) / 1000,
    changes,
    databaseBytes: (await stat(path.join(folder, 'openhisp.db'))).size,
    snapshotBytes: await sizeOfFiles(path.join(folder, 'directory')),
    indexBytes: served?.memoryBytes ?? 0,
    peakResidentBytes: process.resourceUsage().maxRSS * 1024,
  };
}

async function sizeOfFiles(folder: string): Promise<number> {
  let size = 0;
  for (const name of await readdir(folder)) size += (await stat(path.join(folder, name))).size;
  return size;
}

/** The figures as lines for a person. */
export function formatImport(timing: ImportTiming): string[] {
  const perRecord = (bytes: number): string => `${(bytes / timing.records).toFixed(0)} bytes a record`;
  return [
    `${timing.records} records, CSV of ${(timing.csvBytes / 1e6).toFixed(0)} MB`,
    `CSV to searchable: ${timing.searchableSeconds.toFixed(1)} s (reading and storing ${timing.readingSeconds.toFixed(1)} s, rest of the index and its snapshot ${timing.indexingSeconds.toFixed(1)} s)`,
    `processor time of the import: ${timing.cpuSeconds.toFixed(1)} s`,
    `restart from the snapshot: ${timing.restartSeconds.toFixed(2)} s`,
    ...formatChanges(timing.changes),
    `database ${perRecord(timing.databaseBytes)}, snapshot ${perRecord(timing.snapshotBytes)}, index ${perRecord(timing.indexBytes)}`,
    `peak memory of the process, old and new index included: ${(timing.peakResidentBytes / 1e6).toFixed(0)} MB`,
  ];
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const folder = await mkdtemp(path.join(tmpdir(), 'openhisp-bench-'));
  try {
    console.log(formatImport(await measureImport(folder, Number(process.argv[2] ?? 3_000_000))).join('\n'));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
