import { createTokenBuckets, type Clock, type RateLimitResult } from '../../../core/index.ts';
import type { Config } from '../../../platform/index.ts';
import type { ClientIdentity } from '../../oauth/index.ts';
import { MessagingError } from '../errors.ts';

/**
 * Counts one send against the client's rate limit and returns the remainder. Throws MESSAGING_RATE_LIMITED if
 * it is used up.
 */
export type LimitSends = (
  client: Pick<ClientIdentity, 'clientId' | 'limits'>,
  onResult: (rateLimit: RateLimitResult) => void,
) => void;

/**
 * By default as the settings say (Decision 0007). Of the running nodes each admits an equal share
 * (Decision 0022).
 */
export function createSendLimit(
  { sendsPerSecond, sendsBurst }: Pick<Config['messaging'], 'sendsPerSecond' | 'sendsBurst'>,
  clock: Clock,
  liveNodes = () => 1,
): LimitSends {
  const buckets = createTokenBuckets({ ratePerSecond: sendsPerSecond, burst: sendsBurst, clock });
  return ({ clientId, limits }, onResult) => {
    const nodes = liveNodes();
    const rateLimit = buckets.take(clientId, 1, {
      ratePerSecond: (limits.sendsPerSecond ?? sendsPerSecond) / nodes,
      burst: Math.max(1, Math.floor((limits.sendsBurst ?? sendsBurst) / nodes)),
    });
    onResult(rateLimit);
    if (rateLimit.allowed) return;
    throw new MessagingError('MESSAGING_RATE_LIMITED', `client ${clientId} sends too fast`, {
      retryAfterSeconds: rateLimit.retryAfterSeconds,
    });
  };
}
