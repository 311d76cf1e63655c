import { CodedError, errorCode, errorText, type Clock, type Closable, type Log } from '../../core/index.ts';
import type { DnsResolver } from '../../lib/dns/index.ts';
import type { SmtpClient } from '../../lib/smtp/index.ts';
import { startWorker, type AnyTransaction, type Storage, type Vault } from '../../platform/index.ts';
import type { Agent } from '../agent/index.ts';
import { defaultRetryWaitsMs } from './schedule.ts';
import { attemptDelivery } from './attempt.ts';
import {
  createQueue,
  type ClaimedDelivery,
  type DeliveryRequest,
  type OutcomeListener,
  type RecipientDecision,
} from './queue.ts';

export interface DeliveryOptions {
  readonly storage: Storage;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly log: Log;
  readonly agent: Agent;
  readonly dns: DnsResolver;
  readonly nodeId: string;
  readonly smtp: SmtpClient;
  /** The port of every peer's mail server: 25, unless this is a sandbox. */
  readonly peerPort: number;
  readonly onOutcome: OutcomeListener;
  /** How many deliveries are worked on at once. */
  readonly concurrency?: number;
  /** How long a node may work on one delivery before another may take it. */
  readonly leaseMs?: number;
  /** How long trying goes on by default. */
  readonly lifetimeMs?: number;
  /** Waits between attempts in order; the last one repeats. */
  readonly retryWaitsMs?: readonly number[];
  /** How often the queue is looked at without being woken. */
  readonly idleMs?: number;
}

export interface Delivery extends Closable {
  /** Stores a large message durably ahead of the transaction that enqueues it; without `enqueue` it is forgotten. */
  prepare(request: DeliveryRequest): Promise<DeliveryRequest>;
  /** Stores an outgoing message in the caller's transaction; call `wake` after it has committed. */
  enqueue(tx: AnyTransaction, request: DeliveryRequest): Promise<void>;
  wake(): void;
}

/** Starts the outgoing queue. Leases that a former run of this node left behind are taken back at once. */
export async function createDelivery(options: DeliveryOptions): Promise<Delivery> {
  const queue = createQueue({
    storage: options.storage,
    vault: options.vault,
    clock: options.clock,
    nodeId: options.nodeId,
    leaseMs: options.leaseMs ?? 5 * 60_000,
    defaultLifetimeMs: options.lifetimeMs ?? 60 * 60_000,
    retryWaitsMs: options.retryWaitsMs ?? defaultRetryWaitsMs,
    onOutcome: options.onOutcome,
  });
  await queue.releaseOwnLeases();
  const concurrency = options.concurrency ?? 8;

  async function handle(delivery: ClaimedDelivery): Promise<void> {
    try {
      const result = await attemptDelivery(delivery, { ...options, openMessage: queue.openMessage });
      await queue.settle(delivery, result.decisions, result.lastError);
    } catch (error) {
      options.log.error(
        { deliveryId: delivery.id, code: errorCode(error), problem: errorText(error) },
        'a delivery attempt failed',
      );
      await queue.settle(delivery, decideAfterError(delivery, error), errorText(error));
    }
  }

  const worker = startWorker<ClaimedDelivery>({
    name: 'delivery',
    claim: queue.claim,
    handle,
    idleMs: options.idleMs ?? 1_000,
    concurrency,
    log: options.log,
  });
  return { prepare: queue.prepare, enqueue: queue.enqueue, wake: worker.wake, close: worker.close };
}

// An error of ours that is not transient (no signing key, a message that cannot be sealed) will not heal by waiting.
function decideAfterError(delivery: ClaimedDelivery, error: unknown): RecipientDecision[] {
  if (!(error instanceof CodedError) || error.isTransient) return [];
  return delivery.pending.map((recipient) => ({
    recipient,
    outcome: 'failed',
    reason: error.kind === 'untrusted' ? 'untrusted' : 'internal',
    statusCode: '5.3.0',
    text: error.message,
  }));
}
