import { toParameters } from '../values.ts';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { asTransaction } from '../transaction.ts';
import type { AnyTransaction, BulkInsert, StoredValue } from '../storage.ts';
import { translated } from './errors.ts';
import type { SqliteFile } from './files.ts';

/** Rows inserted before the event loop gets its turn: about 5 ms of work. */
const rowsPerTurn = 1000;

/** See `Storage.bulkInsert`. */
export async function insertOnSqlite(
  tx: AnyTransaction,
  file: SqliteFile,
  insert: BulkInsert,
): Promise<number> {
  if (asTransaction(tx).isOver || !file.handle.inTransaction)
    throw new TypeError('a bulk insert needs a running transaction');
  const statement = file.prepare(
    `insert into "${insert.table}" (${insert.columns.map((column) => `"${column}"`).join(', ')}) ` +
      `values (${insert.columns.map(() => '?').join(', ')})`,
  );
  const insertBlock = (block: readonly (readonly StoredValue[])[]): void =>
    translated(() => {
      for (const row of block) statement.run(toParameters(row));
    });
  if (Array.isArray(insert.rows) && insert.rows.length <= rowsPerTurn) {
    insertBlock(insert.rows);
    return insert.rows.length;
  }
  let count = 0;
  for await (const block of inBlocks(insert.rows)) {
    insertBlock(block);
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
