import type { CompiledQuery, Compilable, Kysely, QueryResult } from 'kysely';
import type { PreparedQuery } from './storage.ts';
import { asTransaction, StorageTransaction } from './transaction.ts';

/** A placeholder for a value that is only known when the query runs. */
class Placeholder {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

// Any name that the builder asks for is a parameter.
const placeholders: unknown = new Proxy({}, { get: (_target, name) => new Placeholder(String(name)) });

/** See `Storage.prepare`. The query is compiled at its first use. */
export function prepareQuery<Tables, Parameters extends object, Row>(
  db: Kysely<unknown>,
  build: (db: Kysely<Tables>, parameters: Parameters) => Compilable<Row>,
): PreparedQuery<Parameters, Row> {
  let template: { readonly compiled: CompiledQuery; readonly bindings: readonly unknown[] } | undefined;

  function bind(parameters: Parameters): CompiledQuery {
    if (template === undefined) {
      const compiled = build(db as Kysely<Tables>, placeholders as Parameters).compile() as CompiledQuery;
      template = { compiled, bindings: compiled.parameters };
    }
    const { compiled, bindings } = template;
    const values = parameters as Readonly<Record<string, unknown>>;
    return {
      query: compiled.query,
      queryId: compiled.queryId,
      sql: compiled.sql,
      parameters: bindings.map((value) => (value instanceof Placeholder ? values[value.name] : value)),
    };
  }

  // No asynchronous function, since each one costs a statement two turns of the microtask queue.
  function execute(on: object, parameters: Parameters): Promise<QueryResult<Row>> {
    const query = bind(parameters);
    if (on instanceof StorageTransaction) return on.runCompiled<Row>(query);
    return (on as Kysely<unknown>).executeQuery<Row>(query as CompiledQuery<Row>);
  }

  return {
    all: async (on, parameters) => (await execute(on, parameters)).rows,
    first: async (on, parameters) => (await execute(on, parameters)).rows[0],
    run: async (on, parameters) => Number((await execute(on, parameters)).numAffectedRows ?? 0n),
    queue: (tx, parameters) => asTransaction(tx).queueCompiled(bind(parameters)),
  };
}
