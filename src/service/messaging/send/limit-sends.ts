import { createTokenBuckets, type Clock, type RateLimitResult } from '../../../core/index.ts';
import { defaultSettings, type Config } from '../../../platform/index.ts';
import type { ClientIdentity } from '../../oauth/index.ts';
import { MessagingError } from '../errors.ts';

/** Sends of one client: refill per second, and how many at once (Decision 0007). */
export interface SendRate {
  readonly ratePerSecond: number;
  readonly burst: number;
}

export function sendRateOf(settings: Config['messaging']): SendRate {
  return { ratePerSecond: settings.sendsPerSecond, burst: settings.sendsBurst };
}

export const defaultSendRate: SendRate = sendRateOf(defaultSettings.messaging);

/**
 * Counts one send against the client's rate limit and returns the remainder. Throws MESSAGING_RATE_LIMITED if
 * it is used up.
 */
export type LimitSends = (
  client: Pick<ClientIdentity, 'clientId' | 'limits'>,
  onResult: (rateLimit: RateLimitResult) => void,
) => void;

/** Number of running nodes: each admits an equal share (Decision 0022). */
export function createSendLimit(rate: SendRate, clock: Clock, liveNodes = () => 1): LimitSends {
  const buckets = createTokenBuckets({ ...rate, clock });
  return ({ clientId, limits }, onResult) => {
    const nodes = liveNodes();
    const rateLimit = buckets.take(clientId, 1, {
      ratePerSecond: (limits.sendsPerSecond ?? rate.ratePerSecond) / nodes,
      burst: Math.max(1, Math.floor((limits.sendsBurst ?? rate.burst) / nodes)),
    });
    onResult(rateLimit);
    if (rateLimit.allowed) return;
    throw new MessagingError('MESSAGING_RATE_LIMITED', `client ${clientId} sends too fast`, {
      retryAfterSeconds: rateLimit.retryAfterSeconds,
    });
  };
}
