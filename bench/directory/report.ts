import { execFileSync } from 'node:child_process';
import { cpus, totalmem } from 'node:os';
import type { ArraySize } from '../../src/lib/provider-index/index.ts';
import type { EngineTiming } from './engine.ts';
import type { PostgresTiming } from './postgres-query.ts';

export interface Row {
  readonly engine: EngineTiming;
  readonly postgres: PostgresTiming | undefined;
}

export interface Figures {
  readonly recordCount: number;
  readonly shape: string;
  readonly bytes: number;
  readonly parts: readonly ArraySize[];
  readonly build: { readonly addMs: number; readonly finishMs: number };
  readonly snapshot: { readonly writeMs: number; readonly readMs: number; readonly bytes: number };
  readonly postgres:
    | { readonly version: string; readonly copyMs: number; readonly indexMs: number; readonly bytes: number }
    | undefined;
  readonly rows: readonly Row[];
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
const millis = (ms: number): string => (ms < 10 ? ms.toFixed(2) : ms < 100 ? ms.toFixed(1) : ms.toFixed(0));

/** The text of bench/RESULTS.md. */
export function formatReport(figures: Figures): string {
  return [
    '# Provider directory: results',
    '',
    'Made by `node bench/directory/run.ts`. Engine time is the search and the JSON text of the page; PostgreSQL time is the count and',
    'the page over a Unix socket, stopped after 20 s ("over"). Same rows, same queries; the counts of both are compared.',
    '',
    ...machineLines(),
    '',
    ...summaryLines(figures),
    '',
    ...partLines(figures),
    '',
    ...queryLines(figures),
    '',
  ].join('\n');
}

function machineLines(): string[] {
  const model = cpus()[0]?.model.trim() ?? 'unknown processor';
  const system = execFileSync('uname', ['-sr']).toString().trim();
  return [
    `Machine: ${cpus().length} × ${model}, ${(totalmem() / 2 ** 30).toFixed(0)} GB, ${system}, Node ${process.version}, ${new Date().toISOString().slice(0, 10)}.`,
    'Other work ran on it at the same time, which affects the 95th percentiles more than the medians.',
  ];
}

function summaryLines({ recordCount, shape, bytes, build, snapshot, postgres, rows }: Figures): string[] {
  const p95 = rows.map((row) => row.engine.p95Ms).toSorted((a, b) => a - b);
  const ratios = rows
    .flatMap((row) => (row.postgres === undefined ? [] : [row.postgres.p50Ms / row.engine.p50Ms]))
    .toSorted((a, b) => a - b);
  const at = (values: readonly number[], share: number): number =>
    values[Math.min(values.length - 1, Math.floor(values.length * share))] ?? 0;
  const differing = rows.filter(
    (row) => row.postgres?.totalCount !== undefined && row.postgres.totalCount !== row.engine.totalCount,
  );
  return [
    '| measure | value |',
    '|---|---|',
    `| records | ${recordCount.toLocaleString('en')} |`,
    `| shape | ${shape} |`,
    `| queries | ${rows.length} |`,
    `| engine, median of the queries' p50 | ${millis(
      at(
        rows.map((row) => row.engine.p50Ms).toSorted((a, b) => a - b),
        0.5,
      ),
    )} ms |`,
    `| engine, 95 % of the queries have a p95 of at most | ${millis(at(p95, 0.95))} ms |`,
    `| engine, worst p50 / worst p95 | ${millis(Math.max(...rows.map((row) => row.engine.p50Ms)))} / ${millis(at(p95, 1))} ms |`,
    `| index | ${(bytes / recordCount).toFixed(0)} bytes per record, ${(bytes / 2 ** 20).toFixed(0)} MB |`,
    `| build: taking the records in, finishing | ${seconds(build.addMs)}, ${seconds(build.finishMs)} |`,
    `| snapshot: writing; from file to ready | ${seconds(snapshot.writeMs)}; ${seconds(snapshot.readMs)} |`,
    ...(postgres === undefined
      ? []
      : [
          `| ${postgres.version}: copy, indexes; size | ${seconds(postgres.copyMs)}, ${seconds(postgres.indexMs)}; ${(postgres.bytes / 2 ** 20).toFixed(0)} MB |`,
          `| times faster than PostgreSQL: least, median, most | ${at(ratios, 0).toFixed(1)}, ${at(ratios, 0.5).toFixed(0)}, ${at(ratios, 1).toFixed(0)} |`,
          `| queries whose counts differ | ${differing.length === 0 ? 'none' : differing.map((row) => row.engine.name).join('; ')} |`,
        ]),
  ];
}

function partLines({ parts, recordCount }: Figures): string[] {
  const byColumn = new Map<string, number>();
  for (const { part, bytes } of parts) {
    const column = part.split('.')[0] ?? part;
    byColumn.set(column, (byColumn.get(column) ?? 0) + bytes);
  }
  const sorted = [...byColumn].toSorted((a, b) => b[1] - a[1]);
  return [
    '| part of the index | bytes per record |',
    '|---|---:|',
    ...sorted.map(([column, bytes]) => `| ${column} | ${(bytes / recordCount).toFixed(1)} |`),
  ];
}

const shownQueries = 20;

function queryLines({ rows }: Figures): string[] {
  return [
    `The ${shownQueries} slowest of the ${rows.length} queries by p50; the bench prints all:`,
    '',
    ...queryTable(rows.toSorted((a, b) => b.engine.p50Ms - a.engine.p50Ms).slice(0, shownQueries)),
  ];
}

export function queryTable(rows: readonly Row[]): string[] {
  return [
    '| query | matches | engine p50 ms | engine p95 ms | PostgreSQL p50 ms | PostgreSQL p95 ms | times faster |',
    '|---|---:|---:|---:|---:|---:|---:|',
    ...rows.map(({ engine, postgres }) => {
      const theirs =
        postgres === undefined
          ? '| | |'
          : `| ${limited(postgres, postgres.p50Ms)} | ${limited(postgres, postgres.p95Ms)} | ${(postgres.p50Ms / engine.p50Ms).toFixed(1)} |`;
      return `| ${engine.name.replaceAll('|', '\\|')} | ${engine.totalCount} | ${millis(engine.p50Ms)} | ${millis(engine.p95Ms)} ${theirs}`;
    }),
  ];
}

function limited(timing: PostgresTiming, ms: number): string {
  return timing.totalCount === undefined ? `over ${millis(ms)}` : millis(ms);
}
