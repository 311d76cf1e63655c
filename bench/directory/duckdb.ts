/** A DuckDB in this process for the comparison, with the same columns as PostgreSQL. */
import { createRequire } from 'node:module';
import { createWriteStream, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ProviderQuery } from '../../src/lib/provider-index/index.ts';
import type { ProviderRecord } from '../../src/lib/provider-record/index.ts';
import { timingOf } from './engine.ts';
import type { PostgresTiming } from './postgres-query.ts';
import { columnTypes, copyLines } from './postgres-table.ts';
import { statementsFor, type Dialect } from './sql-query.ts';

interface Connection {
  runAndReadAll(sql: string): Promise<{ getRows(): readonly (readonly unknown[])[] }>;
  closeSync(): void;
}

interface Package {
  readonly DuckDBInstance: { create(file: string): Promise<{ connect(): Promise<Connection> }> };
  version(): string;
}

export interface OpenDuckDb {
  readonly version: string;
  readonly loadMs: number;
  time(query: ProviderQuery): Promise<PostgresTiming>;
  close(): void;
}

const earthMiles = 3958.7613;
const radians = (degrees: number): number => (degrees * Math.PI) / 180;
const degrees = (angle: number): number => (angle * 180) / Math.PI;

const milesTo = (latitude: number, longitude: number): string =>
  `2 * ${earthMiles} * asin(sqrt(least(1, pow(sin(radians(latitude - ${latitude}) / 2), 2)
    + cos(radians(${latitude})) * cos(radians(latitude)) * pow(sin(radians(longitude - ${longitude}) / 2), 2))))`;

const dialect: Dialect = {
  // The box first: comparing coordinates is cheaper than sines.
  within({ latitude, longitude, miles }) {
    const angle = miles / earthMiles;
    const high = degrees(angle) + 1e-9;
    const wide = degrees(Math.asin(Math.min(1, Math.sin(angle) / Math.cos(radians(latitude))))) + 1e-9;
    const isPlain = longitude - wide >= -180 && longitude + wide <= 180;
    return [
      `latitude between ${latitude - high} and ${latitude + high}`,
      ...(isPlain ? [`longitude between ${longitude - wide} and ${longitude + wide}`] : []),
      `${milesTo(latitude, longitude)} <= ${miles}`,
    ].join(' and ');
  },
  distance: ({ latitude, longitude }) => milesTo(latitude, longitude),
};

/** Undefined without the package: `npm install --no-save @duckdb/node-api`, or its folder in DUCKDB. */
export async function loadDuckDb(records: Iterable<ProviderRecord>): Promise<OpenDuckDb | undefined> {
  const found = findPackage();
  if (found === undefined) return undefined;
  const connection = await (await found.DuckDBInstance.create(':memory:')).connect();
  const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-bench-duckdb-'));
  const startMs = performance.now();
  try {
    const file = path.join(folder, 'providers.tsv');
    await pipeline(Readable.from(copyLines(records)), createWriteStream(file));
    const columns = Object.entries(columnTypes()).map(([name, type]) => `'${name}': '${type}'`);
    await connection.runAndReadAll('set threads = 2');
    await connection.runAndReadAll(
      `create table providers as select * from read_csv('${file}', delim = '\t', header = false, quote = '', escape = '',
        nullstr = '\\N', columns = {${columns.join(', ')}})`,
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return {
    version: `DuckDB ${found.version()}`,
    loadMs: performance.now() - startMs,
    time: (query) => time(connection, query),
    close: () => connection.closeSync(),
  };
}

function findPackage(): Package | undefined {
  try {
    return createRequire(import.meta.url)(process.env['DUCKDB'] ?? '@duckdb/node-api') as Package;
  } catch {
    return undefined;
  }
}

/** As in PostgreSQL: count and page together, up to ten times, once if that takes long. */
async function time(connection: Connection, query: ProviderQuery): Promise<PostgresTiming> {
  const { count, page } = statementsFor(query, dialect);
  const times: number[] = [];
  let totalCount: number | undefined;
  for (let spent = 0; times.length < 10 && spent < (times.length < 2 ? 2500 : 1200);) {
    const startMs = performance.now();
    totalCount = Number((await connection.runAndReadAll(count)).getRows()[0]?.[0]);
    await connection.runAndReadAll(page);
    times.push(performance.now() - startMs);
    spent += times.at(-1) ?? 0;
  }
  return { totalCount, ...timingOf(times.length > 1 ? times.slice(1) : times) };
}
