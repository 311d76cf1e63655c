import type {
  Compilable,
  CompiledQuery,
  InsertQueryBuilder,
  InsertResult,
  Kysely,
  QueryResult,
  Selectable,
} from 'kysely';
import type { PreparedQuery, Storage } from './storage.ts';
import { asTransaction, StorageTransaction } from './transaction.ts';

type Values = Readonly<Record<string, unknown>>;

/** A placeholder for a value that is only known when the query runs. */
class Placeholder {
  readonly name: string;
  /** Index of the row, in a statement over several. */
  readonly row: number | undefined;

  constructor(name: string, row?: number) {
    this.name = name;
    this.row = row;
  }

  valueIn(parameters: object): unknown {
    const values = this.row === undefined ? parameters : (parameters as readonly object[])[this.row];
    return (values as Values)[this.name];
  }
}

// Any name that the builder asks for is a parameter.
function placeholders(row?: number): unknown {
  return new Proxy({}, { get: (_target, name) => new Placeholder(String(name), row) });
}

/** See `Storage.prepare`. The query is compiled at its first use. */
export function prepareQuery<Tables, Parameters extends object, Row>(
  db: Kysely<unknown>,
  build: (db: Kysely<Tables>, parameters: Parameters) => Compilable<Row>,
): PreparedQuery<Parameters, Row> {
  let template: CompiledQuery | undefined;
  return prepared(
    () => (template ??= build(db as Kysely<Tables>, placeholders() as Parameters).compile() as CompiledQuery),
  );
}

/** A statement over several rows, each a parameter. Keep their number small: each number is a statement. */
export function prepareRows<Tables, Row extends object, Found = never>(
  { db }: Pick<Storage, 'db'>,
  build: (db: Kysely<Tables>, rows: readonly Row[]) => Compilable<Found>,
): PreparedQuery<readonly Row[], Found> {
  const byCount: CompiledQuery[] = [];
  return prepared(
    ({ length }) =>
      (byCount[length] ??= build(
        db as Kysely<Tables>,
        Array.from({ length }, (_, row) => placeholders(row) as Row),
      ).compile() as CompiledQuery),
  );
}

/**
 * Inserts whole rows of a table; several are one statement (see {@link prepareRows}). The first rows name the
 * columns, so a column is named where its value is. `finish` adds what follows the values, as `on conflict`.
 */
export function prepareInsert<Tables, Table extends keyof Tables & string>(
  { db }: Pick<Storage, 'db'>,
  table: Table,
  finish: (
    insert: InsertQueryBuilder<Tables, Table, InsertResult>,
  ) => InsertQueryBuilder<Tables, Table, InsertResult> = (insert) => insert,
): PreparedQuery<readonly Selectable<Tables[Table]>[], never> {
  const byCount: CompiledQuery[] = [];
  const insertInto = (rows: readonly object[]): CompiledQuery => {
    const values = rows.map((row, index) =>
      Object.fromEntries(Object.keys(row).map((column) => [column, new Placeholder(column, index)])),
    );
    const insert = (db as Kysely<Tables>).insertInto(table).values(values as never);
    return finish(insert).compile();
  };
  return prepared((rows) => (byCount[rows.length] ??= insertInto(rows as readonly object[])));
}

function prepared<Parameters extends object, Row>(
  templateFor: (parameters: Parameters) => CompiledQuery,
): PreparedQuery<Parameters, Row> {
  function bind(parameters: Parameters): CompiledQuery {
    const { query, queryId, sql, parameters: bindings } = templateFor(parameters);
    return {
      query,
      queryId,
      sql,
      parameters: bindings.map((value) => (value instanceof Placeholder ? value.valueIn(parameters) : value)),
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
