import type { EncryptedColumn } from '../../platform/index.ts';
import { createRowGuard, type GuardedTable, type RowGuard } from '../integrity/index.ts';
import { createOrganizationsGuards, type DomainGuard } from '../organizations/index.ts';
import type { TrustTables } from './tables.ts';

const addresses: GuardedTable = {
  table: 'hosted_address',
  key: 'address_key',
  columns: ['address_key', 'address', 'domain', 'status'],
};
const forwardings: GuardedTable = {
  table: 'address_forwarding',
  key: 'address_key',
  columns: ['address_key', 'deliver_to', 'keeps_copy', 'begins_at', 'ends_at'],
};
const keys: GuardedTable = {
  table: 'key_pair',
  key: 'id',
  columns: [
    'id',
    'owner',
    'certificate',
    'fingerprint',
    'sealed_private_key',
    'status',
    'created_at',
    'signs_from',
    'signs_until',
    'retires_at',
  ],
};
const keyRequests: GuardedTable = {
  table: 'key_request',
  key: 'id',
  columns: ['id', 'owner', 'domain', 'csr', 'sealed_private_key', 'created_at'],
};
const anchors: GuardedTable = {
  table: 'trust_anchor',
  key: 'id',
  columns: ['id', 'domain', 'direction', 'certificate', 'fingerprint', 'bundle_id'],
};
/** Without the columns that a refresh updates: its time and its outcome. */
const bundles: GuardedTable = {
  table: 'trust_bundle',
  key: 'id',
  columns: ['id', 'domain', 'direction', 'url', 'signer'],
};

/** Whose a domain was that is not hosted any more. */
const removedDomains: GuardedTable = {
  table: 'removed_domain',
  key: 'domain',
  columns: ['domain', 'organization_id', 'removed_at'],
};

/** The columns that the vault encrypts. */
export const trustEncryptedColumns: readonly EncryptedColumn[] = [
  { table: 'key_pair', key: 'id', column: 'sealed_private_key', context: (id) => `private-key:${id}` },
  { table: 'key_request', key: 'id', column: 'sealed_private_key', context: (id) => `key-request:${id}` },
];

/** The tables whose rows carry a MAC (Decision 0024), besides that of the domains. */
export const trustGuardedTables: readonly GuardedTable[] = [
  addresses,
  forwardings,
  keys,
  keyRequests,
  anchors,
  bundles,
  removedDomains,
];

export interface TrustGuards {
  readonly domains: DomainGuard;
  readonly addresses: RowGuard<TrustTables['hosted_address']>;
  readonly forwardings: RowGuard<TrustTables['address_forwarding']>;
  readonly keys: RowGuard<TrustTables['key_pair']>;
  readonly keyRequests: RowGuard<TrustTables['key_request']>;
  readonly anchors: RowGuard<TrustTables['trust_anchor']>;
  readonly bundles: RowGuard<TrustTables['trust_bundle']>;
  readonly removedDomains: RowGuard<TrustTables['removed_domain']>;
}

export function createTrustGuards(deps: Parameters<typeof createRowGuard>[0]): TrustGuards {
  return {
    domains: createOrganizationsGuards(deps).domains,
    addresses: createRowGuard(deps, addresses),
    forwardings: createRowGuard(deps, forwardings),
    keys: createRowGuard(deps, keys),
    keyRequests: createRowGuard(deps, keyRequests),
    anchors: createRowGuard(deps, anchors),
    bundles: createRowGuard(deps, bundles),
    removedDomains: createRowGuard(deps, removedDomains),
  };
}
