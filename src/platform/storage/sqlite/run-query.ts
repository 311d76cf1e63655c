import type { CompiledQuery, QueryResult } from 'kysely';
import type { SqliteFile } from './files.ts';

/** Runs one compiled query at once. */
export function runOn<R>(file: SqliteFile, query: CompiledQuery): QueryResult<R> {
  const statement = file.prepare(query.sql);
  const parameters = toParameters(query.parameters);
  if (statement.reader) return { rows: statement.all(...parameters) as R[] };
  const { changes } = statement.run(...parameters);
  return { rows: [], numAffectedRows: BigInt(changes) };
}

// SQLite has no booleans; the schema keeps them as 0 and 1.
export function toParameters(parameters: readonly unknown[]): unknown[] {
  return parameters.map((value) => (typeof value === 'boolean' ? Number(value) : value));
}
