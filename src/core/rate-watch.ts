/** Aborts what is transferred too slowly. */
export interface RateWatch {
  /**
   * Calls `onSlow` once when fewer bytes came within a window than the rate asks for, or when `isSlow` says
   * so of those that came until `nowMs` (by `performance.now()`). `readBytes` returns the number so far.
   * Returns the function that ends the watching.
   */
  watch(readBytes: () => number, onSlow: () => void, isSlow?: IsSlow): () => void;
}

type IsSlow = (gainedBytes: number, nowMs: number) => boolean;

export interface RateWatchOptions {
  /** 0 watches only what brings a rule with it. */
  readonly minBytesPerSecond: number;
  /** Time over which the rate is measured; also the grace at the beginning. */
  readonly windowMs: number;
}

interface Watched {
  readonly readBytes: () => number;
  readonly onSlow: () => void;
  readonly isSlow: IsSlow;
  bytesAtStart: number;
  windowEndsMs: number;
}

/** One timer for all that is watched; none while nothing is. */
export function createRateWatch({ minBytesPerSecond, windowMs }: RateWatchOptions): RateWatch {
  const watched = new Set<Watched>();
  const everyMs = Math.max(10, Math.min(1000, windowMs / 4));
  const leastBytes = (minBytesPerSecond * windowMs) / 1000;
  let timer: NodeJS.Timeout | undefined;
  let lastTickMs = 0;

  function tick(): void {
    const nowMs = performance.now();
    // While the event loop was blocked, unread bytes may have arrived.
    const heldMs = Math.max(0, nowMs - lastTickMs - 2 * everyMs);
    lastTickMs = nowMs;
    for (const item of watched) {
      item.windowEndsMs += heldMs;
      if (nowMs < item.windowEndsMs) continue;
      const bytes = item.readBytes();
      if (item.isSlow(bytes - item.bytesAtStart, nowMs)) {
        end(item);
        item.onSlow();
      } else {
        item.bytesAtStart = bytes;
        item.windowEndsMs = nowMs + windowMs;
      }
    }
  }

  function end(item: Watched): void {
    watched.delete(item);
    if (watched.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  }

  return {
    watch(readBytes, onSlow, isSlow) {
      if (minBytesPerSecond === 0 && isSlow === undefined) return () => {};
      const nowMs = performance.now();
      const item: Watched = {
        readBytes,
        onSlow,
        isSlow: isSlow ?? ((gainedBytes) => gainedBytes < leastBytes),
        bytesAtStart: readBytes(),
        windowEndsMs: nowMs + windowMs,
      };
      watched.add(item);
      if (timer === undefined) {
        lastTickMs = nowMs;
        timer = setInterval(tick, everyMs).unref();
      }
      return () => end(item);
    },
  };
}
