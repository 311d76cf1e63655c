import { guardTables } from '../integrity/index.ts';
import type { OauthTables } from './tables.ts';

const guarded = guardTables<OauthTables>()({
  clients: [
    'oauth_client',
    'client_id organization_id name secret_salt secret_cost scopes direct_addresses limits ' +
      'requests_final_delivery data_use_accepted_at disabled_at created_at updated_at',
  ],
  secrets: ['oauth_secret', 'secret_id client_id hash created_at'],
  tokens: ['oauth_token', 'token_hash client_id scopes secret_id issued_at expires_at'],
});

/** The tables whose rows carry a MAC (Decision 0024). */
export const oauthGuardedTables = guarded.tables;

export const createOauthGuards = guarded.create;

export type OauthGuards = ReturnType<typeof createOauthGuards>;
