import { sql, type Kysely } from 'kysely';
import type { Clock, Log } from '../../core/index.ts';
import { domainOf, type DirectAddress } from '../../lib/values/index.ts';
import {
  createContentStore,
  prepareInsert,
  referenceBytes,
  requireLease,
  tablesOf,
  type AnyTransaction,
  type Leases,
  type EncryptedColumn,
  type Storage,
  type Vault,
  memoryOfContent,
} from '../../platform/index.ts';
import { createClaims, type Claims } from './claims.ts';
import {
  readRecipients,
  timedId,
  type AttemptRecord,
  type ClaimedDestination,
  type Destination,
  type DestinationRecipients,
  type LastServer,
  type Settlement,
} from './queue-items.ts';
import type {
  DeliveryOutcome,
  DeliveryProblem,
  DeliveryRequest,
  CertificateListener,
  OutcomeListener,
  RecipientDecision,
} from './request.ts';
import type { AttemptOutcome, DeliveryTables } from './tables.ts';

export interface QueueDependencies {
  readonly storage: Storage;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly log: Log;
  readonly leases: Leases;
  readonly lifetimeMs: number;
  readonly onOutcome: OutcomeListener;
  readonly onCertificates?: CertificateListener | undefined;
  /** True if an item of this destination, stored with a lease, would be started from memory. */
  readonly hasRoom: (domain: string) => boolean;
  /** Called once the items are committed; `message` is their message. */
  readonly onStored: (items: readonly ClaimedDestination[], message: Uint8Array, isAll: boolean) => void;
}

export interface DeliveryQueue extends Claims {
  /** Stores a large message ahead of the transaction, which then is short; a small one is encrypted. */
  prepare(request: DeliveryRequest): Promise<DeliveryRequest>;
  /** Stores a delivery in the caller's transaction. */
  enqueue(tx: AnyTransaction, request: DeliveryRequest): Promise<void>;
  /** Why the last attempt did not succeed. */
  findProblem(id: string): Promise<DeliveryProblem | undefined>;
  /** The mail server of the last attempt, on whichever node; undefined if none was reached. */
  findLastServer(item: ClaimedDestination): Promise<LastServer | undefined>;
  /** The plain RFC 5322 message. */
  openMessage(deliveryId: string): Promise<Buffer>;
  /** Other destinations of the same message that are undecided. */
  listSiblings(item: ClaimedDestination): Promise<readonly DestinationRecipients[]>;
  /**
   * Stores the result of an attempt under the item's lease; with the last destination the delivery and its
   * content are deleted. Throws PLATFORM_LEASE_LOST.
   */
  settle(item: ClaimedDestination, settlement: Settlement): Promise<void>;
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
    statements.insertDelivery.queue(tx, [
      {
        id: request.deliveryId,
        kind: request.kind,
        sender: request.from,
        sealed_message: stored,
        created_at: at.getTime(),
        message_id: messageId,
        destinations: groups.length,
        size_bytes: sizeBytes,
      },
    ]);
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
          bytes: memoryOfContent(sizeBytes),
          attempts: 0,
          notAfter: row.not_after,
          leaseUntil: lease.lease_until,
        });
      return row;
    });
    const [only] = rows;
    if (rows.length === 1 && only !== undefined) statements.insertDestination.queue(tx, [only]);
    else await tablesOf<DeliveryTables>(tx).insertInto('delivery_destination').values(rows).execute();
    storage.afterCommit(tx, () => deps.onStored(begun, request.message, begun.length === rows.length));
  }

  async function settle(item: ClaimedDestination, settlement: Settlement): Promise<void> {
    const at = clock.now();
    const isUnreadable = item.recipients.length === 0;
    const decisions = isUnreadable ? [unreadable(item)] : settlement.decisions;
    const outcomes = decisions.map((decision) => outcomeOf(item, decision, at));
    const decided = new Set<string>(settlement.decisions.map(({ recipient }) => recipient));
    const left = item.recipients.filter((recipient) => !decided.has(recipient));
    await storage.transaction<DeliveryTables, void>(
      async (tx) => {
        if (left.length === 0) await remove(tx, item);
        else await postpone(tx, item, left, settlement);
        if (settlement.attempt !== undefined)
          statements.insertAttempt.queue(tx, [attemptRow(item, settlement, settlement.attempt, left.length)]);
        if (outcomes.length > 0) await deps.onOutcome(tx, outcomes);
        const { pathCertificates = [] } = settlement;
        if (pathCertificates.length > 0) deps.onCertificates?.(tx, pathCertificates, at);
      },
      { shareBy: item.messageId },
    );
    if (isUnreadable)
      deps.log.error(
        { deliveryId: item.deliveryId, messageId: item.messageId, domain: item.party },
        'mail failed because its recipients cannot be read: its row was changed in the database',
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
    ...createClaims(deps),
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
    async findLastServer({ deliveryId, party }) {
      const row = await storage
        .tables<DeliveryTables>()
        .selectFrom('delivery_attempt')
        .select(['host', 'address'])
        .where('delivery_id', '=', deliveryId)
        .where('domain', '=', party)
        .orderBy('id', 'desc')
        .limit(1)
        .executeTakeFirst();
      return row?.address === '' ? undefined : row;
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

function unreadable({ party }: ClaimedDestination): RecipientDecision {
  const text = `the recipients at ${party} cannot be read: the row was changed in the database`;
  return { recipient: `@${party}`, outcome: 'failed', reason: 'internal', text };
}

function outcomeOf(item: ClaimedDestination, decision: RecipientDecision, at: Date): DeliveryOutcome {
  const { deliveryId, messageId, kind, sender } = item;
  return { ...decision, deliveryId, messageId, kind, sender, at };
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

function prepareStatements(storage: Storage) {
  return {
    insertDelivery: prepareInsert<DeliveryTables, 'delivery'>(storage, 'delivery'),
    insertDestination: prepareInsert<DeliveryTables, 'delivery_destination'>(storage, 'delivery_destination'),
    insertAttempt: prepareInsert<DeliveryTables, 'delivery_attempt'>(storage, 'delivery_attempt'),
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
