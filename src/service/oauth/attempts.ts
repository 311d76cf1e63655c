import { type Clock, createTokenBuckets, networkOf } from '../../core/index.ts';
import { readBasicCredentials } from './basic-credentials.ts';
import { OauthError } from './errors.ts';

export interface AttemptLimits {
  /** Refused requests per minute before 429, per address (IPv6: per /64) and per client id there. */
  readonly attemptsPerMinute: number;
  /** Granted requests of one client. */
  readonly tokensPerSecond: number;
  readonly tokensBurst: number;
}

/**
 * Holds back guessing (OAUTH-12). Refusals are counted by remote address (an IPv6 customer has a whole /64),
 * and by client id at that address; never by client id alone, so that an outsider cannot lock a client out.
 */
export interface AttemptGuard {
  /** Throws OAUTH_ATTEMPTS_EXCEEDED. To be called before any work, and again before a slow hash. */
  check(remoteAddress: string, authorization: string | undefined): void;
  refused(remoteAddress: string, authorization: string | undefined): void;
  /** Takes a counted refusal back: the credentials were right, or could not be checked. */
  forgive(remoteAddress: string, authorization: string | undefined): void;
  /** Throws OAUTH_ATTEMPTS_EXCEEDED if a client asks for tokens faster than it can need them. */
  granted(clientId: string): void;
}

export function createAttemptGuard(limits: AttemptLimits, clock: Clock): AttemptGuard {
  const refusals = createTokenBuckets({
    ratePerSecond: limits.attemptsPerMinute / 60,
    burst: limits.attemptsPerMinute,
    clock,
  });
  const grants = createTokenBuckets({
    ratePerSecond: limits.tokensPerSecond,
    burst: limits.tokensBurst,
    clock,
  });

  function check(remoteAddress: string, authorization: string | undefined): void {
    for (const key of keysOf(remoteAddress, authorization)) {
      const { remaining } = refusals.take(key, 0);
      if (remaining < 1)
        throw tooMany('too many failed token requests', Math.ceil(60 / limits.attemptsPerMinute));
    }
  }

  return {
    check,
    refused(remoteAddress, authorization) {
      for (const key of keysOf(remoteAddress, authorization)) refusals.take(key);
    },
    forgive(remoteAddress, authorization) {
      for (const key of keysOf(remoteAddress, authorization)) refusals.take(key, -1);
    },
    granted(clientId) {
      const rateLimit = grants.take(clientId);
      if (!rateLimit.allowed)
        throw tooMany('too many token requests of one client', rateLimit.retryAfterSeconds);
    },
  };
}

function keysOf(address: string, authorization: string | undefined): readonly string[] {
  const remoteAddress = networkOf(address);
  const clientId = authorization === undefined ? undefined : readBasicCredentials(authorization)[0]?.clientId;
  return clientId === undefined ? [remoteAddress] : [remoteAddress, `${remoteAddress} ${clientId}`];
}

function tooMany(text: string, retryAfterSeconds: number): OauthError {
  return new OauthError('OAUTH_ATTEMPTS_EXCEEDED', text, { retryAfterSeconds });
}
