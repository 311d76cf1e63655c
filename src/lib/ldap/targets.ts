import type { DnsResolver } from '../dns/index.ts';
import { maxTargets } from './limits.ts';

/** Example: `{ host: 'ldap1.example.org', port: 10389, priority: 0, weight: 100 }`. */
export interface LdapTarget {
  /** Host name or IP address. */
  readonly host: string;
  readonly port: number;
  readonly priority: number;
  readonly weight: number;
}

/**
 * The LDAP servers that a domain announces by SRV, in the order to try them: priority ascending, then the
 * highest weight first, always the same way (DISC-06, where the public tools depart from RFC 2782). Empty
 * when there are none. Throws a transient `DnsError` when the DNS could not answer.
 */
export async function findLdapTargets(
  domain: string,
  dns: Pick<DnsResolver, 'resolveSrv'>,
): Promise<readonly LdapTarget[]> {
  const answer = await dns.resolveSrv(`_ldap._tcp.${domain}`);
  return answer.records
    .filter((record) => record.target !== '')
    .map(({ target, port, priority, weight }) => ({ host: target, port, priority, weight }))
    .sort((a, b) => a.priority - b.priority || b.weight - a.weight)
    .slice(0, maxTargets);
}
