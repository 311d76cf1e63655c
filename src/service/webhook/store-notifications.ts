import { randomUUID } from 'node:crypto';
import type { Clock } from '../../core/index.ts';
import {
  type AnyTransaction,
  type FairItem,
  type FairWorker,
  type Leases,
  prepareInsert,
  type Storage,
} from '../../platform/index.ts';
import { buildEventPayload, type EventType, type MessageEvent } from './events.ts';
import type { CachedHook, HookCache } from './hook-cache.ts';
import type { NotificationRow, WebhookKind, WebhookRow, WebhookTables } from './tables.ts';

/** A notification that this node holds under a lease. Its party is the webhook, its group the client. */
export interface NotificationItem extends FairItem {
  readonly row: NotificationRow;
  /** Start of the lease, by `Storage.clock`. */
  readonly leasedAt: number;
}

/** The worker for notifications of a kind; undefined before the service is started. */
export type FindWorker = (kind: WebhookKind) => FairWorker<NotificationItem> | undefined;

export interface StoreDependencies {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly cache: HookCache;
  readonly leases: Leases;
  readonly findWorker: FindWorker;
  /**
   * Notifications of one webhook and transaction that are started from memory; the rest wait in the table.
   */
  readonly startedAtOnce: number;
}

export interface StoreNotifications {
  /** One notification for each enabled status hook of the client that wants this event, in one insert. */
  event(tx: AnyTransaction, event: MessageEvent): Promise<void>;
  /**
   * The same for a received message, whose whole content goes to the client's inbound hooks. `copyId` names
   * the inbox copy. With an edge account, it goes to the mail store of that account instead.
   */
  inbound(tx: AnyTransaction, clientId: string, copyId: string, edgeAccount?: string): Promise<void>;
}

export function createStore(deps: StoreDependencies): StoreNotifications {
  const { storage, clock, cache, leases, findWorker, startedAtOnce } = deps;
  const insert = prepareInsert<WebhookTables, 'webhook_notification'>(storage, 'webhook_notification');
  // Number of notifications per webhook that a transaction has assigned to this node.
  const started = new WeakMap<AnyTransaction, Map<string, number>>();

  function leaseFor(
    tx: AnyTransaction,
    hook: CachedHook,
  ): Pick<NotificationRow, 'lease_token' | 'lease_until'> {
    const { id, client_id: clientId, kind } = hook.row;
    // Whole messages are measured when they are claimed.
    if (kind === 'inbound') return leases.free;
    const counts = started.get(tx) ?? new Map<string, number>();
    const count = counts.get(id) ?? 0;
    if (count >= startedAtOnce || findWorker(kind)?.hasRoom(id, clientId) !== true) return leases.free;
    started.set(tx, counts.set(id, count + 1));
    return leases.begin();
  }

  async function store(
    tx: AnyTransaction,
    kind: WebhookKind,
    content: {
      clientId: string;
      eventType: EventType;
      subject: string;
      edgeAccount?: string | undefined;
      payload: (id: string, isEcr: boolean) => string;
    },
  ): Promise<void> {
    const takers = (await cache.ofClient(content.clientId, tx)).filter(
      ({ row, eventTypes }) =>
        row.kind === kind &&
        row.is_enabled === 1 &&
        eventTypes.has(content.eventType) &&
        mayTake(row, content.edgeAccount),
    );
    if (takers.length === 0) return;
    const dueAt = storage.clock.now().getTime();
    const createdAt = clock.now().getTime();
    const rows = takers.map((hook): NotificationRow => {
      const id = randomUUID();
      return {
        id,
        webhook_id: hook.row.id,
        client_id: hook.row.client_id,
        kind,
        event_type: content.eventType,
        subject: content.subject,
        payload: content.payload(id, hook.row.edge_account !== null),
        state: 'waiting',
        attempts: 0,
        next_attempt_at: dueAt,
        ...leaseFor(tx, hook),
        last_status: null,
        last_error: '',
        created_at: createdAt,
        settled_at: null,
      };
    });
    insert.queue(tx, rows);
    storage.afterCommit(tx, () => {
      for (const row of rows) {
        if (row.lease_token === null) findWorker(kind)?.wake();
        else findWorker(kind)?.offer(toItem(row, row.lease_token, dueAt));
      }
    });
  }

  return {
    event: (tx, event) =>
      store(tx, 'status', {
        clientId: event.clientId,
        eventType: event.eventType,
        subject: event.messageId,
        edgeAccount: event.sentByEdge?.account,
        payload: (id, isEcr) => JSON.stringify(isEcr ? buildEcrFailure(event) : buildEventPayload(id, event)),
      }),
    inbound: (tx, clientId, copyId, edgeAccount) =>
      store(tx, 'inbound', {
        edgeAccount,
        clientId,
        eventType: 'message.received',
        subject: copyId,
        payload: () => '',
      }),
  };
}

/** A received message is of one account's mail store, or of the client's own webhooks. */
function mayTake({ kind, edge_account: own }: WebhookRow, edgeAccount: string | undefined): boolean {
  if (kind === 'inbound') return own === (edgeAccount ?? null);
  return own === null || own === edgeAccount;
}

export function toItem(row: NotificationRow, token: string, leasedAt: number): NotificationItem {
  return { id: row.id, token, party: row.webhook_id, group: row.client_id, row, leasedAt };
}

/** The message's id in the API: inbox copies are stored without the prefix. */
export function messageIdOf({ subject }: Pick<NotificationRow, 'subject'>): string {
  return subject.startsWith('urn:') ? subject : `urn:uuid:${subject}`;
}

/**
 * A notification in the form that eCRNow takes at `/api/receiveReportabilityResponse`: a response of the type
 * MDN is a failure, and the correlation id is what its Message-ID has before the `@`.
 */
interface EcrFailure {
  readonly correlationId: string;
  readonly body: { readonly responseType: 'MDN'; readonly rrXml: string };
}

/** Of a message that failed or expired; it says nothing of a patient. */
function buildEcrFailure({
  eventType,
  toDirectAddress,
  statusCode,
  statusText,
  sentByEdge,
}: MessageEvent): EcrFailure {
  const fate = eventType === 'message.expired' ? 'may not have arrived' : 'was not delivered';
  return {
    correlationId: /^<([^@<>\s]{1,200})@/.exec(sentByEdge?.wireId ?? '')?.[1] ?? '',
    body: {
      responseType: 'MDN',
      rrXml: `The message to ${toDirectAddress} ${fate}: ${statusText} (${statusCode})`,
    },
  };
}
