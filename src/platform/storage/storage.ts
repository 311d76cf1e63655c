/**
 * The storage port (Decision 0021): statements, transactions and announcements, the same on both engines.
 * Used by `platform`; others by its `index.ts`. Only migrations and copies ask for the engine.
 * Begin with this interface, then `open-storage.ts`.
 */
import type { Compilable, Expression, Kysely, RawBuilder } from 'kysely';
import type { Clock, Closable } from '../../core/index.ts';

/**
 * The database engine. Only migrations may depend on it (`Migration.up`), never a service (Decision 0021).
 */
export type StorageEngine = 'sqlite' | 'postgresql';

/**
 * Any transaction, whatever tables its owner sees in it. A service that takes part in another service's
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
  /** One array per row, in the order of `columns`. */
  readonly rows: Iterable<readonly StoredValue[]> | AsyncIterable<readonly StoredValue[]>;
}

/** A query that Kysely builds with a locking clause: every select query. */
export interface Lockable {
  forUpdate(): this;
  skipLocked(): this;
}

export interface LockOptions {
  /** Leaves out rows that another transaction has locked, instead of waiting for them. */
  readonly skipLocked?: boolean;
}

export interface TransactionOptions {
  /**
   * Lets this transaction share a commit with others of the process that wait at the same time; they run in
   * the order of this text. Only for short work that locks rows in that order. Where transactions share
   * commits anyway (SQLite) it means nothing.
   */
  readonly shareBy?: string | undefined;
}

/** A name that this node holds. It ends with the node, however that ends. */
export interface Held {
  /** False once the connection that held it was lost; another node may have it then. */
  readonly isHeld: boolean;
  release(): Promise<void>;
}

/** The executor of a prepared query: `Storage.db`, or a transaction. */
export type QueryTarget = Pick<Kysely<unknown>, 'isTransaction'>;

/**
 * A query that was built and compiled once. `parameters` are the values of the names that the builder used.
 * Building and compiling a query costs several times what SQLite needs to run it, so frequent statements are
 * prepared.
 */
export interface PreparedQuery<Parameters, Row> {
  all(on: QueryTarget, parameters: Parameters): Promise<readonly Row[]>;
  first(on: QueryTarget, parameters: Parameters): Promise<Row | undefined>;
  /** For statements without rows: how many rows were changed. */
  run(on: QueryTarget, parameters: Parameters): Promise<number>;
  /**
   * For statements whose result says nothing: runs it in its turn, without waiting. If it fails, the whole
   * transaction is rolled back and rejects with its error. On PostgreSQL each wait costs several times what
   * the statement itself costs.
   */
  queue(tx: AnyTransaction, parameters: Parameters): void;
}

/**
 * Gathers items during transactions and writes those of each commit together, as the last thing before the
 * commit. On SQLite several transactions may share one commit. Items of a transaction that is rolled back are
 * dropped with it.
 */
export interface Collector<Item> {
  add(tx: AnyTransaction, item: Item): void;
}

/** Counts of the database's work since it was opened, for metrics and benchmarks. */
export interface StorageCounts {
  readonly transactions: number;
  readonly commits: number;
  /** Waits for the disk; on PostgreSQL the server's own business, and 0 here. */
  readonly flushes: number;
  readonly statements: number;
}

/** The only port to the database (Decision 0021). */
export interface Storage extends Closable {
  /**
   * The database outside of any transaction: each statement is its own transaction, durable when its promise
   * is fulfilled. Reads never wait for a transaction. Writing through it inside a transaction would wait for
   * itself and therefore throws PLATFORM_STORAGE_NESTED: inside, use the transaction that was passed in.
   */
  readonly db: Kysely<unknown>;
  /** The same as `db`, seen as the tables of one service. */
  tables<T>(): Kysely<T>;
  /**
   * Runs `work` in one transaction: committed and durable when the promise is fulfilled, rolled back when it
   * rejects.
   *
   * `work` may run several times: after a serialization failure or a deadlock it is run again from its
   * beginning, so it must not have effects other than through the transaction; those belong into
   * {@link Storage.afterCommit}. It must wait for nothing but the database: other transactions wait for it,
   * and some share its commit.
   */
  transaction<T, R>(work: (tx: Kysely<T>) => Promise<R>, options?: TransactionOptions): Promise<R>;
  /**
   * Locks the rows that a select query reads until the transaction ends, for read-then-write. Where
   * transactions run one after another (SQLite) the query is returned as it is.
   */
  forUpdate<Query extends Lockable>(query: Query, options?: LockOptions): Query;
  /**
   * A condition that follows from the query's others and is that of a partial index. SQLite uses the index
   * only where its condition is written. PostgreSQL infers it, and would take what is written twice for twice
   * as rare, so there it is `true`.
   */
  implied(condition: RawBuilder<boolean>): RawBuilder<boolean>;
  /**
   * True where a text is one of a list, which is one parameter: for lists that may be longer than the number
   * of parameters that the engine takes (SQLite 32,766, PostgreSQL 65,535), and for those of many lengths,
   * each of which would be another statement.
   */
  isOneOf(text: Expression<string>, list: readonly string[]): RawBuilder<boolean>;
  /** True where it is none of the list. */
  isNoneOf(text: Expression<string>, list: readonly string[]): RawBuilder<boolean>;
  /**
   * Runs `work` once the transaction is committed and durable; never if it is rolled back. `work` must not
   * throw.
   */
  afterCommit(tx: AnyTransaction, work: () => void): void;
  /**
   * Makes a collector. `write` gets all items of a commit in the order of adding, inside a transaction. Its
   * statements run under a lock that is acquired last (the lock's name is `name`), so that collectors can
   * never be part of a deadlock; what it does before the first of them has been answered may run before the
   * lock.
   */
  collector<Item>(
    name: string,
    write: (tx: AnyTransaction, items: readonly Item[]) => Promise<void>,
  ): Collector<Item>;
  /**
   * Builds and compiles a query once. `build` gets placeholders instead of values; lists (`in`) are not
   * possible.
   */
  prepare<Tables, Parameters extends object, Row = never>(
    build: (db: Kysely<Tables>, parameters: Parameters) => Compilable<Row>,
  ): PreparedQuery<Parameters, Row>;
  /**
   * Runs `work` unless another node runs the same task at this moment: for work that exactly one node must
   * do. Undefined if another one does. The lock ends with the node, however that ends.
   */
  tryRunExclusive<R>(task: string, work: () => Promise<R>): Promise<{ readonly result: R } | undefined>;
  /** Holds a name that one node at a time can have; undefined if another one has it. */
  hold(name: string): Promise<Held | undefined>;
  /** Those of the names that are held: by any node; with SQLite, by this process. */
  listHeld(names: readonly string[]): Promise<ReadonlySet<string>>;
  /**
   * Notifies every node after the commit that there is something new under `topic`. A hint; the table is
   * authoritative.
   */
  announce(tx: AnyTransaction, topic: string): void;
  /**
   * Calls `listener` for each announcement, of this node and of others. Returns the function that ends it.
   */
  onAnnounced(topic: string, listener: () => void): () => void;
  /**
   * The time that all nodes share, for leases and for when work is due: it never jumps, and runs on while the
   * machine's clock is set. Dates that people read come from the machine's clock instead.
   */
  readonly clock: Clock;
  /**
   * Sets the clock to that of the nodes that run, before anything uses it. They follow a database whose clock
   * was set only slowly; a node that began at its new time would take their leases for expired.
   */
  setClock(toMs: number): void;
  /**
   * The node that works here, and its present run: part of every lease token, so that a restarted node knows
   * its own leases.
   */
  readonly run: { readonly nodeId: string; readonly runId: string };
  /**
   * Inserts many rows by the engine's fastest path (a prepared statement; COPY on PostgreSQL if they come
   * from a stream), handing the event loop back between blocks. Names must come from the source code, never
   * from outside. Returns the number of rows.
   */
  bulkInsert(tx: AnyTransaction, insert: BulkInsert): Promise<number>;
  /**
   * Brings the schema up to date: all pending migrations in one transaction. Safe from several processes at
   * once. Before each step of a database that has a schema, and at the end, `onUpdate` is called: a step may
   * take minutes.
   */
  migrate(onUpdate?: (text: string) => void): Promise<readonly string[]>;
  /** Writes a consistent copy of the whole database to a new file, while everything continues. */
  backup(file: string): Promise<void>;
  /**
   * Reads the whole database and throws PLATFORM_STORAGE_FAILED if it is damaged. SQLite only; PostgreSQL
   * rejects as `backup` does.
   */
  verify(): Promise<void>;
  /** Throws unless the database answers and takes writes; for readiness. */
  check(): Promise<void>;
  counts(): StorageCounts;
}

/** A transaction of another service, seen as the tables of this one. */
export function tablesOf<T>(tx: AnyTransaction): Kysely<T> {
  return tx as unknown as Kysely<T>;
}
