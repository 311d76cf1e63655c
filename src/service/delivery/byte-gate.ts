import { createGrowingCache } from '../../core/index.ts';

/**
 * Lets work on large messages wait until the memory that it needs is free. First come, first served; but with more than one message a
 * party leaves as much free as it has, so that peers that read slowly leave room for others: the first half of it, the second a quarter.
 */
export interface ByteGate {
  /**
   * Fulfilled with the function that gives the bytes back. Work larger than the whole gate passes alone. A number if enough others wait
   * already, one of this party does, or the party has its share: come again after so many milliseconds.
   */
  enter(party: string, bytes: number): Promise<() => void> | number;
}

interface Waiting {
  readonly party: string;
  readonly bytes: number;
  readonly pass: () => void;
}

/** Work that finds neither its bytes nor a place comes again after this time at the earliest, */
const againAfterMs = 1_000;
/** at this distance to that of the same party before it, for each try costs a claim and a release; */
const againEveryMs = 50;
/** but after this time at the latest. */
const againWithinMs = 60_000;
const maxTurns = 1_000;

export function createByteGate(
  maxBytes: number,
  maxWaiting: number,
  monotonicMs: () => number = () => performance.now(),
): ByteGate {
  const waiting: Waiting[] = [];
  /** By party: when the last one of those that were refused comes again. */
  const turns = createGrowingCache<number>(maxTurns);
  const usedBy = new Map<string, number>();
  let used = 0;

  function hasShare(party: string, bytes: number): boolean {
    const own = usedBy.get(party) ?? 0;
    return own === 0 || own + bytes <= maxBytes - used - bytes;
  }

  function count(party: string, bytes: number): void {
    used += bytes;
    const own = (usedBy.get(party) ?? 0) + bytes;
    if (own > 0) usedBy.set(party, own);
    else usedBy.delete(party);
  }

  function admitNext(): void {
    // Whoever waits has its share: of its party nobody else enters meanwhile.
    for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
      if (used > 0 && used + next.bytes > maxBytes) return;
      waiting.shift();
      count(next.party, next.bytes);
      next.pass();
    }
  }

  async function pass(party: string, bytes: number): Promise<() => void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting.push({ party, bytes, pass: resolve });
    admitNext();
    await promise;
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      count(party, -bytes);
      admitNext();
    };
  }

  function comeAgainMs(party: string): number {
    const now = monotonicMs();
    const turn = Math.max(now + againAfterMs, (turns.get(party) ?? 0) + againEveryMs);
    const at = Math.min(turn, now + againWithinMs);
    turns.set(party, at);
    return Math.round(at - now);
  }

  return {
    enter(party, bytes) {
      // However many a party has, it does not take all the places.
      const isWaiting = waiting.some((other) => other.party === party);
      if (isWaiting || waiting.length >= maxWaiting || !hasShare(party, bytes)) return comeAgainMs(party);
      return pass(party, bytes);
    },
  };
}
