import type { Closable } from '../../../core/index.ts';

/** Interval at which the difference to the database's clock is measured. */
const measureEveryMs = 30_000;
const triesPerMeasure = 3;

/** The database's time in milliseconds since 1970; between measurements by the monotonic clock. */
export interface MeasuredTime extends Closable {
  nowMs(): number;
}

/**
 * Measures the database's clock against this machine's monotonic clock. Of several answers the fastest
 * counts: the time within it is uncertain by half its duration. A measurement that fails leaves the last one.
 */
export async function measureTime(askDatabaseMs: () => Promise<number>): Promise<MeasuredTime> {
  async function measure(): Promise<number> {
    let best: { readonly tookMs: number; readonly offsetMs: number } | undefined;
    for (let count = 0; count < triesPerMeasure; count++) {
      const askedAt = performance.now();
      const databaseMs = await askDatabaseMs();
      const tookMs = performance.now() - askedAt;
      if (best === undefined || tookMs < best.tookMs)
        best = { tookMs, offsetMs: databaseMs - (askedAt + tookMs / 2) };
    }
    return best?.offsetMs ?? 0;
  }

  let offsetMs = await measure();
  const timer = setInterval(() => {
    measure().then(
      (measured) => (offsetMs = measured),
      () => {},
    );
  }, measureEveryMs);
  timer.unref();
  return {
    nowMs: () => performance.now() + offsetMs,
    close: async () => clearInterval(timer),
  };
}
