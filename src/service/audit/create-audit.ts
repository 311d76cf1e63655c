import { type Clock, type Closable, createTokenBuckets, type Log, networkOf } from '../../core/index.ts';
import type { AnyTransaction, Storage, Vault } from '../../platform/index.ts';
import { beginAction, createAppender, type TimedEvent } from './append.ts';
import type { AuditEvent } from './audit-event.ts';
import { createBatch } from './batch.ts';
import { readChainState, requireChainState } from './chain-state.ts';
import type { AuditTables } from './chain.ts';
import {
  type CheckpointOptions,
  readCheckpoint,
  signCheckpoint,
  type SignedCheckpoint,
} from './checkpoints.ts';
import { deleteOld } from './delete-old.ts';
import {
  type AuditFilter,
  type AuditRecord,
  findEvent,
  findEvents,
  listActionsAfter,
  type NewActions,
} from './find-events.ts';
import { originOf } from './origin.ts';
import { type AuditPublicKey, signStatement, statementTypes, toJwk } from './statements.ts';
import { type VerifiedChain, verifyChain } from './verify-chain.ts';

export interface Audit extends Closable {
  /**
   * For frequent events such as searches: returns at once, the row is written with others within `flushMs`. A
   * crash loses at most that much. Refusals of outsiders are limited per address.
   */
  record(event: AuditEvent): Promise<void>;
  /** For everything that must not get lost: the row is part of the caller's transaction. */
  recordIn(tx: AnyTransaction, event: AuditEvent): Promise<void>;
  /** The same for a caller without a transaction: the row is durable when the promise is fulfilled. */
  recordNow(event: AuditEvent): Promise<void>;
  /** As `record`, for events that an operator must see at once: also logged as an error. */
  alarm(event: AuditEvent): void;
  /** Writes the waiting events. */
  flush(): Promise<void>;
  /**
   * Adds the first row, which names the chain and its key, unless the chain has rows. Throws
   * AUDIT_CHAIN_RESET if it has, but no key.
   */
  begin(): Promise<void>;
  /** True if the chain has its key. */
  hasBegun(): Promise<boolean>;
  /**
   * Signs the end of the chain; undefined if nothing was added since the last checkpoint. Throws
   * AUDIT_CHAIN_BROKEN.
   */
  signCheckpoint(options?: CheckpointOptions): Promise<SignedCheckpoint | undefined>;
  /** The newest checkpoint. */
  lastCheckpoint(): Promise<SignedCheckpoint | undefined>;
  /** Signs a document with the key of the chain, as a compact JWS. */
  signPack(document: object): Promise<string>;
  /** Verifies checkpoints without the database. */
  readPublicKey(): Promise<AuditPublicKey>;
  /** Walks the whole chain and compares it with the newest checkpoint and with those given (compact JWS). */
  verifyChain(checkpoints?: readonly string[]): Promise<VerifiedChain>;
  /**
   * Deletes the oldest events, beyond the time that they are kept; the rest can still be verified. Returns
   * how many.
   */
  deleteOld(): Promise<number>;
  /** Undefined if there is no row with this number. */
  get(sequence: number): Promise<AuditRecord | undefined>;
  /** The actions of the rows after one; without it only where the trail ends. For who follows it. */
  listActionsAfter(sequence: number | undefined): Promise<NewActions>;
  /** Newest first. */
  find(filter: AuditFilter): Promise<readonly AuditRecord[]>;
  /**
   * The same trail for one operator, such as `operator:alice`, or a client, who is recorded as the actor
   * where a service writes `operator`, with the request that it was.
   */
  as(actor: string, request?: Pick<AuditEvent, 'requestId' | 'remoteAddress'>): Audit;
}

export interface AuditOptions {
  readonly storage: Storage;
  /** Holds the key of the chain. */
  readonly vault: Vault;
  readonly clock: Clock;
  readonly log: Log;
  /** Longest time that an event of `record` waits. */
  readonly flushMs?: number;
  /** Retention of events: six years or more (SEC-04). */
  readonly keepMs?: number;
}

/** Six years with their leap days (SEC-04). */
const leastKeepMs = 2192 * 86_400_000;

export function createAudit({
  storage,
  vault,
  clock,
  log,
  flushMs = 250,
  keepMs = leastKeepMs,
}: AuditOptions): Audit {
  const timed = (event: AuditEvent): TimedEvent => ({
    event,
    atMs: clock.now().getTime(),
    origin: originOf(event.actor),
  });
  const chain = storage.collector<TimedEvent>('audit', createAppender(storage, vault));
  const guard = createFloodGuard(clock);
  const append = (events: readonly TimedEvent[]): Promise<void> =>
    storage.transaction(async (tx) => {
      for (const event of events) chain.add(tx, event);
    });
  const batch = createBatch<TimedEvent>({ flushMs, log, write: append });
  const audit: Audit = {
    record: async (event) => {
      const kept = guard(event);
      if (kept !== undefined) batch.add(timed(kept));
    },
    recordIn: async (tx, event) => chain.add(tx, timed(event)),
    recordNow: (event) => append([timed(event)]),
    alarm(event) {
      log.error({ action: event.action, ...event.objects }, 'an integrity check failed');
      batch.add(timed(event));
    },
    flush: () => batch.flush(),
    begin: () => append([timed({ action: beginAction, actor: 'system', outcome: 'ok' })]),
    hasBegun: async () => (await readChainState(storage.tables<AuditTables>(), vault)) !== undefined,
    async signCheckpoint(options) {
      await batch.flush();
      return signCheckpoint({ storage, vault, clock, ...options });
    },
    lastCheckpoint: () => readCheckpoint({ storage, vault }),
    async signPack(document) {
      const state = await requireChainState(storage.tables<AuditTables>(), vault);
      const key = { pkcs8: state.openPrivateKey(), publicKey: state.publicKey };
      return signStatement(statementTypes.pack, document, key);
    },
    readPublicKey: async () =>
      toJwk((await requireChainState(storage.tables<AuditTables>(), vault)).publicKey),
    verifyChain: async (checkpoints) => {
      await batch.flush();
      return verifyChain({ db: storage.tables<AuditTables>(), vault, checkpoints });
    },
    deleteOld: () => deleteOld({ storage, vault, clock, keepMs: Math.max(keepMs, leastKeepMs) }),
    find: async (filter) => {
      await batch.flush();
      return findEvents(storage.tables<AuditTables>(), filter);
    },
    listActionsAfter: (sequence) => listActionsAfter(storage.tables<AuditTables>(), sequence),
    get: (sequence) => findEvent(storage.tables<AuditTables>(), sequence),
    as: (actor, request) => actAs(audit, { actor, ...request }),
    close: () => batch.close(),
  };
  return audit;
}

function actAs(audit: Audit, by: Pick<AuditEvent, 'actor' | 'requestId' | 'remoteAddress'>): Audit {
  const named = (event: AuditEvent): AuditEvent => (event.actor === 'operator' ? { ...event, ...by } : event);
  return {
    ...audit,
    record: (event) => audit.record(named(event)),
    recordIn: (tx, event) => audit.recordIn(tx, named(event)),
    recordNow: (event) => audit.recordNow(named(event)),
    alarm: (event) => audit.alarm(named(event)),
  };
}

/** Rows that outsiders at one address can cause: a burst, then a trickle. */
const unauthenticatedRowsBurst = 200;
const unauthenticatedRowsPerSecond = 5;
/** Addresses whose suppressed rows are counted. */
const maxAddresses = 10_000;

/**
 * Prevents callers without credentials from filling the disk with refusals. Omitted rows are counted in the
 * next row that the address gets (`suppressed`). Events with an actor are never left out.
 */
export function createFloodGuard(clock: Clock): (event: AuditEvent) => AuditEvent | undefined {
  const buckets = createTokenBuckets({
    ratePerSecond: unauthenticatedRowsPerSecond,
    burst: unauthenticatedRowsBurst,
    clock,
  });
  const suppressed = new Map<string, number>();
  return (event) => {
    if (event.outcome === 'ok' || event.actor !== undefined || event.remoteAddress === undefined)
      return event;
    // One IPv6 customer has a whole /64.
    const network = networkOf(event.remoteAddress);
    const count = suppressed.get(network) ?? 0;
    if (!buckets.take(network).allowed) {
      if (count > 0 || suppressed.size < maxAddresses) suppressed.set(network, count + 1);
      return undefined;
    }
    suppressed.delete(network);
    return count === 0 ? event : { ...event, objects: { ...event.objects, suppressed: count } };
  };
}
