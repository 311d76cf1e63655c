import type { Kysely } from 'kysely';
import { type Clock, silentLog } from '../../core/index.ts';
import type { DirectAddress } from '../../lib/values/index.ts';
import {
  type AnyTransaction,
  createLeases,
  type FairWorker,
  type Storage,
  type Vault,
} from '../../platform/index.ts';
import { firstAttemptGraceMs } from './claims.ts';
import { type HeldDestination, type Holds, holdTopic, listHolds, readHolds } from './holds.ts';
import { type DestinationQuery, listDestinations, type WaitingDestination } from './list-destinations.ts';
import { type ClaimedDestination, dueAtOnce, readRecipients } from './queue-items.ts';
import { createQueue, type DeliveryQueue } from './queue.ts';
import type { OutcomeListener } from './request.ts';
import type { DeliveryFailureReason, DeliveryKind, DeliveryTables } from './tables.ts';

/** One destination of a message that waits, as operators and the status service see it. */
export interface QueuedDestination {
  readonly id: string;
  readonly deliveryId: string;
  readonly messageId: string;
  readonly kind: DeliveryKind;
  readonly sender: DirectAddress;
  readonly domain: string;
  /** The undecided ones. */
  readonly recipients: readonly DirectAddress[];
  readonly createdAt: Date;
  readonly attempts: number;
  /** Of the last attempt; undefined before the first. */
  readonly lastReason?: DeliveryFailureReason;
  readonly lastStatusCode?: string;
  readonly lastError?: string;
  /** Not before the present: a due item is tried as soon as a slot is free. */
  readonly nextAttemptAt: Date;
  readonly givesUpAt: Date;
  /** An attempt is in progress. */
  readonly isRunning: boolean;
  readonly isOnHold: boolean;
  /** This node does not try the destination for a while, because it was unreachable. */
  readonly isBackingOff: boolean;
}

export interface QueuePage {
  readonly items: readonly QueuedDestination[];
  /** Hand it in for the next page; undefined on the last one. */
  readonly next?: string;
}

export interface NewHold {
  /** For other operators. */
  readonly reason: string;
  /** As in the audit trail, such as `operator:alice`. */
  readonly author: string;
  /** Without it until an operator releases it. */
  readonly endsAt?: Date | undefined;
}

export interface DestinationPage {
  readonly items: readonly WaitingDestination[];
  readonly next?: string;
}

/** Selects all items of the named destinations (`domains`), and single items by their ids. */
export interface Selection {
  readonly domains?: readonly string[] | undefined;
  readonly ids?: readonly string[] | undefined;
}

export interface SelectedDestination {
  readonly id: string;
  readonly domain: string;
  readonly recipients: number;
  readonly isRunning: boolean;
}

/** Of one change; a larger queue is changed in several steps. */
export const maxSelected = 10_000;

/** One row of `delivery_attempt`. */
export type AttemptRow = DeliveryTables['delivery_attempt'];

/** Records a change of a hold in its transaction; `isChanged` is false if there was no hold to release. */
export type RecordHold = (tx: AnyTransaction, isChanged: boolean) => Promise<void>;

/** All that waits for a destination or of one delivery, or some of it by its ids. */
export type Chosen =
  | { readonly domain: string }
  | { readonly deliveryId: string }
  | { readonly ids: readonly string[] };

/** Numbers of destinations: made due now, and left alone because they are being tried at this moment. */
export interface Retried {
  readonly retried: number;
  readonly running: number;
}

/** Recipients that failed now, and destinations that are being tried at this moment. */
export interface Ended {
  readonly failed: number;
  readonly running: number;
}

/** What a change did, in all or until an error broke it off. */
export interface Changed {
  /** Destinations that were retried, or recipients that failed. */
  readonly count: number;
  /** Destinations that are being tried at this moment. */
  readonly running: number;
  /** The domain of each destination that was changed. */
  readonly domains: readonly string[];
}

export type RecordChange = (changed: Changed) => Promise<void>;

/** Operators' actions on the queue. Callers audit each change. */
export interface DeliveryAdmin {
  /** Oldest first. `limit` is at most 500. */
  listQueue(query: { domain?: string; limit: number; cursor?: string }): Promise<QueuePage>;
  /** The waiting messages by destination, the longest wait first. `limit` is at most 500. */
  listDestinations(query: DestinationQuery): Promise<DestinationPage>;
  /**
   * Selection for a change: whole destinations, or single ones of messages (`QueuedDestination.id`); at most
   * `maxSelected`.
   */
  select(which: Selection): Promise<readonly SelectedDestination[]>;
  /** The destinations of these deliveries that wait. */
  findWaiting(deliveryIds: readonly string[]): Promise<readonly QueuedDestination[]>;
  /** Every attempt at these deliveries that is still kept, oldest first. */
  listAttempts(deliveryIds: readonly string[]): Promise<readonly AttemptRow[]>;
  /** Makes those that are not being tried due now. `record` is called at the end, after an error too. */
  retry(which: Chosen, record?: RecordChange): Promise<Retried>;
  /** The same for failing their undecided recipients, with the reason `cancelled`. */
  fail(which: Chosen, record?: RecordChange): Promise<Ended>;
  /**
   * Nothing more is sent to the domain until it is released or the hold ends; messages still fail when their
   * time is over. A further hold replaces reason, author and end.
   * `record` runs in the transaction that sets the hold.
   */
  hold(domain: string, hold: NewHold, record?: RecordHold): Promise<void>;
  /** False if the domain was not on hold. */
  release(domain: string, record?: RecordHold): Promise<boolean>;
  listHolds(): Promise<readonly HeldDestination[]>;
}

export interface AdminDependencies {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly queue: DeliveryQueue;
  readonly holds: Pick<Holds, 'has' | 'refresh'>;
  /** Undefined in a process that only administers: then the nodes of the service are notified. */
  readonly worker?: Pick<FairWorker<ClaimedDestination>, 'wake' | 'resume' | 'backingOff'> | undefined;
}

const maxPage = 500;

/** Rows changed in one transaction. */
const namedAtOnce = 200;

export function createAdmin({ storage, clock, queue, holds, worker }: AdminDependencies): DeliveryAdmin {
  const db = storage.tables<DeliveryTables>();
  const now = (): number => storage.clock.now().getTime();
  /** The change is stored; if reading it fails now, it is read within a second. */
  const refreshHolds = (): Promise<void> => holds.refresh().catch(() => {});

  function selectQueued() {
    return db
      .selectFrom('delivery_destination as o')
      .innerJoin('delivery as d', 'd.id', 'o.delivery_id')
      .select([
        'o.id',
        'o.delivery_id',
        'd.message_id',
        'd.kind',
        'd.sender',
        'o.domain',
        'o.recipients',
        'd.created_at',
        'o.attempts',
        'o.last_reason',
        'o.last_status_code',
        'o.last_error',
        'o.next_attempt_at',
        'o.not_after',
        'o.lease_until',
      ])
      .orderBy('o.id');
  }

  type Row = Awaited<ReturnType<ReturnType<typeof selectQueued>['execute']>>[number];

  function describe(row: Row): QueuedDestination {
    // Due times are by the storage's clock; people read the machine's.
    const steadyNow = now();
    const shift = clock.now().getTime() - steadyNow;
    const backOff = worker?.backingOff().find(({ party }) => party === row.domain);
    const dueAt = Math.max(
      row.next_attempt_at,
      steadyNow,
      backOff === undefined ? 0 : steadyNow + backOff.forMs,
    );
    return {
      id: row.id,
      deliveryId: row.delivery_id,
      messageId: row.message_id,
      kind: row.kind,
      sender: row.sender as DirectAddress,
      domain: row.domain,
      recipients: readRecipients(row.recipients),
      createdAt: new Date(row.created_at),
      attempts: row.attempts,
      ...(row.last_reason === '' ? {} : { lastReason: row.last_reason }),
      ...(row.last_status_code === '' ? {} : { lastStatusCode: row.last_status_code }),
      ...(row.last_error === '' ? {} : { lastError: row.last_error }),
      nextAttemptAt: new Date(dueAt + shift),
      givesUpAt: new Date(row.not_after + (row.attempts === 0 ? firstAttemptGraceMs : 0) + shift),
      isRunning: row.lease_until > steadyNow,
      isOnHold: holds.has(row.domain),
      isBackingOff: backOff !== undefined,
    };
  }

  async function findIds(which: Chosen): Promise<readonly string[]> {
    if ('ids' in which) return which.ids;
    const rows = await db
      .selectFrom('delivery_destination')
      .select('id')
      .where((eb) =>
        'domain' in which
          ? eb('domain', '=', which.domain.toLowerCase())
          : eb('delivery_id', '=', which.deliveryId),
      )
      .execute();
    return rows.map(({ id }) => id);
  }

  /** Some at a time; `step` counts in `done` what it has changed, and returns what that leaves alone. */
  async function change(
    which: Chosen,
    record: RecordChange | undefined,
    step: (ids: readonly string[], done: { count: number; domains: string[] }) => Promise<number>,
  ): Promise<Changed> {
    const ids = await findIds(which);
    const done = { count: 0, running: 0, domains: [] as string[] };
    try {
      for (let start = 0; start < ids.length; start += namedAtOnce)
        done.running += await step(ids.slice(start, start + namedAtOnce), done);
    } finally {
      await record?.(done);
    }
    return done;
  }

  /** Those that are still there: others have ended since they were selected. */
  async function countIn(tx: Kysely<DeliveryTables>, ids: readonly string[]): Promise<number> {
    const { count } = await tx
      .selectFrom('delivery_destination')
      .select((eb) => eb.fn.countAll().as('count'))
      .where('id', 'in', ids)
      .executeTakeFirstOrThrow();
    return Number(count);
  }

  /** Returns the number of its recipients; one whose recipients cannot be read fails for at least one. */
  async function cancel(item: ClaimedDestination): Promise<number> {
    await queue.settle(item, {
      decisions: item.recipients.map((recipient) => ({
        recipient,
        outcome: 'failed',
        reason: 'cancelled',
        text: 'An operator ended the delivery.',
      })),
      nextAttemptAt: item.notAfter,
    });
    return Math.max(1, item.recipients.length);
  }

  return {
    listDestinations: (query) =>
      listDestinations(storage, clock.now().getTime(), {
        ...query,
        limit: Math.min(Math.max(1, query.limit), maxPage),
      }),
    async select({ domains = [], ids = [] }) {
      const rows = await db
        .selectFrom('delivery_destination')
        .select(['id', 'domain', 'recipients', 'lease_until'])
        .where((eb) =>
          eb.or([
            eb('domain', 'in', [...domains.map((domain) => domain.toLowerCase()), '']),
            eb('id', 'in', [...ids, '']),
          ]),
        )
        .orderBy('id')
        .limit(maxSelected)
        .execute();
      return rows.map((row) => ({
        id: row.id,
        domain: row.domain,
        recipients: readRecipients(row.recipients).length,
        isRunning: row.lease_until > now(),
      }));
    },
    async retry(which, record) {
      const { count, running } = await change(which, record, async (ids, done) => {
        const { changed, found } = await storage.transaction(async (tx: Kysely<DeliveryTables>) => {
          storage.announce(tx, 'delivery');
          const rows = await tx
            .updateTable('delivery_destination')
            .set({ next_attempt_at: dueAtOnce })
            .where('id', 'in', ids)
            .where('lease_until', '<=', now())
            .returning('domain')
            .execute();
          return { changed: rows.map(({ domain }) => domain), found: await countIn(tx, ids) };
        });
        done.count += changed.length;
        done.domains.push(...changed);
        for (const domain of new Set(changed)) worker?.resume(domain);
        worker?.wake();
        return found - changed.length;
      });
      return { retried: count, running };
    },
    async fail(which, record) {
      const { count, running } = await change(which, record, async (ids, done) => {
        for (const item of await queue.claimNamed(ids)) {
          done.count += await cancel(item);
          done.domains.push(item.party);
        }
        return countIn(db, ids);
      });
      return { failed: count, running };
    },
    async listQueue({ domain, limit, cursor }) {
      if (worker === undefined) await holds.refresh();
      const count = Math.min(Math.max(1, limit), maxPage);
      const rows = await selectQueued()
        .$if(domain !== undefined, (query) => query.where('o.domain', '=', (domain ?? '').toLowerCase()))
        .$if(cursor !== undefined, (query) => query.where('o.id', '>', cursor ?? ''))
        .limit(count + 1)
        .execute();
      const items = rows.slice(0, count).map(describe);
      const last = rows.length > count ? items.at(-1) : undefined;
      return { items, ...(last === undefined ? {} : { next: last.id }) };
    },
    async findWaiting(deliveryIds) {
      if (deliveryIds.length === 0) return [];
      if (worker === undefined) await holds.refresh();
      const rows = await selectQueued().where('o.delivery_id', 'in', deliveryIds).execute();
      return rows.map(describe);
    },
    async listAttempts(deliveryIds) {
      if (deliveryIds.length === 0) return [];
      return db
        .selectFrom('delivery_attempt')
        .selectAll()
        .where('delivery_id', 'in', deliveryIds)
        .orderBy('id')
        .execute();
    },
    async hold(domain, { reason, author, endsAt }, record) {
      const changed = { reason, author, ends_at: endsAt?.getTime() ?? null };
      const row = { domain: domain.toLowerCase(), ...changed, created_at: clock.now().getTime() };
      await storage.transaction<DeliveryTables, void>(async (tx) => {
        await tx
          .insertInto('delivery_hold')
          .values(row)
          .onConflict((conflict) => conflict.column('domain').doUpdateSet(changed))
          .execute();
        await record?.(tx, true);
        storage.announce(tx, holdTopic);
      });
      await refreshHolds();
    },
    async release(domain, record) {
      const { numDeletedRows } = await storage.transaction<DeliveryTables, { numDeletedRows: bigint }>(
        async (tx) => {
          const name = domain.toLowerCase();
          const result = await tx.deleteFrom('delivery_hold').where('domain', '=', name).executeTakeFirst();
          await record?.(tx, result.numDeletedRows > 0n);
          storage.announce(tx, holdTopic);
          storage.announce(tx, 'delivery');
          return result;
        },
      );
      await refreshHolds();
      worker?.wake();
      return numDeletedRows > 0n;
    },
    listHolds: () => listHolds(storage, clock),
  };
}

interface AdminOptions {
  readonly storage: Storage;
  readonly vault: Vault;
  readonly clock: Clock;
  /** Called with the outcomes that `fail` decides, inside the transaction. */
  readonly onOutcome: OutcomeListener;
  /** Of what is added here, the time until retries end. */
  readonly lifetimeMs?: number;
}

/** Long enough to store the end of a delivery. */
const leaseMs = 60_000;

/**
 * Operators' actions on the queue, and what they send, from a process that delivers nothing. The nodes of the
 * service follow within one or two seconds: they are notified through the database.
 */
export function createDeliveryAdmin({
  storage,
  vault,
  clock,
  onOutcome,
  lifetimeMs = 0,
}: AdminOptions): DeliveryAdmin & Pick<DeliveryQueue, 'prepare' | 'enqueue'> {
  const queue = createQueue({
    storage,
    vault,
    clock,
    onOutcome,
    log: silentLog,
    leases: createLeases({ storage, table: 'delivery_destination', leaseMs }),
    lifetimeMs,
    hasRoom: () => false,
    onStored: () => {},
  });
  const { prepare, enqueue } = queue;
  return { prepare, enqueue, ...createAdmin({ storage, clock, queue, holds: readHolds(storage) }) };
}
