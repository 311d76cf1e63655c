import type { SourceAnswer } from './steps.ts';

/** The answer, or `unavailable` once the time left is exhausted; a question already asked runs into its own time limit. */
export async function withinBudget(ask: () => Promise<SourceAnswer>, leftMs: number): Promise<SourceAnswer> {
  if (leftMs <= 0) return timedOut;
  const { promise, resolve } = Promise.withResolvers<SourceAnswer>();
  const timer = setTimeout(() => resolve(timedOut), leftMs);
  try {
    return await Promise.race([ask(), promise]);
  } finally {
    clearTimeout(timer);
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
