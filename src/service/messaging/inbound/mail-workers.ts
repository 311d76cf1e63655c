import { errorCode } from '../../../core/index.ts';
import {
  createLeases,
  isLeaseLost,
  startFairWorker,
  type AttemptVerdict,
  type FairLimits,
  type FairWorker,
} from '../../../platform/index.ts';
import type { Kysely } from 'kysely';
import { refusalDetail } from '../../agent/index.ts';
import type { MessagingDependencies } from '../ports.ts';
import type { MessagingTables } from '../tables.ts';
import { judgeMail, rejection, type Decision, type Verdict } from './judge-mail.ts';
import {
  claimMail,
  isLastUndecided,
  maxInboundAttempts,
  maxUndecidedAttempts,
  openMail,
  postponeMail,
  removeMail,
  type MailItem,
  type MailTaker,
} from './spool-mail.ts';

/** The two lanes of spooled mail. */
export interface MailWorkers {
  /** Mail that is judged without fetches for unknown senders, or with them. */
  lane(needsFetch: boolean): MailTaker;
  wake(): void;
  close(): Promise<void>;
}

export interface MailWorkerOptions {
  /** Lease time of mail without a renewal by its node. */
  readonly leaseMs: number;
  /** Polling interval of the spool without a notification. */
  readonly idleMs: number;
  /** Memory for large mail that is worked on at the same time, in both lanes together. */
  readonly maxBytes: number;
}

const ordinaryLimits: FairLimits = {
  slots: 8,
  share: 4,
  slowSlots: 2,
  slowShare: 1,
  slowAfterMs: 5_000,
  waiting: 64,
  // Mail is no party that could be unreachable; it waits by its own delays.
  failuresBeforeBackOff: Number.MAX_SAFE_INTEGER,
  backOffMs: 1_000,
  maxBackOffMs: 1_000,
};

/**
 * Each slot may be held for as long as an outsider's server says nothing, so there are few, and no party has
 * all of them.
 */
const fetchLimits: FairLimits = {
  ...ordinaryLimits,
  slots: 4,
  share: 2,
  slowSlots: 2,
  slowShare: 1,
  waiting: 16,
};

export function startMailWorkers(
  deps: MessagingDependencies,
  { leaseMs, idleMs, maxBytes }: MailWorkerOptions,
): MailWorkers {
  const leases = createLeases({
    storage: deps.storage,
    table: 'inbound_mail',
    leaseMs,
    countsClaims: true,
  });

  function startLane(needsFetch: boolean): FairWorker<MailItem> {
    return startFairWorker<MailItem>({
      name: needsFetch ? 'inbound-fetch' : 'inbound',
      limits: needsFetch
        ? { ...fetchLimits, maxBytes: maxBytes / 6, slowMaxBytes: maxBytes / 6 }
        : { ...ordinaryLimits, maxBytes: maxBytes / 2, slowMaxBytes: maxBytes / 6 },
      leases,
      leaseMs,
      claim: (limit, excluded) => claimMail(deps, leases, needsFetch, limit, excluded),
      handle: (item) => processMail(deps, item, () => fetching.wake()),
      dueAfter: (ms) => deps.storage.clock.now().getTime() + ms,
      idleMs,
      log: deps.log,
    });
  }

  const fetching = startLane(true);
  const ordinary = startLane(false);
  const takerOf = (worker: FairWorker<MailItem>): MailTaker => ({
    leases,
    hasRoom: (party) => worker.hasRoom(party),
    offer: (item) => worker.offer(item),
    wake: () => worker.wake(),
  });
  const [forFetches, forOthers] = [takerOf(fetching), takerOf(ordinary)];
  return {
    lane: (needsFetch) => (needsFetch ? forFetches : forOthers),
    wake() {
      fetching.wake();
      ordinary.wake();
    },
    async close() {
      await Promise.all([fetching.close(), ordinary.close()]);
    },
  };
}

/** Works on one spooled mail. The outcome is stored together with its removal, under its lease. */
async function processMail(
  deps: MessagingDependencies,
  mail: MailItem,
  wakeFetching: () => void,
): Promise<AttemptVerdict> {
  const isLast = mail.needsFetch && isLastUndecided(mail, deps.clock.now());
  const verdict = await judge(deps, mail, isLast);
  if (verdict.kind === 'decided') {
    try {
      await settle(deps, mail, verdict);
    } catch (error) {
      if (isLeaseLost(error)) throw error;
      await postpone(deps, mail, error);
    }
    return 'ok';
  }
  const isUndecided = verdict.kind === 'undecided';
  const undecided = isLast ? 'last-undecided' : 'undecided';
  await postpone(deps, mail, verdict.error, isUndecided ? undecided : undefined);
  if (isUndecided && !mail.needsFetch) wakeFetching();
  return 'ok';
}

async function judge(deps: MessagingDependencies, mail: MailItem, isLastAttempt: boolean): Promise<Verdict> {
  // It has ended the process that often.
  if (mail.attempts > (mail.needsFetch ? maxUndecidedAttempts : maxInboundAttempts))
    return { kind: 'failed', error: new RangeError('no attempts remain') };
  return judgeMail(deps, mail, () => openMail(deps, mail), {
    allowFetch: mail.needsFetch,
    isLastAttempt,
  });
}

async function settle(
  deps: MessagingDependencies,
  mail: MailItem,
  { storeIn, shareBy }: Decision,
): Promise<void> {
  await deps.storage.transaction(
    async (tx: Kysely<MessagingTables>) => {
      await removeMail(tx, deps, mail);
      await storeIn(tx);
    },
    { shareBy },
  );
}

async function postpone(
  deps: MessagingDependencies,
  mail: MailItem,
  error: unknown,
  undecided?: 'undecided' | 'last-undecided',
): Promise<void> {
  const code = errorCode(error);
  const detail = refusalDetail(error);
  const became = await postponeMail(deps, mail, { code, detail }, undecided);
  if (became === 'undecided') {
    await settle(deps, mail, { storeIn: rejection(deps, mail, code, { detail }), shareBy: mail.id });
    return;
  }
  const fields = {
    mailId: mail.id,
    attempts: mail.attempts,
    ...(detail === '' ? {} : { detail }),
    frames: framesOf(error),
  };
  deps.emit(became === 'dead-letter' ? 'deadLettered' : 'postponed', { code }, fields);
}

// Only the place of an error that is not ours: a parser's text may quote message content.
function framesOf(error: unknown): readonly string[] {
  const lines = error instanceof Error ? (error.stack?.split('\n') ?? []) : [];
  return lines.filter((line) => line.startsWith('    at ')).slice(0, 10);
}
