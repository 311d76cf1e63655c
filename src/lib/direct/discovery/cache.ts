import type { DiscoveryResult } from './discovery-result.ts';

/** Caches discoveries for as long as their sources allow (DISC-12). */
export interface DiscoveryCache {
  find(key: string, nowMs: number): DiscoveryResult | undefined;
  keep(key: string, result: DiscoveryResult, nowMs: number): void;
}

const maxPositiveSeconds = 24 * 3600;
const maxNegativeSeconds = 300;
/** For a place of which a part could not be asked: each message would wait for its server. */
const maxIncompleteSeconds = 300;

export function createDiscoveryCache(maxEntries: number): DiscoveryCache {
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
