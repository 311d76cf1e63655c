import { isNoSocketCode, type Clock } from '../../core/index.ts';
import { createDiscovery, type Discovery, type DiscoveryOptions } from '../../lib/direct/index.ts';
import { DnsError, type CertRecord, type DnsAnswer, type DnsResolver } from '../../lib/dns/index.ts';
import type { GuardedFetch } from '../../lib/fetch/index.ts';
import type { LdapAnswer, LdapClient } from '../../lib/ldap/index.ts';
import type { DirectAddress } from '../../lib/values/index.ts';
import type { Pace } from './pace.ts';

/** Network clients of verification; separate from those of mail, so that neither fills the other's caches. */
export interface NetworkSources {
  readonly dns: Pick<DnsResolver, 'resolveCert' | 'resolveSrv' | 'resolveAddresses' | 'resolveNs'>;
  readonly ldap: LdapClient;
  readonly fetch: GuardedFetch;
  readonly clock: Clock;
}

export interface DomainQuestion {
  readonly domain: string;
  /** The queried server or domain, for the rate limit. */
  readonly nameServer: string;
  readonly sources: NetworkSources;
  readonly pace: Pick<Pace, 'wait'>;
  /** Ends while mail waits; called before each question. */
  readonly gate: () => Promise<void>;
  /** True if an address of a domain with a certificate is queried for an address-bound one. */
  readonly isSampled: (address: DirectAddress) => boolean;
}

/** Discovery as for sending, for the addresses of one domain; no query is repeated. */
export interface DomainDiscovery {
  readonly discovery: Discovery;
  /** Looks up the records of the domain as a whole. */
  prepare(): Promise<void>;
  /** Returns the next address. */
  begin(address: DirectAddress): void;
  /** Questions put to the network so far. */
  readonly queries: number;
  /** Addresses with an address-bound certificate or LDAP entry although the domain has a certificate. */
  readonly exceptions: number;
  /** True if the name servers did not answer. */
  readonly isUnreachable: boolean;
}

/** Longer than any discovery with its waits for a turn; each question has its own time limit. */
const budgetMs = 600_000;

/**
 * Places are asked in the order of sending (DISC-01). The answers for the domain's name and of its LDAP
 * servers are kept for all its addresses. If the domain has a certificate, only some of its addresses are
 * checked for an address-bound one (Decision 0027); the others count as having none. A place that did not
 * answer for the domain is not asked for its addresses.
 */
export function askDomain(question: DomainQuestion): DomainDiscovery {
  const { domain, nameServer, sources, pace, gate } = question;
  const { dns, ldap, fetch, clock } = sources;
  let queries = 0;
  let exceptions = 0;
  let isUnreachable = false;
  let hasCertificate = false;
  let ldapIsUnreachable = false;
  let current: DirectAddress | undefined;

  async function turn(server: string): Promise<void> {
    await gate();
    await pace.wait(server, domain);
    queries++;
  }

  const known = new Map<string, Promise<unknown>>();
  function once<T>(key: string, ask: () => Promise<T>): Promise<T> {
    const running = (known.get(key) as Promise<T> | undefined) ?? ask();
    known.set(key, running);
    return running;
  }

  const skips = (): boolean => hasCertificate && (current === undefined || !question.isSampled(current));

  function ofDomain(): Promise<DnsAnswer<CertRecord>> {
    return once('cert', async () => {
      await turn(nameServer);
      try {
        return await dns.resolveCert(domain);
      } catch (error) {
        isUnreachable = error instanceof DnsError && error.isTransient;
        throw error;
      }
    });
  }

  async function ofAddress(name: string): Promise<DnsAnswer<CertRecord>> {
    if (skips()) return absent;
    if (isUnreachable) throw new DnsError('DNS_SERVER_FAILURE', 'the domain did not answer');
    await turn(nameServer);
    const answer = await dns.resolveCert(name);
    if (hasCertificate && answer.records.length > 0) exceptions++;
    return answer;
  }

  async function askLdap(lookup: Parameters<LdapClient['findCertificates']>[0]): Promise<LdapAnswer> {
    if (ldapIsUnreachable) return { status: 'unreachable', certificates: [], attempts: [] };
    await turn(`ldap:${lookup.targets[0]?.host ?? domain}`);
    const answer = await ldap.findCertificates(lookup);
    if (answer.status === 'unreachable') ldapIsUnreachable = true;
    return answer;
  }

  const directories: LdapClient = {
    async findCertificates(lookup) {
      if (lookup.mail === domain) return once('ldap', () => askLdap(lookup));
      if (skips()) return { status: 'absent', certificates: [], attempts: [] };
      const answer = await askLdap(lookup);
      if (hasCertificate && answer.status === 'found') exceptions++;
      return answer;
    },
  };
  const options: DiscoveryOptions = {
    clock,
    budgetMs,
    maxCached: 0,
    dns: {
      resolveCert: (name) => (name === domain ? ofDomain() : ofAddress(name)),
      resolveSrv: (name) =>
        once('srv', async () => {
          await turn(nameServer);
          return dns.resolveSrv(name);
        }),
    },
    ldap: directories,
    fetch: (url, init) =>
      once(`fetch ${url}`, async () => {
        await turn(`http:${hostOf(url)}`);
        return fetch(url, init);
      }),
  };

  return {
    discovery: createDiscovery(options),
    async prepare() {
      const own = createDiscovery({
        ...options,
        dns: { ...options.dns, resolveCert: ofDomain },
        ldap: { findCertificates: (lookup) => directories.findCertificates({ ...lookup, mail: domain }) },
      });
      const { outcome } = await own.discover(`postmaster@${domain}` as DirectAddress);
      hasCertificate = outcome === 'found';
    },
    begin(address) {
      current = address;
    },
    get queries() {
      return queries;
    },
    get exceptions() {
      return exceptions;
    },
    get isUnreachable() {
      return isUnreachable;
    },
  };
}

const absent: DnsAnswer<CertRecord> = { status: 'nodata', records: [], ttlSeconds: 0, transport: 'udp' };

/** The host of a URL that an outsider wrote. */
export function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url.slice(0, 100);
}

/** Labels below which no domain is delegated to those whose domains we ask for. */
const leastLabels = 2;

/**
 * The DNS operator of a domain: the domain of its name servers, for example `dns.example` for
 * `ns1.dns.example`, since those of one operator fail and are burdened together. The domain itself if it
 * cannot be found out.
 */
export async function findNameServer(
  domain: string,
  dns: Pick<DnsResolver, 'resolveNs'>,
  turn: () => Promise<void>,
): Promise<string> {
  for (let name = domain; name.split('.').length >= leastLabels; name = name.slice(name.indexOf('.') + 1)) {
    await turn();
    let answer;
    try {
      answer = await dns.resolveNs(name);
    } catch (error) {
      // It is kept for good, so it must not come from a query that was not sent.
      if (error instanceof DnsError && !isNoSocketCode(error.code)) return domain;
      throw error;
    }
    const [first] = answer.records.map((host) => host.toLowerCase()).toSorted();
    if (first === undefined) continue;
    const above = first.slice(first.indexOf('.') + 1);
    return above.split('.').length >= leastLabels ? above : first;
  }
  return domain;
}
