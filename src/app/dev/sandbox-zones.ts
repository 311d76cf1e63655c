import {
  certificateTypes,
  createStaticZone,
  type DnsRecord,
  type DnsZone,
  type SoaRecord,
} from '../../lib/dns/index.ts';
import type { Certificate } from '../../lib/pki/index.ts';

const ttlSeconds = 60;

/** `zone`: '' for the root. */
function soaOf(zone: string): SoaRecord {
  const below = (label: string): string => (zone === '' ? label : `${label}.${zone}`);
  return {
    primaryServer: below('ns'),
    mailbox: below('hostmaster'),
    serial: 1,
    refreshSeconds: 3600,
    retrySeconds: 600,
    expireSeconds: 86_400,
    minimumSeconds: ttlSeconds,
  };
}

/**
 * The zones with a root above them, as a resolver sees the DNS: a name outside them does not exist, where
 * their own name server would refuse it. Names above a zone exist, without records (RFC 8020 §2).
 */
export function withRootZone(zones: readonly DnsZone[]): readonly DnsZone[] {
  const apexes = zones.map(({ name }) => name.toLowerCase());
  const root: DnsZone = {
    name: '',
    findRecords(name) {
      if (name === '') return [{ name, type: 'SOA', ttlSeconds, data: soaOf(name) }];
      return apexes.some((apex) => apex.endsWith(`.${name}`)) ? [] : undefined;
    },
  };
  return [root, ...zones];
}

/** A zone of the world outside our HISPs: a mail server, and a certificate for the domain if it has one. */
export function createOutsideZone(options: {
  readonly domain: string;
  readonly mailHost: string;
  /** Answered for the mail host, if it lies inside this zone. */
  readonly mailAddress?: string;
  readonly certificate?: Certificate;
}): DnsZone {
  const { domain, mailHost, mailAddress, certificate } = options;
  const records: DnsRecord[] = [
    { name: domain, type: 'SOA', ttlSeconds, data: soaOf(domain) },
    { name: domain, type: 'NS', ttlSeconds, data: `ns.${domain}` },
    { name: domain, type: 'MX', ttlSeconds, data: { priority: 10, exchange: mailHost } },
  ];
  if (mailAddress !== undefined) records.push({ name: mailHost, type: 'A', ttlSeconds, data: mailAddress });
  if (certificate !== undefined) {
    const data = { certificateType: certificateTypes.pkix, keyTag: 0, algorithm: 0, data: certificate.der };
    records.push({ name: domain, type: 'CERT', ttlSeconds, data });
  }
  return createStaticZone(domain, records);
}
