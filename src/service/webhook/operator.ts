import type { Kysely } from 'kysely';
import type { Storage } from '../../platform/index.ts';
import { createRecentViews, type Audit } from '../audit/index.ts';
import { listDeadLetters, replayDeadLetters, type DeadLetterNotification } from './dead-letters.ts';
import { WebhookError } from './errors.ts';
import { toWebhook, type RecordChange, type Webhook } from './hooks.ts';
import type { NotificationState, WebhookTables } from './tables.ts';

/** Largest number of attempts per list. */
const maxAttempts = 100;

/** A webhook of any client, with the number of its notifications. */
export interface OperatedWebhook extends Webhook {
  readonly clientId: string;
  /** Notifications that are or will be due, that wait for the webhook to be enabled, and dead letters. */
  readonly counts: Readonly<Record<NotificationState, number>>;
  /** Of what waits, the first; undefined if nothing waits. */
  readonly nextAttemptAt: Date | undefined;
}

/** The result of a test event. */
export interface TestResult {
  readonly httpStatus: number | null;
  readonly durationMs: number;
  /** Empty if it was accepted. */
  readonly error: string;
  readonly answer: string;
}

/** One attempt that failed, or the one that succeeded after others had failed. */
export interface WebhookAttempt {
  readonly eventId: string;
  readonly messageId: string;
  readonly attempt: number;
  readonly at: Date;
  readonly durationMs: number;
  readonly httpStatus: number | undefined;
  /** Empty if it succeeded. */
  readonly error: string;
  /** The beginning of the answer; empty for hooks that get messages. */
  readonly answer: string;
}

export interface OperatedDetails {
  readonly webhook: OperatedWebhook;
  /** Newest first. */
  readonly attempts: readonly WebhookAttempt[];
  readonly deadLetters: readonly DeadLetterNotification[];
}

export interface OperatorDependencies {
  readonly storage: Storage;
  readonly audit: Audit;
  /** The acting operator, for the audit trail. */
  readonly operator: string;
}

/**
 * An operator's view of and actions on clients' webhooks. Nothing of it shows secrets or the content of
 * messages.
 */
export interface WebhookOperator {
  /**
   * By client and age; those of one client alone if it is named. `isRefresh`, here and in `show`: by an open
   * page, which leaves no audit row if this operator has viewed the same within the last hour.
   */
  list(clientId?: string, options?: { readonly isRefresh?: boolean }): Promise<readonly OperatedWebhook[]>;
  /** Throws WEBHOOK_NOT_FOUND. */
  show(id: string, options?: { readonly isRefresh?: boolean }): Promise<OperatedDetails>;
  /**
   * Registers a webhook of a client, who must exist. The secret is shown once. Throws
   * WEBHOOK_REQUEST_INVALID, WEBHOOK_LIMIT_REACHED.
   */
  create(
    clientId: string,
    body: unknown,
    webhooks: Pick<WebhookChanger, 'create'>,
  ): Promise<{ readonly webhook: Webhook; readonly secret: string }>;
  /** Sends dead notifications again: the named ones, or all. Returns how many. Throws WEBHOOK_NOT_FOUND. */
  replay(id: string, eventIds?: readonly string[]): Promise<number>;
  /** Has a test event sent now. Throws WEBHOOK_NOT_FOUND. */
  test(id: string, webhooks: { sendTest(id: string): Promise<TestResult> }): Promise<TestResult>;
  /**
   * Turns a webhook off, so that its events are held, or on again, so that what waits is sent. Throws
   * WEBHOOK_NOT_FOUND.
   */
  setEnabled(
    id: string,
    isEnabled: boolean,
    webhooks: Pick<WebhookChanger, 'update'>,
  ): Promise<OperatedWebhook>;
}

/** The running service, by which a change takes effect at once. */
export interface WebhookChanger {
  create(
    clientId: string,
    body: unknown,
    recordIn: RecordChange,
  ): Promise<{ readonly webhook: Webhook; readonly secret: string }>;
  update(
    clientId: string,
    id: string,
    body: { readonly enabled: boolean },
    recordIn: RecordChange,
  ): Promise<Webhook>;
}

export function createWebhookOperator({ storage, audit, operator }: OperatorDependencies): WebhookOperator {
  const db = storage.tables<WebhookTables>();

  async function find(change: { clientId?: string | undefined; id?: string }): Promise<OperatedWebhook[]> {
    let query = db.selectFrom('webhook').selectAll().orderBy('client_id').orderBy('created_at').orderBy('id');
    if (change.clientId !== undefined) query = query.where('client_id', '=', change.clientId);
    if (change.id !== undefined) query = query.where('id', '=', change.id);
    const rows = await query.execute();
    const states = await readStates(db, change.id);
    return rows.map((row) => ({
      ...toWebhook(row),
      clientId: row.client_id,
      ...(states.get(row.id) ?? nothing),
    }));
  }

  async function get(id: string): Promise<OperatedWebhook> {
    const [webhook] = await find({ id });
    if (webhook === undefined) throw new WebhookError('WEBHOOK_NOT_FOUND', 'no webhook has that id');
    return webhook;
  }

  const views = createRecentViews();

  const record = (action: string, objects: Readonly<Record<string, string | number>>): Promise<void> =>
    audit.recordNow({ action, actor: operator, outcome: 'ok', objects });

  return {
    async list(clientId, { isRefresh = false } = {}) {
      const found = await find({ clientId });
      if (views.note(`list ${clientId ?? ''}`, isRefresh))
        await record('webhook.list', {
          count: found.length,
          ...(clientId === undefined ? {} : { clientId }),
        });
      return found;
    },
    async show(id, { isRefresh = false } = {}) {
      const webhook = await get(id);
      const details = {
        webhook,
        attempts: await listAttempts(db, id),
        deadLetters: await listDeadLetters(db, id),
      };
      if (views.note(`show ${id}`, isRefresh))
        await record('webhook.show', { webhookId: id, clientId: webhook.clientId });
      return details;
    },
    create: (clientId, body, webhooks) =>
      webhooks.create(clientId, body, (tx, { id }) =>
        audit.recordIn(tx, {
          action: 'webhook.create',
          actor: operator,
          outcome: 'ok',
          objects: { webhookId: id, clientId },
        }),
      ),
    async test(id, webhooks) {
      const { clientId } = await get(id);
      const result = await webhooks.sendTest(id);
      await record('webhook.test', { webhookId: id, clientId, httpStatus: result.httpStatus ?? 0 });
      return result;
    },
    async setEnabled(id, isEnabled, webhooks) {
      const { clientId, isEnabled: wasEnabled } = await get(id);
      if (wasEnabled !== isEnabled) {
        await webhooks.update(clientId, id, { enabled: isEnabled }, async (tx, before) => {
          if (before.isEnabled === isEnabled) return;
          const action = isEnabled ? 'webhook.enable' : 'webhook.disable';
          const objects = { webhookId: id, clientId };
          await audit.recordIn(tx, { action, actor: operator, outcome: 'ok', objects });
        });
      }
      return get(id);
    },
    async replay(id, eventIds) {
      const { clientId } = await get(id);
      return replayDeadLetters(storage, id, eventIds, (tx, count) =>
        audit.recordIn(tx, {
          action: 'webhook.replay',
          actor: operator,
          outcome: 'ok',
          objects: { webhookId: id, clientId, count },
        }),
      );
    },
  };
}

type States = Pick<OperatedWebhook, 'counts' | 'nextAttemptAt'>;

const nothing: States = { counts: { waiting: 0, held: 0, dead: 0 }, nextAttemptAt: undefined };

async function readStates(
  db: Kysely<WebhookTables>,
  webhookId: string | undefined,
): Promise<ReadonlyMap<string, States>> {
  let query = db
    .selectFrom('webhook_notification')
    .select(({ fn }) => [
      'webhook_id',
      'state',
      fn.countAll<number>().as('count'),
      fn.min('next_attempt_at').as('next'),
    ])
    .groupBy(['webhook_id', 'state']);
  if (webhookId !== undefined) query = query.where('webhook_id', '=', webhookId);
  const all = new Map<string, States>();
  for (const { webhook_id: id, state, count, next } of await query.execute()) {
    const known = all.get(id) ?? nothing;
    all.set(id, {
      counts: { ...known.counts, [state]: Number(count) },
      nextAttemptAt: state === 'waiting' ? new Date(Number(next)) : known.nextAttemptAt,
    });
  }
  return all;
}

async function listAttempts(db: Kysely<WebhookTables>, id: string): Promise<readonly WebhookAttempt[]> {
  const rows = await db
    .selectFrom('webhook_attempt')
    .selectAll()
    .where('webhook_id', '=', id)
    .orderBy('attempted_at', 'desc')
    .orderBy('id')
    .limit(maxAttempts)
    .execute();
  return rows.map((row) => ({
    eventId: row.notification_id,
    messageId: row.message_id,
    attempt: row.attempt,
    at: new Date(row.attempted_at),
    durationMs: row.duration_ms,
    httpStatus: row.http_status ?? undefined,
    error: row.error,
    answer: row.answer,
  }));
}
