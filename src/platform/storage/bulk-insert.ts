import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Database } from 'better-sqlite3';
import type { AnyTransaction, BulkInsert } from './storage.ts';

/** Rows inserted before the event loop gets its turn: about 5 ms of work. */
const rowsPerTurn = 1000;

export async function insertOnSqlite(tx: AnyTransaction, handle: Database, insert: BulkInsert): Promise<number> {
  if (!tx.isTransaction || !handle.inTransaction) throw new TypeError('a bulk insert needs a running transaction');
  const statement = handle.prepare(
    `insert into "${insert.table}" (${insert.columns.map((column) => `"${column}"`).join(', ')}) ` +
      `values (${insert.columns.map(() => '?').join(', ')})`,
  );
  let count = 0;
  for await (const row of inTurns(insert.rows)) {
    statement.run(row);
    count++;
  }
  return count;
}

async function* inTurns<T>(rows: Iterable<T> | AsyncIterable<T>): AsyncIterable<T> {
  let count = 0;
  for await (const row of rows) {
    yield row;
    if (++count % rowsPerTurn === 0) await nextTurn();
  }
}
