import type { SourceAnswer } from './steps.ts';

/**
 * The answer, or `unavailable` once the time left is exhausted; a question already asked runs into its own
 * time limit. Throws the reason of the signal when that is aborted.
 */
export async function withinBudget(
  ask: () => Promise<SourceAnswer>,
  leftMs: number,
  signal?: AbortSignal,
): Promise<SourceAnswer> {
  signal?.throwIfAborted();
  if (leftMs <= 0) return timedOut;
  const { promise, resolve, reject } = Promise.withResolvers<SourceAnswer>();
  const timer = setTimeout(() => resolve(timedOut), leftMs);
  const abort = (): void => reject(signal?.reason);
  signal?.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([ask(), promise]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}

const timedOut: SourceAnswer = {
  outcome: 'unavailable',
  certificates: [],
  unreadableCount: 0,
  ttlSeconds: 0,
  query: 'not finished',
  detail: 'the time limit for this address is exceeded',
};
