import type { EncryptedColumn } from '../../platform/index.ts';
import { guardTables } from '../integrity/index.ts';
import { createOrganizationsGuards } from '../organizations/index.ts';
import type { TrustTables } from './tables.ts';

/** The columns that the vault encrypts. */
export const trustEncryptedColumns: readonly EncryptedColumn[] = [
  { table: 'key_pair', key: 'id', column: 'sealed_private_key', context: (id) => `private-key:${id}` },
  { table: 'key_request', key: 'id', column: 'sealed_private_key', context: (id) => `key-request:${id}` },
];

const guarded = guardTables<TrustTables>()({
  addresses: ['hosted_address', 'address_key address domain status'],
  forwardings: ['address_forwarding', 'address_key deliver_to keeps_copy begins_at ends_at'],
  keys: [
    'key_pair',
    'id owner certificate fingerprint sealed_private_key status created_at signs_from signs_until ' +
      'retires_at',
  ],
  keyRequests: ['key_request', 'id owner domain csr sealed_private_key created_at'],
  anchors: ['trust_anchor', 'id domain direction certificate fingerprint bundle_id'],
  /** Without the columns that a refresh updates: its time and its outcome. */
  bundles: ['trust_bundle', 'id domain direction url signer'],
  /** Whose a domain was that is not hosted any more. */
  removedDomains: ['removed_domain', 'domain organization_id removed_at'],
});

/** The tables whose rows carry a MAC (Decision 0024), besides that of the domains. */
export const trustGuardedTables = guarded.tables;

export const createTrustGuards = (deps: Parameters<typeof guarded.create>[0]) => ({
  domains: createOrganizationsGuards(deps).domains,
  ...guarded.create(deps),
});

export type TrustGuards = ReturnType<typeof createTrustGuards>;
