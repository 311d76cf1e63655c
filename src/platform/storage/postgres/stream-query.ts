import type { CompiledQuery, QueryResult } from 'kysely';
import { breaksConnection } from './errors.ts';
import type { ConnectionPool } from './connections.ts';
import type { StatementRunner } from './run-query.ts';

/**
 * Reads a query's rows by a cursor: the state at its beginning, without holding all of it in memory. Streams
 * have their own connections, so that an unfinished one holds up no statement.
 */
export async function* streamQuery<R>(
  pool: ConnectionPool,
  statements: StatementRunner,
  query: CompiledQuery,
  chunkSize: number,
): AsyncIterableIterator<QueryResult<R>> {
  const { client, release } = await pool.take();
  let isBroken = true;
  try {
    await statements.run(client, { sql: 'begin read only', parameters: [] });
    await statements.run(client, {
      sql: `declare stream no scroll cursor for ${query.sql}`,
      parameters: query.parameters,
    });
    for (;;) {
      const { rows } = await statements.run<R>(client, {
        sql: `fetch ${chunkSize} from stream`,
        parameters: [],
      });
      if (rows.length > 0) yield { rows };
      if (rows.length < chunkSize) break;
    }
    isBroken = false;
  } catch (error) {
    isBroken = breaksConnection(error);
    throw error;
  } finally {
    // Also reached when the reader stops early.
    const ended = await statements.run(client, { sql: 'rollback', parameters: [] }).then(
      () => true,
      () => false,
    );
    release(isBroken || !ended);
  }
}
