/** The table and the indexes that PostgreSQL gets: folded texts next to the shown ones, every kind of index that helps. */
import { textFields, type ProviderRecord, type TextField } from '../../src/lib/provider-record/index.ts';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { foldText } from '../../src/core/index.ts';

const shown = textFields.map((field) => `"${field}" text`);
// Folded texts, null when blank so that they sort last; a C collation compares by code point.
const folded = textFields.map((field) => `"f_${field}" text collate "C"`);

export const containsFields: readonly TextField[] = [
  'directAddress',
  'specialty',
  'suffix',
  'organization',
  'street',
];

const createTable = `create unlogged table providers (id bigint, ${shown.join(', ')}, ${folded.join(', ')},
  zip_plain text collate "C", phone_digits text collate "C", latitude float8, longitude float8, place cube)`;

/** Returns how long loading and indexing took. */
export async function loadTable(
  client: pg.Client,
  records: Iterable<ProviderRecord>,
  log: (text: string) => void,
): Promise<{ copyMs: number; indexMs: number }> {
  await client.query('create extension cube; create extension earthdistance; create extension pg_trgm');
  // The mean radius of DIR-07 instead of the equator's, so that distances are the same.
  await client.query(
    `create or replace function earth() returns float8 language sql immutable parallel safe as 'select 6371008.7714::float8'`,
  );
  await client.query(createTable);
  const start = performance.now();
  const columns = Object.keys(columnTypes());
  const target = client.query(
    copyFrom(`copy providers (${columns.map((name) => `"${name}"`).join(', ')}) from stdin`),
  );
  await pipeline(Readable.from(copyLines(records)), target);
  await client.query(
    'update providers set place = ll_to_earth(latitude, longitude) where latitude is not null',
  );
  const copied = performance.now();
  for (const statement of indexStatements()) {
    const before = performance.now();
    await client.query(statement);
    log(`  ${((performance.now() - before) / 1000).toFixed(1)} s  ${statement}`);
  }
  return { copyMs: copied - start, indexMs: performance.now() - copied };
}

/** The columns of a line of {@link copyLines} and their types. */
export function columnTypes(): Readonly<Record<string, string>> {
  const texts = [...textFields, ...textFields.map((field) => `f_${field}`), 'zip_plain', 'phone_digits'];
  return {
    id: 'bigint',
    ...Object.fromEntries(texts.map((name) => [name, 'text'])),
    latitude: 'double',
    longitude: 'double',
  };
}

/** Tab-separated lines as COPY reads them. */
export function* copyLines(records: Iterable<ProviderRecord>): Generator<string> {
  let lines: string[] = [];
  for (const record of records) {
    lines.push(copyLine(record));
    if (lines.length === 2000) {
      yield lines.join('');
      lines = [];
    }
  }
  yield lines.join('');
}

function copyLine(record: ProviderRecord): string {
  const texts = textFields.map((field) => escapeCopy(record[field]));
  const foldedTexts = textFields.map((field) =>
    record[field] === '' ? '\\N' : escapeCopy(foldText(record[field])),
  );
  const zip = escapeCopy(foldText(record.zip).replaceAll('-', ''));
  const digits = record.phone.replace(/\D/g, '');
  return `${[record.id, ...texts, ...foldedTexts, zip, digits, record.latitude ?? '\\N', record.longitude ?? '\\N'].join('\t')}\n`;
}

function escapeCopy(text: string): string {
  return text.replace(
    /[\\\t\n\r]/g,
    (character) => ({ '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' })[character] ?? character,
  );
}

function indexStatements(): string[] {
  return [
    'create unique index on providers (id)',
    // Both directions, because blanks come last in both.
    ...textFields.map((field) => `create index on providers ("f_${field}", id)`),
    ...textFields.map((field) => `create index on providers ("f_${field}" desc nulls last, id)`),
    'create index on providers (zip_plain)',
    'create index on providers (phone_digits)',
    ...containsFields.map((field) => `create index on providers using gin ("f_${field}" gin_trgm_ops)`),
    'create index on providers using gist (place)',
    'vacuum analyze providers',
  ];
}
