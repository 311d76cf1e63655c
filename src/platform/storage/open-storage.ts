import type { Clock } from '../../core/index.ts';
import type { Migration } from './migrate.ts';
import { PlatformError } from '../errors.ts';
import { migrations } from './baseline/index.ts';
import { openSqliteStorage } from './sqlite/open-sqlite.ts';
import type { Storage } from './storage.ts';

export interface StorageOptions {
  /**
   * Address of a PostgreSQL database, `postgres://user:password@host:5432/database`; `file` is not used then.
   */
  readonly url?: string | undefined;
  /** The database file of the embedded engine; its folder is made if missing. */
  readonly file?: string;
  /** Longest wait for another process (SQLite) or transaction (PostgreSQL) that holds a lock. */
  readonly busyTimeoutMs?: number;
  /** PostgreSQL: most connections for transactions. */
  readonly maxConnections?: number;
  /** In order; defaults to all that the program knows. */
  readonly migrations?: readonly Migration[];
  /** For tests: the time that leases and due times see. */
  readonly clock?: Clock;
  /**
   * Stable id of the node, from its data folder. Nobody else may use it at the same time; a new one if
   * omitted.
   */
  readonly nodeId?: string;
  /** Called for problems that are no caller's, for the log. */
  readonly onProblem?: (text: string) => void;
}

/**
 * Opens (and, with SQLite, creates) the database. The schema is brought up to date by `migrate`, not here.
 */
export async function openStorage(options: StorageOptions): Promise<Storage> {
  const { url, file, busyTimeoutMs, maxConnections, ...common } = options;
  const lockTimeoutMs = busyTimeoutMs === undefined ? {} : { lockTimeoutMs: busyTimeoutMs };
  const bound = maxConnections === undefined ? {} : { maxConnections };
  if (url !== undefined) {
    // Loaded by those that use it: a command on SQLite starts sooner without the driver.
    const { openPostgresStorage } = await import('./postgres/open-postgres.ts');
    return openPostgresStorage({ migrations, url, ...lockTimeoutMs, ...bound, ...common });
  }
  if (file === undefined)
    throw new PlatformError('PLATFORM_CONFIG_INVALID', 'storage.file or storage.url: missing');
  return openSqliteStorage({
    migrations,
    file,
    ...(busyTimeoutMs === undefined ? {} : { busyTimeoutMs }),
    ...common,
  });
}
