import type { Kysely } from 'kysely';
import type { Clock, Closable, Log } from '../../core/index.ts';
import {
  createMetrics,
  createReport,
  startWorker,
  type AnyTransaction,
  type Metrics,
  type Report,
  type Storage,
  type Vault,
} from '../../platform/index.ts';
import type { Audit } from '../audit/index.ts';
import { listDead, purgeSettled, replayDead, type DeadNotification } from './dead-letters.ts';
import type { MessageEvent } from './events.ts';
import { createHooks, type Hooks } from './hooks.ts';
import {
  claimNotifications,
  insertEvent,
  insertInbound,
  listReceivers,
  releaseOwnLeases,
  settleNotification,
  type AttemptResult,
  type ClaimedNotification,
  type NotificationParts,
  type Settled,
} from './notifications.ts';
import { readReplayRequest, readWebhookChanges, readWebhookRequest } from './read-request.ts';
import { webhookReportEvents } from './report-events.ts';
import { attemptTimeoutMs, disableAfterMs as usualDisableAfterMs } from './retry-schedule.ts';
import { sendNotification, type InboundSource, type PostNotification } from './send-notification.ts';
import type { WebhookTables } from './tables.ts';

export interface WebhookOptions {
  readonly storage: Storage;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly log: Log;
  readonly audit: Audit;
  /** Where attempts are counted; by default nowhere that anybody sees. */
  readonly metrics?: Metrics;
  readonly nodeId: string;
  /** Posts to a target; give it a timeout of {@link attemptTimeoutMs} and no redirects. */
  readonly post: PostNotification;
  /** Allows `http:` and loopback targets: for the sandbox only. */
  readonly isLoopbackAllowed?: boolean;
  /** How often the queue is looked at without being woken. */
  readonly idleMs?: number;
  readonly concurrency?: number;
  /** A hook that has only failed for this long is switched off; three days by default. */
  readonly disableAfterMs?: number;
  /** In [0, 1); for the jitter of retries. */
  readonly random?: () => number;
}

export interface Webhooks extends Closable {
  /** Each takes the body as it came. Throws WEBHOOK_REQUEST_INVALID with all problems, WEBHOOK_NOT_FOUND. */
  readonly hooks: Omit<Hooks, 'create' | 'update'>;
  create(clientId: string, body: unknown): ReturnType<Hooks['create']>;
  update(clientId: string, id: string, body: unknown): ReturnType<Hooks['update']>;
  listDead(clientId: string, id: string): Promise<readonly DeadNotification[]>;
  /** Sends dead notifications again: the named ones, or all. Returns how many. */
  replay(clientId: string, id: string, body: unknown): Promise<number>;
  /** Queues an event for the client's hooks in the transaction that stores what it tells; call `wake` afterwards. */
  notifyIn(tx: AnyTransaction, event: MessageEvent): Promise<void>;
  /** The same for the content of a received message. */
  notifyInboundIn(tx: AnyTransaction, clientId: string, copyId: string): Promise<void>;
  /** Clients that want to hear of received messages. */
  listReceivers(): Promise<readonly string[]>;
  /** Says where the content of received messages comes from. */
  serveInbound(source: InboundSource): void;
  /** Starts sending; before, notifications only queue up. Leases of a former run of this node are taken back. */
  start(): Promise<void>;
  wake(): void;
}

const purgeEveryMs = 3_600_000;

export function createWebhooks(options: WebhookOptions): Webhooks {
  const { storage, clock } = options;
  const db = storage.tables<WebhookTables>();
  const hooks = createHooks(options);
  const isLoopbackAllowed = options.isLoopbackAllowed ?? false;
  const parts: NotificationParts = {
    storage,
    clock,
    nodeId: options.nodeId,
    leaseMs: 4 * attemptTimeoutMs,
    disableAfterMs: options.disableAfterMs ?? usualDisableAfterMs,
    random: options.random ?? Math.random,
  };
  const report = createReport(webhookReportEvents, {
    metrics: options.metrics ?? createMetrics(),
    log: options.log,
  });
  const workers: { wake(): void; close(): Promise<void> }[] = [];
  let inbound: InboundSource | undefined;

  async function handle(claimed: ClaimedNotification): Promise<void> {
    const result = await sendNotification(claimed, {
      vault: options.vault,
      post: options.post,
      inbound,
      now: clock.now(),
    });
    const settled = await storage.transaction(async (tx: Kysely<WebhookTables>) => {
      const outcome = await settleNotification(parts, tx, claimed, result);
      await auditAttempt(options.audit, tx, claimed, result, outcome);
      return outcome;
    });
    reportAttempt(report, claimed, result, settled);
  }

  function startSender(health: 'working' | 'failing'): void {
    const concurrency = options.concurrency ?? 8;
    workers.push(
      startWorker<ClaimedNotification>({
        name: `webhook-${health}`,
        claim: () => claimNotifications(parts, health, concurrency),
        handle,
        idleMs: options.idleMs ?? 1000,
        concurrency,
        log: options.log,
      }),
    );
  }

  return {
    hooks,
    create: async (clientId, body) => hooks.create(clientId, readWebhookRequest(body, isLoopbackAllowed)),
    update: async (clientId, id, body) =>
      hooks.update(clientId, id, readWebhookChanges(body, isLoopbackAllowed)),
    async listDead(clientId, id) {
      await hooks.get(clientId, id);
      return listDead(db, id);
    },
    async replay(clientId, id, body) {
      await hooks.get(clientId, id);
      const count = await replayDead(db, id, readReplayRequest(body), clock.now().getTime());
      wakeAll();
      return count;
    },
    notifyIn: (tx, event) => insertEvent(tx, event, clock.now().getTime()),
    notifyInboundIn: (tx, clientId, copyId) => insertInbound(tx, clientId, copyId, clock.now().getTime()),
    listReceivers: () => listReceivers(db),
    serveInbound(source) {
      inbound = source;
    },
    async start() {
      await releaseOwnLeases(parts);
      startSender('working');
      startSender('failing');
      workers.push(startPurge(db, options));
    },
    wake: wakeAll,
    async close() {
      await Promise.all(workers.map((worker) => worker.close()));
    },
  };

  function wakeAll(): void {
    for (const worker of workers) worker.wake();
  }
}

function startPurge(
  db: Kysely<WebhookTables>,
  { clock, log }: WebhookOptions,
): { wake(): void; close(): Promise<void> } {
  const worker = startWorker<never>({
    name: 'webhook-purge',
    claim: async () => {
      await purgeSettled(db, clock.now().getTime());
      return [];
    },
    handle: async () => {},
    idleMs: purgeEveryMs,
    concurrency: 1,
    log,
  });
  return { wake: () => {}, close: worker.close };
}

async function auditAttempt(
  audit: Audit,
  tx: AnyTransaction,
  claimed: ClaimedNotification,
  result: AttemptResult,
  settled: Settled,
): Promise<void> {
  if (settled.state === 'waiting' && settled.disabledReason === undefined) return;
  await audit.recordIn(tx, {
    action: settled.disabledReason === undefined ? 'webhook.settled' : 'webhook.disabled',
    actor: 'system',
    outcome: result.outcome === 'delivered' ? 'ok' : 'failed',
    objects: {
      webhookId: claimed.hook.id,
      clientId: claimed.hook.client_id,
      eventId: claimed.row.id,
      eventType: claimed.row.event_type,
      state: settled.state,
      attempts: claimed.row.attempts + 1,
    },
  });
}

function reportAttempt(
  report: Report<typeof webhookReportEvents>,
  { hook, row }: ClaimedNotification,
  result: AttemptResult,
  settled: Settled,
): void {
  const fields = { webhookId: hook.id, clientId: hook.client_id, eventId: row.id };
  report('settled', { outcome: result.outcome }, fields);
  if (settled.state === 'dead') report('dead', {}, fields);
  if (settled.disabledReason !== undefined) report('disabled', { reason: settled.disabledReason }, fields);
}
