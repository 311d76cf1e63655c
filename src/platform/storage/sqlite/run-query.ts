import type { CompiledQuery, QueryResult } from 'kysely';
import { toParameters } from '../values.ts';
import type { SqliteFile } from './files.ts';

/** Runs one compiled query at once. */
export function runOn<R>(file: SqliteFile, query: CompiledQuery): QueryResult<R> {
  const statement = file.prepare(query.sql);
  const parameters = toParameters(query.parameters);
  if (statement.reader) return { rows: statement.all(...parameters) as R[] };
  const { changes } = statement.run(...parameters);
  return { rows: [], numAffectedRows: BigInt(changes) };
}
