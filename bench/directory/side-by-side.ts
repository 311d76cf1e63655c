/**
 * The same queries in the index, in PostgreSQL and in DuckDB, in one run for each shape of data:
 * `node bench/directory/side-by-side.ts [--records 300000] [--shape NAME…] [--output FILE]`. The counts of all three must be equal.
 * The file gets a row for each shape, and each query of the shape `national`; all queries are printed.
 * DuckDB: `npm install --no-save @duckdb/node-api`, or its folder in DUCKDB.
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { openIndex, type ProviderIndex } from '../../src/lib/provider-index/index.ts';
import type { ProviderRecord } from '../../src/lib/provider-record/index.ts';
import { loadDuckDb } from './duckdb.ts';
import { buildSample, timeQuery, timingOf, type EngineTiming } from './engine.ts';
import { timeInPostgres, type PostgresTiming } from './postgres-query.ts';
import { loadTable } from './postgres-table.ts';
import { findPostgres, startPostgres } from './postgres.ts';
import { benchQueries } from './queries.ts';
import { isShape, shapeNames, type ShapeName } from './shapes.ts';

const { values: options } = parseArgs({
  options: {
    records: { type: 'string', default: '300000' },
    shape: { type: 'string', multiple: true, default: [...shapeNames] },
    output: { type: 'string', default: 'bench/RESULTS-side-by-side.md' },
  },
});
const recordCount = Number(options.records);
const log = (text: string): void => console.log(`${new Date().toISOString().slice(11, 19)} ${text}`);

/** Circles with filters and other sorts, deep pages, other sorts, and what is asked most. */
const chosen = [
  String.raw`^50 miles of New York`,
  String.raw`^1000 miles of Austin( by|, org|, last S|, far|, offset)`,
  String.raw`^(25 miles of Austin|100 miles of New York|250 miles of ZIP 10001|1000 miles of Anchorage)$`,
  String.raw`, last page$`,
  String.raw`^(TX by city|org clinic by city|last S by state, city|all by state, city|all by last, first, middle)$`,
  String.raw`^(all by suffix, last descending|org a by specialty, last, first|all by street descending|last S by phone)$`,
  String.raw`^(lastName "Smith"|directAddress "smith"|organization "cardiology associate"|street "Main St")$`,
  String.raw`^(specialty "cardio"|zip "787"|org a \+ street e|address e \+ org e \+ street e)$`,
].join('|');

interface Row {
  readonly own: EngineTiming;
  readonly postgres: PostgresTiming;
  readonly duck: PostgresTiming;
}

function* recordsOf(index: ProviderIndex): Generator<ProviderRecord> {
  for (let row = 0; row < index.recordCount; row++) yield index.record(row);
}

async function compare(shape: ShapeName): Promise<{ readonly summary: string; readonly queries: string[] }> {
  log(`${shape}: building`);
  const { bytes, addMs, finishMs } = buildSample(recordCount, shape);
  const index = openIndex(bytes);
  const binaries = findPostgres();
  if (binaries === undefined) throw new Error('PostgreSQL is not installed.');
  const duck = await loadDuckDb(recordsOf(index));
  if (duck === undefined) throw new Error('DuckDB is not installed: npm install --no-save @duckdb/node-api');
  const server = await startPostgres(binaries);
  try {
    log(`${shape}: loading PostgreSQL`);
    const load = await loadTable(server.client, recordsOf(index), () => {});
    const rows: Row[] = [];
    for (const query of benchQueries(chosen)) {
      const own = timeQuery(index, query);
      const postgres = await timeInPostgres(server.client, own.query);
      const row = { own, postgres, duck: await duck.time(own.query) };
      rows.push(row);
      if (
        row.duck.totalCount !== own.totalCount ||
        (postgres.totalCount ?? own.totalCount) !== own.totalCount
      )
        throw new Error(
          `${shape}, ${own.name}: ${own.totalCount}, PostgreSQL ${postgres.totalCount}, DuckDB ${row.duck.totalCount}`,
        );
    }
    log(`${shape}: ${rows.length} queries, equal counts`);
    const seconds = (ms: number): string => (ms / 1000).toFixed(1);
    const ratios = (pick: (row: Row) => number): string => {
      const all = rows.map((row) => pick(row) / row.own.leastMs);
      return `${timingOf(all).p50Ms.toFixed(0)}, ${Math.min(...all).toFixed(1)}`;
    };
    const cells = [
      shape,
      seconds(addMs + finishMs),
      seconds(load.copyMs + load.indexMs),
      seconds(duck.loadMs),
      ratios((row) => row.postgres.leastMs),
      ratios((row) => row.duck.leastMs),
    ];
    return { summary: `| ${cells.join(' | ')} |`, queries: format(rows, server.version, duck.version) };
  } finally {
    await server.close();
    duck.close();
  }
}

function format(rows: readonly Row[], postgresVersion: string, duckVersion: string): string[] {
  const ms = (value: number): string => value.toFixed(value < 10 ? 2 : 0);
  return [
    `| query | records | openhisp ms | ${postgresVersion}, ms | DuckDB ${duckVersion}, ms |`,
    '|---|---:|---:|---:|---:|',
    ...rows.map(
      ({ own, postgres, duck }) =>
        `| ${own.name} | ${own.totalCount} | ${ms(own.leastMs)} | ${postgres.totalCount === undefined ? '> ' : ''}${ms(postgres.leastMs)} | ${ms(duck.leastMs)} |`,
    ),
  ];
}

const text = [
  '# Side by side with PostgreSQL and DuckDB',
  '',
  `Count and page of each query over ${recordCount} records, the quickest of up to ten runs (25 of ours), by \`bench/directory/side-by-side.ts\`.`,
  'Two cores for which some thirty processes wait: times compare the three with each other only. Ours and DuckDB run in the process that asks, PostgreSQL behind a',
  'socket. All counts are equal. Times as long as openhisp: median of the queries, and least.',
  '',
  '| shape | openhisp built in s | PostgreSQL loaded and indexed in s | DuckDB loaded in s | PostgreSQL, times as long | DuckDB, times as long |',
  '|---|---:|---:|---:|---:|---:|',
];
const details: string[] = [];
for (const shape of options.shape) {
  if (!isShape(shape)) throw new Error(`--shape is one of ${shapeNames.join(', ')}.`);
  const { summary, queries } = await compare(shape);
  console.log(queries.join('\n'));
  text.push(summary);
  if (shape === 'national') details.push('', `The queries of \`${shape}\`:`, '', ...queries);
}
writeFileSync(options.output, [...text, ...details, ''].join('\n'));
log(`written to ${options.output}`);
