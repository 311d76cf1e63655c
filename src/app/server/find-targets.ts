import type { DnsResolver } from '../../lib/dns/index.ts';
import { findSystemAddresses, type TargetOptions } from '../../lib/fetch/index.ts';

/** More addresses of one host are not tried. */
const maxAddressesPerHost = 16;

/**
 * The targets of a guarded fetch, found by the service's own resolver. The system's resolver holds a thread
 * for as long as a name server is silent, and two such threads are all there are: whoever names two hosts
 * with silent name servers, in a webhook or in a certificate, would hold up every other lookup. Only the
 * operator's own hosts are found by the system (hosts file, search domains), and all hosts
 * where private ones are allowed.
 */
export function findTargetsBy(
  dns: Pick<DnsResolver, 'resolveAddresses'>,
  { allowPrivate, allowedHosts = [] }: Pick<TargetOptions, 'allowPrivate' | 'allowedHosts'>,
): TargetOptions {
  const targets = { allowPrivate: allowPrivate === true, allowedHosts };
  if (targets.allowPrivate) return targets;
  const ownHosts = new Set(allowedHosts);
  return {
    ...targets,
    async findAddresses(name) {
      const host = name.replace(/\.$/, '');
      if (ownHosts.has(host)) return findSystemAddresses(host);
      return (await dns.resolveAddresses(host)).records.slice(0, maxAddressesPerHost);
    },
  };
}
