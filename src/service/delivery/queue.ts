import type { Kysely } from 'kysely';
import type { Clock } from '../../core/index.ts';
import { addressKey, type DirectAddress } from '../../lib/values/index.ts';
import {
  createContentStore,
  tablesOf,
  type AnyTransaction,
  type Storage,
  type Vault,
} from '../../platform/index.ts';
import { retryWaitMs } from './schedule.ts';
import type { DeliveryKind, DeliveryTables } from './tables.ts';

/** What is to be carried. */
export interface DeliveryRequest {
  /** Unique; the caller finds its own row by it. */
  readonly deliveryId: string;
  readonly kind: DeliveryKind;
  readonly from: DirectAddress;
  /** At least one, each once. */
  readonly recipients: readonly DirectAddress[];
  /** The plain RFC 5322 message with CRLF; sealed at rest. */
  readonly message: Uint8Array;
  /** `message` as `prepare` stored it. */
  readonly stored?: Uint8Array;
  /** When trying ends; by default an hour from now. */
  readonly notAfter?: Date;
}

/** What became of one recipient: the peer's mail server took the message, or it will never get it. */
export interface DeliveryOutcome {
  readonly deliveryId: string;
  readonly kind: DeliveryKind;
  readonly recipient: DirectAddress;
  readonly outcome: 'sent' | 'failed';
  readonly reason?: DeliveryFailureReason;
  /** Enhanced status code (RFC 3463), for example `5.7.31`. */
  readonly statusCode?: string;
  /** For operators and the sender; names hosts and rules, never content. */
  readonly text?: string;
  readonly at: Date;
}

export type DeliveryFailureReason =
  | 'no-certificate'
  | 'untrusted'
  | 'sender-certificate'
  | 'unknown-recipient'
  | 'smtp-rejected'
  | 'internal';

/** Called inside the transaction that stores the outcome, so that both are kept or neither. */
export type OutcomeListener = (tx: AnyTransaction, outcome: DeliveryOutcome) => Promise<void>;

/** A delivery that this node holds a lease on. */
export interface ClaimedDelivery {
  readonly id: string;
  readonly kind: DeliveryKind;
  readonly sender: DirectAddress;
  /** As the row holds it. */
  readonly stored: Uint8Array;
  readonly pending: readonly DirectAddress[];
  readonly attempts: number;
  readonly notAfter: Date;
}

export type RecipientDecision = Omit<DeliveryOutcome, 'deliveryId' | 'kind' | 'at'>;

export interface QueueParts {
  readonly storage: Storage;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly nodeId: string;
  readonly leaseMs: number;
  readonly defaultLifetimeMs: number;
  readonly retryWaitsMs: readonly number[];
  readonly onOutcome: OutcomeListener;
}

export interface DeliveryQueue {
  /** Stores a large message ahead of the transaction, which then is short; a small one is sealed. */
  prepare(request: DeliveryRequest): Promise<DeliveryRequest>;
  /** Stores a delivery in the caller's transaction. */
  enqueue(tx: AnyTransaction, request: DeliveryRequest): Promise<void>;
  /** Takes up to `limit` due deliveries under a lease. */
  claim(limit: number): Promise<readonly ClaimedDelivery[]>;
  /** The plain RFC 5322 message. */
  openMessage(delivery: ClaimedDelivery): Promise<Buffer>;
  /** Stores what was decided, tells the listener, and lets the rest wait for the next attempt or fail for good. */
  settle(
    delivery: ClaimedDelivery,
    decisions: readonly RecipientDecision[],
    lastError: string,
  ): Promise<void>;
  /** Gives back the leases that a former run of this node held when it ended. */
  releaseOwnLeases(): Promise<void>;
}

const hourMs = 3_600_000;

export function createQueue(parts: QueueParts): DeliveryQueue {
  const { storage, vault, clock } = parts;
  const contents = createContentStore(parts);

  async function prepare(request: DeliveryRequest): Promise<DeliveryRequest> {
    return { ...request, stored: await contents.write(request.message, sealContext(request.deliveryId)) };
  }

  async function enqueue(tx: AnyTransaction, request: DeliveryRequest): Promise<void> {
    const db = tablesOf<DeliveryTables>(tx);
    const now = clock.now().getTime();
    const stored = request.stored ?? vault.seal(request.message, sealContext(request.deliveryId));
    await contents.keepIn(tx, stored);
    await db
      .insertInto('delivery')
      .values({
        id: request.deliveryId,
        kind: request.kind,
        sender: request.from,
        sealed_message: stored,
        created_at: now,
        not_after: request.notAfter?.getTime() ?? now + (parts.defaultLifetimeMs || hourMs),
        next_attempt_at: now,
        attempts: 0,
        lease_owner: null,
        lease_until: 0,
        is_done: 0,
      })
      .execute();
    await db
      .insertInto('delivery_recipient')
      .values(
        request.recipients.map((address) => ({
          delivery_id: request.deliveryId,
          address,
          state: 'pending' as const,
          last_error: '',
          decided_at: null,
        })),
      )
      .execute();
  }

  async function claim(limit: number): Promise<readonly ClaimedDelivery[]> {
    const now = clock.now().getTime();
    const due = await dueDeliveries(storage.tables<DeliveryTables>(), now).select('id').limit(1).execute();
    if (due.length === 0) return [];
    return storage.transaction<DeliveryTables, readonly ClaimedDelivery[]>((tx) =>
      takeLeases(tx, now, limit),
    );
  }

  async function takeLeases(
    tx: Kysely<DeliveryTables>,
    now: number,
    limit: number,
  ): Promise<readonly ClaimedDelivery[]> {
    const rows = await dueDeliveries(tx, now).selectAll().orderBy('next_attempt_at').limit(limit).execute();
    const claimed: ClaimedDelivery[] = [];
    for (const row of rows) {
      await tx
        .updateTable('delivery')
        .set({ lease_owner: parts.nodeId, lease_until: now + parts.leaseMs })
        .where('id', '=', row.id)
        .execute();
      claimed.push(await readClaimed(tx, row));
    }
    return claimed;
  }

  async function readClaimed(
    tx: Kysely<DeliveryTables>,
    row: DeliveryTables['delivery'],
  ): Promise<ClaimedDelivery> {
    const pending = await tx
      .selectFrom('delivery_recipient')
      .select('address')
      .where('delivery_id', '=', row.id)
      .where('state', '=', 'pending')
      .orderBy('address')
      .execute();
    return {
      id: row.id,
      kind: row.kind,
      sender: row.sender as DirectAddress,
      stored: row.sealed_message ?? new Uint8Array(),
      pending: pending.map((entry) => entry.address as DirectAddress),
      attempts: row.attempts,
      notAfter: new Date(row.not_after),
    };
  }

  async function settle(
    delivery: ClaimedDelivery,
    decisions: readonly RecipientDecision[],
    lastError: string,
  ): Promise<void> {
    const now = clock.now();
    const attempts = delivery.attempts + 1;
    const nextAttemptAt = now.getTime() + retryWaitMs(attempts, parts.retryWaitsMs, Math.random);
    const all =
      nextAttemptAt > delivery.notAfter.getTime()
        ? [...decisions, ...giveUp(delivery, decisions, lastError)]
        : decisions;
    const isDone = all.length === delivery.pending.length;
    await storage.transaction<DeliveryTables, void>(async (tx) => {
      for (const decision of all) await storeDecision(tx, delivery, decision, now);
      if (isDone) await contents.releaseIn(tx, delivery.stored);
      await tx
        .updateTable('delivery')
        .set({
          attempts,
          next_attempt_at: nextAttemptAt,
          lease_owner: null,
          lease_until: 0,
          is_done: isDone ? 1 : 0,
          ...(isDone ? { sealed_message: null } : {}),
        })
        .where('id', '=', delivery.id)
        .execute();
    });
  }

  async function storeDecision(
    tx: Kysely<DeliveryTables>,
    delivery: ClaimedDelivery,
    decision: RecipientDecision,
    at: Date,
  ): Promise<void> {
    const result = await tx
      .updateTable('delivery_recipient')
      .set({ state: decision.outcome, last_error: decision.text ?? '', decided_at: at.getTime() })
      .where('delivery_id', '=', delivery.id)
      .where('address', '=', decision.recipient)
      .where('state', '=', 'pending')
      .executeTakeFirst();
    // A node that lost its lease may come late with an outcome that another one has stored already.
    if (result.numUpdatedRows === 0n) return;
    await parts.onOutcome(tx, { ...decision, deliveryId: delivery.id, kind: delivery.kind, at });
  }

  return {
    prepare,
    enqueue,
    openMessage: (delivery) => contents.open(delivery.stored, sealContext(delivery.id)),
    claim,
    settle,
    async releaseOwnLeases() {
      await storage
        .tables<DeliveryTables>()
        .updateTable('delivery')
        .set({ lease_owner: null, lease_until: 0 })
        .where('lease_owner', '=', parts.nodeId)
        .execute();
    },
  };
}

function dueDeliveries(db: Kysely<DeliveryTables>, nowMs: number) {
  return db
    .selectFrom('delivery')
    .where('is_done', '=', 0)
    .where('next_attempt_at', '<=', nowMs)
    .where('lease_until', '<=', nowMs);
}

const sealContext = (deliveryId: string): string => `delivery:${deliveryId}`;

function giveUp(
  delivery: ClaimedDelivery,
  decisions: readonly RecipientDecision[],
  lastError: string,
): RecipientDecision[] {
  const decided = new Set(decisions.map((decision) => addressKey(decision.recipient)));
  return delivery.pending
    .filter((recipient) => !decided.has(addressKey(recipient)))
    .map((recipient) => ({
      recipient,
      outcome: 'failed',
      reason: 'smtp-rejected',
      statusCode: '5.4.7',
      text: `Retries are used up; last problem: ${lastError}`,
    }));
}
