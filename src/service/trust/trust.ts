import type { Clock } from '../../core/index.ts';
import type { Storage, Vault } from '../../platform/index.ts';
import { createAddresses, type Addresses } from './addresses.ts';
import { createAnchors, type Anchors } from './anchors.ts';
import { createBundles, type Bundles } from './bundles.ts';
import { createKeys, type Keys } from './keys.ts';

export type Trust = Addresses & Keys & Anchors & Bundles;

export interface TrustParts {
  readonly storage: Storage;
  readonly vault: Vault;
  readonly clock: Clock;
}

/** Opens our domains, addresses, keys and anchors over a migrated storage. */
export function createTrust({ storage, vault, clock }: TrustParts): Trust {
  return {
    ...createAddresses(storage, clock),
    ...createKeys(storage, vault, clock),
    ...createAnchors(storage, clock),
    ...createBundles(storage, clock),
  };
}
