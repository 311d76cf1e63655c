import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql, type RawBuilder } from 'kysely';
import { tablesOf, type AnyTransaction, type Storage } from '../../platform/index.ts';
import { lockLegalHolds } from './rule.ts';
import type { LegalHoldTables } from './tables.ts';

/** Which rows of a table a retention job deletes, and what a legal hold says of one. */
export interface OldRows {
  /** Of the job, for what it remembers between its runs. */
  readonly name: string;
  readonly table: string;
  /** Columns of the order, the oldest row first; the last one is the key: text, by which a row is deleted. */
  readonly order: readonly [key: string] | readonly [time: string, key: string];
  /** Also the condition of the index by which they are found. */
  readonly isOld: RawBuilder<boolean>;
  /** A condition of `rule.ts` about the row. */
  readonly isOnHold: RawBuilder<boolean>;
}

interface OldRow {
  readonly at: number | string;
  readonly key: string;
  readonly is_on_hold: number | boolean;
}

type Position = readonly (number | string)[];

/** Rows per transaction: other writers wait no longer than that takes. */
const batch = 500;

/**
 * Every retention job deletes through this: rows older than a time, the oldest first, in small transactions;
 * what is on legal hold stays. `remove` deletes the rows of the keys, in the transaction in which they were
 * examined.
 *
 * What stays would be examined again in each run, so a run goes on behind what earlier ones examined, until a
 * hold is released, the day ends, or the process does.
 */
export async function deleteOldRows(
  storage: Storage,
  rows: OldRows,
  remove: (tx: AnyTransaction, keys: readonly string[]) => Promise<unknown>,
): Promise<number> {
  const places = placesOf(storage);
  const mark = await markOf(storage);
  const known = places.get(rows.name);
  let after = known?.mark === mark ? known.after : undefined;
  let hasKept = false;
  let total = 0;
  for (;;) {
    const from = after;
    const found = await storage.transaction(async (tx: AnyTransaction) => {
      await lockLegalHolds(storage, tx);
      const old = await findOld(tx, rows, from);
      const keys = old.filter((row) => !isTrue(row.is_on_hold)).map(({ key }) => key);
      if (keys.length > 0) await remove(tx, keys);
      return { old, removed: keys.length };
    });
    const last = found.old.at(-1);
    total += found.removed;
    hasKept ||= found.removed < found.old.length;
    if (last !== undefined) after = rows.order.length === 1 ? [last.key] : [Number(last.at), last.key];
    if (hasKept && after !== undefined) places.set(rows.name, { mark, after });
    if (found.old.length < batch) return total;
    await nextTurn();
  }
}

async function findOld(
  tx: AnyTransaction,
  { table, order, isOld, isOnHold }: OldRows,
  after: Position | undefined,
): Promise<readonly OldRow[]> {
  const columns = order.map((column) => sql.ref(`${table}.${column}`));
  const [time, key] = [columns[0], columns.at(-1)];
  const place = sql.join(columns);
  const isBehind =
    after === undefined
      ? sql<boolean>`1 = 1`
      : sql<boolean>`(${place}) > (${sql.join(after.map((value) => sql.val(value)))})`;
  // The batch is chosen first: SQLite would compare all rows of one time before it sorts them.
  const statement = sql<OldRow>`
    select batch.at, batch.key, ${isOnHold} as is_on_hold from (
      select ${time} as at, ${key} as key from ${sql.table(table)}
      where ${isOld} and ${isBehind}
      order by ${place} limit ${sql.lit(batch)}
    ) batch join ${sql.table(table)} on ${key} = batch.key
    order by batch.at, batch.key`;
  return (await statement.execute(tablesOf(tx))).rows;
}

/** SQLite has no booleans. */
const isTrue = (value: number | boolean): boolean => value === true || Number(value) === 1;

interface Place {
  readonly mark: string;
  readonly after: Position;
}

const placesByStorage = new WeakMap<Storage, Map<string, Place>>();

function placesOf(storage: Storage): Map<string, Place> {
  const known = placesByStorage.get(storage) ?? new Map<string, Place>();
  placesByStorage.set(storage, known);
  return known;
}

/** Changes with each release, and each day: a clock that was set back may have left older rows behind. */
async function markOf(storage: Storage): Promise<string> {
  const { count } = await storage
    .tables<LegalHoldTables>()
    .selectFrom('legal_hold')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('released_at', 'is not', null)
    .executeTakeFirstOrThrow();
  return `${count} ${Math.floor(storage.clock.now().getTime() / 86_400_000)}`;
}
