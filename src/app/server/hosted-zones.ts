import { isIPv6 } from 'node:net';
import { systemClock, type Clock } from '../../core/index.ts';
import type { DnsRecord, DnsZone, ListZones } from '../../lib/dns/index.ts';
import { certificateTypes } from '../../lib/dns/index.ts';
import { addressDnsName, findDirectAddress } from '../../lib/values/index.ts';
import type { Trust } from '../../service/trust/index.ts';
import { followPublishedKeys, type PublishedKeys } from './published-keys.ts';

export interface HostedZonesOptions {
  readonly trust: Trust;
  /** The name of our mail server, which MX records point at. */
  readonly mailHostname: string;
  /**
   * Its IP addresses, answered when its name lies inside a hosted zone; empty if another server knows them.
   */
  readonly mailAddresses?: readonly string[];
  /** The LDAP server that also publishes certificates (HOST-03). */
  readonly ldap?: { readonly hostname: string; readonly port: number };
  readonly ttlSeconds?: number;
  readonly clock?: Clock;
}

/**
 * The zones of our hosted domains as they stand at the time of the call: SOA, NS and MX at the apex, CERT for
 * the domain and for each address-bound certificate, SRV for LDAP (HOST-01, HOST-02, HOST-04).
 */
export function createHostedZones(options: HostedZonesOptions): ListZones {
  const publishedKeys = followPublishedKeys(options.trust, options.clock ?? systemClock);
  let of: PublishedKeys | undefined;
  let zones: readonly DnsZone[] = [];
  return async () => {
    const keys = await publishedKeys();
    if (keys !== of) zones = keys.domains.map((domain) => createZone(domain, keys, options));
    of = keys;
    return zones;
  };
}

/** Serial numbers are 32 bits wide and never 0 (RFC 1982 §3). */
function serialOf(revision: number): number {
  return ((revision - 1) % 0xffff_ffff) + 1;
}

function createZone(domain: string, keys: PublishedKeys, options: HostedZonesOptions): DnsZone {
  const ttlSeconds = options.ttlSeconds ?? 300;
  let namesAbove: Promise<ReadonlySet<string>> | undefined;

  async function findCertificates(name: string, owner: string): Promise<DnsRecord[]> {
    const certificates = await keys.findPublished(owner);
    return certificates.map((data) => ({
      name,
      type: 'CERT',
      ttlSeconds,
      data: { certificateType: certificateTypes.pkix, keyTag: 0, algorithm: 0, data },
    }));
  }

  function findApex(): DnsRecord[] {
    return [
      {
        name: domain,
        type: 'SOA',
        ttlSeconds,
        data: {
          primaryServer: options.mailHostname,
          mailbox: `hostmaster.${domain}`,
          serial: serialOf(keys.revision),
          refreshSeconds: 3600,
          retrySeconds: 600,
          expireSeconds: 86_400,
          minimumSeconds: Math.min(ttlSeconds, 300),
        },
      },
      { name: domain, type: 'NS', ttlSeconds, data: options.mailHostname },
      { name: domain, type: 'MX', ttlSeconds, data: { priority: 10, exchange: options.mailHostname } },
    ];
  }

  async function findRecords(name: string): Promise<readonly DnsRecord[] | undefined> {
    if (name === domain) return [...findApex(), ...(await findCertificates(name, domain))];
    const records: DnsRecord[] = [];
    if (name === options.mailHostname.toLowerCase()) {
      for (const data of options.mailAddresses ?? [])
        records.push({ name, type: isIPv6(data) ? 'AAAA' : 'A', ttlSeconds, data });
    }
    if (name === `_ldap._tcp.${domain}` && options.ldap !== undefined) {
      const { hostname: target, port } = options.ldap;
      records.push({ name, type: 'SRV', ttlSeconds, data: { priority: 0, weight: 0, port, target } });
    }
    // The labels before the domain are the local part, dots included (DISC-02).
    const address = findDirectAddress(`${name.slice(0, -domain.length - 1)}@${domain}`);
    if (address !== undefined) records.push(...(await findCertificates(name, address)));
    return records.length > 0 || (await isAbove(name)) ? records : undefined;
  }

  /** True for a name that has no records itself but stands above one that has (RFC 8020 §2). */
  async function isAbove(name: string): Promise<boolean> {
    const reading = (namesAbove ??= findNamesAbove());
    try {
      return (await reading).has(name);
    } catch (error) {
      if (namesAbove === reading) namesAbove = undefined;
      throw error;
    }
  }

  async function findNamesAbove(): Promise<ReadonlySet<string>> {
    const hosted = await options.trust.listAddresses(domain);
    const names = [options.mailHostname, ...hosted.map(({ address }) => addressDnsName(address))];
    if (options.ldap !== undefined) names.push(`_ldap._tcp.${domain}`);
    const above = new Set<string>();
    for (const name of names)
      for (let dot = name.indexOf('.'); dot >= 0; dot = name.indexOf('.', dot + 1))
        above.add(name.slice(dot + 1));
    return above;
  }

  return { name: domain, findRecords };
}
