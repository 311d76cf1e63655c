import {
  DefaultQueryExecutor,
  Transaction,
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type DialectAdapter,
  type Driver,
  type QueryCompiler,
  type QueryResult,
} from 'kysely';
import { PlatformError } from '../errors.ts';
import type { AnyTransaction, Collector } from './storage.ts';

/** The shared state of all transactions of one engine. */
export interface TransactionDependencies {
  readonly dialect: Dialect;
  readonly driver: Driver;
  readonly compiler: QueryCompiler;
  readonly adapter: DialectAdapter;
}

/**
 * A transaction with its commit and rollback hooks. It is created by the engine, not by Kysely, because an
 * engine may let several transactions share one commit.
 */
export class StorageTransaction extends Transaction<unknown> {
  readonly #connection: DatabaseConnection;
  readonly afterCommit: (() => void)[] = [];
  readonly collected = new Map<GatheringCollector<unknown>, unknown[]>();
  isOver = false;
  #lastQueued: Promise<unknown> | undefined;
  #queuedFailure: { readonly error: unknown } | undefined;

  constructor(deps: TransactionDependencies, connection: DatabaseConnection) {
    const provider = {
      provideConnection: <T>(consumer: (connection: DatabaseConnection) => Promise<T>): Promise<T> => {
        if (this.isOver)
          throw new PlatformError('PLATFORM_STORAGE_FAILED', 'a transaction was used after its end');
        return consumer(connection);
      },
    };
    super({
      config: { dialect: deps.dialect },
      dialect: deps.dialect,
      driver: deps.driver,
      executor: new DefaultQueryExecutor(deps.compiler, deps.adapter, provider),
    });
    this.#connection = connection;
  }

  /** Runs a compiled query directly on the database, without Kysely's layers. */
  runCompiled<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    if (this.isOver)
      return Promise.reject(
        new PlatformError('PLATFORM_STORAGE_FAILED', 'a transaction was used after its end'),
      );
    return this.#connection.executeQuery<R>(query);
  }

  /** See `PreparedQuery.queue`. */
  queueCompiled(query: CompiledQuery): void {
    // Statements are answered in the order in which they were asked for: the last one's answer is the end of
    // all.
    this.#lastQueued = this.runCompiled(query).then(undefined, (error: unknown) => {
      this.#queuedFailure ??= { error };
    });
  }

  /** Waits for what was queued. Rejects with the first error. */
  async settled(): Promise<void> {
    await this.#lastQueued;
    if (this.#queuedFailure !== undefined) throw this.#queuedFailure.error;
  }
}

/** The given transaction. Throws TypeError for an object that this storage did not create. */
export function asTransaction(tx: AnyTransaction): StorageTransaction {
  if (tx instanceof StorageTransaction) return tx;
  throw new TypeError('not a transaction of this storage');
}

/** A collector as the engines see it. */
export class GatheringCollector<Item> implements Collector<Item> {
  readonly name: string;
  readonly write: (tx: AnyTransaction, items: readonly Item[]) => Promise<void>;

  constructor(name: string, write: (tx: AnyTransaction, items: readonly Item[]) => Promise<void>) {
    this.name = name;
    this.write = write;
  }

  add(tx: AnyTransaction, item: Item): void {
    const { collected } = asTransaction(tx);
    const key = this as unknown as GatheringCollector<unknown>;
    const items = collected.get(key);
    if (items === undefined) collected.set(key, [item]);
    else items.push(item);
  }
}

/** The collected rows of several transactions, in their order. */
export function mergeCollected(
  transactions: readonly StorageTransaction[],
): Map<GatheringCollector<unknown>, unknown[]> {
  const merged = new Map<GatheringCollector<unknown>, unknown[]>();
  for (const { collected } of transactions) {
    for (const [collector, items] of collected) {
      const known = merged.get(collector);
      if (known === undefined) merged.set(collector, [...items]);
      else known.push(...items);
    }
  }
  return merged;
}
