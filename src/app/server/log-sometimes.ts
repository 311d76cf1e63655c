import { createTokenBuckets, errorCode, errorText, type Clock, type Log } from '../../core/index.ts';

/**
 * Logs errors of answers to outsiders, who ask as often as they like: while the database is away, one line
 * per minute is enough.
 */
export function logSometimes(
  { log, clock }: { readonly log: Log; readonly clock: Clock },
  text: string,
): (error: unknown) => void {
  const lines = createTokenBuckets({ ratePerSecond: 1 / 60, burst: 1, clock });
  return (error) => {
    if (lines.take(text).allowed) log.error({ code: errorCode(error), problem: errorText(error) }, text);
  };
}
