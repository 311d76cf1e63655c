import type { Clock } from '../../core/index.ts';
import type { DnsAnswer } from './answer.ts';
import { maxCacheEntries, maxCacheOctets, maxCacheSeconds, maxNegativeCacheSeconds } from './limits.ts';

export interface CacheLimits {
  readonly maxEntries?: number;
  readonly maxOctets?: number;
  /** For answers; never over 24 hours (DISC-12). */
  readonly maxSeconds?: number;
  /** For absence; never over five minutes (DISC-12). */
  readonly maxNegativeSeconds?: number;
}

export interface AnswerCache {
  /** The answer with the seconds it has left, or undefined. */
  find(key: string): DnsAnswer<unknown> | undefined;
  /** `octets` is the size of the message it came in, the measure of its memory. */
  keep(key: string, answer: DnsAnswer<unknown>, octets: number): void;
}

interface Entry {
  readonly answer: DnsAnswer<unknown>;
  readonly octets: number;
  readonly expiresAtMs: number;
}

// Keys, objects and the map itself also take memory.
const entryOverheadOctets = 300;

/** LRU cache of answers by TTL, limited in number and memory. */
export function createAnswerCache(clock: Clock, limits: CacheLimits = {}): AnswerCache {
  const { maxEntries = maxCacheEntries, maxOctets = maxCacheOctets } = limits;
  const maxSeconds = Math.min(limits.maxSeconds ?? maxCacheSeconds, maxCacheSeconds);
  const maxNegativeSeconds = Math.min(
    limits.maxNegativeSeconds ?? maxNegativeCacheSeconds,
    maxNegativeCacheSeconds,
  );
  // A Map iterates in the order of insertion, so the first key is the one unused for longest.
  const entries = new Map<string, Entry>();
  let octetsKept = 0;
  const drop = (key: string, entry: Entry) => {
    entries.delete(key);
    octetsKept -= entry.octets;
  };
  return {
    find(key) {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      const ttlSeconds = Math.ceil((entry.expiresAtMs - clock.now().getTime()) / 1000);
      // Also drops entries that a clock set back would keep too long.
      if (ttlSeconds <= 0 || ttlSeconds > maxSeconds) {
        drop(key, entry);
        return undefined;
      }
      entries.delete(key);
      entries.set(key, entry);
      return { ...entry.answer, ttlSeconds };
    },
    keep(key, answer, messageOctets) {
      const cap = answer.status === 'found' ? maxSeconds : maxNegativeSeconds;
      const seconds = Math.min(answer.ttlSeconds, cap);
      const octets = messageOctets + key.length * 2 + entryOverheadOctets;
      const former = entries.get(key);
      if (former !== undefined) drop(key, former);
      if (seconds <= 0 || octets > maxOctets) return;
      entries.set(key, { answer, octets, expiresAtMs: clock.now().getTime() + seconds * 1000 });
      octetsKept += octets;
      for (const [oldKey, old] of entries) {
        if (entries.size <= maxEntries && octetsKept <= maxOctets) return;
        drop(oldKey, old);
      }
    },
  };
}
