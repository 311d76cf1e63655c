/**
 * The import of a national directory: `node bench/npd/run.ts [--scale 0.1] [--release FOLDER] [--output FILE]`.
 * Generates an invented release (or takes one that `generate.ts` has written at the same scale), imports it by the command
 * that an operator types while a service runs over the same data, and compares the links found with the release's plan.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { appendFile, mkdtemp, readFile, rm, stat, statfs } from 'node:fs/promises';
import { cpus, tmpdir, totalmem } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { loadBuiltInGazetteer } from '../../src/lib/geo/index.ts';
import type { LoadReport } from '../../src/service/directory/index.ts';
import { openDirectory } from '../directory/import.ts';
import { expectLinks, type ExpectedLinks } from './expected-links.ts';
import { createWorld, type World } from './world.ts';
import { writeRelease } from './write-release.ts';

const { values: options } = parseArgs({
  options: {
    scale: { type: 'string', default: '0.1' },
    release: { type: 'string' },
    output: { type: 'string' },
  },
});

const seed = 20_261_122;
const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(0)} MB`;

interface ImportFigures {
  readonly report: LoadReport;
  /** From the command to an answer of the service that has the new directory. */
  readonly searchableSeconds: number;
  readonly commandSeconds: number;
  readonly cpuSeconds: number;
  readonly peakResidentBytes: number;
  /** Of the process that serves meanwhile: before, and at its peak. */
  readonly serverBytes: readonly [number, number];
}

/** Figures of a process: processor time of all its threads so far, and its peak resident memory. */
async function readUsage(pid: number): Promise<{ cpuSeconds: number; peakResidentBytes: number }> {
  const stats = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ') ?? [];
  const peak = /VmHWM:\s+(\d+) kB/.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1];
  return {
    cpuSeconds: (Number(stats[11]) + Number(stats[12])) / 100,
    peakResidentBytes: Number(peak ?? 0) * 1024,
  };
}

async function measureImport(release: string, folder: string): Promise<ImportFigures> {
  const opened = await openDirectory(folder);
  const serverBefore = process.memoryUsage.rss();
  const startMs = performance.now();
  const program = path.resolve(import.meta.dirname, '../../bin/openhisp.js');
  const args = [program, 'directory', 'import', '--format', 'npd', release, '--json'];
  const child = spawn(process.execPath, args, {
    env: { ...process.env, OPENHISP_DATA_DIR: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [out, errors, usage] = ['', '', { cpuSeconds: 0, peakResidentBytes: 0 }];
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  const ended = once(child, 'close').then(([code]) => ({ code: code as number, atMs: performance.now() }));
  while (child.exitCode === null) {
    // The process may end between two looks.
    const found = await readUsage(child.pid ?? 0).catch(() => usage);
    if (found.peakResidentBytes > 0) usage = found;
    await sleep(50);
  }
  const { code, atMs } = await ended;
  if (code !== 0) throw new Error(`the import failed: ${errors}`);
  while (((await opened.directory.status()).served?.recordCount ?? 0) === 0) await sleep(20);
  const searchableSeconds = (performance.now() - startMs) / 1000;
  const server = await readUsage(process.pid);
  await opened.close();
  return {
    report: JSON.parse(out) as LoadReport,
    searchableSeconds,
    commandSeconds: (atMs - startMs) / 1000,
    ...usage,
    serverBytes: [serverBefore, server.peakResidentBytes],
  };
}

function compareLinks(report: LoadReport, expected: ExpectedLinks): void {
  const { release } = report;
  assert.ok(release !== undefined);
  const { addresses, person, organization, place, unlinked } = release.links;
  assert.deepEqual(
    [addresses, person.count, organization.count, place.count, unlinked, report.loaded, release.excluded],
    [
      expected.addresses,
      expected.person,
      expected.organization,
      expected.place,
      expected.unlinked,
      expected.records,
      expected.excludedRecords,
    ],
  );
}

async function sizeOfRelease(release: string): Promise<{ packed: number; original: number }> {
  const manifest = JSON.parse(await readFile(path.join(release, 'manifest.json'), 'utf8')) as {
    totals: { compressed_bytes: number; original_bytes: number };
  };
  return { packed: manifest.totals.compressed_bytes, original: manifest.totals.original_bytes };
}

function formatFigures(
  world: World,
  size: { packed: number; original: number },
  generatedSeconds: number | undefined,
  { report, ...figures }: ImportFigures,
  databaseBytes: number,
): string[] {
  const { counts } = world;
  const links = report.release?.links;
  const rows: [string, string][] = [
    ['release', `${megabytes(size.original)}, ${megabytes(size.packed)} as zstd`],
    [
      'rows: Practitioner, PractitionerRole, Organization, Location, Endpoint',
      [counts.practitioners, counts.roles, counts.organizations, counts.locations, counts.endpoints]
        .map((count) => count.toLocaleString('en-US'))
        .join(', '),
    ],
    ...(generatedSeconds === undefined
      ? []
      : [['generating and compressing it', `${generatedSeconds.toFixed(0)} s`] as [string, string]]),
    ['from the command to searchable in the running service', `${figures.searchableSeconds.toFixed(1)} s`],
    [
      'the command',
      `${figures.commandSeconds.toFixed(1)} s, ${figures.cpuSeconds.toFixed(1)} s of processor time`,
    ],
    ['peak resident memory of the command', megabytes(figures.peakResidentBytes)],
    ['resident memory of the serving process: before, peak', figures.serverBytes.map(megabytes).join(', ')],
    ['records', report.loaded.toLocaleString('en-US')],
    ['database', megabytes(databaseBytes)],
    ['Direct addresses', String(links?.addresses)],
    ...(['person', 'organization', 'place'] as const).flatMap((kind): [string, string][] => [
      [`linked to: ${kind}`, String(links?.[kind].count)],
      ...Object.entries(links?.[kind].paths ?? {}).map(([name, count]): [string, string] => [
        `… by ${name}`,
        String(count),
      ]),
    ]),
    ['unlinked', String(links?.unlinked)],
    ['records of excluded practitioners', String(report.release?.excluded)],
  ];
  return ['| measure | value |', '|---|---|', ...rows.map(([name, value]) => `| ${name} | ${value} |`)];
}

const world = createWorld(Number(options.scale), seed);
const folder = await mkdtemp(path.join(tmpdir(), 'openhisp-bench-npd-'));
try {
  const release = options.release ?? path.join(folder, 'release');
  let generatedSeconds: number | undefined;
  if (!existsSync(path.join(release, 'manifest.json'))) {
    const { bavail, bsize } = await statfs(folder);
    const neededBytes = 4e9 * Number(options.scale);
    if (bavail * bsize < neededBytes) throw new Error(`${megabytes(neededBytes)} of disk are needed`);
    const startMs = performance.now();
    await writeRelease({ folder: release, world, gazetteer: loadBuiltInGazetteer() });
    generatedSeconds = (performance.now() - startMs) / 1000;
  }
  const figures = await measureImport(release, folder);
  compareLinks(figures.report, expectLinks(world));
  const databaseBytes = (await stat(path.join(folder, 'openhisp.db'))).size;
  const lines = [
    `## ${options.scale} of the true size, ${new Date().toISOString().slice(0, 16).replace('T', ' ')} UTC`,
    '',
    `${cpus().length} × ${cpus()[0]?.model.trim()}, ${(totalmem() / 2 ** 30).toFixed(0)} GB, Node ${process.version}. Every count equals that of the release's plan.`,
    '',
    ...formatFigures(world, await sizeOfRelease(release), generatedSeconds, figures, databaseBytes),
    '',
  ].join('\n');
  console.log(lines);
  if (options.output !== undefined) await appendFile(options.output, `\n${lines}`);
} finally {
  await rm(folder, { recursive: true, force: true });
}
