import { createRowGuard, type GuardedTable, type RowGuard } from '../integrity/index.ts';
import type { EdgesTables } from './tables.ts';

const accounts: GuardedTable = {
  table: 'edge_account',
  key: 'account_id',
  columns: [
    'account_id',
    'client_id',
    'username',
    'username_key',
    'addresses',
    'protocols',
    'policies',
    'salt',
    'disabled_at',
    'created_at',
    'updated_at',
  ],
};
const passwords: GuardedTable = {
  table: 'edge_password',
  key: 'password_id',
  columns: ['password_id', 'account_id', 'hash', 'created_at'],
};

/** The tables whose rows carry a MAC (Decision 0024). */
export const edgesGuardedTables: readonly GuardedTable[] = [accounts, passwords];

export interface EdgesGuards {
  readonly accounts: RowGuard<EdgesTables['edge_account']>;
  readonly passwords: RowGuard<EdgesTables['edge_password']>;
}

export function createEdgesGuards(deps: Parameters<typeof createRowGuard>[0]): EdgesGuards {
  return { accounts: createRowGuard(deps, accounts), passwords: createRowGuard(deps, passwords) };
}
