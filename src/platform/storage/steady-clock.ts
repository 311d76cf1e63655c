import type { Clock } from '../../core/index.ts';

/**
 * The share of elapsed time by which the clock runs faster or slower while it approaches the machine's clock.
 */
const slewShare = 0.1;

/** A clock whose reading a node can take over from others, before anything uses it. */
export interface SteadyClock extends Clock {
  set(toMs: number): void;
}

/**
 * A clock for leases and for when work is due. It begins at the machine's time and advances with the
 * monotonic clock; when the machine's clock is set, it follows slowly instead of jumping: after a jump
 * forward nothing expires all at once, and after a jump back nothing waits for hours.
 */
export function createSteadyClock(
  machineNowMs: () => number = Date.now,
  monotonicMs: () => number = () => performance.now(),
): SteadyClock {
  let atMs = machineNowMs();
  let readAt = monotonicMs();
  return {
    set(toMs) {
      atMs = toMs;
      readAt = monotonicMs();
    },
    now() {
      const at = monotonicMs();
      const elapsedMs = Math.max(0, at - readAt);
      readAt = at;
      const behindMs = machineNowMs() - (atMs + elapsedMs);
      const mostMs = elapsedMs * slewShare;
      atMs += elapsedMs + Math.min(Math.max(behindMs, -mostMs), mostMs);
      return new Date(Math.round(atMs));
    },
  };
}
