import { createRowGuard, type GuardedTable, type RowGuard } from '../integrity/index.ts';
import type { OperatorTables } from './tables.ts';

const operators: GuardedTable = {
  table: 'console_operator',
  key: 'id',
  columns: [
    'id',
    'name',
    'name_key',
    'role',
    'organization_id',
    'subject',
    'disabled_at',
    'created_at',
    'updated_at',
  ],
};
const passkeys: GuardedTable = {
  table: 'console_passkey',
  key: 'id',
  columns: [
    'id',
    'operator_id',
    'public_key',
    'counter',
    'transports',
    'is_backed_up',
    'created_at',
    'last_used_at',
  ],
};
const links: GuardedTable = {
  table: 'console_link',
  key: 'token_hash',
  columns: ['token_hash', 'operator_id', 'purpose', 'created_at', 'expires_at', 'used_at'],
};
const sessions: GuardedTable = {
  table: 'console_session',
  key: 'id',
  columns: [
    'id',
    'token_hash',
    'operator_id',
    'method',
    'passkey_id',
    'remote_address',
    'user_agent',
    'created_at',
    'seen_at',
    'expires_at',
  ],
};
const tokens: GuardedTable = {
  table: 'console_token',
  key: 'id',
  columns: ['id', 'token_hash', 'operator_id', 'label', 'created_at', 'expires_at'],
};

/** The tables whose rows carry a MAC (Decision 0024). */
export const operatorsGuardedTables: readonly GuardedTable[] = [operators, passkeys, links, sessions, tokens];

export interface OperatorGuards {
  readonly operators: RowGuard<OperatorTables['console_operator']>;
  readonly passkeys: RowGuard<OperatorTables['console_passkey']>;
  readonly links: RowGuard<OperatorTables['console_link']>;
  readonly sessions: RowGuard<OperatorTables['console_session']>;
  readonly tokens: RowGuard<OperatorTables['console_token']>;
}

export function createOperatorGuards(parts: Parameters<typeof createRowGuard>[0]): OperatorGuards {
  return {
    operators: createRowGuard(parts, operators),
    passkeys: createRowGuard(parts, passkeys),
    links: createRowGuard(parts, links),
    sessions: createRowGuard(parts, sessions),
    tokens: createRowGuard(parts, tokens),
  };
}
