import { type Clock, createTokenBuckets, type Log, type RateLimitResult } from '../../../core/index.ts';
import type { Storage } from '../../../platform/index.ts';
import type { ClientIdentity } from '../../oauth/index.ts';
import { DirectoryError } from '../errors.ts';
import { createQuotaLedger } from './quota-ledger.ts';

/** The caller: the client, and the request's data for the audit row. */
export interface DirectoryCaller {
  readonly client: Pick<ClientIdentity, 'clientId' | 'limits' | 'dataUseAcceptedAt'>;
  readonly requestId?: string | undefined;
  readonly remoteAddress?: string | undefined;
}

/** Default limits of clients (Decision 0007). */
export interface DirectoryLimits {
  readonly requestsPerSecond: number;
  readonly requestsBurst: number;
  readonly recordsPerDay: number;
}

/**
 * Refuses clients that exceed their limits or have not accepted the data-use rule
 * (Directory spec: What the service does; D13, D27).
 */
export interface ClientGuard {
  /** Takes one request from the client's bucket. */
  take(caller: DirectoryCaller): RateLimitResult;
  /** Throws DIRECTORY_DATA_USE_NOT_ACCEPTED. */
  admitUse(caller: DirectoryCaller): void;
  /** Throws DIRECTORY_DATA_USE_NOT_ACCEPTED or DIRECTORY_QUOTA_USED. */
  admit(caller: DirectoryCaller): Promise<void>;
  /**
   * Counts the records to be shown to the client. Throws DIRECTORY_QUOTA_USED if other requests have used the
   * quota meanwhile.
   */
  book(caller: DirectoryCaller, recordCount: number): Promise<void>;
  /** Stores the counts. */
  close(): Promise<void>;
}

export function createClientGuard(options: {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly limits: DirectoryLimits;
  readonly flushMs: number;
  readonly log: Log;
  /** Number of running nodes: each admits an equal share of a client's requests (Decision 0022). */
  readonly liveNodes?: () => number;
}): ClientGuard {
  const { clock, limits, liveNodes = () => 1 } = options;
  const buckets = createTokenBuckets({
    ratePerSecond: limits.requestsPerSecond,
    burst: limits.requestsBurst,
    clock,
  });
  const ledger = createQuotaLedger(options);
  const quotaOf = ({ client }: DirectoryCaller): number =>
    client.limits.directoryRecordsPerDay ?? limits.recordsPerDay;

  async function quotaUsed(caller: DirectoryCaller): Promise<DirectoryError> {
    const { clientId } = caller.client;
    return new DirectoryError(
      'DIRECTORY_QUOTA_USED',
      `Client ${clientId} has been shown ${await ledger.used(clientId)} of ${quotaOf(caller)} records today`,
      { retryAfterSeconds: ledger.secondsToNextDay() },
    );
  }

  return {
    take({ client }) {
      const nodes = liveNodes();
      const own = {
        ratePerSecond: (client.limits.directoryRequestsPerSecond ?? limits.requestsPerSecond) / nodes,
        burst: Math.max(
          1,
          Math.floor((client.limits.directoryRequestsBurst ?? limits.requestsBurst) / nodes),
        ),
      };
      return buckets.take(client.clientId, 1, own);
    },
    admitUse,
    async admit(caller) {
      admitUse(caller);
      if ((await ledger.used(caller.client.clientId)) >= quotaOf(caller)) throw await quotaUsed(caller);
    },
    async book(caller, recordCount) {
      if (!(await ledger.add(caller.client.clientId, recordCount, quotaOf(caller))))
        throw await quotaUsed(caller);
    },
    close: () => ledger.close(),
  };
}

function admitUse({ client }: DirectoryCaller): void {
  if (client.dataUseAcceptedAt !== undefined) return;
  throw new DirectoryError(
    'DIRECTORY_DATA_USE_NOT_ACCEPTED',
    `Client ${client.clientId} has not accepted the data-use rule`,
  );
}

/** The error for a client whose bucket is empty. */
export function rateLimited(caller: DirectoryCaller, retryAfterSeconds: number): DirectoryError {
  return new DirectoryError('DIRECTORY_RATE_LIMITED', `Client ${caller.client.clientId} asks too often`, {
    retryAfterSeconds,
  });
}
