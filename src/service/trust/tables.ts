import type { DirectAddress } from '../../lib/values/index.ts';
import type { MacColumn } from '../integrity/index.ts';
import type { OrganizationsTables } from '../organizations/index.ts';

/** The rows that this module owns. Times are milliseconds since 1970 (UTC). */
export interface TrustTables {
  /** One row, id 1. */
  trust_state: { id: number; revision: number };
  hosted_domain: OrganizationsTables['hosted_domain'];
  organization: OrganizationsTables['organization'];
  /** Domains that were removed and not added again, and whose they were. */
  removed_domain: MacColumn & { domain: string; organization_id: string; removed_at: number };
  hosted_address: MacColumn & {
    /** Lower-cased address, the key of every comparison (AS-02). */
    address_key: string;
    address: string;
    domain: string;
    status: AddressStatus;
    created_at: number;
  };
  /** How the identity behind an address was proven. Days are `YYYY-MM-DD`. */
  address_proofing: {
    address_key: string;
    level: string;
    method: string;
    proofed_on: string;
    /** Empty if it does not expire. */
    expires_on: string;
    verifier: string;
    reference: string;
    updated_at: number;
  };
  /** To whom the mail of an address is delivered here. */
  address_forwarding: MacColumn & {
    address_key: string;
    /** Lower-cased addresses, separated by blanks. */
    deliver_to: string;
    keeps_copy: number;
    begins_at: number | null;
    ends_at: number | null;
  };
  key_pair: MacColumn & {
    id: string;
    /** A domain, or a lower-cased address for an address-bound certificate. */
    owner: string;
    certificate: Uint8Array;
    fingerprint: string;
    /** PKCS #8, encrypted by the vault in the context `private-key:<id>`. */
    sealed_private_key: Uint8Array;
    /** A retired pair decrypts and never signs (AS-84). */
    status: 'active' | 'retired';
    created_at: number;
    /** Before it the pair is published and decrypts, and another one signs; null: no wait. */
    signs_from: number | null;
    /** From then on its successor signs; null: it has none. */
    signs_until: number | null;
    /** When it is retired; null: not before an operator does it. */
    retires_at: number | null;
  };
  /** Keys that wait for their certificate. */
  key_request: MacColumn & {
    id: string;
    /** A domain, or a lower-cased address under it. */
    owner: string;
    domain: string;
    /** PKCS #10, DER. */
    csr: Uint8Array;
    /** PKCS #8, encrypted by the vault in the context `key-request:<id>`. */
    sealed_private_key: Uint8Array;
    created_at: number;
  };
  trust_anchor: MacColumn & {
    id: string;
    domain: string;
    direction: AnchorDirection;
    certificate: Uint8Array;
    fingerprint: string;
    /** Empty for an anchor that the operator added by hand. */
    bundle_id: string;
    created_at: number;
  };
  trust_bundle: MacColumn & {
    id: string;
    domain: string;
    direction: AnchorDirection;
    url: string;
    /** DER of the certificate that must have signed the bundle; null for an unsigned one. */
    signer: Uint8Array | null;
    refresh_seconds: number;
    next_refresh_at: number;
    refreshed_at: number | null;
    checksum: string;
    etag: string;
    last_error: string;
    created_at: number;
  };
  /** Changes of a bundle's refresh. */
  trust_bundle_change: {
    id: string;
    bundle_id: string;
    at: number;
    /** JSON arrays of the subjects of certificates. */
    added: string;
    removed: string;
  };
}

/** A disabled address is known but takes no mail: the sender gets a failure DSN. */
export type AddressStatus = 'active' | 'disabled';

export interface HostedAddress {
  readonly address: DirectAddress;
  readonly status: AddressStatus;
}

/** Direction of mail that an anchor applies to: incoming, outgoing, or both (TRUST-03). */
export type AnchorDirection = 'incoming' | 'outgoing' | 'both';
