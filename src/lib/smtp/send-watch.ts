import { createRateWatch } from '../../core/index.ts';
import { sendChunkBytes } from './limits.ts';

export interface SendWindow {
  /** Bytes handed over within the window. */
  readonly gainedBytes: number;
  /** Bytes of the message that are still to be handed over. */
  readonly restBytes: number;
  readonly windowMs: number;
  /** Time left for the message. */
  readonly leftMs: number;
}

/** The message is handed over in pieces: fewer than these say nothing about a rate. */
const leastBytes = 3 * sendChunkBytes;
/**
 * A socket with a large buffer takes several pieces at a time, so a window may show little more than half of
 * the rate.
 */
const leastShare = 0.5;

/** True if a server that goes on as in the window would not have taken the message in time. */
export function isTooSlow({ gainedBytes, restBytes, windowMs, leftMs }: SendWindow): boolean {
  const neededBytes = restBytes * Math.min(1, windowMs / leftMs);
  return neededBytes > leastBytes && gainedBytes < leastShare * neededBytes;
}

export interface SendWatchOptions {
  /** Bytes of the message that are still to be handed over. */
  readonly readRestBytes: () => number;
  readonly windowMs: number;
  /** When the time for the message ends, by `performance.now()`. */
  readonly endsMs: number;
  /** Called at most once, at the end of a window. */
  readonly onSlow: () => void;
}

/**
 * Tells when a server takes a message too slowly; see {@link isTooSlow}. Returns the function that ends the
 * watching.
 */
export function watchSending({ readRestBytes, windowMs, endsMs, onSlow }: SendWatchOptions): () => void {
  const isSlow = (gainedBytes: number, nowMs: number): boolean =>
    isTooSlow({ gainedBytes, restBytes: readRestBytes(), windowMs, leftMs: endsMs - nowMs });
  return createRateWatch({ minBytesPerSecond: 0, windowMs }).watch(() => -readRestBytes(), onSlow, isSlow);
}
