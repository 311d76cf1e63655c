import type { Kysely } from 'kysely';
import { PlatformError, type Migration, type Storage } from '../../src/platform/index.ts';

/** A table for tests of the storage. */
export interface ThingTables {
  thing: { id: string; size: number | null; content: Uint8Array | null };
}

export const things: Migration = {
  name: '0001-things',
  async up(db) {
    await db.schema
      .createTable('thing')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('size', 'bigint')
      .addColumn('content', 'bytea')
      .execute();
  },
};

export async function withThings(
  open: () => Promise<Storage>,
  work: (storage: Storage, db: Kysely<ThingTables>) => Promise<void>,
): Promise<void> {
  const storage = await open();
  try {
    await work(storage, storage.tables<ThingTables>());
  } finally {
    await storage.close();
  }
}

export const ids = async (db: Kysely<ThingTables>): Promise<string[]> =>
  (await db.selectFrom('thing').select('id').orderBy('id').execute()).map(({ id }) => id);
export const row = (id: string): ThingTables['thing'] => ({ id, size: null, content: null });
export const hasCode = (code: string) => (error: unknown) =>
  error instanceof PlatformError && error.code === code;
