import { randomUUID } from 'node:crypto';
import { sql, type Kysely, type SelectQueryBuilder } from 'kysely';
import type { Clock } from '../../core/index.ts';
import { domainOf, type DirectAddress } from '../../lib/values/index.ts';
import {
  createContentStore,
  referenceBytes,
  requireLease,
  tablesOf,
  type AnyTransaction,
  type FairItem,
  type Leases,
  type EncryptedColumn,
  type Storage,
  type Vault,
} from '../../platform/index.ts';
import type { PathCertificate } from '../agent/index.ts';
import { outages } from './failures.ts';
import type {
  DeliveryOutcome,
  DeliveryProblem,
  DeliveryRequest,
  CertificateListener,
  OutcomeListener,
  RecipientDecision,
} from './request.ts';
import type { AttemptOutcome, DeliveryKind, DeliveryTables } from './tables.ts';

/** One destination of a message, which this node holds a lease on. */
export interface ClaimedDestination extends FairItem {
  readonly deliveryId: string;
  readonly messageId: string;
  readonly kind: DeliveryKind;
  readonly sender: DirectAddress;
  readonly recipients: readonly DirectAddress[];
  /** Initial number of destinations of the message. */
  readonly destinations: number;
  readonly sizeBytes: number;
  /** Made before this one. */
  readonly attempts: number;
  /** By `Storage.clock`. */
  readonly notAfter: number;
  /** By `Storage.clock`; moved by each renewal. */
  leaseUntil: number;
}

/** The facts of an attempt, as stored in its row. */
export interface AttemptRecord {
  readonly host: string;
  readonly address: string;
  readonly tls: string;
  readonly reply: string;
  readonly code: string;
  /** JSON. */
  readonly certificates: string;
  /** SHA-256 of the bytes sent, hex; empty if nothing was sent. */
  readonly sentHash: string;
  readonly startedAt: Date;
  readonly durationMs: number;
}

/** The result of an attempt to be stored. Recipients without a decision are retried. */
export interface Settlement {
  readonly decisions: readonly RecipientDecision[];
  /** Why the others wait. */
  readonly problem?: DeliveryProblem | undefined;
  /** Time of their next attempt, by `Storage.clock`. */
  readonly nextAttemptAt: number;
  /** Left out if nothing was attempted. */
  readonly attempt?: AttemptRecord | undefined;
  /** The certificates of the attempt. */
  readonly pathCertificates?: readonly PathCertificate[] | undefined;
}

export interface QueueDependencies {
  readonly storage: Storage;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly leases: Leases;
  readonly lifetimeMs: number;
  readonly onOutcome: OutcomeListener;
  readonly onCertificates?: CertificateListener | undefined;
  /** True if an item of this destination, stored with a lease, would be started from memory. */
  readonly hasRoom: (domain: string) => boolean;
  /** Called once the items are committed; `message` is their message. */
  readonly onStored: (items: readonly ClaimedDestination[], message: Uint8Array, isAll: boolean) => void;
}

export interface DeliveryQueue {
  /** Stores a large message ahead of the transaction, which then is short; a small one is encrypted. */
  prepare(request: DeliveryRequest): Promise<DeliveryRequest>;
  /** Stores a delivery in the caller's transaction. */
  enqueue(tx: AnyTransaction, request: DeliveryRequest): Promise<void>;
  claim(limit: number, excluded: readonly string[]): Promise<readonly ClaimedDestination[]>;
  /** Those of these domains of which an operator wants something tried now. */
  findWanted(domains: readonly string[]): Promise<readonly string[]>;
  /** Destinations that could not be reached when they were tried last. */
  findOutages(): Promise<readonly string[]>;
  /** True if something waits for the destination because it could not be reached. */
  hasOutage(domain: string): Promise<boolean>;
  /** Makes one item due now of those that failed because the destination could not be reached. Returns their number, 0 or 1. */
  makeOneDue(domain: string): Promise<number>;
  /** Makes up to `limit` waiting items of a destination due now. Returns their number. */
  makeDue(domain: string, limit: number): Promise<number>;
  /** Claims destinations whose retry time is over, of any node. */
  claimOverdue(limit: number): Promise<readonly ClaimedDestination[]>;
  /** Claims what is left of one delivery and not in progress anywhere. */
  claimDelivery(deliveryId: string): Promise<readonly ClaimedDestination[]>;
  /** Claims those of some destinations that are not in progress anywhere. */
  claimNamed(ids: readonly string[]): Promise<readonly ClaimedDestination[]>;
  /** Why the last attempt did not succeed. */
  findProblem(id: string): Promise<DeliveryProblem | undefined>;
  /** The plain RFC 5322 message. */
  openMessage(deliveryId: string): Promise<Buffer>;
  /** Other destinations of the same message that are undecided. */
  listSiblings(item: ClaimedDestination): Promise<readonly DestinationRecipients[]>;
  /**
   * Stores the result of an attempt under the item's lease; with the last destination the delivery and its content are deleted.
   * Throws PLATFORM_LEASE_LOST.
   */
  settle(item: ClaimedDestination, settlement: Settlement): Promise<void>;
}

export interface DestinationRecipients {
  readonly id: string;
  readonly recipients: readonly DirectAddress[];
}

/** `next_attempt_at` of items that an operator wants retried now, even while a node backs off from the destination. */
export const dueAtOnce = 0;

const firstAttemptGraceMs = 10 * 60_000;

type Destination = DeliveryTables['delivery_destination'];

/** Ids that begin with the time sort by age, and rows of the same time lie together in the index. */
function timedId(at: Date): string {
  return `${timePrefix(at.getTime())}-${randomUUID()}`;
}

export function timePrefix(atMs: number): string {
  return Math.max(0, atMs).toString(16).padStart(12, '0');
}

export function createQueue(deps: QueueDependencies): DeliveryQueue {
  const { storage, vault, clock, leases } = deps;
  const contents = createContentStore(deps);
  const statements = prepareStatements(storage);
  const nowMs = (): number => storage.clock.now().getTime();

  async function prepare(request: DeliveryRequest): Promise<DeliveryRequest> {
    return {
      ...request,
      stored: await contents.write(request.message, encryptionContext(request.deliveryId)),
    };
  }

  async function enqueue(tx: AnyTransaction, request: DeliveryRequest): Promise<void> {
    const stored = request.stored ?? vault.encrypt(request.message, encryptionContext(request.deliveryId));
    const at = clock.now();
    const groups = [...Map.groupBy(request.recipients, domainOf)];
    const messageId = request.messageId ?? request.deliveryId;
    const sizeBytes = request.message.length;
    await contents.keepIn(tx, stored);
    statements.insertDelivery.queue(tx, {
      id: request.deliveryId,
      kind: request.kind,
      sender: request.from,
      sealed_message: stored,
      created_at: at.getTime(),
      message_id: messageId,
      destinations: groups.length,
      size_bytes: sizeBytes,
    });
    const now = nowMs();
    const begun: ClaimedDestination[] = [];
    const rows = groups.map(([domain, recipients]): Destination => {
      const lease = deps.hasRoom(domain) ? leases.begin() : undefined;
      const row: Destination = {
        id: timedId(at),
        delivery_id: request.deliveryId,
        domain,
        recipients: JSON.stringify(recipients),
        not_after: now + deps.lifetimeMs,
        next_attempt_at: now,
        attempts: 0,
        last_reason: '',
        last_status_code: '',
        last_error: '',
        ...(lease ?? leases.free),
      };
      if (lease !== undefined)
        begun.push({
          id: row.id,
          token: lease.lease_token,
          party: domain,
          deliveryId: request.deliveryId,
          messageId,
          kind: request.kind,
          sender: request.from,
          recipients,
          destinations: groups.length,
          sizeBytes,
          attempts: 0,
          notAfter: row.not_after,
          leaseUntil: lease.lease_until,
        });
      return row;
    });
    const [only] = rows;
    if (rows.length === 1 && only !== undefined) statements.insertDestination.queue(tx, only);
    else await tablesOf<DeliveryTables>(tx).insertInto('delivery_destination').values(rows).execute();
    storage.afterCommit(tx, () => deps.onStored(begun, request.message, begun.length === rows.length));
  }

  async function claim(limit: number, excluded: readonly string[]): Promise<readonly ClaimedDestination[]> {
    const now = nowMs();
    const lease = leases.begin();
    const values = { now, limit, token: lease.lease_token, until: lease.lease_until };
    const rows =
      excluded.length === 0
        ? await statements.claim.all(storage.db, values)
        : await buildClaim(storage, storage.tables(), values, excluded).execute();
    return complete(rows, values.token, values.until);
  }

  async function makeDue(
    select: (
      db: Kysely<DeliveryTables>,
    ) => SelectQueryBuilder<DeliveryTables, 'delivery_destination', object>,
    limit: number,
  ): Promise<number> {
    const now = nowMs();
    const db = storage.tables<DeliveryTables>();
    const waiting = select(db)
      .select('id')
      .where('next_attempt_at', '>', now)
      .where('lease_until', '<=', now)
      .orderBy('next_attempt_at')
      .limit(limit);
    const { numUpdatedRows } = await db
      .with('waiting', () => storage.forUpdate(waiting, { skipLocked: true }))
      .updateTable('delivery_destination')
      .set({ next_attempt_at: now })
      .where('id', 'in', (eb) => eb.selectFrom('waiting').select('id'))
      .executeTakeFirst();
    return Number(numUpdatedRows);
  }

  async function claimOverdue(limit: number): Promise<readonly ClaimedDestination[]> {
    const now = nowMs();
    // A cheap look first: nearly always there is none.
    const found = await overdue(storage.tables(), now).select('id').limit(1).executeTakeFirst();
    if (found === undefined) return [];
    return claimThose((db) => overdue(db, now).select('id').limit(limit));
  }

  async function claimThose(
    select: (
      db: Kysely<DeliveryTables>,
    ) => SelectQueryBuilder<DeliveryTables, 'delivery_destination', { id: string }>,
  ): Promise<readonly ClaimedDestination[]> {
    const lease = leases.begin();
    const rows = await storage
      .tables<DeliveryTables>()
      .with('due', () => storage.forUpdate(select(storage.tables()), { skipLocked: true }))
      .updateTable('delivery_destination')
      .set(lease)
      .where('id', 'in', (eb) => eb.selectFrom('due').select('id'))
      .returningAll()
      .execute();
    return complete(rows, lease.lease_token, lease.lease_until);
  }

  async function complete(
    rows: readonly Destination[],
    token: string,
    leaseUntil: number,
  ): Promise<readonly ClaimedDestination[]> {
    if (rows.length === 0) return [];
    const deliveries = await storage
      .tables<DeliveryTables>()
      .selectFrom('delivery')
      .select(['id', 'kind', 'sender', 'message_id', 'destinations', 'size_bytes'])
      .where('id', 'in', [...new Set(rows.map((row) => row.delivery_id))])
      .execute();
    const byId = new Map(deliveries.map((row) => [row.id, row]));
    return rows
      .toSorted((a, b) => a.next_attempt_at - b.next_attempt_at || (a.id < b.id ? -1 : 1))
      .flatMap((row) => {
        const delivery = byId.get(row.delivery_id);
        if (delivery === undefined) return [];
        return {
          id: row.id,
          token,
          party: row.domain,
          deliveryId: delivery.id,
          messageId: delivery.message_id,
          kind: delivery.kind,
          sender: delivery.sender as DirectAddress,
          recipients: readRecipients(row.recipients),
          destinations: delivery.destinations,
          sizeBytes: delivery.size_bytes,
          attempts: row.attempts,
          notAfter: row.not_after,
          leaseUntil,
        };
      });
  }

  async function settle(item: ClaimedDestination, settlement: Settlement): Promise<void> {
    const at = clock.now();
    const outcomes = settlement.decisions.map((decision) => outcomeOf(item, decision, at));
    const decided = new Set<string>(settlement.decisions.map(({ recipient }) => recipient));
    const left = item.recipients.filter((recipient) => !decided.has(recipient));
    await storage.transaction<DeliveryTables, void>(
      async (tx) => {
        if (left.length === 0) await remove(tx, item);
        else await postpone(tx, item, left, settlement);
        if (settlement.attempt !== undefined)
          statements.insertAttempt.queue(tx, attemptRow(item, settlement, settlement.attempt, left.length));
        if (outcomes.length > 0) await deps.onOutcome(tx, outcomes);
        const { pathCertificates = [] } = settlement;
        if (pathCertificates.length > 0) deps.onCertificates?.(tx, pathCertificates, at);
      },
      { shareBy: item.messageId },
    );
  }

  async function remove(tx: Kysely<DeliveryTables>, item: ClaimedDestination): Promise<void> {
    const gone = item.destinations > 1 ? await removeOneOf(tx, item) : await removeOnly(tx, item);
    if (gone !== undefined) await contents.releaseIn(tx, gone.start);
  }

  async function removeOnly(tx: Kysely<DeliveryTables>, { id, token, deliveryId }: ClaimedDestination) {
    // Asked for together: without the lease nothing is deleted.
    const [removed, gone] = await Promise.all([
      statements.deleteDestination.run(tx, { id, token }),
      statements.deleteIfLast.first(tx, { id: deliveryId }),
    ]);
    requireLease(removed, id);
    return gone;
  }

  async function removeOneOf(tx: Kysely<DeliveryTables>, { id, token, deliveryId }: ClaimedDestination) {
    requireLease(await statements.deleteDestination.run(tx, { id, token }), id);
    // Two nodes may settle the last two destinations at the same time: one of them must see the other's.
    await storage.forUpdate(tx.selectFrom('delivery').select('id').where('id', '=', deliveryId)).execute();
    return statements.deleteIfLast.first(tx, { id: deliveryId });
  }

  async function postpone(
    tx: Kysely<DeliveryTables>,
    item: ClaimedDestination,
    left: readonly DirectAddress[],
    { problem, nextAttemptAt, attempt }: Settlement,
  ): Promise<void> {
    const changed = await statements.postpone.run(tx, {
      id: item.id,
      token: item.token,
      recipients: JSON.stringify(left),
      next_attempt_at: nextAttemptAt,
      attempts: item.attempts + (attempt === undefined ? 0 : 1),
      last_reason: problem?.reason ?? '',
      last_status_code: problem?.statusCode ?? '',
      last_error: problem?.text ?? '',
    });
    requireLease(changed, item.id);
  }

  return {
    prepare,
    enqueue,
    claim,
    claimOverdue,
    async findWanted(domains) {
      const rows = await storage
        .tables<DeliveryTables>()
        .selectFrom('delivery_destination')
        .select('domain')
        .distinct()
        .where('next_attempt_at', '=', dueAtOnce)
        .where('lease_until', '<=', nowMs())
        .where('domain', 'in', domains)
        .execute();
      return rows.map(({ domain }) => domain);
    },
    async findOutages() {
      const rows = await failed(storage.tables()).select('domain').distinct().execute();
      return rows.map(({ domain }) => domain);
    },
    async hasOutage(domain) {
      const row = failed(storage.tables()).select('id').where('domain', '=', domain).limit(1);
      return (await row.executeTakeFirst()) !== undefined;
    },
    makeOneDue: (domain) => makeDue((db) => failed(db).where('domain', '=', domain), 1),
    makeDue: (domain, limit) =>
      makeDue((db) => db.selectFrom('delivery_destination').where('domain', '=', domain), limit),
    claimDelivery(deliveryId) {
      const now = nowMs();
      return claimThose((db) =>
        db
          .selectFrom('delivery_destination')
          .select('id')
          .where('delivery_id', '=', deliveryId)
          .where('lease_until', '<=', now),
      );
    },
    claimNamed(ids) {
      const now = nowMs();
      return claimThose((db) =>
        db
          .selectFrom('delivery_destination')
          .select('id')
          .where('id', 'in', [...ids, ''])
          .where('lease_until', '<=', now),
      );
    },
    async findProblem(id) {
      const row = await storage
        .tables<DeliveryTables>()
        .selectFrom('delivery_destination')
        .select(['last_reason', 'last_status_code', 'last_error'])
        .where('id', '=', id)
        .executeTakeFirst();
      if (row === undefined || row.last_reason === '') return undefined;
      const statusCode = row.last_status_code === '' ? {} : { statusCode: row.last_status_code };
      return { reason: row.last_reason, ...statusCode, text: row.last_error };
    },
    async openMessage(deliveryId) {
      const { sealed_message } = await storage
        .tables<DeliveryTables>()
        .selectFrom('delivery')
        .select('sealed_message')
        .where('id', '=', deliveryId)
        .executeTakeFirstOrThrow();
      return contents.open(sealed_message, encryptionContext(deliveryId));
    },
    async listSiblings(item) {
      const rows = await storage
        .tables<DeliveryTables>()
        .selectFrom('delivery_destination')
        .select(['id', 'recipients'])
        .where('delivery_id', '=', item.deliveryId)
        .where('id', '<>', item.id)
        .execute();
      return rows.map((row) => ({ id: row.id, recipients: readRecipients(row.recipients) }));
    },
    settle,
  };
}

const encryptionContext = (deliveryId: string): string => `delivery:${deliveryId}`;

export function readRecipients(json: string): readonly DirectAddress[] {
  return JSON.parse(json) as readonly DirectAddress[];
}

function overdue(db: Kysely<DeliveryTables>, now: number) {
  return (
    db
      .selectFrom('delivery_destination')
      .where('not_after', '<=', now)
      .where('lease_until', '<=', now)
      // After a long standstill of this node, items that were never tried are tried once before they fail.
      .where((eb) => eb.or([eb('attempts', '>', 0), eb('not_after', '<=', now - firstAttemptGraceMs)]))
  );
}

/** The rows that wait because their destination was unreachable; the predicate on `last_reason` names the partial index. */
function failed(db: Kysely<DeliveryTables>) {
  return db
    .selectFrom('delivery_destination')
    .where(sql<boolean>`last_reason <> ''`)
    .where('last_reason', 'in', outages);
}

function outcomeOf(item: ClaimedDestination, decision: RecipientDecision, at: Date): DeliveryOutcome {
  return { ...decision, deliveryId: item.deliveryId, messageId: item.messageId, kind: item.kind, at };
}

function attemptRow(
  item: ClaimedDestination,
  { decisions }: Settlement,
  { startedAt, durationMs, sentHash, ...record }: AttemptRecord,
  leftCount: number,
): DeliveryTables['delivery_attempt'] {
  return {
    id: timedId(startedAt),
    delivery_id: item.deliveryId,
    message_id: item.messageId,
    domain: item.party,
    ...record,
    outcome: summarize(decisions, leftCount),
    sent_hash: sentHash,
    started_at: startedAt.getTime(),
    duration_ms: Math.round(durationMs),
  };
}

function summarize(decisions: readonly RecipientDecision[], leftCount: number): AttemptOutcome {
  const sent = decisions.filter(({ outcome }) => outcome === 'sent').length;
  if (sent > 0) return sent === decisions.length && leftCount === 0 ? 'sent' : 'partial';
  return leftCount > 0 ? 'deferred' : 'failed';
}

interface ClaimValues {
  readonly now: number;
  readonly limit: number;
  readonly token: string;
  readonly until: number;
}

function buildClaim(
  storage: Storage,
  db: Kysely<DeliveryTables>,
  { now, limit, token, until }: ClaimValues,
  excluded: readonly string[],
) {
  return db
    .with('due', () => {
      const due = db
        .selectFrom('delivery_destination')
        .select('id')
        .where('next_attempt_at', '<=', now)
        .where('lease_until', '<=', now)
        .where('domain', 'not in', (eb) => eb.selectFrom('delivery_hold').select('domain'))
        .$if(excluded.length > 0, (query) => query.where('domain', 'not in', excluded))
        .orderBy('next_attempt_at')
        .limit(limit);
      return storage.forUpdate(due, { skipLocked: true });
    })
    .updateTable('delivery_destination')
    .set({ lease_token: token, lease_until: until })
    .where('id', 'in', (eb) => eb.selectFrom('due').select('id'))
    .returningAll();
}

function prepareStatements(storage: Storage) {
  return {
    insertDelivery: storage.prepare<DeliveryTables, DeliveryTables['delivery']>((db, row) =>
      db.insertInto('delivery').values({
        id: row.id,
        kind: row.kind,
        sender: row.sender,
        sealed_message: row.sealed_message,
        created_at: row.created_at,
        message_id: row.message_id,
        destinations: row.destinations,
        size_bytes: row.size_bytes,
      }),
    ),
    insertDestination: storage.prepare<DeliveryTables, Destination>((db, row) =>
      db.insertInto('delivery_destination').values({
        id: row.id,
        delivery_id: row.delivery_id,
        domain: row.domain,
        recipients: row.recipients,
        not_after: row.not_after,
        next_attempt_at: row.next_attempt_at,
        attempts: row.attempts,
        lease_token: row.lease_token,
        lease_until: row.lease_until,
        last_reason: row.last_reason,
        last_status_code: row.last_status_code,
        last_error: row.last_error,
      }),
    ),
    insertAttempt: storage.prepare<DeliveryTables, DeliveryTables['delivery_attempt']>((db, row) =>
      db.insertInto('delivery_attempt').values({
        id: row.id,
        delivery_id: row.delivery_id,
        message_id: row.message_id,
        domain: row.domain,
        host: row.host,
        address: row.address,
        tls: row.tls,
        reply: row.reply,
        code: row.code,
        certificates: row.certificates,
        outcome: row.outcome,
        sent_hash: row.sent_hash,
        started_at: row.started_at,
        duration_ms: row.duration_ms,
      }),
    ),
    claim: storage.prepare<DeliveryTables, ClaimValues, Destination>((db, values) =>
      buildClaim(storage, db, values, []),
    ),
    deleteDestination: storage.prepare<DeliveryTables, { id: string; token: string }>((db, { id, token }) =>
      db.deleteFrom('delivery_destination').where('id', '=', id).where('lease_token', '=', token),
    ),
    deleteIfLast: storage.prepare<DeliveryTables, { id: string }, { start: Uint8Array }>((db, { id }) =>
      db
        .deleteFrom('delivery')
        .where('id', '=', id)
        .where((eb) =>
          eb.not(
            eb.exists(
              eb
                .selectFrom('delivery_destination')
                .select('delivery_destination.id')
                .whereRef('delivery_destination.delivery_id', '=', 'delivery.id'),
            ),
          ),
        )
        .returning(contentStart),
    ),
    postpone: storage.prepare<
      DeliveryTables,
      Pick<
        Destination,
        | 'id'
        | 'recipients'
        | 'next_attempt_at'
        | 'attempts'
        | 'last_reason'
        | 'last_status_code'
        | 'last_error'
      > & { token: string }
    >((db, row) =>
      db
        .updateTable('delivery_destination')
        .set({
          recipients: row.recipients,
          next_attempt_at: row.next_attempt_at,
          attempts: row.attempts,
          last_reason: row.last_reason,
          last_status_code: row.last_status_code,
          last_error: row.last_error,
          lease_token: null,
          lease_until: 0,
        })
        .where('id', '=', row.id)
        .where('lease_token', '=', row.token),
    ),
  };
}

// A small content itself is not needed, only where a large one lies.
const contentStart = sql<Uint8Array>`substr(sealed_message, 1, ${sql.lit(referenceBytes)})`.as('start');

/** The columns that the vault encrypts. */
export const deliveryEncryptedColumns: readonly EncryptedColumn[] = [
  { table: 'delivery', key: 'id', column: 'sealed_message', context: encryptionContext },
];
