import { CodedError } from '../../core/index.ts';
import type { Vault } from '../../platform/index.ts';
import type { Audit } from '../audit/index.ts';
import type { GuardedTable } from './guarded-table.ts';
import { IntegrityError } from './errors.ts';
import { createRowAlarm } from './row-alarm.ts';
import { macOfRow, nameRow, requireMacOfRow } from './row-mac.ts';

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
