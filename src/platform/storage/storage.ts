import type { Kysely } from 'kysely';
import type { Closable } from '../../core/index.ts';

/** Which database stands behind the seam. */
export type StorageEngine = 'sqlite' | 'postgresql';

/**
 * Any Kysely transaction, whatever tables its owner sees in it. A service that takes part in another service's
 * transaction accepts this and looks at its own tables through {@link tablesOf}.
 */
export interface AnyTransaction {
  readonly isTransaction: boolean;
}

/** One value as the driver takes it: booleans are 0 or 1, times are milliseconds since 1970. */
export type StoredValue = string | number | bigint | Uint8Array | null;

export interface BulkInsert {
  readonly table: string;
  readonly columns: readonly string[];
  /** One array a row, in the order of `columns`. */
  readonly rows: Iterable<readonly StoredValue[]> | AsyncIterable<readonly StoredValue[]>;
}

/** Where a database is; plain data, so that it can be handed to another thread. */
export interface StorageLocation {
  /** The database file; its folder is made if missing. */
  readonly file: string;
  /** How long to wait for another process that holds the write lock. */
  readonly busyTimeoutMs?: number;
}

/** The one seam to the database (Decision 0018). */
export interface Storage extends Closable {
  readonly engine: StorageEngine;
  /** For another thread of this process that is to open the same database. */
  readonly location: StorageLocation;
  /**
   * The database outside of any transaction: each statement stands for itself. Reads never wait for a transaction;
   * a write waits until the running transaction ends. Writing through it inside a transaction would wait for itself
   * and therefore throws PLATFORM_STORAGE_NESTED: inside, use the transaction that was handed in.
   */
  readonly db: Kysely<unknown>;
  /** The same as `db`, seen as the tables of one service. */
  tables<T>(): Kysely<T>;
  /**
   * Runs `work` in one transaction: committed and durable when the promise is fulfilled, rolled back when it rejects.
   * On SQLite transactions run one after another, so `work` must not wait for the network.
   */
  transaction<T, R>(work: (tx: Kysely<T>) => Promise<R>): Promise<R>;
  /**
   * Runs `work` while nothing else writes through this storage. For work that is done by another thread of this process,
   * through its own connection: the two take turns instead of meeting at the database's lock.
   */
  whileWritersWait<R>(work: () => Promise<R>): Promise<R>;
  /**
   * Inserts many rows by the engine's fastest path (a prepared statement; COPY on PostgreSQL), handing the event loop
   * back between blocks. Names must come from the source code, never from outside. Returns the number of rows.
   */
  bulkInsert(tx: AnyTransaction, insert: BulkInsert): Promise<number>;
  /** Brings the schema up to date: all pending migrations in one transaction. Safe from several processes at once. */
  migrate(): Promise<readonly string[]>;
  /** Writes a consistent copy of the whole database to a new file, while everything goes on. */
  backup(file: string): Promise<void>;
  /** Throws unless the database answers; for readiness. */
  check(): Promise<void>;
}

/** A transaction of another service, seen as the tables of this one. */
export function tablesOf<T>(tx: AnyTransaction): Kysely<T> {
  return tx as unknown as Kysely<T>;
}
