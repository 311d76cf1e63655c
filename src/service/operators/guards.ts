import { guardTables } from '../integrity/index.ts';
import type { OperatorTables } from './tables.ts';

const guarded = guardTables<OperatorTables>()({
  operators: [
    'console_operator',
    'id name name_key role organization_id subject disabled_at created_at updated_at',
  ],
  passkeys: [
    'console_passkey',
    'id operator_id public_key counter transports is_backed_up created_at last_used_at',
  ],
  links: ['console_link', 'token_hash operator_id purpose created_at expires_at used_at'],
  sessions: [
    'console_session',
    'id token_hash operator_id method passkey_id remote_address user_agent created_at seen_at expires_at',
  ],
  tokens: ['console_token', 'id token_hash operator_id label created_at expires_at'],
});

/** The tables whose rows carry a MAC (Decision 0024). */
export const operatorsGuardedTables = guarded.tables;

export const createOperatorGuards = guarded.create;

export type OperatorGuards = ReturnType<typeof createOperatorGuards>;
