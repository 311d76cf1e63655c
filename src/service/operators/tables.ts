import type { MacColumn } from '../integrity/index.ts';
import type { Role } from './roles.ts';

/** The sign-in method. */
export type SignInMethod = 'passkey' | 'link' | 'oidc';

/** The purpose of a link: registering a passkey, or signing in once. */
export type LinkPurpose = 'enrol' | 'sign-in';

/** The rows of this service, as stored. */
export interface OperatorTables {
  console_operator: MacColumn & {
    id: string;
    name: string;
    /** Equal for names that look alike (`nameKeyOf`), so that no operator can imitate another's name. */
    name_key: string;
    role: Role;
    /** That the operator administers; null: all of this HISP. */
    organization_id: string | null;
    /** Issuer and subject of an OpenID provider; null for operators that were created here. */
    subject: string | null;
    disabled_at: number | null;
    created_at: number;
    updated_at: number;
  };
  console_passkey: MacColumn & {
    /** The credential id, base64url. */
    id: string;
    operator_id: string;
    /** Given by the operator, empty at first. It lets nobody in, so the MAC does not cover it. */
    name: string;
    /** COSE key. */
    public_key: Uint8Array;
    counter: number;
    /** Comma-separated. */
    transports: string;
    is_backed_up: number;
    created_at: number;
    last_used_at: number | null;
  };
  console_link: MacColumn & {
    /** SHA-256; in no table is a credential stored in plain form. */
    token_hash: Uint8Array;
    operator_id: string;
    purpose: LinkPurpose;
    created_at: number;
    expires_at: number;
    used_at: number | null;
  };
  console_session: MacColumn & {
    /** The id of the session in lists; it grants no access. */
    id: string;
    token_hash: Uint8Array;
    operator_id: string;
    method: SignInMethod;
    /** The passkey with which it began; null for other methods. It ends when that is removed. */
    passkey_id: string | null;
    remote_address: string;
    user_agent: string;
    created_at: number;
    /** Time of the last activity; at most one minute behind. */
    seen_at: number;
    expires_at: number;
  };
  console_token: MacColumn & {
    id: string;
    token_hash: Uint8Array;
    operator_id: string;
    label: string;
    created_at: number;
    expires_at: number;
  };
  console_ceremony: {
    id_hash: Uint8Array;
    /** `add:` and the id of the operator who adds a passkey. */
    kind: 'enrol' | 'passkey' | 'oidc' | `add:${string}`;
    challenge: string;
    expires_at: number;
  };
}
