import { closeSync, openSync } from 'node:fs';
import SqliteDatabase, { type Database } from 'better-sqlite3';
import { LRUCache } from 'lru-cache';
import type { CompiledQuery, QueryResult } from 'kysely';
import { toParameters } from '../values.ts';

/** Statements kept prepared per connection. */
const preparedStatements = 500;

export interface SqliteFile {
  /** The driver's own handle. */
  readonly handle: Database;
  prepare(sql: string): SqliteDatabase.Statement;
}

/**
 * Opens the one connection that writes. A commit is in the write-ahead log when it returns, and on disk once
 * the log was flushed (`flusher.ts`). Checkpoints are another thread's work (`checkpointer.ts`).
 */
export function openWriter(file: string): SqliteFile {
  // The log and index files next to it take over its mode.
  closeSync(openSync(file, 'a', 0o600));
  // The wait for another process's lock is done by the writer's queue, without holding up the event loop.
  const handle = new SqliteDatabase(file, { timeout: 0 });
  handle.pragma('busy_timeout = 5000');
  handle.pragma('journal_mode = WAL');
  handle.pragma('busy_timeout = 0');
  handle.pragma('synchronous = NORMAL');
  handle.pragma('foreign_keys = ON');
  handle.pragma('wal_autocheckpoint = 0');
  handle.pragma('cache_size = -32000');
  // The savepoint's rollback data stays in memory.
  handle.pragma('temp_store = MEMORY');
  return withStatements(handle);
}

/** Opens a connection that only reads and never waits for the writer. */
export function openReader(file: string): SqliteFile {
  const handle = new SqliteDatabase(file, { readonly: true, timeout: 5000 });
  handle.pragma('cache_size = -32000');
  return withStatements(handle);
}

function withStatements(handle: Database): SqliteFile {
  const cache = new LRUCache<string, SqliteDatabase.Statement>({ max: preparedStatements });
  return {
    handle,
    prepare(sql) {
      const known = cache.get(sql);
      if (known !== undefined) return known;
      const statement = handle.prepare(sql);
      cache.set(sql, statement);
      return statement;
    },
  };
}

/** Runs one compiled query at once. */
export function runOn<R>(file: SqliteFile, query: CompiledQuery): QueryResult<R> {
  const statement = file.prepare(query.sql);
  const parameters = toParameters(query.parameters);
  if (statement.reader) return { rows: statement.all(...parameters) as R[] };
  const { changes } = statement.run(...parameters);
  return { rows: [], numAffectedRows: BigInt(changes) };
}
