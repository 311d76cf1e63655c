import type { MacColumn } from '../integrity/index.ts';

/** The rows of this service, as stored. */
export interface OauthTables {
  oauth_client: MacColumn & {
    client_id: string;
    organization_id: string;
    name: string;
    /** One salt for all secrets of a client, so that checking one costs one hash however many there are. */
    secret_salt: Uint8Array;
    /** scrypt's N. */
    secret_cost: number;
    /** Space-delimited. */
    scopes: string;
    /** JSON array. */
    direct_addresses: string;
    /** JSON object, see ClientLimits. */
    limits: string;
    requests_final_delivery: number;
    data_use_accepted_at: number | null;
    disabled_at: number | null;
    created_at: number;
    updated_at: number;
  };
  oauth_secret: MacColumn & {
    secret_id: string;
    client_id: string;
    hash: Uint8Array;
    created_at: number;
  };
  oauth_token: MacColumn & {
    /** SHA-256 of the token; the token itself is stored nowhere (OAUTH-11). */
    token_hash: Uint8Array;
    client_id: string;
    scopes: string;
    secret_id: string;
    issued_at: number;
    expires_at: number;
  };
}
