import {
  certificateTypes,
  createStaticZone,
  type DnsRecord,
  type DnsZone,
  type SoaRecord,
} from '../../lib/dns/index.ts';
import type { Certificate } from '../../lib/pki/index.ts';

const ttlSeconds = 60;

/** A zone of the world outside our HISPs: a mail server, and a certificate for the domain if it has one. */
export function createOutsideZone(options: {
  readonly domain: string;
  readonly mailHost: string;
  /** Answered for the mail host, if it lies inside this zone. */
  readonly mailAddress?: string;
  readonly certificate?: Certificate;
}): DnsZone {
  const { domain, mailHost, mailAddress, certificate } = options;
  const soa: SoaRecord = {
    primaryServer: `ns.${domain}`,
    mailbox: `hostmaster.${domain}`,
    serial: 1,
    refreshSeconds: 3600,
    retrySeconds: 600,
    expireSeconds: 86_400,
    minimumSeconds: ttlSeconds,
  };
  const records: DnsRecord[] = [
    { name: domain, type: 'SOA', ttlSeconds, data: soa },
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
