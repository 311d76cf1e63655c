import {
  SqliteAdapter,
  SqliteIntrospector,
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  SqliteQueryCompiler,
} from 'kysely';
import { PlatformError } from '../../errors.ts';
import { translated } from './errors.ts';
import { openReader, type SqliteFile } from './files.ts';
import type { LogFlusher } from './flusher.ts';
import { toParameters } from '../values.ts';
import { runOn } from './files.ts';
import type { SqliteWriter, WriterCounts } from './writer.ts';

export interface SqliteDriverDependencies {
  readonly file: string;
  readonly reader: SqliteFile;
  readonly flusher: LogFlusher;
  readonly counts: WriterCounts;
  writer(): SqliteWriter;
}

/**
 * Kysely's driver for statements outside transactions: reads go to the reading connection, which sees the
 * last committed state, and is answered when that is on disk; a write becomes a transaction with one
 * statement. Transactions are made by `SqliteWriter`.
 */
export class SqliteDriver implements Driver {
  readonly #connection: DatabaseConnection;
  #isClosed = false;

  constructor(deps: SqliteDriverDependencies) {
    this.#connection = {
      executeQuery: async <R>(query: CompiledQuery): Promise<QueryResult<R>> => {
        this.requireOpen();
        if (isRead(query)) {
          deps.counts.statements++;
          const result = translated(() => runOn<R>(deps.reader, query));
          // A power loss must not undo rows that were returned.
          await deps.flusher.pending;
          return result;
        }
        return deps.writer().transaction((tx) => tx.runCompiled<R>(query));
      },
      streamQuery: <R>(query: CompiledQuery, chunkSize: number) => streamFrom<R>(deps.file, query, chunkSize),
    };
  }

  requireOpen(): void {
    if (this.#isClosed) throw new PlatformError('PLATFORM_STORAGE_CLOSED', 'the storage is closed');
  }

  close(): void {
    this.#isClosed = true;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    return this.#connection;
  }

  async beginTransaction(): Promise<void> {
    throw new TypeError('transactions are made by Storage.transaction');
  }

  async commitTransaction(): Promise<void> {}

  async rollbackTransaction(): Promise<void> {}

  async releaseConnection(): Promise<void> {}

  async destroy(): Promise<void> {}
}

/** Streams from its own connection, so that an unfinished stream delays no other query. */
async function* streamFrom<R>(
  file: string,
  query: CompiledQuery,
  chunkSize: number,
): AsyncIterableIterator<QueryResult<R>> {
  const snapshot = openReader(file);
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

function isRead(query: CompiledQuery): boolean {
  return query.query.kind === 'SelectQueryNode';
}

// Kysely would let only one connection exist, and so make reads wait for transactions; this driver has
// separate connections.
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
    createQueryCompiler: () => new StablePlanCompiler(),
  };
}

/**
 * Writes parameters as `+?`, which means the same and keeps their values out of the choice of a plan. SQLite
 * prepares a statement again for each new value of a bare `?` in a join or a limit, which costs more than
 * running it.
 */
export class StablePlanCompiler extends SqliteQueryCompiler {
  protected override getCurrentParameterPlaceholder(): string {
    return `+${super.getCurrentParameterPlaceholder()}`;
  }
}
