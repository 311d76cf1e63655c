/** The public discovery cases (Directed Certificate Discovery Tool, DirectTrust's tools) as data: who publishes what where. */
import type { Certificate } from '../../../src/lib/pki/index.ts';
import { parseDirectAddress, type DirectAddress } from '../../../src/lib/values/index.ts';
import { past, type TestPki } from './test-pki.ts';

export type LdapName = 'ldap1' | 'ldap2' | 'ldap3' | 'ldapEmpty' | 'dead';

export interface PublishedCert {
  /** Full name in DNS. */
  readonly name: string;
  readonly certificate: Certificate;
}

export interface PublishedSrv {
  readonly domain: string;
  readonly target: LdapName;
  readonly priority: number;
  readonly weight: number;
}

export interface DirectoryEntry {
  readonly server: LdapName;
  readonly mail: string;
  readonly certificates: readonly Certificate[];
}

export interface DiscoveryCase {
  readonly title: string;
  readonly address: DirectAddress;
  readonly expected:
    | { readonly source: string; readonly certificates: readonly Certificate[]; readonly via?: string }
    | { readonly code: string; readonly isTransient?: boolean };
}

export interface DiscoveryWorld {
  readonly zones: readonly string[];
  readonly certs: readonly PublishedCert[];
  readonly srvs: readonly PublishedSrv[];
  readonly entries: readonly DirectoryEntry[];
  readonly cases: readonly DiscoveryCase[];
  readonly revoked: readonly Certificate[];
  /** Domains of which a CERT record of another kind is published. */
  readonly otherTypeNames: readonly string[];
}

const domain = (number: number): string => `domain${number}.example`;
const nameOf = (local: string, number: number): string => `${local}.${domain(number)}`;

/** `baseUrl` serves `alpha.crl` and `intermediate.cer`. */
export function createDiscoveryWorld(pki: TestPki, baseUrl: string): DiscoveryWorld {
  const crlUrls = [`${baseUrl}/alpha.crl`];
  const expired = { notAfter: past(1) };
  const forAddress = (local: string, number: number, changes: object = {}): Certificate =>
    pki.issue({ rfc822Names: [`${local}@${domain(number)}`], crlUrls, ...changes });
  const forDomain = (number: number, changes: object = {}): Certificate =>
    pki.issue({ rfc822Names: [], dnsNames: [domain(number)], crlUrls, ...changes });

  const d1 = forAddress('d1', 1);
  const d2 = forDomain(1);
  const d3 = forAddress('d3', 2);
  const d4 = forDomain(2);
  const d9 = forAddress('d9', 1);
  const d10 = forAddress('d10', 3);
  // Larger than any UDP answer, for every EDNS0 size.
  const d14 = forAddress('d14', 1, {
    policyOids: Array.from({ length: 120 }, (_, index) => `1.3.6.1.4.1.55555.1.${index}`),
  });
  const d15 = forAddress('d15', 2);
  const d15second = forAddress('d15b', 2);
  const d16 = forAddress('d16', 5);
  const d17 = forAddress('d17', 9);
  const d17revoked = [forAddress('d17', 9), forAddress('d17', 9)];
  const d18 = forAddress('d18', 10, {
    issuer: pki.intermediate,
    crlUrls: [],
    caIssuerUrls: [`${baseUrl}/intermediate.cer`],
  });
  const d18revoked = forAddress('revoked', 9);
  const multiple = [forAddress('several', 1), forAddress('several', 1)];

  const address = (local: string, number: number): DirectAddress =>
    parseDirectAddress(`${local}@${domain(number)}`);
  const found = (source: string, ...certificates: Certificate[]) => ({ source, certificates });
  const invalid = { code: 'DIRECT_RECIPIENT_CERTIFICATES_INVALID' };
  const missing = { code: 'DIRECT_RECIPIENT_CERTIFICATE_MISSING' };
  return {
    zones: Array.from({ length: 10 }, (_, index) => domain(index + 1)),
    revoked: [...d17revoked, d18revoked],
    otherTypeNames: [nameOf('pgp', 1)],
    certs: [
      { name: nameOf('d1', 1), certificate: d1 },
      { name: domain(1), certificate: d2 },
      { name: domain(1), certificate: forDomain(1, expired) },
      { name: nameOf('d5', 1), certificate: forAddress('d5', 1, expired) },
      { name: domain(4), certificate: forDomain(4, expired) },
      { name: nameOf('d9', 1), certificate: d9 },
      { name: nameOf('d9', 1), certificate: forAddress('d9', 1, expired) },
      { name: nameOf('d14', 1), certificate: d14 },
      { name: nameOf('d17', 9), certificate: d17 },
      ...d17revoked.map((certificate) => ({ name: nameOf('d17', 9), certificate })),
      { name: nameOf('revoked', 9), certificate: d18revoked },
      { name: domain(9), certificate: forDomain(9) },
      { name: nameOf('d18', 10), certificate: d18 },
      {
        name: nameOf('untrusted', 1),
        certificate: forAddress('untrusted', 1, { issuer: pki.untrustedCa, crlUrls: [] }),
      },
      { name: nameOf('unbound', 1), certificate: forAddress('somebody', 1) },
      ...multiple.map((certificate) => ({ name: nameOf('several', 1), certificate })),
    ],
    srvs: [
      { domain: domain(1), target: 'ldap1', priority: 0, weight: 0 },
      { domain: domain(2), target: 'ldap2', priority: 1, weight: 0 },
      { domain: domain(2), target: 'ldap1', priority: 0, weight: 0 },
      { domain: domain(3), target: 'dead', priority: 0, weight: 0 },
      { domain: domain(3), target: 'ldap2', priority: 1, weight: 0 },
      { domain: domain(5), target: 'ldap1', priority: 0, weight: 0 },
      { domain: domain(5), target: 'ldap3', priority: 0, weight: 100 },
      { domain: domain(7), target: 'dead', priority: 0, weight: 0 },
      { domain: domain(8), target: 'ldapEmpty', priority: 0, weight: 0 },
    ],
    entries: [
      { server: 'ldap1', mail: `d1@${domain(1)}`, certificates: [forAddress('d1', 1, expired)] },
      { server: 'ldap1', mail: domain(1), certificates: [forDomain(1, expired)] },
      { server: 'ldap1', mail: `d3@${domain(2)}`, certificates: [d3] },
      { server: 'ldap1', mail: domain(2), certificates: [d4, forDomain(2, expired)] },
      { server: 'ldap1', mail: `d7@${domain(2)}`, certificates: [forAddress('d7', 2, expired)] },
      { server: 'ldap3', mail: domain(5), certificates: [forDomain(5, expired)] },
      { server: 'ldap2', mail: `d10@${domain(3)}`, certificates: [d10] },
      { server: 'ldap1', mail: `d15@${domain(2)}`, certificates: [d15] },
      { server: 'ldap2', mail: `d15@${domain(2)}`, certificates: [forAddress('d15', 2, expired)] },
      { server: 'ldap1', mail: `d15b@${domain(2)}`, certificates: [d15second] },
      { server: 'ldap2', mail: `d15b@${domain(2)}`, certificates: [forAddress('d15b', 2)] },
      { server: 'ldap1', mail: `d16@${domain(5)}`, certificates: [forAddress('d16', 5)] },
      { server: 'ldap3', mail: `d16@${domain(5)}`, certificates: [d16] },
      { server: 'ldap2', mail: 'nobody@elsewhere.example', certificates: [forAddress('nobody', 6)] },
    ],
    cases: [
      { title: 'D1 address-bound in DNS', address: address('d1', 1), expected: found('dns-address', d1) },
      { title: 'D2 domain-bound in DNS', address: address('d2', 1), expected: found('dns-domain', d2) },
      { title: 'D3 address-bound in LDAP', address: address('d3', 2), expected: found('ldap-address', d3) },
      { title: 'D4 domain-bound in LDAP', address: address('d4', 2), expected: found('ldap-domain', d4) },
      {
        title: 'D5 expired address-bound in DNS, a good one at the domain',
        address: address('d5', 1),
        expected: invalid,
      },
      { title: 'D6 expired domain-bound in DNS', address: address('d6', 4), expected: invalid },
      {
        title: 'D7 expired address-bound in LDAP, a good one for the domain',
        address: address('d7', 2),
        expected: invalid,
      },
      { title: 'D8 expired domain-bound in LDAP', address: address('d8', 5), expected: invalid },
      {
        title: 'D9 two address-bound in DNS, one expired',
        address: address('d9', 1),
        expected: found('dns-address', d9),
      },
      {
        title: 'D10 first LDAP server down',
        address: address('d10', 3),
        expected: found('ldap-address', d10),
      },
      { title: 'D11 neither CERT nor SRV', address: address('d11', 6), expected: missing },
      {
        title: 'D12 no LDAP server reachable',
        address: address('d12', 7),
        expected: { code: 'DIRECT_RECIPIENT_UNDECIDED', isTransient: true },
      },
      { title: 'D13 an empty LDAP server', address: address('d13', 8), expected: missing },
      {
        title: 'D14 an answer that needs TCP',
        address: address('d14', 1),
        expected: { ...found('dns-address', d14), via: 'tcp' },
      },
      {
        title: 'D15 lower priority value first, expired at the other',
        address: address('d15', 2),
        expected: found('ldap-address', d15),
      },
      {
        title: 'd15 lower priority value first, both valid',
        address: address('d15b', 2),
        expected: found('ldap-address', d15second),
      },
      {
        title: 'D16 equal priority, higher weight first',
        address: address('d16', 5),
        expected: found('ldap-address', d16),
      },
      {
        title: 'D17 several address-bound, all but one revoked',
        address: address('d17', 9),
        expected: found('dns-address', d17),
      },
      {
        title: 'D18 the issuer has to be fetched by AIA',
        address: address('d18', 10),
        expected: found('dns-address', d18),
      },
      {
        title: 'd18 revoked address-bound, a good one at the domain',
        address: address('revoked', 9),
        expected: invalid,
      },
      {
        title: 'TRUST-09 a certificate of a CA that is no anchor',
        address: address('untrusted', 1),
        expected: { code: 'DIRECT_RECIPIENT_UNTRUSTED' },
      },
      {
        title: 'AS-10 a certificate of somebody else at the address',
        address: address('unbound', 1),
        expected: invalid,
      },
      {
        title: 'AS-43 two good certificates at one address',
        address: address('several', 1),
        expected: found('dns-address', ...multiple),
      },
      {
        title: 'DISC-03 a CERT record of another type is absence',
        address: address('pgp', 1),
        expected: found('dns-domain', d2),
      },
      {
        title: 'DISC-02, AS-02 another case of the address',
        address: parseDirectAddress(`D1@DOMAIN1.example`),
        expected: found('dns-address', d1),
      },
    ],
  };
}
