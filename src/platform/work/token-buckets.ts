import type { Clock } from '../../core/index.ts';

/** Buckets kept; the longest unused go first, which by then are full again in all but hostile cases. */
const maxBuckets = 100_000;

export interface BucketOptions {
  readonly ratePerSecond: number;
  /** What a full bucket holds. */
  readonly burst: number;
  readonly clock: Clock;
}

export interface Taken {
  readonly allowed: boolean;
  /** Whole tokens left. */
  readonly remaining: number;
  /** Seconds until the asked cost would be there, rounded up; 0 if allowed. */
  readonly retryAfterSeconds: number;
  /** The size of the bucket. */
  readonly limit: number;
}

export interface TokenBuckets {
  /** Takes `cost` tokens from the key's bucket, or none. `limits` overrides rate and burst for this key. */
  take(
    key: string,
    cost?: number,
    limits?: { readonly ratePerSecond: number; readonly burst: number },
  ): Taken;
}

interface Bucket {
  tokens: number;
  atMs: number;
}

/** Token buckets in memory, one a key: each refills steadily and holds at most `burst` (Decision 0007). */
export function createTokenBuckets(options: BucketOptions): TokenBuckets {
  const buckets = new Map<string, Bucket>();
  return {
    take(key, cost = 1, limits = options) {
      const bucket = refill(buckets.get(key), limits, options.clock.now().getTime());
      // Deleting first keeps the map in order of use.
      buckets.delete(key);
      buckets.set(key, bucket);
      if (buckets.size > maxBuckets) buckets.delete(buckets.keys().next().value ?? key);
      return takeFrom(bucket, cost, limits);
    },
  };
}

function refill(
  bucket: Bucket | undefined,
  limits: { ratePerSecond: number; burst: number },
  nowMs: number,
): Bucket {
  if (bucket === undefined) return { tokens: limits.burst, atMs: nowMs };
  // A clock that was set back must not drain the bucket.
  const passedSeconds = Math.max(0, nowMs - bucket.atMs) / 1000;
  return {
    tokens: Math.min(limits.burst, bucket.tokens + passedSeconds * limits.ratePerSecond),
    atMs: nowMs,
  };
}

function takeFrom(bucket: Bucket, cost: number, limits: { ratePerSecond: number; burst: number }): Taken {
  const allowed = bucket.tokens >= cost;
  if (allowed) bucket.tokens -= cost;
  const missing = allowed ? 0 : cost - bucket.tokens;
  return {
    allowed,
    remaining: Math.floor(bucket.tokens),
    retryAfterSeconds: Math.ceil(missing / limits.ratePerSecond),
    limit: limits.burst,
  };
}
