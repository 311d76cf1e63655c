import { createLookups, type Vault } from '../../platform/index.ts';
import { createAddresses, type Addresses } from './addresses.ts';
import { createAnchors, type Anchors } from './anchors.ts';
import { createBundles, type Bundles } from './bundles.ts';
import type { TrustStore } from './change.ts';
import { createKeyDates, type KeyDates } from './key-dates.ts';
import { createKeys, type Keys } from './keys.ts';

export type Trust = Addresses & Keys & KeyDates & Anchors & Bundles;

export interface TrustParts extends Omit<TrustStore, 'lookups'> {
  readonly vault: Vault;
}

/** Opens our domains, addresses, keys and anchors over a migrated storage. Every change leaves an audit row. */
export function createTrust({ vault, ...parts }: TrustParts): Trust {
  const store: TrustStore = { ...parts, lookups: createLookups(parts.storage, 'trust') };
  return {
    ...createAddresses(store),
    ...createKeys(store, vault),
    ...createKeyDates(store),
    ...createAnchors(store),
    ...createBundles(store),
  };
}
