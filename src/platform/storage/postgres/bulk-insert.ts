import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { CompiledQuery } from 'kysely';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import type { BulkInsert, StoredValue } from '../storage.ts';
import { translated } from './errors.ts';
import type { StatementRunner } from './run-query.ts';
import { refuseNul } from '../values.ts';

/** Up to this many rows are inserted by one plain statement: COPY needs two more round trips. */
const fewRows = 20;
/** Bytes of COPY's text passed to the connection at once. */
const chunkLength = 64 * 1024;

export interface InsertDependencies {
  readonly statements: StatementRunner;
  /** Runs a statement of the transaction without waiting; the transaction fails if it fails. */
  queue(statement: CompiledQuery): void;
  /** Has the transaction's connection for the time of one call. Undefined where it takes no COPY. */
  readonly onConnection: (<R>(work: (client: pg.ClientBase) => Promise<R>) => Promise<R>) | undefined;
}

/** See `Storage.bulkInsert`. */
export async function insertOnPostgres(
  insert: BulkInsert,
  { statements, queue, onConnection }: InsertDependencies,
): Promise<number> {
  const rows =
    Symbol.asyncIterator in insert.rows
      ? insert.rows[Symbol.asyncIterator]()
      : insert.rows[Symbol.iterator]();
  let count = 0;
  for (;;) {
    const first: (readonly StoredValue[])[] = [];
    while (first.length < fewRows) {
      const next = await rows.next();
      if (next.done === true) {
        if (first.length > 0) queue(insertFew(insert, first));
        return count + first.length;
      }
      first.push(next.value);
    }
    // A COPY waits for its client without any limit. Rows in memory are inserted under locks that all nodes
    // need (the audit chain): a node that stands still must not hold up the others.
    if (onConnection !== undefined && !Array.isArray(insert.rows))
      return onConnection((client) => copyAll(client, statements, insert, first, rows));
    queue(insertFew(insert, first));
    count += first.length;
  }
}

function insertFew({ table, columns }: BulkInsert, rows: readonly (readonly StoredValue[])[]): CompiledQuery {
  const places = rows.map(
    (_, row) => `(${columns.map((_column, column) => `$${row * columns.length + column + 1}`).join(', ')})`,
  );
  return CompiledQuery.raw(
    `insert into ${quoted(table)} (${columns.map(quoted).join(', ')}) values ${places.join(', ')}`,
    rows.flat(),
  );
}

async function copyAll(
  client: pg.ClientBase,
  statements: StatementRunner,
  { table, columns }: BulkInsert,
  first: readonly (readonly StoredValue[])[],
  rest: Iterator<readonly StoredValue[]> | AsyncIterator<readonly StoredValue[]>,
): Promise<number> {
  let count = 0;
  async function* chunks(): AsyncIterable<string> {
    let chunk = '';
    for (const row of first) {
      chunk += copyLine(row);
      count++;
    }
    for (;;) {
      // Only a stream is awaited: an await per row would cost more than the row.
      const step = rest.next();
      const next = step instanceof Promise ? await step : step;
      if (next.done === true) break;
      chunk += copyLine(next.value);
      count++;
      if (chunk.length < chunkLength) continue;
      yield chunk;
      chunk = '';
      await nextTurn();
    }
    yield chunk;
  }
  // A COPY lasts as long as its rows come.
  await statements.watched(client, () => client.query('set local statement_timeout = 0'));
  const copy = client.query(copyFrom(`copy ${quoted(table)} (${columns.map(quoted).join(', ')}) from stdin`));
  try {
    await translated(() => pipeline(Readable.from(chunks()), copy));
  } finally {
    await rest.return?.();
  }
  return count;
}

/** One row in COPY's text format (PostgreSQL: COPY, "Text Format"). */
function copyLine(row: readonly StoredValue[]): string {
  let line = '';
  for (let index = 0; index < row.length; index++) {
    if (index > 0) line += '\t';
    line += copyValue(row[index] ?? null);
  }
  return `${line}\n`;
}

function copyValue(value: StoredValue): string {
  if (value === null) return '\\N';
  if (typeof value === 'string') return copyText(value);
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  return `\\\\x${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')}`;
}

const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function copyText(text: string): string {
  refuseNul(text);
  return text.replace(/[\\\n\r\t]/g, (character) => escapes[character] ?? character);
}

function quoted(name: string): string {
  return `"${name}"`;
}
