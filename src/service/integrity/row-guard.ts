import { CodedError } from '../../core/index.ts';
import type { Vault } from '../../platform/index.ts';
import type { Audit } from '../audit/index.ts';
import { IntegrityError } from './errors.ts';
import { createRowAlarm } from './row-alarm.ts';

export interface MacColumn {
  /** Null only in a row that something else than this service has added. */
  mac: Uint8Array | null;
}

/** Gives rows of one table their MAC when they are written, and checks it when they are used. */
export interface RowGuard<Row extends MacColumn> {
  withMac(row: Omit<Row, 'mac'>): Row & { mac: Uint8Array };
  /**
   * The row itself. Throws INTEGRITY_ROW_CHANGED; to be called where rows are looked up, not for each use of
   * a cached row.
   */
  check(row: Row): Promise<Row>;
  checkAll(rows: readonly Row[]): Promise<readonly Row[]>;
}

export interface GuardDependencies {
  readonly vault: Vault;
  readonly audit: Audit;
}

export function createRowGuard<Row extends MacColumn>(
  { vault, audit }: GuardDependencies,
  table: GuardedTable,
): RowGuard<Row> {
  const alarm = createRowAlarm(audit);
  async function check(row: Row): Promise<Row> {
    if (row.mac === null) throw refuse(row, undefined);
    try {
      requireMacOfRow(vault, table, row as Row & { mac: Uint8Array });
    } catch (error) {
      // A data key that another node has just made is there the next time.
      if (error instanceof CodedError && error.isTransient) throw error;
      throw refuse(row, error);
    }
    return row;
  }

  function refuse(row: Row, cause: unknown): IntegrityError {
    const objects = { table: table.table, row: nameRow(table, row) };
    alarm(objects);
    return new IntegrityError(
      'INTEGRITY_ROW_CHANGED',
      `${objects.table} ${objects.row}: not written by this service, so it is not used. openhisp verify lists all such rows.`,
      { cause, fields: objects },
    );
  }

  return {
    withMac: (row) => ({ ...row, mac: macOfRow(vault, table, row) }) as Row & { mac: Uint8Array },
    check,
    async checkAll(rows) {
      for (const row of rows) await check(row);
      return rows;
    },
  };
}

/** Of a table: its name, and the columns that the MAC covers, the key first. */
type Guarded<Tables> = readonly [table: keyof Tables & string, columns: string];

/** By the names that a module gives its tables. */
type Guards<Tables, Named extends Readonly<Record<string, Guarded<Tables>>>> = {
  readonly [Name in keyof Named]: Tables[Named[Name][0]] extends MacColumn
    ? RowGuard<Tables[Named[Name][0]]>
    : never;
};

/** The tables of a module whose rows carry a MAC (Decision 0024), and what makes their guards. */
export function guardTables<Tables>() {
  return <const Named extends Readonly<Record<string, Guarded<Tables>>>>(named: Named) => {
    const tables = Object.entries(named).map(([name, [table, words]]) => {
      const columns = words.split(' ');
      return { name, table, key: columns[0] ?? '', columns };
    });
    return {
      tables,
      create: (deps: GuardDependencies) =>
        Object.fromEntries(tables.map((one) => [one.name, createRowGuard(deps, one)])) as Guards<
          Tables,
          Named
        >,
    };
  };
}

/** The MAC of a row: over the name of its table and the values of its guarded columns, in their order. */
export function macOfRow(vault: Vault, table: GuardedTable, row: object): Uint8Array {
  return vault.mac(canonicalRow(table, row), contextOf(table));
}

/** Throws PLATFORM_MAC_INVALID or PLATFORM_SEAL_KEY_UNKNOWN. */
export function requireMacOfRow(vault: Vault, table: GuardedTable, row: { readonly mac: Uint8Array }): void {
  vault.requireMac(row.mac, canonicalRow(table, row), contextOf(table));
}

/** The value of the key column, for people. */
export function nameRow({ key }: GuardedTable, row: object): string {
  const value = valueOf(row, key);
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : String(value);
}

// Texts, numbers and bytes must not pass for one another; drivers differ in how they give a number.
function canonicalRow({ columns }: GuardedTable, row: object): Uint8Array {
  const values = columns.map((column) => {
    const value = valueOf(row, column);
    if (value instanceof Uint8Array) return [Buffer.from(value).toString('base64')];
    return typeof value === 'bigint' ? Number(value) : value;
  });
  return Buffer.from(JSON.stringify(values));
}

function valueOf(row: object, column: string): unknown {
  const value = (row as Readonly<Record<string, unknown>>)[column];
  if (value === undefined) throw new TypeError(`the column ${column} was not read`);
  return value;
}

const contextOf = ({ table }: GuardedTable): string => `row:${table}`;

/** A table whose rows carry a MAC in the column `mac`. */
export interface GuardedTable {
  readonly table: string;
  /** The column that names a row. */
  readonly key: string;
  /** The columns that the MAC covers, the key among them. Another order or choice is another MAC. */
  readonly columns: readonly string[];
}
