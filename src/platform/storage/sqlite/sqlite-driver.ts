import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type CompiledQuery,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
} from 'kysely';
import { PlatformError } from '../errors.ts';
import { createMutex } from './mutex.ts';
import { isBusy, translated } from './sqlite-errors.ts';
import { openReader, openWriter, type SqliteFile } from './sqlite-files.ts';

/** A transaction that is running in the current asynchronous context. */
interface RunningTransaction {
  isRunning: boolean;
}

/** What the driver needs to know about the file. */
export interface SqliteDriverOptions {
  readonly file: string;
  /** How long to wait for another process that holds the write lock. */
  readonly busyTimeoutMs: number;
}

/**
 * Kysely's driver over one writing and one reading connection to a file.
 *
 * The writer is used by one transaction, or one single statement, at a time (a mutex in this process, SQLite's lock
 * between processes). The reader sees the last committed state and never waits.
 */
export class SqliteDriver implements Driver {
  readonly #options: SqliteDriverOptions;
  readonly #mutex = createMutex();
  readonly #context = new AsyncLocalStorage<RunningTransaction>();
  #writer: SqliteFile | undefined;
  #reader: SqliteFile | undefined;

  constructor(options: SqliteDriverOptions) {
    this.#options = options;
  }

  /** Marks the calls made by `work` as being inside a transaction, so that a write around it is refused, not stuck. */
  async runMarked<R>(work: () => Promise<R>): Promise<R> {
    const mark: RunningTransaction = { isRunning: true };
    this.refuseInside('a transaction');
    try {
      return await this.#context.run(mark, work);
    } finally {
      mark.isRunning = false;
    }
  }

  /** Runs `work` while the writing connection rests. */
  async runAlone<R>(work: () => Promise<R>): Promise<R> {
    this.refuseInside('work of another thread');
    const release = await this.acquireWriter();
    try {
      return await work();
    } finally {
      release();
    }
  }

  refuseInside(what: string): void {
    if (this.#context.getStore()?.isRunning !== true) return;
    throw new PlatformError(
      'PLATFORM_STORAGE_NESTED',
      `${what} was started inside a transaction, which it would wait for`,
    );
  }

  get writer(): SqliteFile {
    if (this.#writer === undefined)
      throw new PlatformError('PLATFORM_STORAGE_CLOSED', 'the storage is closed');
    return this.#writer;
  }

  get reader(): SqliteFile {
    if (this.#reader === undefined)
      throw new PlatformError('PLATFORM_STORAGE_CLOSED', 'the storage is closed');
    return this.#reader;
  }

  acquireWriter(): Promise<() => void> {
    return this.#mutex.acquire();
  }

  /** Repeats `attempt` while another process holds the lock, handing the event loop back in between. */
  async whenFree<R>(attempt: () => R): Promise<R> {
    const giveUpAt = performance.now() + this.#options.busyTimeoutMs;
    for (let waitMs = 1; ; waitMs = Math.min(waitMs * 2, 50)) {
      try {
        return translated(attempt);
      } catch (error) {
        if (!isBusy(error) || performance.now() > giveUpAt) throw error;
        await sleep(waitMs);
      }
    }
  }

  openSnapshot(): SqliteFile {
    return openReader(this.#options.file);
  }

  async init(): Promise<void> {
    if (this.#writer !== undefined) return;
    this.#writer = openWriter(this.#options.file);
    this.#reader = openReader(this.#options.file);
  }

  async acquireConnection(): Promise<DatabaseConnection> {
    return new SqliteConnection(this);
  }

  async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await asSqlite(connection).begin();
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await asSqlite(connection).end('commit');
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await asSqlite(connection).end('rollback');
  }

  async releaseConnection(connection: DatabaseConnection): Promise<void> {
    asSqlite(connection).release();
  }

  async destroy(): Promise<void> {
    const release = await this.acquireWriter();
    this.#reader?.handle.close();
    this.#writer?.handle.close();
    this.#reader = undefined;
    this.#writer = undefined;
    release();
  }
}

class SqliteConnection implements DatabaseConnection {
  readonly #driver: SqliteDriver;
  #releaseWriter: (() => void) | undefined;

  constructor(driver: SqliteDriver) {
    this.#driver = driver;
  }

  async begin(): Promise<void> {
    this.#releaseWriter = await this.#driver.acquireWriter();
    await this.#driver.whenFree(() => this.#driver.writer.handle.exec('begin immediate'));
  }

  async end(how: 'commit' | 'rollback'): Promise<void> {
    const { handle } = this.#driver.writer;
    // SQLite rolls back by itself on some failures (a full disk); there is nothing left to end then.
    if (how === 'rollback' && !handle.inTransaction) return;
    await this.#driver.whenFree(() => handle.exec(how));
  }

  release(): void {
    this.#releaseWriter?.();
    this.#releaseWriter = undefined;
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    if (this.#releaseWriter !== undefined) return translated(() => runOn(this.#driver.writer, query));
    const { reader } = this.#driver;
    if (isRead(query)) return translated(() => runOn(reader, query));
    this.#driver.refuseInside('a write outside the transaction');
    const release = await this.#driver.acquireWriter();
    try {
      return await this.#driver.whenFree(() => runOn<R>(this.#driver.writer, query));
    } finally {
      release();
    }
  }

  /** Streams from a connection of its own, so that an unfinished stream holds up nobody. */
  async *streamQuery<R>(query: CompiledQuery, chunkSize: number): AsyncIterableIterator<QueryResult<R>> {
    const snapshot = this.#driver.openSnapshot();
    try {
      let rows: R[] = [];
      for (const row of snapshot.prepare(query.sql).iterate(...toParameters(query.parameters))) {
        rows.push(row as R);
        if (rows.length < chunkSize) continue;
        yield { rows };
        rows = [];
      }
      yield { rows };
    } finally {
      snapshot.handle.close();
    }
  }
}

function asSqlite(connection: DatabaseConnection): SqliteConnection {
  if (connection instanceof SqliteConnection) return connection;
  throw new TypeError('a connection of another driver');
}

function isRead(query: CompiledQuery): boolean {
  return query.query.kind === 'SelectQueryNode';
}

function runOn<R>(file: SqliteFile, query: CompiledQuery): QueryResult<R> {
  const statement = file.prepare(query.sql);
  const parameters = toParameters(query.parameters);
  if (statement.reader) return { rows: statement.all(...parameters) as R[] };
  const { changes, lastInsertRowid } = statement.run(...parameters);
  return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) };
}

// SQLite has no booleans; the schema keeps them as 0 and 1.
function toParameters(parameters: readonly unknown[]): unknown[] {
  return parameters.map((value) => (typeof value === 'boolean' ? Number(value) : value));
}

// Kysely would let only one connection exist, and so make a read wait for a transaction; the driver knows better.
class SeveralConnectionsAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): true {
    return true;
  }
}

/** Kysely's dialect over {@link SqliteDriver}. */
export function createSqliteDialect(driver: SqliteDriver): Dialect {
  return {
    createAdapter: () => new SeveralConnectionsAdapter(),
    createDriver: () => driver,
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  };
}
