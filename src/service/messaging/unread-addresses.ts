import { addressKey, domainOf, type DirectAddress } from '../../lib/values/index.ts';
import type { ClientStore } from '../oauth/index.ts';
import type { Route, Trust } from '../trust/index.ts';

/**
 * True if an enabled client may fetch what the address receives, or somebody to whom it is delivered. Edge
 * accounts are covered by that: one can be used only while its client is enabled, and reads only addresses of
 * its client.
 */
export async function isRouteRead(
  clients: Pick<ClientStore, 'findOwned'>,
  address: DirectAddress,
  { keepsCopy, deliverTo }: Route,
): Promise<boolean> {
  const owned = await clients.findOwned('messaging.api');
  return [...(keepsCopy ? [address] : []), ...deliverTo].some((one) => isOwned(owned, one));
}

const isOwned = (owned: ReadonlySet<string>, address: DirectAddress): boolean =>
  owned.has(`@${domainOf(address)}`) || owned.has(addressKey(address));

export interface UnreadSources {
  readonly trust: Pick<Trust, 'listDomains' | 'listAddresses' | 'findForwardings' | 'findRoute'>;
  readonly clients: Pick<ClientStore, 'findOwned'>;
}

/**
 * The active addresses of a domain whose mail no enabled client may fetch: what comes for them is answered as
 * processed and stays, unless `messaging.refusesUnreadMail` refuses it.
 */
export async function listUnread(
  {
    trust,
    clients,
  }: Pick<UnreadSources, 'clients'> & {
    readonly trust: Pick<Trust, 'listAddresses' | 'findForwardings' | 'findRoute'>;
  },
  domain: string,
): Promise<readonly DirectAddress[]> {
  const owned = await clients.findOwned('messaging.api');
  if (owned.has(`@${domain}`)) return [];
  const found = (await trust.listAddresses(domain)).flatMap(({ address, status }) =>
    status === 'active' && !isOwned(owned, address) ? address : [],
  );
  const rules = await trust.findForwardings(found);
  const unread: DirectAddress[] = [];
  for (const address of found) {
    const deliverTo = rules.has(addressKey(address)) ? (await trust.findRoute(address)).deliverTo : [];
    if (!deliverTo.some((one) => isOwned(owned, one))) unread.push(address);
  }
  return unread;
}

/** The same of several domains, all by default; those without any are absent. */
export async function listAllUnread(
  sources: UnreadSources,
  domains?: readonly string[],
): Promise<ReadonlyMap<string, readonly DirectAddress[]>> {
  const unread = new Map<string, readonly DirectAddress[]>();
  for (const domain of domains ?? (await sources.trust.listDomains())) {
    const addresses = await listUnread(sources, domain);
    if (addresses.length > 0) unread.set(domain, addresses);
  }
  return unread;
}

const shownAddresses = 3;

/** One sentence for operators, with the first addresses. */
export function describeUnread(domain: string, addresses: readonly DirectAddress[]): string {
  const shown = addresses.slice(0, shownAddresses).join(', ');
  const rest = addresses.length - shownAddresses;
  const all = rest > 0 ? `${shown} and ${rest} more of ${domain}` : shown;
  return `Nobody reads the mail of ${all}: no enabled client has ${addresses.length === 1 ? 'the address' : 'these addresses'}.`;
}
