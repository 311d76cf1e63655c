import { sql, type Kysely } from 'kysely';
import type { Storage, Vault } from '../../platform/index.ts';
import type { Audit } from '../audit/index.ts';
import type { GuardedTable } from './guarded-table.ts';
import { macOfRow } from './row-mac.ts';

/** Rows read at once. */
const pageRows = 500;

export interface IntegrityDependencies {
  readonly storage: Storage;
  readonly vault: Vault;
  readonly audit: Audit;
  readonly tables: readonly GuardedTable[];
}

/**
 * Begins integrity protection, once per database: in one transaction every guarded row without a MAC gets
 * one, and the audit chain is keyed, beginning with a row that records this. Returns whether it did. Throws
 * AUDIT_CHAIN_RESET if the chain was keyed before.
 */
export async function beginIntegrity({
  storage,
  vault,
  audit,
  tables,
}: IntegrityDependencies): Promise<boolean> {
  if (await audit.isKeyed()) return false;
  await storage.transaction(async (tx: Kysely<unknown>) => {
    let rows = 0;
    for (const table of tables) rows += await addMacs(tx, vault, table);
    audit.beginKeyingIn(tx, { action: 'audit.begin', actor: 'system', outcome: 'ok', objects: { rows } });
  });
  await audit.signCheckpoint();
  return true;
}

async function addMacs(tx: Kysely<unknown>, vault: Vault, guarded: GuardedTable): Promise<number> {
  const { table, key, columns } = guarded;
  const names = sql.join(columns.map((column) => sql.ref(column)));
  for (let total = 0; ;) {
    const { rows } = await sql<Record<string, unknown>>`
      select ${names} from ${sql.table(table)} where mac is null limit ${sql.lit(pageRows)}`.execute(tx);
    for (const row of rows) {
      await sql`update ${sql.table(table)} set mac = ${macOfRow(vault, guarded, row)}
        where ${sql.ref(key)} = ${row[key]} and mac is null`.execute(tx);
    }
    total += rows.length;
    if (rows.length < pageRows) return total;
  }
}
