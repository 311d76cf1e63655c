import { sql, type Kysely } from 'kysely';
import { PlatformError } from '../errors.ts';
import { tablesOf, type AnyTransaction, type Storage, type StorageEngine } from './storage.ts';

/**
 * One step of the schema, forward only. Written with Kysely's schema builder and the types that both engines
 * know: `text`, `integer`, `bigint` (times in milliseconds), `double precision`, `bytea` (blobs).
 */
export interface Migration {
  /** `NNNN-name`, as the file. */
  readonly name: string;
  up(db: Kysely<unknown>, engine: StorageEngine): Promise<void>;
}

interface MigrationTables {
  schema_migration: { name: string; applied_at: number };
}

export interface MigrateOptions {
  readonly engine: StorageEngine;
  readonly migrations: readonly Migration[];
  /** Begins the transaction. */
  readonly lock?: (tx: AnyTransaction) => Promise<void>;
  /** See `Storage.migrate`. */
  readonly onUpdate?: ((text: string) => void) | undefined;
}

/**
 * Applies the missing migrations in order, in one transaction that begins with `lock`. Returns their names.
 */
export async function migrateToLatest(
  storage: Storage,
  { engine, migrations, lock, onUpdate }: MigrateOptions,
): Promise<readonly string[]> {
  let isUpdate = false;
  const startedAt = performance.now();
  const names = await storage.transaction(async (tx: Kysely<MigrationTables>) => {
    await lock?.(tx);
    await sql`create table if not exists schema_migration (name text primary key, applied_at bigint not null)`.execute(
      tx,
    );
    const applied = new Set(
      (await tx.selectFrom('schema_migration').select('name').execute()).map((row) => row.name),
    );
    refuseEarlierSchema(applied, migrations);
    refuseNewerSchema(applied, migrations);
    const pending = migrations.filter((migration) => !applied.has(migration.name));
    isUpdate = applied.size > 0 && pending.length > 0;
    for (const [index, migration] of pending.entries()) {
      if (isUpdate)
        onUpdate?.(
          `the database schema is being updated: step ${index + 1} of ${pending.length}, ${migration.name}`,
        );
      await migration.up(tablesOf<unknown>(tx), engine);
      await tx
        .insertInto('schema_migration')
        .values({ name: migration.name, applied_at: Date.now() })
        .execute();
    }
    return pending.map((migration) => migration.name);
  });
  if (isUpdate) onUpdate?.(`the database schema was updated in ${secondsSince(startedAt)} s`);
  return names;
}

function secondsSince(startedAt: number): string {
  return ((performance.now() - startedAt) / 1000).toFixed(1);
}

/**
 * Nothing of a version that was never published is converted: its steps are unknown here, and the first one
 * of this version is missing.
 */
function refuseEarlierSchema(applied: ReadonlySet<string>, [first]: readonly Migration[]): void {
  if (first === undefined || applied.size === 0 || applied.has(first.name)) return;
  throw new PlatformError(
    'PLATFORM_STORAGE_EARLIER',
    'the database was made by a version of openhisp from before the first release, which this one cannot read or convert. ' +
      'Start afresh with an empty database: move the file away, or name another one (storage.file, storage.url)',
  );
}

function refuseNewerSchema(applied: ReadonlySet<string>, migrations: readonly Migration[]): void {
  const known = new Set(migrations.map((migration) => migration.name));
  const unknown = [...applied].filter((name) => !known.has(name));
  if (unknown.length === 0) return;
  throw new PlatformError(
    'PLATFORM_STORAGE_NEWER',
    `the database was updated by a newer version of openhisp, which this one cannot read (last step ${unknown.toSorted().at(-1)}). ` +
      'Install the newer version again, or restore the backup from before the upgrade',
  );
}

/**
 * For `Storage.migrate`: only a server updates the schema. Any other program may be of a newer version than
 * the server that runs, whose tables it would take away. An empty database is filled all the same.
 */
export function refuseUpdate(): never {
  throw new PlatformError(
    'PLATFORM_STORAGE_OUTDATED',
    'the database has the schema of an earlier version of openhisp, which only a server updates: stop the servers of the earlier version and start one of this version, or use the commands of the earlier version',
  );
}
