import type { Clock } from '../../core/index.ts';
import type { Migration } from './migrate.ts';
import { migrations } from './migrations/index.ts';
import { openSqliteStorage } from './sqlite/open-sqlite.ts';
import type { Storage } from './storage.ts';

export interface StorageOptions {
  /** The database file of the embedded engine; its folder is made if missing. */
  readonly file: string;
  /** How long to wait for another process that holds the write lock. */
  readonly busyTimeoutMs?: number;
  /** In order; defaults to all that the program knows. */
  readonly migrations?: readonly Migration[];
  /** For tests: the time that leases and due times see. */
  readonly clock?: Clock;
  /** Hears of problems that are no caller's, for the log. */
  readonly onProblem?: (text: string) => void;
}

/** Opens (and creates) the database. The schema is brought up to date by `migrate`, not here. */
export function openStorage(options: StorageOptions): Promise<Storage> {
  return openSqliteStorage({ migrations, ...options });
}
