import { createTokenBuckets, networkOf, type Clock } from '../../core/index.ts';
import { OperatorsError } from './errors.ts';

/**
 * Rate limit against guessing: failed sign-ins are counted per network, never per operator, so that nobody
 * can lock an operator out.
 */
export interface SignInAttempts {
  /** Throws OPERATORS_ATTEMPTS_EXCEEDED. Call it before any lookup. */
  check(remoteAddress: string): void;
  failed(remoteAddress: string): void;
  /** The same for started sign-ins, each of which is stored as a row. Throws OPERATORS_ATTEMPTS_EXCEEDED. */
  begin(remoteAddress: string): void;
}

/** Allowed started sign-ins per allowed failure. */
const begunPerFailed = 3;

export function createSignInAttempts(attemptsPerMinute: number, clock: Clock): SignInAttempts {
  const failures = createTokenBuckets({
    ratePerSecond: attemptsPerMinute / 60,
    burst: attemptsPerMinute,
    clock,
  });
  const begun = createTokenBuckets({
    ratePerSecond: (attemptsPerMinute * begunPerFailed) / 60,
    burst: attemptsPerMinute * begunPerFailed,
    clock,
  });
  return {
    check(remoteAddress) {
      if (failures.take(networkOf(remoteAddress), 0).remaining >= 1) return;
      throw tooMany(Math.ceil(60 / attemptsPerMinute));
    },
    failed: (remoteAddress) => void failures.take(networkOf(remoteAddress)),
    begin(remoteAddress) {
      const { allowed, retryAfterSeconds } = begun.take(networkOf(remoteAddress));
      if (!allowed) throw tooMany(retryAfterSeconds);
    },
  };
}

function tooMany(retryAfterSeconds: number): OperatorsError {
  return new OperatorsError('OPERATORS_ATTEMPTS_EXCEEDED', 'too many sign-ins', { retryAfterSeconds });
}
