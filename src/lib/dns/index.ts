/**
 * DNS: a caching stub resolver for certificate discovery and mail routing, and an authoritative server that
 * publishes hosted domains (RFC 1035, 2181, 2308, 2782, 4343, 4398, 5452, 6891, 7766, 8482).
 *
 * Written on its own message codec: record data is bounded by its announced length, octets of names survive,
 * and odd records next to the answer do no harm. Not here: recursion from the root (a recursive server is
 * asked), DNSSEC validation (trust in Direct comes from certificate paths), zone transfers, updates. Called
 * by `lib/ldap` (SRV), `lib/smtp` (MX), `lib/direct` (CERT), the server and the sandbox world.
 */
export type { DnsAnswer } from './answer.ts';
export { DnsError } from './errors.ts';
export type { DnsServerAddress } from './exchange.ts';
export {
  certificateTypes,
  type CertRecord,
  type DnsRecord,
  type MxRecord,
  type SoaRecord,
  type SrvRecord,
} from './records.ts';
export { createDnsResolver, type DnsResolver, type DnsResolverOptions } from './resolver.ts';
export { type ListZones, createStaticZone, type DnsZone } from './respond.ts';
export { createDnsServer, type DnsServer } from './server.ts';

export { queryTimeoutMs } from './limits.ts';
