import { randomUUID } from 'node:crypto';
import type { Clock, Closable, Log } from '../../core/index.ts';
import {
  type AnyTransaction,
  type AttemptVerdict,
  createEmit,
  createLeases,
  createMetrics,
  defaultSettings,
  type Emit,
  type FairLimits,
  type FairWorker,
  type Leases,
  memoryOfContent,
  type Metrics,
  requireLease,
  startFairWorker,
  type Storage,
  type Vault,
} from '../../platform/index.ts';
import type { Audit } from '../audit/index.ts';
import type { Attempt, AttemptResult, Settled } from './call.ts';
import type { TargetRules } from './check-webhook-url.ts';
import { createClaim } from './claim-notifications.ts';
import { type DeadLetterNotification, listDeadLetters, replayDeadLetters } from './dead-letters.ts';
import { WebhookError } from './errors.ts';
import type { MessageEvent } from './events.ts';
import { createWebhookGuard } from './guard.ts';
import { checkStoreAddress, type MailStores, readStoreAddress } from './hand-over.ts';
import { createHookCache } from './hook-cache.ts';
import { createHookHealth } from './hook-health.ts';
import { createHooks, type EdgeHookChange, type Hooks, type RecordChange, type Webhook } from './hooks.ts';
import { createWebhookOperator, type TestResult, type WebhookOperator } from './operator.ts';
import { type Retention, startPurge } from './purge.ts';
import {
  readReplayRequest,
  readWebhookChanges,
  readWebhookRequest,
  type WebhookRequest,
} from './read-request.ts';
import { notificationLeaseMs } from './retry-schedule.ts';
import { type InboundSource, type PostNotification, sendNotification } from './send-notification.ts';
import { createSettler } from './settle-notifications.ts';
import { createStore, messageIdOf, type NotificationItem } from './store-notifications.ts';
import type { WebhookKind, WebhookRow, WebhookTables } from './tables.ts';
import { holdWaiting, releaseHeld, removeOrphan, retryWaiting, startRelease } from './waiting-of-hook.ts';

/** Counters of webhooks. */
const webhookEvents = {
  settled: {
    counter: 'openhisp_webhook_attempts_total',
    help: 'Attempts to deliver a notification, by outcome.',
    labels: ['outcome'],
    level: 'debug',
    text: 'a webhook was called',
  },
  dead: {
    counter: 'openhisp_webhook_dead_total',
    help: 'Notifications that were dead-lettered after the last attempt.',
    level: 'warn',
    text: 'a webhook notification could not be delivered and waits for replay',
  },
  disabled: {
    counter: 'openhisp_webhook_disabled_total',
    help: 'Webhooks switched off by the service.',
    labels: ['reason'],
    level: 'warn',
    text: 'a webhook was switched off',
  },
} as const;

export interface WebhookOptions {
  readonly storage: Storage;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly log: Log;
  readonly audit: Audit;
  /** The registry for metrics; by default they are not exported. */
  readonly metrics?: Metrics;
  /** Posts to a target; give it a timeout of {@link attemptTimeoutMs} and no redirects. */
  readonly post: PostNotification;
  /** Allows `http:` and loopback targets: for the sandbox only. */
  readonly isLoopbackAllowed?: boolean;
  /** Hosts of the operator's own receivers, which may be private (HOOK-03); `post` must allow them, too. */
  readonly allowedHosts?: readonly string[];
  /** Polling interval of the queue without a notification. */
  readonly idleMs?: number;
  /** Calls at the same time. */
  readonly concurrency?: number;
  /** Lease time of a notification without a renewal by its node; longer than an attempt. */
  readonly leaseMs?: number;
  readonly limits?: Partial<FairLimits>;
  /** Memory for whole messages that are pushed at the same time. Default: as many as there are slots. */
  readonly maxContentBytes?: number;
  readonly retention?: Retention;
  /** A hook that has only failed for this long is disabled; three days by default. */
  readonly disableAfterMs?: number;
  /** In [0, 1); for the jitter of retries. */
  readonly random?: () => number;
}

export interface Webhooks extends Closable {
  /** Each takes the body as it came. Throws WEBHOOK_REQUEST_INVALID with all problems, WEBHOOK_NOT_FOUND. */
  readonly hooks: Omit<Hooks, 'create' | 'update'>;
  create(clientId: string, body: unknown, recordIn?: RecordChange): ReturnType<Hooks['create']>;
  update(clientId: string, id: string, body: unknown, recordIn?: RecordChange): ReturnType<Hooks['update']>;
  /**
   * Sets where something of an edge account goes, in place of what was there; undefined ends it. Throws
   * WEBHOOK_REQUEST_INVALID for a target that it may not have.
   */
  setEdgeTarget(
    account: EdgeAccountName,
    purpose: EdgePurpose,
    url: string | undefined,
  ): Promise<EdgeHookChange['change']>;
  findEdgeTarget(account: EdgeAccountName, purpose: EdgePurpose): Promise<Webhook | undefined>;
  listDeadLetters(clientId: string, id: string): Promise<readonly DeadLetterNotification[]>;
  /** Retries dead letters: the named ones, or all. Returns their number. */
  replay(clientId: string, id: string, body: unknown): Promise<number>;
  /**
   * Sends one signed event of the type `webhook.test` once, immediately, in any state of the hook; the target
   * should answer it like any event. Throws WEBHOOK_NOT_FOUND.
   */
  sendTest(id: string): Promise<TestResult>;
  /**
   * Queues an event for the client's hooks in the transaction that stores the change. It is sent after the
   * commit.
   */
  notifyIn(tx: AnyTransaction, event: MessageEvent): Promise<void>;
  /** The same for the content of a received message. */
  notifyInboundIn(tx: AnyTransaction, clientId: string, copyId: string): Promise<void>;
  /** Queues a received message for the mail store of an edge account, if it has one. */
  handOverIn(
    tx: AnyTransaction,
    account: Pick<EdgeAccountName, 'accountId' | 'clientId'>,
    copyId: string,
  ): Promise<void>;
  /** Whose it is. Throws WEBHOOK_NOT_FOUND. */
  findClient(id: string): Promise<string>;
  /** Clients with a webhook for received messages. */
  listReceivers(): Promise<readonly string[]>;
  /** The webhooks for one operator, such as `operator:alice`, whom the audit trail names. */
  as(actor: string): WebhookOperator;
  /** Says where the content of received messages comes from, and who may be notified. */
  serveInbound(source: InboundSource): void;
  /** Says how mail stores are reached. */
  serveStores(stores: MailStores): void;
  /** Starts sending; before, notifications only queue up. */
  start(): Promise<void>;
  /** Checks for due notifications immediately; not needed after `notifyIn`. */
  wake(): void;
}

/**
 * `failures`: what failed or expired of the account's messages, in the form of eCRNow. `mail`: what it
 * received, to the operator's mail store.
 */
export type EdgePurpose = 'failures' | 'mail';

const kindOf: Readonly<Record<EdgePurpose, WebhookKind>> = { failures: 'status', mail: 'inbound' };

export interface EdgeAccountName {
  readonly accountId: string;
  readonly clientId: string;
  readonly username: string;
}

const dayMs = 86_400_000;
const defaults = defaultSettings.webhook;
const kinds: readonly WebhookKind[] = ['status', 'inbound'];

export function createWebhooks(options: WebhookOptions): Webhooks {
  const { storage, clock, leaseMs = notificationLeaseMs, concurrency = defaults.concurrency } = options;
  const db = storage.tables<WebhookTables>();
  const guard = createWebhookGuard(options);
  const cache = createHookCache(storage, guard);
  const hooks = createHooks({ ...options, cache, guard });
  const rules: TargetRules = {
    isLoopbackAllowed: options.isLoopbackAllowed ?? false,
    allowedHosts: options.allowedHosts ?? [],
  };
  const leases = createLeases({ storage, table: 'webhook_notification', leaseMs });
  const storeHealth = createHookHealth({
    storage,
    clock,
    cache,
    disableAfterMs: options.disableAfterMs ?? defaults.disableAfterDays * dayMs,
  });
  const settle = createSettler({ ...options, storeHealth, random: options.random ?? Math.random });
  const emit = createEmit(webhookEvents, {
    metrics: options.metrics ?? createMetrics(),
    log: options.log,
  });
  const workers = new Map<WebhookKind, FairWorker<NotificationItem>>();
  const store = createStore({
    storage,
    clock,
    cache,
    leases,
    findWorker: (kind) => workers.get(kind),
    startedAtOnce: limitsFor('status', concurrency).share,
  });
  const closables: Closable[] = [{ close: async () => cache.close() }];
  let inbound: InboundSource | undefined;
  let stores: MailStores | undefined;

  async function requireHook(id: string): Promise<WebhookRow> {
    const row = await db.selectFrom('webhook').selectAll().where('id', '=', id).executeTakeFirst();
    if (row === undefined) throw new WebhookError('WEBHOOK_NOT_FOUND', 'no webhook has that id');
    return guard.check(row);
  }

  async function handle(item: NotificationItem): Promise<AttemptVerdict> {
    await requireFreshLease(storage, leases, leaseMs, item);
    const hook = await cache.find(item.row.client_id, item.party);
    if (hook?.row.is_enabled !== 1) {
      await (hook === undefined ? removeOrphan(storage, item) : holdWaiting({ storage, clock, guard }, item));
      return 'ok';
    }
    const startedAt = clock.now();
    const began = performance.now();
    const result = await sendNotification(
      { row: item.row, hook: hook.row },
      { vault: options.vault, post: options.post, inbound, stores, now: startedAt },
    );
    const durationMs = performance.now() - began;
    const attempt = { item, hook, result: await withoutFormer(hook.row, result), startedAt, durationMs };
    emitAttempt(emit, attempt, await settle(attempt));
    return result.outcome === 'unneeded' ? 'untried' : result.outcome === 'delivered' ? 'ok' : 'failing';
  }

  /** A 410 ends the webhook only if its target is still the one that answered. */
  async function withoutFormer(called: WebhookRow, result: AttemptResult): Promise<AttemptResult> {
    if (result.outcome !== 'gone') return result;
    const hook = await cache.find(called.client_id, called.id);
    return hook === undefined || hook.row.url === called.url ? result : { ...result, outcome: 'failed' };
  }

  const claimInbound = createClaim({ storage, leases }, 'inbound');

  async function claimMeasured(
    ...due: Parameters<typeof claimInbound>
  ): Promise<readonly NotificationItem[]> {
    const items = await claimInbound(...due);
    const sizes =
      items.length === 0 ? undefined : await inbound?.measure(items.map(({ row }) => row.subject));
    return items.map((item) => ({ ...item, bytes: memoryOfContent(sizes?.get(item.row.subject) ?? 0) }));
  }

  function startSender(kind: WebhookKind): FairWorker<NotificationItem> {
    return startFairWorker<NotificationItem>({
      name: `webhook-${kind}`,
      limits: { ...limitsFor(kind, concurrency, options.maxContentBytes), ...options.limits },
      leases,
      leaseMs,
      claim: kind === 'inbound' ? claimMeasured : createClaim({ storage, leases }, kind),
      handle,
      dueAfter: (ms) => storage.clock.now().getTime() + ms,
      idleMs: options.idleMs ?? 1000,
      log: options.log,
    });
  }

  return {
    hooks,
    async create(clientId, body, recordIn) {
      return hooks.create(clientId, readWebhookRequest(body, rules), recordIn);
    },
    async update(clientId, id, body, recordIn) {
      const changes = readWebhookChanges(body, rules);
      const before = await hooks.get(clientId, id);
      if (before.edgeAccount !== undefined && changes.url !== undefined)
        throw new WebhookError('WEBHOOK_REQUEST_INVALID', 'the target is of an edge account', {
          problems: [{ field: 'url', reason: 'forbidden', detail: 'The operator sets it: openhisp edge.' }],
        });
      const webhook = await hooks.update(clientId, id, changes, recordIn);
      // None of this in the transaction of the change, which holds the webhook's lock: notifications are
      // locked before webhooks.
      if (changes.isEnabled === true) await releaseHeld({ storage, guard }, id);
      // Setting what is set already, as receivers do that start again and again, must not use up the
      // attempts.
      if (webhook.url !== before.url || (webhook.isEnabled && !before.isEnabled)) {
        await retryWaiting(storage, id, webhook.kind);
        // After failures that say nothing any more. That it backs off on other nodes does not matter: this
        // one claims what waits.
        for (const worker of workers.values()) worker.resume(id);
      }
      wakeAll();
      return webhook;
    },
    async setEdgeTarget(account, purpose, url) {
      const { accountId, clientId } = account;
      const kind = kindOf[purpose];
      const request = url === undefined ? undefined : readEdgeTarget(account, purpose, url, rules);
      const { change, id } = await hooks.setOfEdge({ accountId, clientId, kind }, request, (tx) =>
        options.audit.recordIn(tx, {
          action: 'edge.update',
          actor: 'operator',
          outcome: 'ok',
          objects: {
            edgeAccount: accountId,
            clientId,
            settings: `${purpose} ${url === undefined ? 'not passed on' : 'passed on'}`,
          },
        }),
      );
      // What waits, or was held, goes to the target at once.
      if (id !== undefined) {
        await releaseHeld({ storage, guard }, id);
        await retryWaiting(storage, id, kind);
        for (const worker of workers.values()) worker.resume(id);
      }
      wakeAll();
      return change;
    },
    async findEdgeTarget({ accountId, clientId }, purpose) {
      return (await hooks.list(clientId)).find(
        ({ edgeAccount, kind }) => edgeAccount === accountId && kind === kindOf[purpose],
      );
    },
    async listDeadLetters(clientId, id) {
      await hooks.get(clientId, id);
      return listDeadLetters(db, id);
    },
    async replay(clientId, id, body) {
      await hooks.get(clientId, id);
      const count = await replayDeadLetters(storage, id, readReplayRequest(body));
      wakeAll();
      return count;
    },
    findClient: async (id) => (await requireHook(id)).client_id,
    async sendTest(id) {
      const row = await requireHook(id);
      const failed = { httpStatus: null, durationMs: 0, answer: '' };
      if (readStoreAddress(row.url) !== undefined)
        return { ...failed, error: 'A mail store takes received mail alone.' };
      const now = clock.now();
      const eventId = `test_${randomUUID()}`;
      const payload = JSON.stringify({ eventId, eventType: 'webhook.test', eventTime: now.toISOString() });
      const began = performance.now();
      const result = await sendNotification(
        // Sent as an event without content to hooks that get messages, too.
        {
          row: { id: eventId, subject: '', payload, attempts: 0 },
          hook: { ...row, kind: 'status' },
        },
        { vault: options.vault, post: options.post, inbound: undefined, now },
      );
      return {
        httpStatus: result.httpStatus,
        durationMs: performance.now() - began,
        error: 'error' in result ? result.error : '',
        answer: row.kind === 'status' ? (result.answer ?? '') : '',
      };
    },
    notifyIn: (tx, event) => store.event(tx, event),
    notifyInboundIn: (tx, clientId, copyId) => store.inbound(tx, clientId, copyId),
    handOverIn: (tx, { accountId, clientId }, copyId) => store.inbound(tx, clientId, copyId, accountId),
    listReceivers: () => cache.receivers(),
    as: (actor) => createWebhookOperator({ ...options, operator: actor }),
    serveInbound(source) {
      inbound = source;
    },
    serveStores(given) {
      stores = given;
    },
    async start() {
      for (const kind of kinds) workers.set(kind, startSender(kind));
      closables.push(startPurge({ ...options, retention: options.retention ?? defaults }));
      closables.push(startRelease({ storage, guard, log: options.log, wake: wakeAll }));
    },
    wake: wakeAll,
    async close() {
      await Promise.all([...workers.values(), ...closables].map((part) => part.close()));
    },
  };

  function wakeAll(): void {
    for (const worker of workers.values()) worker.wake();
  }
}

function readEdgeTarget(
  { username }: EdgeAccountName,
  purpose: EdgePurpose,
  url: string,
  rules: TargetRules,
): WebhookRequest {
  const description = `${purpose} of ${username}`.slice(0, 200);
  if (purpose === 'failures')
    return readWebhookRequest({ url, description, eventTypes: ['message.failed', 'message.expired'] }, rules);
  checkStoreAddress(url, rules);
  const eventTypes = ['message.received'] as const;
  return { url, kind: 'inbound', description, eventTypes, isXdm: false, basic: undefined };
}

/**
 * A notification that has waited in memory for longer than its lease may be another node's by now, if this
 * one stood still.
 */
async function requireFreshLease(
  storage: Storage,
  leases: Leases,
  leaseMs: number,
  item: NotificationItem,
): Promise<void> {
  if (storage.clock.now().getTime() - item.leasedAt < leaseMs) return;
  const lost = await leases.renew([item]);
  requireLease(lost.length === 0 ? 1 : 0, item.id);
}

function emitAttempt(
  emit: Emit<typeof webhookEvents>,
  { hook, item, result }: Attempt,
  settled: Settled,
): void {
  const fields = {
    webhookId: hook.row.id,
    clientId: hook.row.client_id,
    eventId: item.id,
    messageId: messageIdOf(item.row),
  };
  emit('settled', { outcome: result.outcome }, fields);
  if (settled.state === 'dead') emit('dead', {}, fields);
  if (settled.disabledReason !== undefined) emit('disabled', { reason: settled.disabledReason }, fields);
}

/**
 * Sharing of slots: a webhook gets at most a quarter of them, all webhooks of one client at most half. Slow
 * and failing webhooks use other slots, two of them each at most, and those of one client at most a quarter
 * (Decision 0023). Pushes of whole messages get an eighth of the slots, because each holds up to a whole
 * message in memory, and begin as long as half of `maxContentBytes` holds them, a sixth for slow webhooks.
 */
function limitsFor(kind: WebhookKind, concurrency: number, maxContentBytes = Infinity): FairLimits {
  const slots = kind === 'inbound' ? Math.max(2, Math.ceil(concurrency / 8)) : concurrency;
  const slowSlots = Math.max(1, Math.ceil(slots / 2));
  return {
    slots,
    share: Math.ceil(slots / 4),
    groupShare: Math.ceil(slots / 2),
    slowSlots,
    slowShare: Math.min(2, slowSlots),
    slowGroupShare: Math.ceil(slowSlots / 4),
    slowAfterMs: 2000,
    waiting: 16 * slots,
    maxBytes: maxContentBytes / 2,
    slowMaxBytes: maxContentBytes / 6,
    failuresBeforeBackOff: 5,
    backOffMs: 10_000,
    maxBackOffMs: 600_000,
  };
}
