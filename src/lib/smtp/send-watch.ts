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
/** A socket with a large buffer takes several pieces at a time, so a window may show little more than half of the rate. */
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

/** Tells when a server takes a message too slowly; see {@link isTooSlow}. Returns the function that ends the watching. */
export function watchSending({ readRestBytes, windowMs, endsMs, onSlow }: SendWatchOptions): () => void {
  const everyMs = Math.max(10, Math.min(1000, windowMs / 4));
  let lastTickMs = performance.now();
  let windowEndsMs = lastTickMs + windowMs;
  let restAtStart = readRestBytes();
  const timer = setInterval(() => {
    const nowMs = performance.now();
    // While the event loop was blocked, nothing could be handed over.
    windowEndsMs += Math.max(0, nowMs - lastTickMs - 2 * everyMs);
    lastTickMs = nowMs;
    if (nowMs >= endsMs) return clearInterval(timer);
    if (nowMs < windowEndsMs) return;
    const restBytes = readRestBytes();
    const gainedBytes = restAtStart - restBytes;
    restAtStart = restBytes;
    windowEndsMs = nowMs + windowMs;
    if (!isTooSlow({ gainedBytes, restBytes, windowMs, leftMs: endsMs - nowMs })) return;
    clearInterval(timer);
    onSlow();
  }, everyMs).unref();
  return () => clearInterval(timer);
}
