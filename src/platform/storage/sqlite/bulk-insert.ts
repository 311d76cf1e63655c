import { setImmediate as nextTurn } from 'node:timers/promises';
import { translated } from './sqlite-errors.ts';
import type { SqliteFile } from './sqlite-files.ts';
import type { AnyTransaction, BulkInsert } from './storage.ts';

/** Rows inserted before the event loop gets its turn: about 5 ms of work. */
const rowsPerTurn = 1000;

export async function insertOnSqlite(
  tx: AnyTransaction,
  writer: SqliteFile,
  insert: BulkInsert,
): Promise<number> {
  if (!tx.isTransaction || !writer.handle.inTransaction)
    throw new TypeError('a bulk insert needs a running transaction');
  const statement = writer.prepare(
    `insert into "${insert.table}" (${insert.columns.map((column) => `"${column}"`).join(', ')}) ` +
      `values (${insert.columns.map(() => '?').join(', ')})`,
  );
  let count = 0;
  for await (const block of inBlocks(insert.rows)) {
    translated(() => {
      for (const row of block) statement.run(row);
    });
    count += block.length;
  }
  return count;
}

async function* inBlocks<T>(rows: Iterable<T> | AsyncIterable<T>): AsyncIterable<readonly T[]> {
  if (Symbol.asyncIterator in rows) yield* inBlocksOfAsync(rows);
  else yield* inBlocksOfSync(rows);
}

async function* inBlocksOfAsync<T>(rows: AsyncIterable<T>): AsyncIterable<readonly T[]> {
  let block: T[] = [];
  for await (const row of rows) {
    block.push(row);
    if (block.length < rowsPerTurn) continue;
    yield block;
    block = [];
    await nextTurn();
  }
  yield block;
}

// An await per row would cost more than the row.
async function* inBlocksOfSync<T>(rows: Iterable<T>): AsyncIterable<readonly T[]> {
  let block: T[] = [];
  for (const row of rows) {
    block.push(row);
    if (block.length < rowsPerTurn) continue;
    yield block;
    block = [];
    await nextTurn();
  }
  yield block;
}
