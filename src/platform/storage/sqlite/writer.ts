import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CompiledQuery, DatabaseConnection, QueryResult } from 'kysely';
import { errorText } from '../../../core/index.ts';
import { PlatformError } from '../../errors.ts';
import { mergeCollected, StorageTransaction, type TransactionDependencies } from '../transaction.ts';
import type { Checkpointer } from './checkpointer.ts';
import { isBusy, translated } from './errors.ts';
import type { SqliteFile } from './files.ts';
import type { LogFlusher } from './flusher.ts';
import { runOn } from './files.ts';

/** Transactions that share one commit at most, and how long the first may wait for the last to begin. */
const maxShared = 64;
const maxSharedMs = 8;
/**
 * Time that a group waits for further transactions under load. A commit costs about as much for one
 * transaction as for several: each of some forty tables and indexes has a page that it writes, whoever's rows
 * are on it.
 */
const gatherMs = 8;

interface Job {
  readonly work: (tx: StorageTransaction) => Promise<unknown>;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

interface Done {
  readonly job: Job;
  readonly tx: StorageTransaction;
  readonly result: unknown;
}

export interface WriterCounts {
  transactions: number;
  commits: number;
  statements: number;
}

export interface WriterDependencies {
  readonly file: SqliteFile;
  readonly flusher: LogFlusher;
  readonly checkpointer: Checkpointer;
  readonly transactionDeps: TransactionDependencies;
  /** Longest wait for another process that holds the write lock. */
  readonly busyTimeoutMs: number;
  readonly counts: WriterCounts;
  /** Called for faults that are no caller's. */
  readonly onProblem: (text: string) => void;
}

/**
 * Runs transactions on the one writing connection, one after another. Those that wait when one ends join its
 * commit: each of them has a savepoint, so that one that fails takes none of the others along, and all share
 * one commit and one flush.
 */
export class SqliteWriter {
  readonly #deps: WriterDependencies;
  readonly #queue: Job[] = [];
  readonly #context = new AsyncLocalStorage<StorageTransaction>();
  // The loop must not inherit the context of the transaction that happened to start it.
  readonly #withoutContext = AsyncLocalStorage.snapshot();
  #running: Promise<void> | undefined;
  #weight = 0;
  #lastShared = 0;
  #changes: unknown;

  constructor(deps: WriterDependencies) {
    this.#deps = deps;
  }

  transaction<R>(work: (tx: StorageTransaction) => Promise<R>): Promise<R> {
    this.refuseInside('a transaction');
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    // It runs in the context of its caller, not of whoever started the pump.
    const enter = AsyncLocalStorage.snapshot();
    this.#queue.push({
      work: (tx) => enter(() => this.#context.run(tx, () => work(tx))),
      resolve,
      reject,
    });
    this.#running ??= this.#withoutContext(() => this.#pump());
    return promise as Promise<R>;
  }

  refuseInside(what: string): void {
    const running = this.#context.getStore();
    if (running === undefined || running.isOver) return;
    throw new PlatformError(
      'PLATFORM_STORAGE_NESTED',
      `${what} was started inside a transaction, which it would wait for`,
    );
  }

  /** Counts the current transaction as `weight` ordinary ones. */
  addWeight(weight: number): void {
    this.#weight += weight;
  }

  /** Waits for the transactions in the queue. */
  async idle(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  async #pump(): Promise<void> {
    // Callers in the same turn share the first commit.
    await Promise.resolve();
    try {
      while (this.#queue.length > 0) {
        // The next group cannot be on disk before the flush in progress has ended, so transactions that
        // arrive until then share one commit. The next group fails with a failed flush.
        await this.#deps.flusher.pending?.catch(() => {});
        await this.#deps.checkpointer.pause();
        // If several transactions shared the last commit, more are likely to follow: each commit writes whole
        // pages and wakes a thread.
        if (this.#lastShared > 1 && this.#queue.length < this.#lastShared) await sleep(gatherMs);
        await this.#runGroup();
      }
    } finally {
      this.#running = undefined;
    }
  }

  async #runGroup(): Promise<void> {
    const { file, counts, flusher, checkpointer, onProblem } = this.#deps;
    try {
      if (flusher.hasFailed) await flusher.flush();
      await this.#whenFree(() => file.prepare('begin immediate').run());
    } catch (error) {
      this.#queue.shift()?.reject(error);
      return;
    }
    const group = await this.#runShared();
    this.#lastShared = group.length;
    const after: (() => void)[] = group.flatMap(({ tx }) => tx.afterCommit);
    let hasChanged: boolean;
    try {
      if (group.length === 0) {
        this.#rollBack();
        return;
      }
      after.push(...(await this.#writeCollected(group)));
      hasChanged = this.#hasChanged();
      await this.#whenFree(() => file.prepare('commit').run());
    } catch (error) {
      this.#rollBack();
      for (const { job } of group) job.reject(error);
      return;
    }
    counts.commits++;
    const weight = this.#weight;
    this.#weight = 0;
    if (!hasChanged) {
      finish(group, after, onProblem);
      return;
    }
    checkpointer.afterCommit(1 + weight);
    flusher.flush().then(
      () => finish(group, after, onProblem),
      (error: unknown) => {
        for (const { job } of group) job.reject(error);
      },
    );
  }

  /** False if nothing was written since the last call, as by claims that find nothing. */
  #hasChanged(): boolean {
    // The first counts no changed schema, the second nothing else; neither ever falls.
    const { changes } = this.#deps.file
      .prepare('select total_changes() + (select schema_version from pragma_schema_version) as changes')
      .get() as { readonly changes: unknown };
    const before = this.#changes;
    this.#changes = changes;
    return changes !== before;
  }

  async #runShared(): Promise<Done[]> {
    const { file, counts } = this.#deps;
    const group: Done[] = [];
    const startedAt = performance.now();
    do {
      const job = this.#queue.shift() as Job;
      counts.transactions++;
      const tx = new StorageTransaction(this.#deps.transactionDeps, this.#connect());
      // The first one needs no savepoint: if it fails, there is nothing else to keep.
      const isFirst = group.length === 0;
      try {
        if (!isFirst) translated(() => file.prepare('savepoint shared').run());
        const result = await job.work(tx);
        await tx.settled();
        // SQLite ends the whole transaction by itself on some failures, a full disk among them.
        if (!file.handle.inTransaction) throw lost();
        if (!isFirst) translated(() => file.prepare('release shared').run());
        group.push({ job, tx, result });
      } catch (error) {
        if (isFirst) this.#rollBack();
        else this.#undoLast();
        job.reject(error);
        if (!file.handle.inTransaction) {
          for (const done of group.splice(0)) done.job.reject(error);
          return group;
        }
      } finally {
        tx.isOver = true;
      }
    } while (
      this.#queue.length > 0 &&
      group.length < maxShared &&
      performance.now() - startedAt < maxSharedMs
    );
    return group;
  }

  /** Returns the steps after the commit. */
  async #writeCollected(group: readonly Done[]): Promise<readonly (() => void)[]> {
    const collected = mergeCollected(group.map(({ tx }) => tx));
    if (collected.size === 0) return [];
    const tx = new StorageTransaction(this.#deps.transactionDeps, this.#connect());
    for (const [collector, items] of collected) await this.#context.run(tx, () => collector.write(tx, items));
    await tx.settled();
    tx.isOver = true;
    return tx.afterCommit;
  }

  #connect(): DatabaseConnection {
    const { file, counts } = this.#deps;
    return {
      executeQuery: async <R>(query: CompiledQuery): Promise<QueryResult<R>> => {
        counts.statements++;
        return translated(() => runOn<R>(file, query));
      },
      streamQuery: () => {
        throw new PlatformError('PLATFORM_STORAGE_FAILED', 'streaming is for reads outside a transaction');
      },
    };
  }

  /** Undoes the last transaction of the group, or the whole group if the disk does not even allow that. */
  #undoLast(): void {
    const { handle } = this.#deps.file;
    if (!handle.inTransaction) return;
    try {
      handle.exec('rollback to shared; release shared');
    } catch {
      this.#rollBack();
    }
  }

  /** Never throws: callers that wait for the group must still get its result. */
  #rollBack(): void {
    const { file, onProblem } = this.#deps;
    try {
      if (file.handle.inTransaction) file.handle.exec('rollback');
    } catch (error) {
      onProblem(`a rollback failed: ${errorText(error)}`);
    }
  }

  /** Repeats `attempt` while another process holds the lock, handing the event loop back in between. */
  async #whenFree(attempt: () => unknown): Promise<void> {
    const deadlineAt = performance.now() + this.#deps.busyTimeoutMs;
    for (let waitMs = 1; ; waitMs = Math.min(waitMs * 2, 50)) {
      try {
        translated(attempt);
        return;
      } catch (error) {
        if (!isBusy(error) || performance.now() > deadlineAt) throw error;
        await sleep(waitMs);
      }
    }
  }
}

function finish(
  group: readonly Done[],
  after: readonly (() => void)[],
  onProblem: (text: string) => void,
): void {
  // The commit is final; a later error must not keep the callers waiting.
  for (const work of after) {
    try {
      work();
    } catch (error) {
      onProblem(`a step after a commit failed: ${errorText(error)}`);
    }
  }
  for (const { job, result } of group) job.resolve(result);
}

function lost(): PlatformError {
  return new PlatformError('PLATFORM_STORAGE_UNAVAILABLE', 'the database ended the transaction by itself');
}
