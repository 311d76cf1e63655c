import { createGrowingCache } from '../../core/index.ts';

export interface PaceRates {
  /** Questions per second to everybody together, to one name server or host, and about one domain. */
  readonly total: number;
  readonly perServer: number;
  readonly perDomain: number;
  /**
   * Addresses per second that this node judges, with or without questions: path validations take the
   * processor from mail.
   */
  readonly judged: number;
}

/** Spaces questions out, so that no more than the rates leave this node. */
export interface Pace {
  /** Waits until a question about the domain may be put to the server. Rejects when the pace is closed. */
  wait(server: string, domain: string): Promise<void>;
  /** Waits until so many addresses may be judged. Rejects when the pace is closed. */
  waitToJudge(count: number): Promise<void>;
  close(): void;
}

/** Keys cached; the one asked longest ago is evicted and may then be asked at once. */
const maxKeys = 100_000;

/** `liveNodes` share the rates among them. */
export function createPace(rates: PaceRates, liveNodes: () => number, onTurn: () => void = () => {}): Pace {
  const nextAt = createGrowingCache<number>(maxKeys);
  const closing = new AbortController();

  let judgedAt = 0;

  function reserve(key: string, fromMs: number, ratePerSecond: number): number {
    const atMs = Math.max(fromMs, nextAt.get(key) ?? 0);
    nextAt.set(key, atMs + (1000 * Math.max(1, liveNodes())) / ratePerSecond);
    return atMs;
  }

  return {
    async wait(server, domain) {
      const now = performance.now();
      // The narrowest first: while one domain waits for its turn, the turns of all others are not exhausted.
      await pause(reserve(`d:${domain}`, now, rates.perDomain) - performance.now(), closing.signal);
      await pause(
        reserve(`s:${server}`, performance.now(), rates.perServer) - performance.now(),
        closing.signal,
      );
      await pause(reserve('all', performance.now(), rates.total) - performance.now(), closing.signal);
      onTurn();
    },
    async waitToJudge(count) {
      const now = performance.now();
      const atMs = Math.max(now, judgedAt);
      judgedAt = atMs + (1000 * count) / rates.judged;
      await pause(atMs - now, closing.signal);
    },
    close: () => closing.abort(),
  };
}

/** Waits, and rejects at once when the signal is given. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.reject(new Error('closing'));
  if (ms <= 0) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const timer = setTimeout(end, ms);
    function end(): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      if (signal.aborted) reject(new Error('closing'));
      else resolve();
    }
    signal.addEventListener('abort', end);
  });
}
