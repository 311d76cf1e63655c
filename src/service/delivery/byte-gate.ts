/**
 * Lets work on large messages wait until the memory that it needs is free. First come, first served; but with more than one message a
 * party leaves as much free as it has, so that peers that read slowly leave room for others: the first half of it, the second a quarter.
 */
export interface ByteGate {
  /**
   * Fulfilled with the function that gives the bytes back. Work larger than the whole gate passes alone. Undefined if enough others wait
   * already, one of this party does, or the party has its share: come again later.
   */
  enter(party: string, bytes: number): Promise<() => void> | undefined;
}

interface Waiting {
  readonly party: string;
  readonly bytes: number;
  readonly pass: () => void;
}

export function createByteGate(maxBytes: number, maxWaiting: number): ByteGate {
  const waiting: Waiting[] = [];
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

  return {
    enter(party, bytes) {
      // However many a party has, it does not take all the places.
      const isWaiting = waiting.some((other) => other.party === party);
      if (isWaiting || waiting.length >= maxWaiting || !hasShare(party, bytes)) return undefined;
      return pass(party, bytes);
    },
  };
}
