import type { AnyTransaction, Storage } from '../../platform/index.ts';
import type { Clock } from '../../core/index.ts';
import { addressKey, type DirectAddress } from '../../lib/values/index.ts';
import type { Audit } from '../audit/index.ts';
import { prepareUnlisting } from '../directory/index.ts';
import { requireHostedDomain, type DomainRemoval, type Trust } from '../trust/index.ts';

export interface RemovalDependencies {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly audit: Audit;
  readonly trust: Pick<
    Trust,
    'isHostedDomain' | 'listAddresses' | 'prepareAddresses' | 'refuseRemoval' | 'removeDomainIn'
  >;
}

/**
 * Disables all addresses of a domain and takes them out of the directory, in one transaction: nothing new is
 * sent or received, and what is under way finishes. Returns those that were active, which are those to enable
 * again to undo it. Throws TRUST_DOMAIN_UNKNOWN.
 */
export async function disableDomain(
  deps: RemovalDependencies,
  name: string,
): Promise<readonly DirectAddress[]> {
  const domain = await requireHostedDomain(deps.trust, name);
  const known = await deps.trust.listAddresses(domain);
  const disabled = known.map(({ address }) => ({ address, status: 'disabled' as const }));
  const addresses = await deps.trust.prepareAddresses(disabled);
  const unlistIn = await prepareUnlisting(deps);
  return deps.storage.transaction(async (tx: AnyTransaction) => {
    await unlistIn(
      tx,
      known.map(({ address }) => addressKey(address)),
    );
    const outcomes = await addresses.storeIn(tx, false);
    return disabled.flatMap(({ address }, index) => (outcomes[index] === 'unchanged' ? [] : [address]));
  });
}

/**
 * Removes a domain with its addresses and their directory entries, anchors and bundles, in one transaction.
 * Messages, evidence, usage and the audit trail stay. See `Trust.removeDomainIn` for what it throws.
 */
export async function removeDomain(deps: RemovalDependencies, name: string): Promise<DomainRemoval> {
  await deps.trust.refuseRemoval(name);
  const unlistIn = await prepareUnlisting(deps);
  return deps.storage.transaction((tx: AnyTransaction) =>
    deps.trust.removeDomainIn(tx, name, (keys) => unlistIn(tx, keys)),
  );
}
