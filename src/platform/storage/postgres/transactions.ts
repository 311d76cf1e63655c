import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CompiledQuery, DatabaseConnection, QueryResult } from 'kysely';
import type pg from 'pg';
import { PlatformError } from '../../errors.ts';
import { asTransaction, StorageTransaction, type TransactionDependencies } from '../transaction.ts';
import type { AnyTransaction } from '../storage.ts';
import { advisoryKey } from './advisory-keys.ts';
import type { ConnectionPool } from './connections.ts';
import { breaksConnection, isWorthRetry } from './errors.ts';
import type { StatementRunner } from './run-query.ts';

/** How often the work of a transaction is run before a deadlock or serialization failure reaches the caller. */
const maxRuns = 8;
/** Longest wait before the first repetition; it doubles. */
const firstPauseMs = 10;

export interface TransactionCounts {
  transactions: number;
  commits: number;
  statements: number;
}

export interface RunnerDependencies {
  readonly pool: ConnectionPool;
  readonly statements: StatementRunner;
  readonly counts: TransactionCounts;
  transactionDeps(): TransactionDependencies;
}

/** One transaction's connection. Statements of one transaction run one after another, in the order of asking. */
class TransactionConnection implements DatabaseConnection {
  readonly #client: pg.ClientBase;
  readonly #deps: RunnerDependencies;
  #last: Promise<unknown> = Promise.resolve();
  /** PostgreSQL refuses everything after the first error; that one tells why. */
  firstError: unknown;

  constructor(client: pg.ClientBase, deps: RunnerDependencies) {
    this.#client = client;
    this.#deps = deps;
  }

  executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    return this.inOrder((client) => this.#deps.statements.run<R>(client, query));
  }

  streamQuery(): never {
    throw new PlatformError('PLATFORM_STORAGE_FAILED', 'streaming is for reads outside a transaction');
  }

  inOrder<R>(work: (client: pg.ClientBase) => Promise<R>): Promise<R> {
    const result = this.#last.then(async () => {
      try {
        return await work(this.#client);
      } catch (error) {
        this.firstError ??= error;
        throw error;
      }
    });
    this.#last = result.catch(() => {});
    return result;
  }

  /** Waits for statements that the work asked for without waiting for them itself. */
  async settled(): Promise<void> {
    await this.#last;
  }
}

/** Runs transactions, each on its own connection, again after a deadlock. */
export class TransactionRunner {
  readonly #deps: RunnerDependencies;
  readonly #context = new AsyncLocalStorage<StorageTransaction>();
  readonly #connections = new WeakMap<StorageTransaction, TransactionConnection>();

  constructor(deps: RunnerDependencies) {
    this.#deps = deps;
  }

  async run<R>(work: (tx: StorageTransaction) => Promise<R>): Promise<R> {
    this.refuseInside('a transaction');
    for (let run = 1; ; run++) {
      try {
        return await this.#runOnce(work);
      } catch (error) {
        if (run >= maxRuns || !isWorthRetry(error)) throw error;
        await sleep(Math.random() * firstPauseMs * 2 ** run);
      }
    }
  }

  refuseInside(what: string): void {
    const running = this.#context.getStore();
    if (running === undefined || running.isOver) return;
    throw new PlatformError(
      'PLATFORM_STORAGE_NESTED',
      `${what} was started inside a transaction, which it would wait for`,
    );
  }

  /** Runs driver work on the connection of a transaction, after the statements before it. */
  onConnection<R>(tx: AnyTransaction, work: (client: pg.ClientBase) => Promise<R>): Promise<R> {
    const transaction = asTransaction(tx);
    const connection = this.#connections.get(transaction);
    if (connection === undefined || transaction.isOver)
      throw new PlatformError('PLATFORM_STORAGE_FAILED', 'a transaction was used after its end');
    return connection.inOrder(work);
  }

  async #runOnce<R>(work: (tx: StorageTransaction) => Promise<R>): Promise<R> {
    const { pool, statements, counts } = this.#deps;
    const { client, release } = await pool.take();
    const connection = new TransactionConnection(client, this.#deps);
    const tx = new StorageTransaction(this.#deps.transactionDeps(), connection);
    this.#connections.set(tx, connection);
    counts.transactions++;
    let result: R;
    try {
      await statements.watched(client, () => client.query('begin'));
      result = await this.#context.run(tx, () => work(tx));
      await this.#writeCollected(tx);
      tx.isOver = true;
      await connection.settled();
      if (connection.firstError !== undefined) throw connection.firstError;
      await commit(client, statements);
    } catch (error) {
      tx.isOver = true;
      await connection.settled();
      const cause = causeOf(error, connection.firstError);
      release(!(await rollBack(client, statements, cause)));
      throw cause;
    }
    release(false);
    counts.commits++;
    for (const follow of tx.afterCommit) follow();
    return result;
  }

  // Collectors lock in the order of their names, after everything else, so they are part of no deadlock.
  async #writeCollected(tx: StorageTransaction): Promise<void> {
    const inOrder = [...tx.collected].toSorted(([a], [b]) => (a.name < b.name ? -1 : 1));
    for (const [collector, items] of inOrder) {
      await tx.runCompiled({
        ...lockQuery,
        parameters: [advisoryKey('collector', collector.name)],
      });
      await this.#context.run(tx, () => collector.write(tx, items));
    }
  }
}

const lockQuery = {
  sql: 'select pg_advisory_xact_lock($1)',
  query: { kind: 'RawNode', sqlFragments: [], parameters: [] },
  queryId: { queryId: 'advisory-lock' },
} satisfies Omit<CompiledQuery, 'parameters'>;

/**
 * PostgreSQL answers `rollback` to a commit after an error that the work caught. If the connection is lost here, whether
 * the transaction was committed stays unknown, and the work is not run again.
 */
async function commit(client: pg.ClientBase, statements: StatementRunner): Promise<void> {
  const { command } = await statements.watched(client, () => client.query('commit'));
  if (command !== 'COMMIT')
    throw new PlatformError('PLATFORM_STORAGE_FAILED', 'a transaction with a failed statement was committed');
}

// 25P02 only says that an earlier statement failed; the work may have caught that error and gone on.
function causeOf(error: unknown, firstError: unknown): unknown {
  const isFollowing = error instanceof PlatformError && error.fields['sqlState'] === '25P02';
  if (firstError !== undefined && (isFollowing || isWorthRetry(firstError))) return firstError;
  return error;
}

/** False if the connection must be closed. */
async function rollBack(
  client: pg.ClientBase,
  statements: StatementRunner,
  cause: unknown,
): Promise<boolean> {
  try {
    await statements.watched(client, () => client.query('rollback'));
    return !breaksConnection(cause);
  } catch {
    return false;
  }
}
