import type { Migration } from '../../src/platform/index.ts';

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
