import { closeSync, openSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { Kysely } from 'kysely';
import { insertOnSqlite } from './bulk-insert.ts';
import { migrateToLatest, type Migration } from './migrate.ts';
import { migrations } from './migrations/index.ts';
import { createSqliteDialect, SqliteDriver } from './sqlite-driver.ts';
import type { Storage } from './storage.ts';

export interface StorageOptions {
  /** The database file; its folder is made if missing. */
  readonly file: string;
  /** How long to wait for another process that holds the write lock. */
  readonly busyTimeoutMs?: number;
  /** In order; defaults to all that the program knows. */
  readonly migrations?: readonly Migration[];
}

/** Opens (and creates) the database. The schema is brought up to date by `migrate`, not here. */
export async function openStorage(options: StorageOptions): Promise<Storage> {
  await mkdir(path.dirname(options.file), { recursive: true, mode: 0o700 });
  const driver = new SqliteDriver({ file: options.file, busyTimeoutMs: options.busyTimeoutMs ?? 5000 });
  await driver.init();
  const db = new Kysely<unknown>({ dialect: createSqliteDialect(driver) });
  const storage: Storage = {
    engine: 'sqlite',
    db,
    tables: <T>() => db as Kysely<T>,
    transaction: <T, R>(work: (tx: Kysely<T>) => Promise<R>) =>
      driver.runMarked(() => (db as Kysely<T>).transaction().execute(work)),
    bulkInsert: (tx, insert) => insertOnSqlite(tx, driver.writer, insert),
    migrate: () => migrateToLatest(storage, options.migrations ?? migrations),
    backup: async (file) => {
      closeSync(openSync(file, 'wx', 0o600));
      await driver.writer.handle.backup(file);
    },
    check: async () => {
      driver.reader.prepare('select 1').get();
    },
    close: () => driver.destroy(),
  };
  return storage;
}
