import type { Storage } from '../../../platform/index.ts';
import type { DirectoryTables } from './tables.ts';

/** Generations of directory data, by the load that made them; undefined without data. */
export interface ServedGenerations {
  readonly active: number | undefined;
  /** The one that each node serves, or is about to serve. */
  readonly byNode: ReadonlyMap<string, number | undefined>;
}

export async function listServedGenerations(storage: Storage): Promise<ServedGenerations> {
  const db = storage.tables<DirectoryTables>();
  const state = await db.selectFrom('directory_state').select('active_load_id').executeTakeFirst();
  const rows = await db.selectFrom('directory_node').select(['node_id', 'load_id']).execute();
  return {
    active: state?.active_load_id ?? undefined,
    byNode: new Map(rows.map((row) => [row.node_id, row.load_id ?? undefined])),
  };
}
