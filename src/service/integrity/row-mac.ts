import type { Vault } from '../../platform/index.ts';
import type { GuardedTable } from './guarded-table.ts';

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
