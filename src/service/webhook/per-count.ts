import type { Compilable, Kysely } from 'kysely';
import type {
  AnyTransaction,
  PreparedQuery,
  QueryTarget,
  Storage,
  StoredValue,
} from '../../platform/index.ts';
import type { WebhookTables } from './tables.ts';

type Row = Readonly<Record<string, StoredValue>>;

/** A statement over several rows, prepared once for each number of rows. */
export interface RowsQuery<Values extends Row, Found> {
  all(on: QueryTarget, rows: readonly Values[]): Promise<readonly Found[]>;
  /** See `PreparedQuery.queue`. */
  queue(tx: AnyTransaction, rows: readonly Values[]): void;
}

/** `build` gets one record of placeholders per row. Keep the number of rows small: each number is a statement. */
export function prepareForRows<Values extends Row, Found = never>(
  storage: Storage,
  build: (db: Kysely<WebhookTables>, rows: readonly Values[]) => Compilable<Found>,
): RowsQuery<Values, Found> {
  const byCount = new Map<number, PreparedQuery<Row, Found>>();

  function queryFor(count: number): PreparedQuery<Row, Found> {
    const known = byCount.get(count);
    if (known !== undefined) return known;
    const query = storage.prepare<WebhookTables, Row, Found>((db, parameters) =>
      build(
        db,
        Array.from({ length: count }, (_, index) => rowOf<Values>(parameters, index)),
      ),
    );
    byCount.set(count, query);
    return query;
  }

  return {
    all: (on, rows) => queryFor(rows.length).all(on, parametersOf(rows)),
    queue: (tx, rows) => queryFor(rows.length).queue(tx, parametersOf(rows)),
  };
}

const namesByRow: Map<string, string>[] = [];

/** The name of a row's parameter; the same string each time, which costs a lookup less per value. */
function nameOf(column: string, index: number): string {
  const names = (namesByRow[index] ??= new Map<string, string>());
  const known = names.get(column);
  if (known !== undefined) return known;
  const name = `${column}:${index}`;
  names.set(column, name);
  return name;
}

function parametersOf(rows: readonly Row[]): Row {
  const parameters: Record<string, StoredValue> = {};
  for (const [index, row] of rows.entries())
    for (const column in row) parameters[nameOf(column, index)] = row[column] as StoredValue;
  return parameters;
}

function rowOf<Values extends Row>(parameters: Row, index: number): Values {
  return new Proxy({}, { get: (_target, column) => parameters[nameOf(String(column), index)] }) as Values;
}
