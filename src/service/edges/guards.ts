import { guardTables } from '../integrity/index.ts';
import type { EdgesTables } from './tables.ts';

const guarded = guardTables<EdgesTables>()({
  accounts: [
    'edge_account',
    'account_id client_id username username_key addresses protocols policies salt disabled_at ' +
      'created_at updated_at',
  ],
  passwords: ['edge_password', 'password_id account_id hash created_at'],
});

/** The tables whose rows carry a MAC (Decision 0024). */
export const edgesGuardedTables = guarded.tables;

export const createEdgesGuards = guarded.create;

export type EdgesGuards = ReturnType<typeof createEdgesGuards>;
