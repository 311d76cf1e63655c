import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CompiledQuery, DatabaseConnection, QueryResult } from 'kysely';
import type pg from 'pg';
import { errorText } from '../../../core/index.ts';
import { PlatformError } from '../../errors.ts';
import {
  asTransaction,
  mergeCollected,
  StorageTransaction,
  type GatheringCollector,
  type TransactionDependencies,
} from '../transaction.ts';
import type { AnyTransaction } from '../storage.ts';
import { advisoryKey } from './advisory-keys.ts';
import type { ConnectionPool } from './connections.ts';
import { breaksConnection, isConnectionLost, isWorthRetry } from './errors.ts';
import type { StatementRunner } from './run-query.ts';

/**
 * Maximum number of runs of a transaction or statement before a deadlock or serialization failure reaches the
 * caller.
 */
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
  /** Pipelined connections, one for each of the groups that run at the same time ({@link maxGroups}). */
  readonly groupPool: ConnectionPool;
  readonly statements: StatementRunner;
  readonly counts: TransactionCounts;
  transactionDeps(): TransactionDependencies;
  /** Called for faults that are no caller's. */
  readonly onProblem: (text: string) => void;
}

/**
 * One transaction's connection. Its statements run in the order of asking. A pipelined one sends each at
 * once, so that those that nobody waits for travel together: a round trip costs several times what a short
 * statement costs.
 */
class TransactionConnection implements DatabaseConnection {
  readonly #client: pg.ClientBase;
  readonly #statements: StatementRunner;
  readonly isPipelined: boolean;
  #last: Promise<unknown> = Promise.resolve();
  /** PostgreSQL refuses everything after the first error, so that one has the cause. */
  firstError: unknown;

  constructor(client: pg.ClientBase, statements: StatementRunner, isPipelined: boolean) {
    this.#client = client;
    this.#statements = statements;
    this.isPipelined = isPipelined;
  }

  executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const run = (client: pg.ClientBase): Promise<QueryResult<R>> => this.#statements.run<R>(client, query);
    return this.isPipelined ? this.#follow(run(this.#client)) : this.inOrder(run);
  }

  streamQuery(): never {
    throw new PlatformError('PLATFORM_STORAGE_FAILED', 'streaming is for reads outside a transaction');
  }

  /** Runs driver work that has the connection to itself. */
  inOrder<R>(work: (client: pg.ClientBase) => Promise<R>): Promise<R> {
    return this.#follow(this.#last.then(() => work(this.#client)));
  }

  #follow<R>(result: Promise<R>): Promise<R> {
    this.#last = result.then(undefined, (error: unknown) => {
      this.firstError ??= error;
    });
    return result;
  }

  /** Waits for statements that the work asked for without waiting for them itself. */
  async settled(): Promise<void> {
    await this.#last;
  }
}

type Work<R> = (tx: StorageTransaction) => Promise<R>;

/** A connection with a transaction that has begun. */
interface Begun {
  readonly client: pg.ClientBase;
  readonly connection: TransactionConnection;
  readonly release: (isBroken: boolean) => void;
}

/** A transaction that waits for the next group. */
interface Job {
  readonly order: string;
  readonly work: Work<unknown>;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

/** Transactions that share one commit at most. */
const maxShared = 32;
/** Groups at the same time: fewer are larger, but one that waits for a lock must not hold up everything. */
export const maxGroups = 2;
/** Time that a group waits for further transactions under load. */
const gatherMs = 3;

/**
 * Runs transactions, each on its own connection, again after a deadlock. Those that may share a commit run
 * one after another on one pipelined connection: they have no savepoints, because one that fails is rare.
 * Then all are rolled back, and each runs again by itself.
 */
export class TransactionRunner {
  readonly #deps: RunnerDependencies;
  readonly #context = new AsyncLocalStorage<StorageTransaction>();
  readonly #connections = new WeakMap<StorageTransaction, TransactionConnection>();
  // The loop must not inherit the context of the transaction that happened to start it.
  readonly #withoutContext = AsyncLocalStorage.snapshot();
  #waiting: Job[] = [];
  #groups = 0;
  #lastShared = 0;

  constructor(deps: RunnerDependencies) {
    this.#deps = deps;
  }

  async run<R>(work: Work<R>, shareBy?: string): Promise<R> {
    this.refuseInside('a transaction');
    return shareBy === undefined ? this.#runAlone(work) : this.#runShared(work, shareBy);
  }

  #runAlone<R>(work: Work<R>): Promise<R> {
    return retried(async () => {
      const [finish] = await this.#commitTogether(await this.#begin(this.#deps.pool), [work]);
      return finish?.() as R;
    });
  }

  #runShared<R>(work: Work<R>, order: string): Promise<R> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    // It runs in the context of its caller, not of whoever shares the commit.
    const enter = AsyncLocalStorage.snapshot();
    this.#waiting.push({
      order,
      work: (tx) => enter(() => this.#context.run(tx, () => work(tx))),
      resolve,
      reject,
    });
    if (this.#groups < maxGroups) void this.#withoutContext(() => this.#shareCommits());
    return promise as Promise<R>;
  }

  async #shareCommits(): Promise<void> {
    this.#groups++;
    // Callers in the same turn share the first commit.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      // Begun meanwhile; a failure is the jobs'.
      const begun = this.#begin(this.#deps.groupPool);
      begun.catch(() => {});
      // If several transactions shared the last commit, more are likely to follow.
      if (this.#lastShared > 1 && this.#waiting.length < this.#lastShared) await sleep(gatherMs);
      if (this.#waiting.length === 0) {
        // The other group has taken them meanwhile.
        await this.#abandon(begun);
        continue;
      }
      // One order on all nodes, so that no two groups wait for each other.
      const jobs = this.#waiting.splice(0, maxShared).toSorted((a, b) => (a.order < b.order ? -1 : 1));
      this.#lastShared = jobs.length;
      await this.#runGroup(jobs, begun);
    }
    this.#groups--;
  }

  async #abandon(begun: Promise<Begun>): Promise<void> {
    try {
      const { client, release } = await begun;
      release(!(await rollBack(client, this.#deps.statements, undefined)));
    } catch {
      // Nobody waits for it.
    }
  }

  async #runGroup(jobs: readonly Job[], begun: Promise<Begun>): Promise<void> {
    try {
      const finishes = await this.#commitTogether(
        await begun,
        jobs.map(({ work }) => work),
      );
      for (const [index, { resolve }] of jobs.entries()) resolve(finishes[index]?.());
    } catch (error) {
      // What one job alone fails with is its own error.
      const isOwn = jobs.length === 1 && !isWorthRetry(error);
      if (error instanceof CommitError || isOwn) for (const { reject } of jobs) reject(unwrap(error));
      else await Promise.all(jobs.map((job) => this.#settleAlone(job)));
    }
  }

  async #settleAlone({ work, resolve, reject }: Job): Promise<void> {
    await this.#runAlone(work).then(resolve, reject);
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
    return this.#connectionOf(tx).inOrder(work);
  }

  /** True if a transaction's connection takes nothing but statements, so no COPY. */
  isPipelined(tx: AnyTransaction): boolean {
    return this.#connectionOf(tx).isPipelined;
  }

  #connectionOf(tx: AnyTransaction): TransactionConnection {
    const transaction = asTransaction(tx);
    const connection = this.#connections.get(transaction);
    if (connection === undefined || transaction.isOver)
      throw new PlatformError('PLATFORM_STORAGE_FAILED', 'a transaction was used after its end');
    return connection;
  }

  /**
   * Takes a connection and begins. Nothing is sent before the answer: if only this failed, statements behind
   * it would be separate transactions.
   */
  async #begin(pool: ConnectionPool): Promise<Begun> {
    const { statements } = this.#deps;
    const { client, release } = await pool.take();
    try {
      await statements.command(client, 'begin');
    } catch (error) {
      release(true);
      throw error;
    }
    return { client, release, connection: new TransactionConnection(client, statements, pool.isPipelined) };
  }

  /**
   * Commits the works together. Returns for each the steps after the commit, which give its result. Throws
   * CommitError.
   */
  async #commitTogether(
    { client, release, connection }: Begun,
    works: readonly Work<unknown>[],
  ): Promise<readonly (() => unknown)[]> {
    const { statements, counts } = this.#deps;
    const done: { readonly tx: StorageTransaction; readonly result: unknown }[] = [];
    let running: StorageTransaction | undefined;
    try {
      for (const work of works) {
        counts.transactions++;
        running = this.#newTransaction(connection);
        const tx = running;
        const result = await this.#context.run(tx, () => work(tx));
        tx.isOver = true;
        done.push({ tx, result });
        if (connection.firstError !== undefined) throw connection.firstError;
      }
      running = this.#newTransaction(connection);
      await this.#writeCollected(running, mergeCollected(done.map(({ tx }) => tx)));
      running.isOver = true;
      await commit(client, connection, statements);
    } catch (error) {
      if (running !== undefined) running.isOver = true;
      await connection.settled();
      const cause = causeOf(error, connection.firstError);
      release(!(await rollBack(client, statements, unwrap(cause))));
      throw cause;
    }
    release(false);
    counts.commits++;
    const { afterCommit } = running;
    return done.map(({ tx, result }, index) => () => {
      this.#follow(tx.afterCommit);
      if (index === done.length - 1) this.#follow(afterCommit);
      return result;
    });
  }

  /** The commit is final: an error of a step after it must not reach the callers as a failure. */
  #follow(after: readonly (() => void)[]): void {
    for (const work of after) {
      try {
        work();
      } catch (error) {
        this.#deps.onProblem(`a step after a commit failed: ${errorText(error)}`);
      }
    }
  }

  #newTransaction(connection: TransactionConnection): StorageTransaction {
    const tx = new StorageTransaction(this.#deps.transactionDeps(), connection);
    this.#connections.set(tx, connection);
    return tx;
  }

  // Collectors lock in the order of their names, after everything else, so they are part of no deadlock.
  async #writeCollected(
    tx: StorageTransaction,
    collected: ReadonlyMap<GatheringCollector<unknown>, readonly unknown[]>,
  ): Promise<void> {
    const inOrder = [...collected].toSorted(([a], [b]) => (a.name < b.name ? -1 : 1));
    for (const [collector, items] of inOrder) {
      tx.queueCompiled({
        ...lockQuery,
        parameters: [advisoryKey('collector', collector.name)],
      });
      await this.#context.run(tx, () => collector.write(tx, items));
    }
  }
}

/** Runs work of the database again after errors that rolled all of it back and that another run can avoid. */
export async function retried<R>(work: () => Promise<R>): Promise<R> {
  for (let run = 1; ; run++) {
    try {
      return await work();
    } catch (error) {
      if (run >= maxRuns || !isWorthRetry(error)) throw unwrap(error);
      await sleep(Math.random() * firstPauseMs * 2 ** run);
    }
  }
}

/** The commit itself failed: whether it happened may be unknown, so nothing may be run again. */
class CommitError extends Error {
  constructor(cause: unknown) {
    super('a commit failed', { cause });
  }
}

const unwrap = (error: unknown): unknown => (error instanceof CommitError ? error.cause : error);

const lockQuery = {
  sql: 'select pg_advisory_xact_lock($1)',
  query: { kind: 'RawNode', sqlFragments: [], parameters: [] },
  queryId: { queryId: 'advisory-lock' },
} satisfies Omit<CompiledQuery, 'parameters'>;

/**
 * On a pipelined connection it is sent behind statements that are not answered yet: if one of them fails,
 * PostgreSQL answers `rollback`. If the connection is lost here, whether the transaction was committed is
 * unknown: throws CommitError.
 */
async function commit(
  client: pg.ClientBase,
  connection: TransactionConnection,
  statements: StatementRunner,
): Promise<void> {
  if (!connection.isPipelined) {
    await connection.settled();
    if (connection.firstError !== undefined) throw connection.firstError;
  }
  const [answer] = await Promise.allSettled([statements.command(client, 'commit')]);
  await connection.settled();
  const { firstError } = connection;
  if (firstError !== undefined && !isConnectionLost(firstError)) throw firstError;
  if (answer.status === 'rejected')
    throw isWorthRetry(answer.reason) ? answer.reason : new CommitError(answer.reason);
  if (answer.value.command !== 'COMMIT')
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
    await statements.command(client, 'rollback');
    return !breaksConnection(cause);
  } catch {
    return false;
  }
}
