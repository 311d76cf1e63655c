/**
 * Finds the certificates of a Direct address in DNS and LDAP (DISC-01 to DISC-12), without validating them.
 * Used by `lib/direct`; others by its `index.ts`.
 * Begin with `createDiscovery` here; a place to look is a file like `dns-source.ts`.
 */
import type { Clock } from '../../../core/index.ts';
import type { Certificate } from '../../pki/index.ts';
import { addressDnsName, addressKey, type DirectAddress, domainOf } from '../../values/index.ts';
import type { DiscoveryResult } from './discovery-result.ts';
import { askDns, type DnsSource } from './dns-source.ts';
import { createLdapSource, type LdapDependencies } from './ldap-source.ts';
import type { DiscoverySource, DiscoveryStep, SourceAnswer } from './steps.ts';

export interface DiscoveryOptions extends DnsSource, Partial<Pick<LdapDependencies, 'ldap'>> {
  readonly dns: DnsSource['dns'] & LdapDependencies['dns'];
  readonly clock: Clock;
  /** For one address, all places together (DISC-11). Default 25 s: two rounds of DNS and one of LDAP. */
  readonly budgetMs?: number;
  /** Cached addresses. Default 10,000; 0 switches the cache off. */
  readonly maxCached?: number;
}

export interface Discovery {
  /**
   * Throws when it is aborted, and `DNS_NO_SOCKET` or `LDAP_NO_SOCKET`; not for failures of servers.
   * `isFresh` asks again although an answer is cached.
   */
  discover(address: DirectAddress, options?: DiscoverOptions): Promise<DiscoveryResult>;
}

export interface DiscoverOptions {
  readonly isFresh?: boolean;
  /**
   * Called for each place as soon as it has answered; if set, results are not shared with other discoveries.
   */
  readonly onStep?: (step: DiscoveryStep) => void;
  /** Ends a discovery with `onStep`: no further place is asked, and its reason is thrown at once. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Finds the certificates of a Direct address: DNS at the address, DNS at the domain, LDAP for the address,
 * LDAP for the domain (DISC-01). The first place that has a certificate ends the search, even if it is
 * unusable (DISC-09); the search continues after a place that has none or does not answer. One that does not
 * answer makes the result transient, and keeps it out of the cache.
 */
export function createDiscovery(options: DiscoveryOptions): Discovery {
  const cache = createDiscoveryCache(options.maxCached ?? 10_000);
  const pending = new Map<string, Promise<DiscoveryResult>>();
  return {
    async discover(address, { isFresh = false, onStep, signal } = {}) {
      if (onStep !== undefined) return search(address, options, onStep, signal);
      const key = addressKey(address);
      const nowMs = options.clock.now().getTime();
      const known = isFresh ? undefined : cache.find(key, nowMs);
      if (known !== undefined) return { ...known, isFromCache: true };
      const running = pending.get(key) ?? search(address, options);
      pending.set(key, running);
      try {
        const result = await running;
        cache.keep(key, result, nowMs);
        return result;
      } finally {
        pending.delete(key);
      }
    },
  };
}

async function search(
  address: DirectAddress,
  options: DiscoveryOptions,
  onStep: (step: DiscoveryStep) => void = () => {},
  signal?: AbortSignal,
): Promise<DiscoveryResult> {
  const steps: DiscoveryStep[] = [];
  const deadlineMs = options.clock.now().getTime() + (options.budgetMs ?? 25_000);
  for (const { source, ask } of listSources(address, options)) {
    const startedMs = options.clock.now().getTime();
    const answer = await withinBudget(ask, deadlineMs - startedMs, signal);
    const step = stepOf(source, answer, options.clock.now().getTime() - startedMs);
    steps.push(step);
    onStep(step);
    if (answer.outcome === 'found') return resultOf(steps, { source, certificates: answer.certificates });
  }
  return resultOf(steps);
}

interface Place {
  readonly source: DiscoverySource;
  ask(): Promise<SourceAnswer>;
}

function listSources(address: DirectAddress, options: DiscoveryOptions): Place[] {
  const domain = domainOf(address);
  const places: Place[] = [
    { source: 'dns-address', ask: () => askDns(addressDnsName(address), options) },
    { source: 'dns-domain', ask: () => askDns(domain, options) },
  ];
  if (options.ldap === undefined) return places;
  const ldap = createLdapSource(domain, { dns: options.dns, ldap: options.ldap });
  return [
    ...places,
    { source: 'ldap-address', ask: () => ldap.ask(addressKey(address)) },
    { source: 'ldap-domain', ask: () => ldap.ask(domain) },
  ];
}

function stepOf(source: DiscoverySource, answer: SourceAnswer, elapsedMs: number): DiscoveryStep {
  const { certificates, ...rest } = answer;
  return { source, ...rest, certificateCount: certificates.length, elapsedMs };
}

function resultOf(
  steps: readonly DiscoveryStep[],
  found?: { readonly source: DiscoverySource; readonly certificates: readonly Certificate[] },
): DiscoveryResult {
  const isTransient = steps.some((step) => step.outcome === 'unavailable' || step.isIncomplete);
  const base = { steps, isTransient, isFromCache: false };
  return found === undefined
    ? { outcome: 'absent', certificates: [], ...base }
    : { outcome: 'found', ...found, ...base };
}

/**
 * The answer, or `unavailable` once the time left is exhausted; a question already asked runs into its own
 * time limit. Throws the reason of the signal when that is aborted.
 */
async function withinBudget(
  ask: () => Promise<SourceAnswer>,
  leftMs: number,
  signal?: AbortSignal,
): Promise<SourceAnswer> {
  signal?.throwIfAborted();
  if (leftMs <= 0) return timedOut;
  const { promise, resolve, reject } = Promise.withResolvers<SourceAnswer>();
  const timer = setTimeout(() => resolve(timedOut), leftMs);
  const abort = (): void => reject(signal?.reason);
  signal?.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([ask(), promise]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}

const timedOut: SourceAnswer = {
  outcome: 'unavailable',
  certificates: [],
  unreadableCount: 0,
  ttlSeconds: 0,
  query: 'not finished',
  detail: 'the time limit for this address is exceeded',
};

/** Caches discoveries for as long as their sources allow (DISC-12). */
interface DiscoveryCache {
  find(key: string, nowMs: number): DiscoveryResult | undefined;
  keep(key: string, result: DiscoveryResult, nowMs: number): void;
}

const maxPositiveSeconds = 24 * 3600;
const maxNegativeSeconds = 300;
/** For a place of which a part could not be asked: each message would wait for its server. */
const maxIncompleteSeconds = 300;

function createDiscoveryCache(maxEntries: number): DiscoveryCache {
  const entries = new Map<string, { result: DiscoveryResult; expiresMs: number }>();
  return {
    find: (key, nowMs) => {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      if (nowMs < entry.expiresMs) return entry.result;
      entries.delete(key);
      return undefined;
    },
    keep: (key, result, nowMs) => {
      entries.delete(key);
      const seconds = lifetimeSeconds(result);
      if (seconds <= 0 || maxEntries <= 0) return;
      entries.set(key, { result, expiresMs: nowMs + seconds * 1000 });
      const [oldest] = entries.keys();
      if (entries.size > maxEntries && oldest !== undefined) entries.delete(oldest);
    },
  };
}

/**
 * A found certificate is cached for the TTL of its record, at most a day; a result without certificates for
 * the shortest TTL of the negative answers, at most five minutes; so is a found certificate of a place of
 * which a part could not be asked. A search in which a place did not answer is not cached.
 */
function lifetimeSeconds({ outcome, steps }: DiscoveryResult): number {
  if (steps.some((step) => step.outcome === 'unavailable')) return 0;
  const last = steps.at(-1);
  if (outcome === 'found')
    return Math.min(last?.isIncomplete ? maxIncompleteSeconds : maxPositiveSeconds, last?.ttlSeconds ?? 0);
  return Math.min(
    maxNegativeSeconds,
    ...steps.map((step) => (step.ttlSeconds > 0 ? step.ttlSeconds : maxNegativeSeconds)),
  );
}
