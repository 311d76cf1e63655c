import { createGrowingCache } from './lru.ts';
import type { Clock } from './ports.ts';

/** Buckets kept; the least recently used go first, which by then are full again in all but hostile cases. */
const defaultMaxBuckets = 100_000;

export interface BucketOptions {
  readonly ratePerSecond: number;
  /** Capacity of a bucket. */
  readonly burst: number;
  readonly clock: Clock;
  readonly maxBuckets?: number;
}

export interface RateLimitResult {
  readonly allowed: boolean;
  /** Whole tokens left. */
  readonly remaining: number;
  /** Seconds until the asked cost would be there, rounded up; 0 if allowed. */
  readonly retryAfterSeconds: number;
  /** Seconds until one token is there, rounded up; 0 if one is left. */
  readonly nextSeconds: number;
  /** The size of the bucket. */
  readonly limit: number;
}

export interface TokenBuckets {
  /**
   * Takes `cost` tokens from the key's bucket, or none; a negative cost gives back. `limits` overrides rate
   * and burst for this key.
   */
  take(
    key: string,
    cost?: number,
    limits?: { readonly ratePerSecond: number; readonly burst: number },
  ): RateLimitResult;
}

interface Bucket {
  tokens: number;
  atMs: number;
}

/** Token buckets in memory, one per key: each refills steadily and holds at most `burst` (Decision 0007). */
export function createTokenBuckets(options: BucketOptions): TokenBuckets {
  const buckets = createGrowingCache<Bucket>(options.maxBuckets ?? defaultMaxBuckets);
  return {
    take(key, cost = 1, limits = options) {
      const nowMs = options.clock.now().getTime();
      let bucket = buckets.get(key);
      if (bucket === undefined) {
        bucket = { tokens: limits.burst, atMs: nowMs };
        buckets.set(key, bucket);
      }
      refill(bucket, limits, nowMs);
      return takeFrom(bucket, cost, limits);
    },
  };
}

function refill(bucket: Bucket, limits: { ratePerSecond: number; burst: number }, nowMs: number): void {
  // A clock that was set back must not drain the bucket.
  const elapsedSeconds = Math.max(0, nowMs - bucket.atMs) / 1000;
  bucket.tokens = Math.min(limits.burst, bucket.tokens + elapsedSeconds * limits.ratePerSecond);
  bucket.atMs = nowMs;
}

function takeFrom(
  bucket: Bucket,
  cost: number,
  limits: { ratePerSecond: number; burst: number },
): RateLimitResult {
  const allowed = bucket.tokens >= cost;
  if (allowed) bucket.tokens -= cost;
  const secondsUntil = (tokens: number): number =>
    Math.ceil(Math.max(0, tokens - bucket.tokens) / limits.ratePerSecond);
  return {
    allowed,
    remaining: Math.floor(bucket.tokens),
    retryAfterSeconds: allowed ? 0 : secondsUntil(cost),
    nextSeconds: secondsUntil(1),
    limit: limits.burst,
  };
}
