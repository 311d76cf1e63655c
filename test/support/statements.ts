/** The statements of a search, and the engine's plans for them. */
import { CompiledQuery, type Kysely, type RootOperationNode } from 'kysely';
import type { Storage } from '../../src/platform/index.ts';

type Tables = Record<string, never>;

export interface WatchedStorage {
  readonly watched: Storage;
  /** The statements since the last call. */
  take(): CompiledQuery[];
}

/** Statements that go through `tables`, not those of transactions. */
export function watchStatements(storage: Storage): WatchedStorage {
  const nodes: RootOperationNode[] = [];
  const database = (): Kysely<Tables> => storage.tables<Tables>();
  const watched = Object.create(storage, {
    tables: {
      value: () =>
        database().withPlugin({
          transformQuery({ node }) {
            nodes.push(node);
            return node;
          },
          transformResult: ({ result }) => Promise.resolve(result),
        }),
    },
  }) as Storage;
  return {
    watched,
    take: () =>
      nodes.splice(0).map((node) => database().getExecutor().compileQuery(node, { queryId: 'statement' })),
  };
}

/** The lines of the engine's plan. */
export async function explainStatement(
  storage: Storage,
  { sql, parameters }: CompiledQuery,
  isPostgres: boolean,
): Promise<string[]> {
  const words = isPostgres ? 'explain (costs off)' : 'explain query plan';
  const { rows } = await storage
    .tables<Tables>()
    .executeQuery<Record<string, string>>(CompiledQuery.raw(`${words} ${sql}`, [...parameters]));
  return rows.map((row) => row['detail'] ?? row['QUERY PLAN'] ?? '');
}
