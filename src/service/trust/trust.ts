import { createLookups, type Vault } from '../../platform/index.ts';
import type { Audit } from '../audit/index.ts';
import { createFindHolder } from '../oauth/index.ts';
import { createOrganizationsGuards, createOwnership } from '../organizations/index.ts';
import { createAddresses, type Addresses } from './addresses.ts';
import { createAnchorDates, type AnchorDates } from './anchor-dates.ts';
import { createAnchors, type Anchors } from './anchors.ts';
import { createBundles, type Bundles } from './bundles.ts';
import type { TrustStore } from './change.ts';
import { createClosing, type Closing } from './closing.ts';
import { createTrustGuards } from './guards.ts';
import type { TrustTables } from './tables.ts';
import { createForwardings, type Forwardings } from './forwarding.ts';
import { createKeyDates, type KeyDates } from './key-dates.ts';
import { createKeyRenewals, type KeyRenewals } from './key-renewals.ts';
import { createKeyRequests, type KeyRequests } from './key-requests.ts';
import { createKeys, type Keys } from './keys.ts';
import { createProofings, type Proofings } from './proofing.ts';
import { createRemoval, type Removal } from './removal.ts';

export interface Revisions {
  /**
   * Counts every change of domains, addresses, keys and anchors, on all nodes; at most a second old. Data
   * read after it are at least as new.
   */
  findRevision(): Promise<number>;
}

interface Acting {
  /** The same for one operator, such as `operator:alice`, or client, whom the audit trail names. */
  as(...actor: Parameters<Audit['as']>): Trust;
}

export type Trust = Addresses &
  Keys &
  KeyRequests &
  KeyRenewals &
  KeyDates &
  Anchors &
  AnchorDates &
  Bundles &
  Proofings &
  Forwardings &
  Closing &
  Removal &
  Revisions &
  Acting;

export interface TrustDependencies extends Omit<
  TrustStore,
  'lookups' | 'guards' | 'ownership' | 'findHolder'
> {
  readonly vault: Vault;
}

/**
 * Opens our domains, addresses, keys and anchors over a migrated storage. Every change leaves an audit row.
 */
export function createTrust({ vault, ...deps }: TrustDependencies): Trust {
  const guarding = { vault, audit: deps.audit };
  const store: TrustStore = {
    ...deps,
    lookups: createLookups(deps.storage, 'trust'),
    guards: createTrustGuards(guarding),
    ownership: createOwnership({ storage: deps.storage, guards: createOrganizationsGuards(guarding) }),
    findHolder: createFindHolder(guarding),
  };
  return openTrust(store, vault);
}

function openTrust(store: TrustStore, vault: Vault): Trust {
  const addresses = createAddresses(store);
  const keys = createKeys(store, vault);
  const requests = createKeyRequests(store, vault, keys);
  return {
    ...addresses,
    ...createForwardings(store, addresses.findAddress),
    ...keys,
    ...requests,
    ...createKeyRenewals(store, requests),
    ...createKeyDates(store),
    ...createAnchors(store),
    ...createAnchorDates(store),
    ...createBundles(store),
    ...createProofings(store),
    ...createClosing(store),
    ...createRemoval(store),
    ...createRevisions(store),
    as: (...actor) => openTrust({ ...store, audit: store.audit.as(...actor) }, vault),
  };
}

function createRevisions({ storage, lookups }: TrustStore): Revisions {
  let seen: number | undefined;

  async function readRevision(): Promise<number> {
    const { revision } = await storage
      .tables<TrustTables>()
      .selectFrom('trust_state')
      .select('revision')
      .executeTakeFirstOrThrow();
    // The cached data may be of the previous revision.
    if (seen !== undefined && seen !== revision) lookups.clear();
    seen = revision;
    return revision;
  }

  return { findRevision: () => lookups.find('revision', readRevision) };
}
