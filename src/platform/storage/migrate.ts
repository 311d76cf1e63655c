import { sql, type Kysely } from 'kysely';
import { PlatformError } from '../errors.ts';
import { tablesOf, type AnyTransaction, type Storage, type StorageEngine } from './storage.ts';

/**
 * One step of the schema, forward only. Written with Kysely's schema builder and the types that both engines know:
 * `text`, `integer`, `bigint` (times in milliseconds), `double precision`, `bytea` (blobs).
 */
export interface Migration {
  /** `NNNN-name`, as the file. */
  readonly name: string;
  up(db: Kysely<unknown>, engine: StorageEngine): Promise<void>;
}

interface MigrationTables {
  schema_migration: { name: string; applied_at: number };
}

/** Applies the missing migrations in order, in one transaction that begins with `lock`. Returns their names. */
export async function migrateToLatest(
  storage: Storage,
  engine: StorageEngine,
  migrations: readonly Migration[],
  lock: (tx: AnyTransaction) => Promise<void> = async () => {},
): Promise<readonly string[]> {
  return storage.transaction(async (tx: Kysely<MigrationTables>) => {
    await lock(tx);
    await sql`create table if not exists schema_migration (name text primary key, applied_at bigint not null)`.execute(
      tx,
    );
    const applied = new Set(
      (await tx.selectFrom('schema_migration').select('name').execute()).map((row) => row.name),
    );
    refuseNewerSchema(applied, migrations);
    const pending = migrations.filter((migration) => !applied.has(migration.name));
    for (const migration of pending) {
      await migration.up(tablesOf<unknown>(tx), engine);
      await tx
        .insertInto('schema_migration')
        .values({ name: migration.name, applied_at: Date.now() })
        .execute();
    }
    return pending.map((migration) => migration.name);
  });
}

function refuseNewerSchema(applied: ReadonlySet<string>, migrations: readonly Migration[]): void {
  const known = new Set(migrations.map((migration) => migration.name));
  const unknown = [...applied].filter((name) => !known.has(name));
  if (unknown.length === 0) return;
  throw new PlatformError(
    'PLATFORM_STORAGE_NEWER',
    `the database was written by a newer program: ${unknown.join(', ')}`,
  );
}
