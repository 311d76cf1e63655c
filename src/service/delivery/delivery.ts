import { setTimeout as wait } from 'node:timers/promises';
import { countOf, errorCode, type Clock, type Closable, type Log } from '../../core/index.ts';
import type { DnsResolver } from '../../lib/dns/index.ts';
import type { SmtpClient } from '../../lib/smtp/index.ts';
import {
  createLeases,
  isLeaseLost,
  createMetrics,
  createEmit,
  requireLease,
  startFairWorker,
  startRounds,
  type AnyTransaction,
  type AttemptVerdict,
  type FairLimits,
  type FairWorker,
  type Leased,
  type Leases,
  type Metrics,
  type Storage,
  type Vault,
} from '../../platform/index.ts';
import type { Agent } from '../agent/index.ts';
import { createAdmin, type DeliveryAdmin } from './admin.ts';
import { attemptDestination, type AttemptResult } from './attempt.ts';
import { createDestinationClasses } from './events.ts';
import { deliveryEvents } from './events.ts';
import { watchOutages } from './outages.ts';
import { createHolds, releaseEnded } from './holds.ts';
import type { ClaimedDestination, Settlement } from './queue-items.ts';
import { createQueue } from './queue.ts';
import { deleteOldAttempts } from './retention.ts';
import type {
  CertificateListener,
  DeliveryProblem,
  DeliveryRequest,
  OutcomeListener,
  RecipientDecision,
} from './request.ts';
import { retryWaitMs } from './schedule.ts';
import { createSharedSeals } from './shared-seal.ts';

/** The settings `delivery.*`, in milliseconds. */
export interface DeliverySettings {
  /** Destinations worked on at once; those that are new, slow or do not answer are tried on top. */
  readonly concurrency: number;
  /** Lease time of a destination without a renewal by its node; then another node may take it. */
  readonly leaseMs: number;
  /** Time until retries end. */
  readonly lifetimeMs: number;
  /** Waits between attempts in order; the last one repeats. */
  readonly retryWaitsMs: readonly number[];
  /**
   * The same between probes of a destination that could not be reached: after an outage, mail flows again
   * within the last one.
   */
  readonly probeWaitsMs: readonly number[];
  /** Rows of attempts older than this are deleted. */
  readonly keepAttemptsMs: number;
}

export interface DeliveryOptions extends DeliverySettings {
  readonly storage: Storage;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly log: Log;
  readonly agent: Agent;
  readonly dns: DnsResolver;
  readonly smtp: SmtpClient;
  /** The port of every peer's mail server: 25, unless this is a sandbox. */
  readonly peerPort: number;
  /** Mail servers on private addresses are used, too. */
  readonly allowsPrivateHosts: boolean;
  /** A relay that takes all mail at `peerPort`: no MX is looked up. Slots are still shared by destination. */
  readonly relayHost?: string | undefined;
  readonly onOutcome: OutcomeListener;
  /** By default the certificates of attempts are not kept. */
  readonly onCertificates?: CertificateListener;
  /** Called in the transaction that ends a hold whose time is over. */
  readonly onHoldEnded?: (tx: AnyTransaction, domain: string) => Promise<void>;
  /** The registry for metrics; by default they are not exported. */
  readonly metrics?: Metrics;
  /** Interval of reading the queue without a wake-up. Default 1 s. */
  readonly idleMs?: number;
  /** Changes how slots are shared; for tests. */
  readonly limits?: Partial<FairLimits>;
  /** Memory for larger messages that are worked on at the same time, in bytes; for tests. */
  readonly maxLargeBytes?: number;
}

export interface Delivery extends Closable, DeliveryAdmin {
  /**
   * Stores a large message durably ahead of the transaction that enqueues it; without `enqueue` it is deleted
   * again.
   */
  prepare(request: DeliveryRequest): Promise<DeliveryRequest>;
  /** Stores an outgoing message in the caller's transaction; it is started once that is committed. */
  enqueue(tx: AnyTransaction, request: DeliveryRequest): Promise<void>;
}

/**
 * Destinations that back off, of which each claim asks whether an operator wants something tried; any other
 * one is tried after its back-off.
 */
const maxWanted = 5_000;
/** Interval of checking overdue destinations and old attempts. */
const sweepEveryMs = 30_000;
/**
 * Wait at the end for replies of peers; less than a service manager waits before it kills
 * (deploy/openhisp.service).
 */
const closeGraceMs = 8_000;
const overdueBatch = 100;
/**
 * Memory for larger messages that are worked on at the same time: each is there plain and sealed (base64).
 */
const defaultMaxLargeBytes = 288 * 1024 * 1024;
/**
 * Waits between tries to store a result while the database is away; the last one repeats until the lease is
 * lost.
 */
const settleWaitsMs = [50, 200, 1_000, 5_000];

/** Starts the outgoing queue. */
export async function createDelivery(options: DeliveryOptions): Promise<Delivery> {
  const { storage, leaseMs, log } = options;
  const leases = trackLeases(
    createLeases({ storage, table: 'delivery_destination', leaseMs }),
    storage,
    leaseMs,
  );
  const holds = await createHolds(storage, log);
  const isClosing = new AbortController();
  const emit = createEmit(deliveryEvents, { metrics: options.metrics ?? createMetrics(), log });
  const queue = createQueue({
    ...options,
    leases,
    hasRoom: (domain) => !holds.has(domain) && worker.hasRoom(domain),
    onStored(items, message, isAll) {
      const [first] = items;
      if (first !== undefined) seals.remember(first.deliveryId, message);
      for (const item of items) worker.offer(item);
      if (!isAll) worker.wake();
    },
  });
  const seals = createSharedSeals(options.agent, queue);
  const classes = createDestinationClasses();
  const limits = {
    ...limitsFor(options.concurrency, options.maxLargeBytes),
    ...options.limits,
  };
  const attemptDeps = {
    ...options,
    seals,
    confirmLease,
    findLastServer: queue.findLastServer,
    isClosing: () => isClosing.signal.aborted,
  };

  /** Renews a lease that ends soon. Throws PLATFORM_LEASE_LOST. */
  async function confirmLease(item: ClaimedDestination): Promise<void> {
    if (storage.clock.now().getTime() < item.leaseUntil - leaseMs / 4) return;
    const lost = await leases.renew([item]);
    requireLease(1 - lost.length, item.id);
  }

  async function handle(item: ClaimedDestination, freeBytes: () => void): Promise<AttemptVerdict> {
    if (item.recipients.length === 0) {
      await queue.settle(item, { decisions: [], nextAttemptAt: item.notAfter });
      return 'untried';
    }
    if (holds.has(item.party)) {
      await leases.release([item]);
      return 'untried';
    }
    if (item.attempts > 0 && storage.clock.now().getTime() >= item.notAfter) {
      await settleOverdue(item);
      return 'untried';
    }
    const result = await attemptDestination(item, attemptDeps, freeBytes);
    const settlement = scheduleRest(item, result, options, storage.clock.now().getTime());
    await settleWithRetries(item, settlement);
    emitAttempt(item, result, settlement);
    if (result.isOwnFault) return 'untried';
    if (result.isOutage) outages.note(item.party);
    else if (result.attempt.address !== '') outages.end(item.party);
    return result.isOutage ? 'failing' : 'ok';
  }

  /** One line for each attempt that failed: where, why, and when the next one is. */
  function emitAttempt(
    { kind, messageId, party, attempts, recipients }: ClaimedDestination,
    { failure, attempt, isOutage, isOwnFault }: AttemptResult,
    { decisions, nextAttemptAt }: Settlement,
  ): void {
    const known = isOwnFault ? classes.get(party) : classes.note(party, isOutage);
    const fields = { messageId, destination: party, host: attempt.host, attempt: attempts + 1 };
    if (failure === undefined) return emit('attemptSucceeded', { kind, class: known }, fields);
    const isOver = decisions.length === recipients.length;
    const nextAt = options.clock.now().getTime() + nextAttemptAt - storage.clock.now().getTime();
    emit(
      'attemptFailed',
      { kind, reason: failure.reason, class: known },
      {
        ...fields,
        address: attempt.address,
        code: attempt.code,
        nextAttemptAt: isOver ? '' : new Date(nextAt).toISOString(),
      },
    );
  }

  /** Another process, such as a command, can only say in the database that a destination is to be retried. */
  async function claim(
    limit: number,
    excluded: readonly string[],
    only: readonly string[] | undefined,
  ): Promise<readonly ClaimedDestination[]> {
    const backingOff = worker
      .backingOff()
      .slice(0, maxWanted)
      .map(({ party }) => party);
    if (backingOff.length > 0) for (const domain of await queue.findWanted(backingOff)) worker.resume(domain);
    return queue.claim(limit, excluded, only);
  }

  /**
   * The peer has the message; if its result were not stored, it would be sent again. So storing is retried
   * until it succeeds or the lease is lost.
   */
  async function settleWithRetries(item: ClaimedDestination, settlement: Settlement): Promise<void> {
    for (let tries = 0; ; tries++) {
      const { token } = item;
      try {
        return await queue.settle(item, settlement);
      } catch (error) {
        if (isClosing.signal.aborted && tries > 0) throw error;
        // A row that can never be stored must not keep its slot forever.
        if (storage.clock.now().getTime() > item.notAfter) throw error;
        // Once per attempt: an outage of the database may last for hours.
        if (tries === 0)
          log.warn(
            { messageId: item.messageId, destination: item.party, code: errorCode(error), error },
            'the result of an attempt could not be stored yet; it is tried again',
          );
        const waitMs = settleWaitsMs[Math.min(tries, settleWaitsMs.length - 1)];
        await wait(waitMs, undefined, { signal: isClosing.signal }).catch(() => {});
        // After a standstill this node may have claimed the item again by another token.
        if (isLeaseLost(error) && item.token === token) throw error;
      }
    }
  }

  async function settleOverdue(item: ClaimedDestination): Promise<void> {
    const problem = await queue.findProblem(item.id);
    const isHeld = holds.has(item.party);
    if (isHeld)
      log.warn(
        { domain: item.party, messageId: item.messageId, recipients: item.recipients.length },
        'mail failed because its destination was on hold until its time was over',
      );
    await queue.settle(item, {
      decisions: failExpired(
        item,
        item.recipients,
        problem ?? (isHeld ? heldProblem(item) : undefined),
        options.lifetimeMs,
      ),
      nextAttemptAt: item.notAfter,
    });
  }

  async function sweep(): Promise<void> {
    const released = await releaseEnded(storage, options.clock, options.onHoldEnded);
    if (released.length > 0) await holds.refresh().then(() => worker.wake());
    for (;;) {
      const items = await queue.claimOverdue(overdueBatch);
      for (const item of items) await settleOverdue(item);
      if (items.length < overdueBatch) break;
    }
    await deleteOldAttempts(storage, options.clock.now().getTime() - options.keepAttemptsMs);
  }

  const worker: FairWorker<ClaimedDestination> = startFairWorker<ClaimedDestination>({
    name: 'delivery',
    limits,
    leases,
    leaseMs,
    claim: (limit, excluded, _groups, only) => claim(limit, excluded, only),
    handle,
    dueAfter: (ms) => storage.clock.now().getTime() + ms,
    idleMs: options.idleMs ?? 1_000,
    log,
  });
  const sweeper = startRounds({ name: 'delivery-sweep', everyMs: sweepEveryMs, log, work: sweep });
  const outages = watchOutages({
    queue,
    log,
    probeWaitsMs: options.probeWaitsMs,
    reopen: (domain) => worker.reopen(domain),
  });
  const stopListening = storage.onAnnounced('delivery', () => worker.wake());
  return {
    prepare: queue.prepare,
    enqueue: queue.enqueue,
    ...createAdmin({ ...options, queue, holds, worker }),
    async close() {
      isClosing.abort();
      stopListening();
      const ending = setTimeout(() => void options.smtp.close(), closeGraceMs).unref();
      await Promise.all([worker.close(), sweeper.close(), outages.close(), holds.close()]);
      clearTimeout(ending);
    },
  };
}

/** Slots by the setting `delivery.concurrency`, with the lanes of Decision 0023. */
function limitsFor(concurrency: number, largeBytes = defaultMaxLargeBytes): FairLimits {
  return {
    slots: concurrency,
    share: Math.max(1, Math.ceil(concurrency / 4)),
    slowSlots: concurrency * 16,
    slowShare: Math.max(1, Math.ceil(concurrency / 16)),
    isSlowUntilAnswered: true,
    slowAfterMs: 5_000,
    // Two thirds for destinations that work.
    maxBytes: largeBytes * (2 / 3),
    slowMaxBytes: largeBytes / 3,
    waiting: concurrency * 32,
    failuresBeforeBackOff: 5,
    backOffMs: 15_000,
    maxBackOffMs: 5 * 60_000,
  };
}

/** Leases whose renewals are noted in the items. */
function trackLeases(leases: Leases, storage: Storage, leaseMs: number): Leases {
  return {
    ...leases,
    async renew(held: readonly (Leased & { leaseUntil?: number })[]) {
      const until = storage.clock.now().getTime() + leaseMs;
      const lost = new Set(await leases.renew(held));
      for (const item of held) if (!lost.has(item.id)) item.leaseUntil = until;
      return [...lost];
    },
  };
}

/** Time of the next attempt for the undecided recipients; if that would be too late, they fail now. */
function scheduleRest(
  item: ClaimedDestination,
  { decisions, problem, attempt, pathCertificates }: AttemptResult,
  { retryWaitsMs, lifetimeMs }: DeliverySettings,
  now: number,
): Settlement {
  const nextAttemptAt = now + retryWaitMs(item.attempts + 1, retryWaitsMs, Math.random);
  const facts = { nextAttemptAt, attempt, pathCertificates };
  if (nextAttemptAt <= item.notAfter) return { decisions, problem, ...facts };
  const decided = new Set<string>(decisions.map(({ recipient }) => recipient));
  const left = item.recipients.filter((recipient) => !decided.has(recipient));
  return {
    decisions: [...decisions, ...failExpired(item, left, problem, lifetimeMs)],
    ...facts,
  };
}

const hourMs = 3_600_000;

/** Nothing was tried. The operator's reason is for other operators, not for the sending client. */
function heldProblem({ party }: ClaimedDestination): DeliveryProblem {
  return { reason: 'cancelled', text: `an operator of this service holds all mail to ${party}` };
}

function describeLifetime(lifetimeMs: number): string {
  // Not rounded to hours: a message kept for 90 minutes was not kept for two hours.
  return lifetimeMs % hourMs === 0
    ? countOf(lifetimeMs / hourMs, 'hour')
    : `${Math.round(lifetimeMs / 60_000)} min`;
}

/** Retries are exhausted: the last problem is the reason. */
function failExpired(
  item: ClaimedDestination,
  recipients: ClaimedDestination['recipients'],
  problem: DeliveryProblem | undefined,
  lifetimeMs: number,
): RecipientDecision[] {
  const { reason, statusCode, text } = problem ?? {
    reason: 'unreachable',
    statusCode: undefined,
    text: `${item.party} was not retried in time`,
  };
  // A transient (4.x.x) code does not fit a final failure.
  const given = statusCode === undefined || statusCode.startsWith('4') ? {} : { statusCode };
  return recipients.map((recipient) => ({
    recipient,
    outcome: 'failed',
    reason,
    ...given,
    text: `Retries ended after ${describeLifetime(lifetimeMs)}; last problem: ${text}`,
  }));
}
