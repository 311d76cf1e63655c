import type { DnsRecord } from '../../src/lib/dns/index.ts';

/** The SOA record of a zone of a test; absent names are cached for one minute. */
export function soaOf(zone: string): DnsRecord {
  const data = {
    primaryServer: `ns.${zone}`,
    mailbox: `hostmaster.${zone}`,
    serial: 1,
    refreshSeconds: 3600,
    retrySeconds: 600,
    expireSeconds: 86_400,
    minimumSeconds: 60,
  };
  return { name: zone, type: 'SOA', ttlSeconds: 300, data };
}
