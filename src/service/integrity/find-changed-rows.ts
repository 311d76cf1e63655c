import { type Kysely, sql } from 'kysely';
import type { Storage, Vault } from '../../platform/index.ts';
import type { Audit } from '../audit/index.ts';
import { IntegrityError } from './errors.ts';
import { type GuardedTable, macOfRow, nameRow, requireMacOfRow } from './row-guard.ts';

/** Rows read at once. */
const pageRows = 500;

export interface ChangedRow {
  readonly table: string;
  /** The value of the key column; hex for bytes. */
  readonly row: string;
  /** True if it has no MAC at all: added by something that is not this service. */
  readonly isWithoutMac: boolean;
}

export interface FoundRows {
  readonly rowCount: number;
  readonly changed: readonly ChangedRow[];
}

type AnyRow = Readonly<Record<string, unknown>> & { readonly mac: Uint8Array | null };

/** Checks the MAC of every guarded row. */
export async function findChangedRows(
  db: Kysely<unknown>,
  vault: Vault,
  tables: readonly GuardedTable[],
): Promise<FoundRows> {
  const changed: ChangedRow[] = [];
  let rowCount = 0;
  for (const table of tables) {
    for await (const row of readRows(db, table)) {
      rowCount++;
      if (!isIntact(vault, table, row))
        changed.push({ table: table.table, row: nameRow(table, row), isWithoutMac: row.mac === null });
    }
  }
  return { rowCount, changed };
}

/**
 * Gives one row, which an operator has examined, a MAC for its present values; audited. Throws
 * INTEGRITY_ROW_UNKNOWN.
 */
export async function acceptRow(
  { storage, vault, audit }: { readonly storage: Storage; readonly vault: Vault; readonly audit: Audit },
  tables: readonly GuardedTable[],
  named: { readonly table: string; readonly row: string },
  reason: string,
): Promise<void> {
  const table = tables.find((known) => known.table === named.table);
  if (table === undefined)
    throw new IntegrityError('INTEGRITY_ROW_UNKNOWN', `There is no guarded table ${named.table}.`);
  for await (const row of readRows(storage.db, table)) {
    if (nameRow(table, row) !== named.row) continue;
    await storage.transaction(async (tx: Kysely<unknown>) => {
      await sql`update ${sql.table(table.table)} set mac = ${macOfRow(vault, table, row)}
        where ${sql.ref(table.key)} = ${row[table.key]}`.execute(tx);
      const objects = { ...named, reason };
      await audit.recordIn(tx, { action: 'integrity.accept', actor: 'operator', outcome: 'ok', objects });
    });
    return;
  }
  throw new IntegrityError('INTEGRITY_ROW_UNKNOWN', `There is no row ${named.row} in ${named.table}.`);
}

function isIntact(vault: Vault, table: GuardedTable, row: AnyRow): boolean {
  if (row.mac === null) return false;
  try {
    requireMacOfRow(vault, table, { ...row, mac: row.mac });
    return true;
  } catch {
    return false;
  }
}

async function* readRows(db: Kysely<unknown>, { table, key, columns }: GuardedTable): AsyncGenerator<AnyRow> {
  const names = sql.join([...columns, 'mac'].map((column) => sql.ref(column)));
  let after: unknown;
  for (;;) {
    const where = after === undefined ? sql`` : sql`where ${sql.ref(key)} > ${after}`;
    const { rows } = await sql<AnyRow>`select ${names} from ${sql.table(table)} ${where}
      order by ${sql.ref(key)} limit ${sql.lit(pageRows)}`.execute(db);
    yield* rows;
    after = rows.at(-1)?.[key];
    if (rows.length < pageRows) return;
  }
}
