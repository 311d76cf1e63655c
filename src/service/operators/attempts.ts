import { createTokenBuckets, networkOf, type Clock } from '../../core/index.ts';
import { OperatorsError } from './errors.ts';

/** Holds back guessing: failed sign-ins are counted by network, never by operator, so that nobody can lock an operator out. */
export interface SignInAttempts {
  /** Throws OPERATORS_ATTEMPTS_EXCEEDED. To be called before anything is looked up. */
  check(remoteAddress: string): void;
  failed(remoteAddress: string): void;
}

export function createSignInAttempts(attemptsPerMinute: number, clock: Clock): SignInAttempts {
  const failures = createTokenBuckets({
    ratePerSecond: attemptsPerMinute / 60,
    burst: attemptsPerMinute,
    clock,
  });
  return {
    check(remoteAddress) {
      if (failures.take(networkOf(remoteAddress), 0).remaining >= 1) return;
      throw new OperatorsError('OPERATORS_ATTEMPTS_EXCEEDED', 'too many failed sign-ins', {
        retryAfterSeconds: Math.ceil(60 / attemptsPerMinute),
      });
    },
    failed: (remoteAddress) => void failures.take(networkOf(remoteAddress)),
  };
}
