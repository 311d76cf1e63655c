import { closeSync, openSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { Kysely } from 'kysely';
import { insertOnSqlite } from './bulk-insert.ts';
import { migrateToLatest, type Migration } from './migrate.ts';
import { migrations } from './migrations/index.ts';
import { createSqliteDialect, SqliteDriver } from './sqlite-driver.ts';
import type { Storage, StorageLocation } from './storage.ts';

export interface StorageOptions extends StorageLocation {
  /** In order; defaults to all that the program knows. */
  readonly migrations?: readonly Migration[];
}

/** Opens (and creates) the database. The schema is brought up to date by `migrate`, not here. */
export async function openStorage(options: StorageOptions): Promise<Storage> {
  const { file, busyTimeoutMs = 5000 } = options;
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
  const driver = new SqliteDriver({ file, busyTimeoutMs });
  await driver.init();
  const db = new Kysely<unknown>({ dialect: createSqliteDialect(driver) });
  const storage: Storage = {
    engine: 'sqlite',
    location: { file, busyTimeoutMs },
    db,
    tables: <T>() => db as Kysely<T>,
    transaction: <T, R>(work: (tx: Kysely<T>) => Promise<R>) =>
      driver.runMarked(() => (db as Kysely<T>).transaction().execute(work)),
    whileWritersWait: (work) => driver.runAlone(work),
    bulkInsert: (tx, insert) => insertOnSqlite(tx, driver.writer, insert),
    migrate: () => migrateToLatest(storage, options.migrations ?? migrations),
    backup: async (copy) => {
      closeSync(openSync(copy, 'wx', 0o600));
      await driver.writer.handle.backup(copy);
    },
    check: async () => {
      driver.reader.prepare('select 1').get();
    },
    close: () => driver.destroy(),
  };
  return storage;
}
