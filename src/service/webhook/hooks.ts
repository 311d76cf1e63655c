import { randomUUID, type KeyObject } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { Clock } from '../../core/index.ts';
import type { EncryptedColumn, Storage, Vault } from '../../platform/index.ts';
import type { RowGuard } from '../integrity/index.ts';
import { lockLegalHolds } from '../legal-hold/index.ts';
import { WebhookError } from './errors.ts';
import type { EventType } from './events.ts';
import {
  requireFitting,
  type BasicCredentials,
  type WebhookChanges,
  type WebhookRequest,
} from './read-request.ts';
import type { HookCache } from './hook-cache.ts';
import { createSigningSecret, readSigningSecret } from './sign-notification.ts';
import type { WebhookKind, WebhookRow, WebhookTables } from './tables.ts';
import { removeSome, removeWaiting } from './waiting-of-hook.ts';

/** More hooks than this for one client are a mistake or a misuse. */
const maxHooksPerClient = 20;
/** Time in which the previous secrets also sign after a rotation. */
const secretOverlapMs = 24 * 3_600_000;
/**
 * Previous secrets that sign: more than one after a rotation that was sent again because its answer was lost.
 */
const maxPreviousSecrets = 4;

/** A webhook as its owner sees it; secrets are never shown again. */
export interface Webhook {
  readonly id: string;
  readonly kind: WebhookKind;
  readonly url: string;
  readonly description: string;
  readonly eventTypes: readonly EventType[];
  readonly isXdm: boolean;
  readonly isEnabled: boolean;
  /**
   * Empty, or why it is off: `client`, `gone` (the target answered 410) or `failing` (three days of failure).
   */
  readonly disabledReason: string;
  readonly hasBasicAuth: boolean;
  readonly failingSince: Date | undefined;
  /** Exact to a minute. */
  readonly lastSuccessAt: Date | undefined;
  readonly createdAt: Date;
  /** It gets the failures of that edge account's messages in the form of eCRNow; undefined for others. */
  readonly edgeAccount: string | undefined;
}

export interface HookDependencies {
  readonly storage: Storage;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly cache: HookCache;
  readonly guard: RowGuard<WebhookRow>;
}

/** Writes the audit row of a change with it; the webhook is as before the change, or new. */
export type RecordChange = (tx: Kysely<WebhookTables>, webhook: Webhook) => Promise<void>;

/**
 * The clients' webhooks. Every function takes the client's id first: a hook of another client does not exist.
 */
export interface Hooks {
  /** `recordIn` is called in the transaction that stores the webhook. */
  create(
    clientId: string,
    request: WebhookRequest,
    recordIn?: RecordChange,
  ): Promise<{ readonly webhook: Webhook; readonly secret: string }>;
  list(clientId: string): Promise<readonly Webhook[]>;
  get(clientId: string, id: string): Promise<Webhook>;
  /** `recordIn` is called in the transaction of the change, with the webhook before it. */
  update(clientId: string, id: string, changes: WebhookChanges, recordIn?: RecordChange): Promise<Webhook>;
  rotateSecret(clientId: string, id: string): Promise<string>;
  /**
   * The one webhook of its kind of an edge account: creates it, changes its target, enables it again, or
   * removes it, and records that in the same transaction.
   */
  setOfEdge(
    owner: EdgeHookOwner,
    request: WebhookRequest | undefined,
    record: (tx: Kysely<WebhookTables>) => Promise<void>,
  ): Promise<EdgeHookChange>;
  remove(clientId: string, id: string): Promise<void>;
}

export interface EdgeHookOwner {
  readonly accountId: string;
  readonly clientId: string;
  readonly kind: WebhookKind;
}

export interface EdgeHookChange {
  /** `enabled`: it had the target already, and was off. `none`: all was so before. */
  readonly change: 'created' | 'moved' | 'enabled' | 'removed' | 'none';
  /** Undefined if it does not exist now. */
  readonly id: string | undefined;
}

export function createHooks(deps: HookDependencies): Hooks {
  const { storage, vault, clock, cache, guard } = deps;
  const db = storage.tables<WebhookTables>();

  async function getRow(clientId: string, id: string): Promise<WebhookRow> {
    const row = await ownHook(db, clientId, id).executeTakeFirst();
    if (row === undefined) throw notFound();
    return row;
  }

  /** Applies `change` to the locked row of the webhook and stores the result. */
  function changeRow(
    clientId: string,
    id: string,
    change: (row: WebhookRow) => Partial<WebhookRow>,
    recordIn?: RecordChange,
  ): Promise<WebhookRow> {
    return storage.transaction(async (tx: Kysely<WebhookTables>) => {
      const row = await storage.forUpdate(ownHook(tx, clientId, id)).executeTakeFirst();
      if (row === undefined) throw notFound();
      await guard.check(row);
      const changed = guard.withMac({ ...row, ...change(row), updated_at: clock.now().getTime() });
      await tx.updateTable('webhook').set(changed).where('id', '=', id).execute();
      cache.announce(tx);
      await recordIn?.(tx, toWebhook(row));
      return changed;
    });
  }

  return {
    async create(clientId, request, recordIn) {
      const secret = createSigningSecret();
      const row = guard.withMac(newRow(deps, clientId, request, secret));
      await storage.transaction(async (tx: Kysely<WebhookTables>) => {
        await lockOwner(storage, tx, clientId);
        await refuseTooMany(tx, clientId);
        await tx.insertInto('webhook').values(row).execute();
        cache.announce(tx);
        await recordIn?.(tx, toWebhook(row));
      });
      return { webhook: toWebhook(row), secret };
    },
    async list(clientId) {
      const rows = await db
        .selectFrom('webhook')
        .selectAll()
        .where('client_id', '=', clientId)
        .orderBy('created_at')
        .orderBy('id')
        .execute();
      return rows.map(toWebhook);
    },
    async get(clientId, id) {
      return toWebhook(await getRow(clientId, id));
    },
    async update(clientId, id, changes, recordIn) {
      const change = ({ kind, url }: WebhookRow): Partial<WebhookRow> => {
        requireFitting(kind, changes);
        const isMoved = changes.url !== undefined && changes.url !== url;
        // The failures of another target say nothing about the new one.
        return { ...changedColumns(vault, id, changes), ...(isMoved ? { failing_since: null } : {}) };
      };
      const row = await changeRow(clientId, id, change, recordIn);
      return toWebhook(row);
    },
    async rotateSecret(clientId, id) {
      const secret = createSigningSecret();
      await changeRow(clientId, id, (row) => ({
        sealed_secret: encryptText(vault, secret, secretContext(id)),
        sealed_previous_secret: encryptPreviousSecrets(vault, row, clock.now().getTime()),
        previous_secret_until: clock.now().getTime() + secretOverlapMs,
      }));
      return secret;
    },
    async setOfEdge({ accountId, clientId, kind }, request, record) {
      const own = (tx: Kysely<WebhookTables>) =>
        tx
          .selectFrom('webhook')
          .selectAll()
          .where('client_id', '=', clientId)
          .where('edge_account', '=', accountId)
          .where('kind', '=', kind);
      const before = await own(db).executeTakeFirst();
      if (before !== undefined && request === undefined) await removeWaiting(storage, before.id);
      return storage.transaction(async (tx: Kysely<WebhookTables>) => {
        if (request === undefined) await lockLegalHolds(storage, tx);
        await lockOwner(storage, tx, clientId);
        // Notifications are locked before webhooks (Decision 0023).
        const former = request === undefined ? await own(tx).executeTakeFirst() : undefined;
        if (former !== undefined) await removeSome(storage, tx, former.id);
        const row = await storage.forUpdate(own(tx)).executeTakeFirst();
        if (row?.url === request?.url && row?.is_enabled !== 0) return { change: 'none', id: row?.id };
        cache.announce(tx);
        await record(tx);
        if (row !== undefined) await guard.check(row);
        if (row !== undefined && request === undefined) {
          await tx.deleteFrom('webhook').where('id', '=', row.id).execute();
          return { change: 'removed', id: undefined };
        }
        if (row !== undefined && request !== undefined) {
          const changes = { ...changedColumns(vault, row.id, { url: request.url, isEnabled: true }) };
          const changed = guard.withMac({ ...row, ...changes, updated_at: clock.now().getTime() });
          await tx.updateTable('webhook').set(changed).where('id', '=', row.id).execute();
          return { change: row.url === request.url ? 'enabled' : 'moved', id: row.id };
        }
        if (request === undefined) return { change: 'none', id: undefined };
        const created = guard.withMac(
          newRow(deps, clientId, { ...request, edgeAccount: accountId }, createSigningSecret()),
        );
        await tx.insertInto('webhook').values(created).execute();
        return { change: 'created', id: created.id };
      });
    },
    async remove(clientId, id) {
      await getRow(clientId, id);
      await removeWaiting(storage, id);
      await storage.transaction(async (tx: Kysely<WebhookTables>) => {
        await removeSome(storage, tx, id);
        const result = await tx.deleteFrom('webhook').where('id', '=', id).executeTakeFirst();
        if (result.numDeletedRows === 0n) throw notFound();
        cache.announce(tx);
      });
    },
  };
}

/** Opened secrets, as long as the cached rows that hold them. */
const signingKeys = new WeakMap<Uint8Array, readonly KeyObject[]>();

/** The keys that sign now: the current one first, then the previous ones while the rotation lasts. */
export function openSigningKeys(vault: Vault, row: WebhookRow, nowMs: number): readonly KeyObject[] {
  const keys = openKeys(vault, row.id, row.sealed_secret);
  const previous = findPreviousSecrets(row, nowMs);
  return previous === undefined ? keys : [...keys, ...openKeys(vault, row.id, previous)];
}

function findPreviousSecrets(row: WebhookRow, nowMs: number): Uint8Array | undefined {
  return (row.previous_secret_until ?? 0) > nowMs ? (row.sealed_previous_secret ?? undefined) : undefined;
}

function openKeys(vault: Vault, id: string, encrypted: Uint8Array): readonly KeyObject[] {
  const known = signingKeys.get(encrypted);
  if (known !== undefined) return known;
  const keys = decryptSecrets(vault, id, encrypted).map(readSigningSecret);
  signingKeys.set(encrypted, keys);
  return keys;
}

/**
 * The secret that is replaced and those that it has replaced within the overlap, newest first, joined by
 * blanks.
 */
function encryptPreviousSecrets(vault: Vault, row: WebhookRow, nowMs: number): Uint8Array {
  const previous = findPreviousSecrets(row, nowMs);
  const secrets = [
    ...decryptSecrets(vault, row.id, row.sealed_secret),
    ...(previous === undefined ? [] : decryptSecrets(vault, row.id, previous)),
  ];
  return encryptText(vault, secrets.slice(0, maxPreviousSecrets).join(' '), secretContext(row.id));
}

function decryptSecrets(vault: Vault, id: string, encrypted: Uint8Array): readonly string[] {
  return decryptText(vault, encrypted, secretContext(id)).split(' ');
}

/** The value of the Authorization header, or undefined. */
export function openBasic(vault: Vault, row: WebhookRow): string | undefined {
  if (row.sealed_basic === null) return undefined;
  return `Basic ${Buffer.from(vault.decrypt(row.sealed_basic, basicContext(row.id))).toString('base64')}`;
}

function newRow(
  deps: HookDependencies,
  clientId: string,
  request: WebhookRequest,
  secret: string,
): Omit<WebhookRow, 'mac'> {
  const id = randomUUID();
  const nowMs = deps.clock.now().getTime();
  return {
    id,
    client_id: clientId,
    kind: request.kind,
    url: request.url,
    description: request.description,
    event_types: request.eventTypes.join(','),
    is_xdm: request.isXdm ? 1 : 0,
    is_enabled: 1,
    disabled_reason: '',
    sealed_secret: encryptText(deps.vault, secret, secretContext(id)),
    sealed_previous_secret: null,
    previous_secret_until: null,
    sealed_basic: request.basic === undefined ? null : encryptBasic(deps.vault, id, request.basic),
    failing_since: null,
    last_success_at: null,
    created_at: nowMs,
    updated_at: nowMs,
    edge_account: request.edgeAccount ?? null,
  };
}

function changedColumns(vault: Vault, id: string, changes: WebhookChanges): Partial<WebhookRow> {
  return {
    ...(changes.url === undefined ? {} : { url: changes.url }),
    ...(changes.description === undefined ? {} : { description: changes.description }),
    ...(changes.eventTypes === undefined ? {} : { event_types: changes.eventTypes.join(',') }),
    ...(changes.isXdm === undefined ? {} : { is_xdm: changes.isXdm ? 1 : 0 }),
    ...(changes.basic === undefined
      ? {}
      : { sealed_basic: changes.basic === null ? null : encryptBasic(vault, id, changes.basic) }),
    // Switching a hook on again forgives its past.
    ...(changes.isEnabled === true ? { is_enabled: 1, disabled_reason: '', failing_since: null } : {}),
    ...(changes.isEnabled === false ? { is_enabled: 0, disabled_reason: 'client' } : {}),
  };
}

/**
 * Under the lock of the client's row, so that two requests at the same time cannot pass the limit together.
 */
async function lockOwner(storage: Storage, tx: Kysely<WebhookTables>, clientId: string): Promise<void> {
  await tx
    .insertInto('webhook_owner')
    .values({ client_id: clientId })
    .onConflict((conflict) => conflict.column('client_id').doNothing())
    .execute();
  const owner = tx.selectFrom('webhook_owner').select('client_id').where('client_id', '=', clientId);
  await storage.forUpdate(owner).execute();
}

async function refuseTooMany(tx: Kysely<WebhookTables>, clientId: string): Promise<void> {
  // The operator's targets of its edge accounts are not the client's.
  const rows = await tx
    .selectFrom('webhook')
    .select('id')
    .where('client_id', '=', clientId)
    .where('edge_account', 'is', null)
    .execute();
  if (rows.length >= maxHooksPerClient)
    throw new WebhookError('WEBHOOK_LIMIT_REACHED', `client ${clientId} has ${rows.length} webhooks`);
}

function ownHook(db: Kysely<WebhookTables>, clientId: string, id: string) {
  return db.selectFrom('webhook').selectAll().where('id', '=', id).where('client_id', '=', clientId);
}

export function toWebhook(row: WebhookRow): Webhook {
  return {
    id: row.id,
    kind: row.kind,
    url: row.url,
    description: row.description,
    eventTypes: row.event_types.split(',') as EventType[],
    isXdm: row.is_xdm === 1,
    isEnabled: row.is_enabled === 1,
    disabledReason: row.disabled_reason,
    hasBasicAuth: row.sealed_basic !== null,
    failingSince: row.failing_since === null ? undefined : new Date(row.failing_since),
    lastSuccessAt: row.last_success_at === null ? undefined : new Date(row.last_success_at),
    createdAt: new Date(row.created_at),
    edgeAccount: row.edge_account ?? undefined,
  };
}

function notFound(): WebhookError {
  return new WebhookError('WEBHOOK_NOT_FOUND', 'no webhook of this client has that id');
}

/** The columns that the vault encrypts. */
export const webhookEncryptedColumns: readonly EncryptedColumn[] = [
  { table: 'webhook', key: 'id', column: 'sealed_secret', context: (id) => secretContext(id) },
  { table: 'webhook', key: 'id', column: 'sealed_previous_secret', context: (id) => secretContext(id) },
  { table: 'webhook', key: 'id', column: 'sealed_basic', context: (id) => basicContext(id) },
];

const secretContext = (id: string): string => `webhook-secret:${id}`;
const basicContext = (id: string): string => `webhook-basic:${id}`;

function encryptBasic(vault: Vault, id: string, basic: BasicCredentials): Uint8Array {
  return encryptText(vault, `${basic.username}:${basic.password}`, basicContext(id));
}

function encryptText(vault: Vault, text: string, context: string): Uint8Array {
  return vault.encrypt(Buffer.from(text, 'utf8'), context);
}

function decryptText(vault: Vault, encrypted: Uint8Array, context: string): string {
  return Buffer.from(vault.decrypt(encrypted, context)).toString('utf8');
}
