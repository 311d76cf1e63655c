import type { AnyTransaction, Storage } from '../../platform/index.ts';
import type { Clock } from '../../core/index.ts';
import type { Audit } from '../audit/index.ts';
import { unlistHostedAddress } from '../directory/index.ts';
import type { ClientStore } from '../oauth/index.ts';
import type { Organizations } from '../organizations/index.ts';
import type { Trust } from '../trust/index.ts';

export interface ClosingDependencies {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly audit: Audit;
  readonly organizations: Organizations;
  readonly clients: Pick<ClientStore, 'disableAllIn'>;
  readonly trust: Pick<Trust, 'endKeysIn' | 'keepKeysIn' | 'listAddresses'>;
}

export interface ClosedOrganization {
  readonly closedAt: Date;
  readonly domains: readonly string[];
  /** Those that were enabled until now. */
  readonly clients: readonly string[];
  /** Taken out of the directory now. */
  readonly unlisted: number;
}

const addressesPerCheck = 100;

/**
 * Closes an organization: from the end of the transaction its mail is refused and its clients are disabled;
 * its keys sign what is still queued until they are retired. Contents stay as long as the retention says.
 * Then its addresses are taken out of the directory, unless it is opened again meanwhile. Done again it
 * finishes what was left. Throws ORGANIZATION_UNKNOWN, ORGANIZATION_BUILT_IN, ORGANIZATION_SETTINGS_INVALID.
 */
export async function closeOrganization(
  deps: ClosingDependencies,
  id: string,
  reason: string,
): Promise<ClosedOrganization> {
  const closed = await deps.storage.transaction(async (tx: AnyTransaction) => {
    const closedAt = await deps.organizations.closeIn(tx, id, reason);
    const clients = await deps.clients.disableAllIn(tx, id);
    return { closedAt, clients, domains: await deps.trust.endKeysIn(tx, id, closedAt) };
  });
  const isStillClosed = async (): Promise<boolean> =>
    (await deps.organizations.get(id)).closedAt?.getTime() === closed.closedAt.getTime();
  let unlisted = 0;
  for (const domain of closed.domains)
    for (const [index, { address }] of (await deps.trust.listAddresses(domain)).entries()) {
      // What an operator lists after opening it again must stay.
      if (index % addressesPerCheck === 0 && !(await isStillClosed())) return { ...closed, unlisted };
      if (await unlistHostedAddress(deps, address)) unlisted++;
    }
  return { ...closed, unlisted };
}

/**
 * Opens it again: mail is accepted, and keys that are not retired yet stay. Clients and the entries of the
 * directory come back one by one, by who knows which. Returns the number of keys that stay; undefined if
 * it was open.
 */
export async function reopenOrganization(
  deps: Pick<ClosingDependencies, 'storage' | 'organizations' | 'trust'>,
  id: string,
): Promise<number | undefined> {
  return deps.storage.transaction(async (tx: AnyTransaction) => {
    const closedAt = await deps.organizations.reopenIn(tx, id);
    return closedAt === undefined ? undefined : await deps.trust.keepKeysIn(tx, id, closedAt);
  });
}
