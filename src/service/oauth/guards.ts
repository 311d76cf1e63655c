import { createRowGuard, type GuardedTable, type RowGuard } from '../integrity/index.ts';
import type { OauthTables } from './tables.ts';

const clients: GuardedTable = {
  table: 'oauth_client',
  key: 'client_id',
  columns: [
    'client_id',
    'organization_id',
    'name',
    'secret_salt',
    'secret_cost',
    'scopes',
    'direct_addresses',
    'limits',
    'requests_final_delivery',
    'data_use_accepted_at',
    'disabled_at',
    'created_at',
    'updated_at',
  ],
};
const secrets: GuardedTable = {
  table: 'oauth_secret',
  key: 'secret_id',
  columns: ['secret_id', 'client_id', 'hash', 'created_at'],
};
const tokens: GuardedTable = {
  table: 'oauth_token',
  key: 'token_hash',
  columns: ['token_hash', 'client_id', 'scopes', 'secret_id', 'issued_at', 'expires_at'],
};

/** The tables whose rows carry a MAC (Decision 0024). */
export const oauthGuardedTables: readonly GuardedTable[] = [clients, secrets, tokens];

export interface OauthGuards {
  readonly clients: RowGuard<OauthTables['oauth_client']>;
  readonly secrets: RowGuard<OauthTables['oauth_secret']>;
  readonly tokens: RowGuard<OauthTables['oauth_token']>;
}

export function createOauthGuards(deps: Parameters<typeof createRowGuard>[0]): OauthGuards {
  return {
    clients: createRowGuard(deps, clients),
    secrets: createRowGuard(deps, secrets),
    tokens: createRowGuard(deps, tokens),
  };
}
