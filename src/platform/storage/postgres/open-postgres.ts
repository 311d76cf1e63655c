/**
 * The storage port over PostgreSQL: pool, sessions, repetition of transactions, cursors.
 * Used by `platform/storage`, by this file.
 * Begin with `openPostgresStorage` here.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  Kysely,
  PostgresAdapter,
  type CompiledQuery,
  type DatabaseConnection,
  type QueryResult,
  sql,
} from 'kysely';
import { PlatformError } from '../../errors.ts';
import { createSteadyClock } from '../steady-clock.ts';
import type { Clock } from '../../../core/index.ts';
import { migrateToLatest, type Migration } from '../migrate.ts';
import { prepareQuery } from '../prepare.ts';
import type { AnyTransaction, Storage, TransactionOptions } from '../storage.ts';
import { asTransaction, GatheringCollector, type TransactionDependencies } from '../transaction.ts';
import { advisoryKey } from './advisory-keys.ts';
import { insertOnPostgres } from './bulk-insert.ts';
import { clientOptions, connectAlone, ConnectionPool, type ConnectionLimits } from './connections.ts';
import { createPostgresDialect, OutsideDriver } from './dialect.ts';
import { breaksConnection, isLockTimeout } from './errors.ts';
import { measureTime } from './measured-time.ts';
import { StatementRunner } from './run-query.ts';
import { createSession, type SessionLock } from './session.ts';
import { StatementNames } from './run-query.ts';
import { streamQuery } from './stream-query.ts';
import { maxGroups, retried, TransactionRunner } from './transactions.ts';

export interface PostgresOptions {
  /** `postgres://user:password@host:5432/database`. */
  readonly url: string;
  readonly migrations: readonly Migration[];
  /**
   * Most connections of this node for transactions and single writes; reads have a third of it more, streams
   * 4.
   */
  readonly maxConnections?: number;
  readonly statementTimeoutMs?: number;
  readonly lockTimeoutMs?: number;
  /**
   * Longest wait for the answer to a statement, after which the connection counts as lost. Default:
   * `statementTimeoutMs` and 15 s.
   */
  readonly answerMs?: number;
  /**
   * The same of what takes no time on the server: a new connection, the beginning of a transaction. Default
   * 15 s.
   */
  readonly promptMs?: number;
  /**
   * Time after which the server ends the locks of a node that stands still (PostgreSQL 14 or later). Default
   * 60 s.
   */
  readonly silentMs?: number;
  /** For tests; by default the database's time. */
  readonly clock?: Clock;
  /** See `StorageOptions.nodeId`. */
  readonly nodeId?: string;
  /** Called for problems that are no caller's, for the log. */
  readonly onProblem?: (text: string) => void;
}

const streamConnections = 4;
/** A reader of a stream may pause; an abandoned one keeps the server from cleaning up. */
const streamPauseMs = 600_000;
/** Shortest pause inside a transaction after which the server ends it. */
const minTransactionPauseMs = 5000;
/** The client's timeout exceeds the server's by this. */
const answerMarginMs = 15_000;
const defaultPromptMs = 15_000;
/** Longer than a busy process is occupied; six heartbeats of the session. */
const defaultSilentMs = 60_000;
const oldestVersion = 130_000;
/** Lifetimes of tokens and retention times are by the machines' clocks. */
const clockToleranceMs = 10_000;
/**
 * Longest wait of a migration for a table that is in use, for example by pg_dump: behind it wait all
 * statements of the nodes that serve. Then it makes way for them, and tries again.
 */
const tableWaitMs = 2_000;
const tableRetryMs = 10_000;

/** The engine for several nodes: one PostgreSQL database that is this service's alone (Decision 0022). */
export async function openPostgresStorage(options: PostgresOptions): Promise<Storage> {
  const {
    url,
    migrations,
    maxConnections = 12,
    statementTimeoutMs = 60_000,
    lockTimeoutMs = 20_000,
    answerMs = statementTimeoutMs + answerMarginMs,
    promptMs = defaultPromptMs,
    silentMs = defaultSilentMs,
    onProblem = () => {},
  } = options;
  const target = { url, applicationName: 'openhisp' };
  const limits: ConnectionLimits = {
    connectMs: promptMs,
    statementMs: statementTimeoutMs,
    lockMs: lockTimeoutMs,
    // A node that stands still inside a transaction holds up the others; shorter than they wait for its
    // locks.
    idleInTransactionMs: Math.max(minTransactionPauseMs, Math.floor(lockTimeoutMs * 0.8)),
  };
  const connectWith = clientOptions(target, limits);
  const counts = { transactions: 0, commits: 0, statements: 0 };
  const statements = new StatementRunner({
    names: new StatementNames(),
    counts,
    answerMs,
    promptMs,
  });
  const writePool = new ConnectionPool(connectWith, Math.max(1, maxConnections - maxGroups), statements);
  const groupPool = new ConnectionPool({ ...connectWith, pipeline: true }, maxGroups, statements);
  const readPool = new ConnectionPool(connectWith, Math.max(2, Math.ceil(maxConnections / 3)), statements);
  const streamPool = new ConnectionPool(
    clientOptions(target, { ...limits, idleInTransactionMs: streamPauseMs }),
    streamConnections,
    statements,
  );
  const session = createSession({
    connect: () => connectAlone({ ...connectWith, query_timeout: promptMs }),
    heartbeatMs: Math.min(10_000, promptMs, silentMs / 3),
    silentMs,
    onProblem,
  });
  const compiled = { sql: '', parameters: [] as readonly unknown[] };
  const transactions = new TransactionRunner({
    pool: writePool,
    groupPool,
    statements,
    counts,
    transactionDeps: () => transactionDeps,
    onProblem,
  });

  function runOn<R>(pool: ConnectionPool, query: typeof compiled): Promise<QueryResult<R>> {
    return retried(() => pool.use((client) => statements.run<R>(client, query), breaksConnection));
  }

  function read<R>(query: typeof compiled): Promise<QueryResult<R>> {
    return runOn(readPool, query);
  }

  const outside: DatabaseConnection = {
    async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
      if (query.query.kind === 'SelectQueryNode') return read<R>(query);
      transactions.refuseInside('a write outside the transaction');
      const result = await runOn<R>(writePool, query);
      counts.transactions++;
      counts.commits++;
      return result;
    },
    streamQuery: <R>(query: CompiledQuery, chunkSize: number) =>
      streamQuery<R>(streamPool, statements, query, chunkSize),
  };
  const driver = new OutsideDriver(outside);
  const dialect = createPostgresDialect(driver);
  const db = new Kysely<unknown>({ dialect });
  const transactionDeps: TransactionDependencies = {
    dialect,
    driver,
    compiler: dialect.createQueryCompiler(),
    adapter: new PostgresAdapter(),
  };

  async function closePools(): Promise<void> {
    await Promise.all([writePool.close(), groupPool.close(), readPool.close(), streamPool.close()]);
    statements.close();
  }

  try {
    await requireUsable(read);
  } catch (error) {
    await closePools();
    throw error;
  }
  const time = await measureTime(async () => {
    const { rows } = await read<{ ms: number }>({
      sql: 'select (extract(epoch from clock_timestamp()) * 1000)::double precision as ms',
      parameters: [],
    });
    return rows[0]?.ms ?? Number.NaN;
  });

  const differsMs = Math.round(Date.now() - time.nowMs());
  if (Math.abs(differsMs) > clockToleranceMs)
    onProblem(`the clock of this machine differs from that of the database by ${differsMs / 1000} s`);
  const steadyClock = createSteadyClock(() => time.nowMs());

  async function close(): Promise<void> {
    await time.close();
    await session.close();
    await closePools();
  }

  const tasks = new Set<string>();
  const held = new Map<string, SessionLock>();
  let closing: Promise<void> | undefined;
  const storage: Storage = {
    db,
    tables: <T>() => db as Kysely<T>,
    transaction: <T, R>(work: (tx: Kysely<T>) => Promise<R>, { shareBy }: TransactionOptions = {}) =>
      transactions.run((tx) => work(tx as unknown as Kysely<T>), shareBy),
    implied: () => sql`true`,
    isOneOf: (text, list) => sql`${text} = any(${list}::text[])`,
    // Hashed once. By a plan that is kept for all lists, each row would be compared with each text of
    // `<> all`.
    isNoneOf: (text, list) => sql`${text} not in (select unnest(${list}::text[]))`,
    forUpdate: (query, { skipLocked = false } = {}) =>
      skipLocked ? query.forUpdate().skipLocked() : query.forUpdate(),
    afterCommit: (tx, work) => void asTransaction(tx).afterCommit.push(work),
    collector: (name, write) => new GatheringCollector(name, write),
    prepare: (build) => prepareQuery(db, build),
    async tryRunExclusive(task, work) {
      // A session may take its own lock twice, so the tasks of this node are distinguished here.
      if (tasks.has(task)) return undefined;
      tasks.add(task);
      try {
        const lock = await session.tryLock('task', task);
        return lock === undefined ? undefined : { result: await workUnder(lock, task, work) };
      } finally {
        tasks.delete(task);
      }
    },
    async hold(name) {
      // As above: a session could take its own lock again.
      if (held.get(name)?.isHeld === true) return undefined;
      const lock = await session.tryLock('node', name);
      if (lock === undefined) return undefined;
      held.set(name, lock);
      return lock;
    },
    async listHeld(names) {
      const { rows } = await read<{ key: string }>({ sql: heldQuery, parameters: [] });
      const keys = new Set(rows.map(({ key }) => key));
      return new Set(names.filter((name) => keys.has(advisoryKey('node', name))));
    },
    announce: (tx, topic) => storage.afterCommit(tx, () => session.announce(topic)),
    onAnnounced: (topic, listener) => session.onAnnounced(topic, listener),
    clock: options.clock ?? steadyClock,
    setClock: (toMs) => steadyClock.set(toMs),
    run: { nodeId: options.nodeId ?? randomUUID(), runId: randomUUID() },
    async bulkInsert(tx, insert) {
      return insertOnPostgres(insert, {
        statements,
        queue: (statement) => asTransaction(tx).queueCompiled(statement),
        onConnection: transactions.isPipelined(tx)
          ? undefined
          : (work) => transactions.onConnection(tx, work),
      });
    },
    async migrate(onUpdate) {
      for (;;) {
        let endLong = (): void => {};
        const lock = (tx: AnyTransaction): Promise<void> =>
          transactions.onConnection(tx, async (client) => {
            endLong = statements.allowLong(client);
            // Another node may be migrating, and building an index may take long.
            await client.query('set local lock_timeout = 0; set local statement_timeout = 0');
            await client.query('select pg_advisory_xact_lock($1)', [advisoryKey('migrate', 'schema')]);
            await client.query(`set local lock_timeout = ${tableWaitMs}`);
          });
        try {
          return await migrateToLatest(storage, { engine: 'postgresql', migrations, lock, onUpdate });
        } catch (error) {
          if (!isLockTimeout(error)) throw error;
          onProblem('the schema cannot be updated while other sessions use its tables for long; tried again');
          await sleep(tableRetryMs);
        } finally {
          endLong();
        }
      }
    },
    async backup() {
      throw new PlatformError(
        'PLATFORM_STORAGE_UNSUPPORTED',
        'PostgreSQL is backed up by its own tools: pg_dump, or base backups with an archive of the log',
      );
    },
    async verify() {
      throw new PlatformError(
        'PLATFORM_STORAGE_UNSUPPORTED',
        'PostgreSQL is checked by its own tools: pg_amcheck, or checksums of the data pages',
      );
    },
    async check() {
      // Writes to the log and commits, without a table to write to.
      const { rows } = await read<{ written: unknown }>({
        sql: `select pg_logical_emit_message(true, 'openhisp', 'check')::text as written
          where not pg_is_in_recovery() and current_setting('transaction_read_only') = 'off'`,
        parameters: [],
      });
      if (rows.length === 0)
        throw new PlatformError('PLATFORM_STORAGE_UNAVAILABLE', 'PostgreSQL is read-only');
    },
    counts: () => ({ ...counts, flushes: 0 }),
    close: () => (closing ??= close()),
  };
  return storage;
}

/** The advisory locks of 64 bits that are held in this database (PostgreSQL: pg_locks). */
const heldQuery = `
  select ((classid::bigint << 32) | objid::bigint)::text as key from pg_locks
  where locktype = 'advisory' and objsubid = 1 and granted
    and database = (select oid from pg_database where datname = current_database())`;

/**
 * The result counts only if the lock was held all the time. If its connection was lost, another node may have
 * begun the same work: the work itself cannot be stopped, its result is refused when it ends.
 */
async function workUnder<R>(lock: SessionLock, task: string, work: () => Promise<R>): Promise<R> {
  try {
    const result = await work();
    if (lock.isHeld) return result;
  } finally {
    await lock.release();
  }
  throw new PlatformError(
    'PLATFORM_STORAGE_LOCK_LOST',
    `the connection that held the lock of the task ${task} was lost while it ran`,
  );
}

type Read = <R>(query: { sql: string; parameters: readonly unknown[] }) => Promise<QueryResult<R>>;

async function requireUsable(read: Read): Promise<void> {
  const { rows } = await read<{ encoding: string; version: number }>({
    sql: `select current_setting('server_encoding') as encoding, current_setting('server_version_num')::integer as version`,
    parameters: [],
  });
  const [found] = rows;
  if (found !== undefined && found.encoding === 'UTF8' && found.version >= oldestVersion) return;
  throw new PlatformError(
    'PLATFORM_CONFIG_INVALID',
    `storage.url: needs PostgreSQL 13 or later and a database with the encoding UTF8 (is ${found?.version}, ${found?.encoding})`,
  );
}
