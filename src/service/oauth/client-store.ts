import { randomBytes } from 'node:crypto';
import type { Kysely } from 'kysely';
import { errorCode, type Clock } from '../../core/index.ts';
import { createLookups, tablesOf, type AnyTransaction, type Storage } from '../../platform/index.ts';
import type { Audit } from '../audit/index.ts';
import { operatorOrganization, type Ownership } from '../organizations/index.ts';
import type { Client } from './client.ts';
import { checkSettings, type ClientSettings } from './client-settings.ts';
import { listClients, readOwned, requireRow, toClient } from './client-rows.ts';
import { OauthError } from './errors.ts';
import type { OauthGuards } from './guards.ts';
import { createSalt, createSecret, secretCost, type SecretHasher } from './secrets.ts';
import type { OauthTables } from './tables.ts';

/** Two, so that a client can change from one to the other without a gap (D26). */
const maxSecrets = 2;

/** The values that are shown exactly once. */
export interface IssuedCredentials {
  readonly clientId: string;
  readonly secretId: string;
  readonly clientSecret: string;
}

export interface NewClient extends ClientSettings {
  readonly name: string;
  readonly scopes: readonly string[];
  /** Chosen by the operator, for a client that moves here from elsewhere; generated if absent. */
  readonly clientId?: string;
  /** The same for the secret; at least 16 characters. */
  readonly clientSecret?: string;
}

/**
 * The operator's side: who may have tokens (Decision 0006). Every change is audited in its own transaction.
 */
export interface ClientStore {
  /** Throws OAUTH_CLIENT_EXISTS or OAUTH_CLIENT_SETTINGS_INVALID with the fields at fault. */
  create(client: NewClient): Promise<IssuedCredentials>;
  /** All, or those named. */
  list(clientIds?: readonly string[]): Promise<readonly Client[]>;
  /** The ids of those of an organization. Throws INTEGRITY_ROW_CHANGED. */
  listIds(organizationId: string): Promise<readonly string[]>;
  /** Throws OAUTH_CLIENT_UNKNOWN, as do all that follow. */
  get(clientId: string): Promise<Client>;
  /** What enabled clients with the scope own: addresses, and `@domain` for all of a domain, lower-cased. */
  findOwned(scope: string): Promise<ReadonlySet<string>>;
  /** Changes the given settings and keeps the others. */
  update(clientId: string, settings: ClientSettings): Promise<Client>;
  /**
   * Issues a further secret; the old one stays valid. Throws OAUTH_SECRETS_EXHAUSTED if there are two
   * already.
   */
  rotateSecret(clientId: string): Promise<IssuedCredentials>;
  /**
   * Ends a secret and the tokens issued to it. Throws OAUTH_SECRET_UNKNOWN, and OAUTH_SECRET_LAST unless
   * `isForced` if the client is left without one.
   */
  revokeSecret(clientId: string, secretId: string, options?: { readonly isForced?: boolean }): Promise<void>;
  /** Ends all tokens at once and refuses new ones. */
  disable(clientId: string): Promise<void>;
  /** Throws ORGANIZATION_CLOSED. */
  enable(clientId: string): Promise<void>;
  /** Disables all of an organization in a transaction that closes it. Returns their ids. */
  disableAllIn(tx: AnyTransaction, organizationId: string): Promise<readonly string[]>;
}

export interface ClientStoreDependencies {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly audit: Audit;
  readonly hasher: SecretHasher;
  readonly guards: OauthGuards;
  readonly ownership: Ownership;
  /** Called after every change, so that cached entries are evicted. */
  onChange(clientId: string): void;
}

/** Announced to all nodes when a client or its secrets change. */
export const clientTopic = 'oauth';

type Tx = Kysely<OauthTables>;

export function createClientStore(deps: ClientStoreDependencies): ClientStore {
  const { storage, clock, audit, guards, ownership } = deps;
  const db = storage.tables<OauthTables>();
  const lookups = createLookups(storage, clientTopic);

  /** One audited change in one transaction. */
  async function change<R>(
    action: string,
    clientId: string,
    objects: Record<string, string>,
    work: (tx: Tx) => Promise<R>,
  ): Promise<R> {
    const result = await storage.transaction(async (tx: Tx) => {
      const done = await work(tx);
      lookups.changeIn(tx);
      await audit.recordIn(tx, {
        action,
        actor: 'operator',
        outcome: 'ok',
        objects: { clientId, ...objects },
      });
      return done;
    });
    deps.onChange(clientId);
    return result;
  }

  /**
   * Throws OAUTH_CLIENT_UNKNOWN, and INTEGRITY_ROW_CHANGED: a row that was changed by hand gets no new MAC.
   */
  async function updateRow(
    tx: Tx,
    clientId: string,
    values: Partial<OauthTables['oauth_client']>,
  ): Promise<void> {
    await lockClient(tx, clientId);
    const { mac: _old, ...row } = await requireRow(tx, guards, clientId);
    const changed = guards.clients.withMac({ ...row, ...values, updated_at: clock.now().getTime() });
    await tx.updateTable('oauth_client').set(changed).where('client_id', '=', clientId).execute();
  }

  async function disableIn(tx: Tx, clientId: string): Promise<void> {
    await updateRow(tx, clientId, { disabled_at: clock.now().getTime() });
    await tx.deleteFrom('oauth_token').where('client_id', '=', clientId).execute();
  }

  /** Throws ORGANIZATION_UNKNOWN, OAUTH_CLIENT_SETTINGS_INVALID. */
  async function requireOwnDomains(
    tx: Tx,
    { organization_id, direct_addresses }: Pick<OauthTables['oauth_client'], OwnerColumn>,
  ): Promise<void> {
    await ownership.lockIn(tx, organization_id);
    const owned = (JSON.parse(direct_addresses) as string[]).map((own) => ({
      own,
      domain: domainOfOwned(own),
    }));
    const owners = await ownership.findOwnersIn(
      tx,
      owned.map(({ domain }) => domain),
    );
    refuseForeign(
      organization_id,
      owned.filter(({ domain }) => (owners.get(domain) ?? organization_id) !== organization_id),
    );
  }

  const lockClient = (tx: Tx, clientId: string): Promise<unknown> =>
    storage
      .forUpdate(tx.selectFrom('oauth_client').select('client_id').where('client_id', '=', clientId))
      .execute();

  return {
    async create(client) {
      const row = guards.clients.withMac(newRow(client, clock.now().getTime()));
      const issued = await issueSecret(deps.hasher, row, client.clientSecret);
      const created = change('client.create', row.client_id, { scopes: row.scopes }, async (tx) => {
        await requireOwnDomains(tx, row);
        await refuseKnown(tx, row.client_id);
        await tx.insertInto('oauth_client').values(row).execute();
        await tx
          .insertInto('oauth_secret')
          .values(guards.secrets.withMac({ ...issued.row, created_at: row.created_at }))
          .execute();
        return issued.credentials;
      });
      // Another node may be creating it at this moment.
      return created.catch((error: unknown) => {
        throw errorCode(error) === 'PLATFORM_STORAGE_DUPLICATE' ? clientExists(row.client_id) : error;
      });
    },
    list: (clientIds) => listClients(db, clientIds),
    async listIds(organizationId) {
      const rows = await db
        .selectFrom('oauth_client')
        .selectAll()
        .where('organization_id', '=', organizationId)
        .execute();
      return (await guards.clients.checkAll(rows)).map((row) => row.client_id);
    },
    get: (clientId) =>
      lookups.find(clientId, async () => toClient(db, await requireRow(db, guards, clientId))),
    // No client id contains a blank.
    findOwned: (scope) => lookups.find(`owned ${scope}`, () => readOwned(db, scope)),
    async update(clientId, settings) {
      const values = { ...checkSettings(settings) };
      await change(
        'client.update',
        clientId,
        { settings: Object.keys(settings).sort().join(' ') },
        async (tx) => {
          if (values.direct_addresses !== undefined || values.organization_id !== undefined)
            await requireOwnDomains(tx, { ...(await requireRow(tx, guards, clientId)), ...values });
          await updateRow(tx, clientId, values);
        },
      );
      return toClient(db, await requireRow(db, guards, clientId));
    },
    async rotateSecret(clientId) {
      const issued = await issueSecret(deps.hasher, await requireRow(db, guards, clientId));
      return change('client.rotate-secret', clientId, { secretId: issued.row.secret_id }, async (tx) => {
        // Two rotations at once must not both count one secret.
        await lockClient(tx, clientId);
        await refuseThird(tx, clientId);
        await tx
          .insertInto('oauth_secret')
          .values(guards.secrets.withMac({ ...issued.row, created_at: clock.now().getTime() }))
          .execute();
        return issued.credentials;
      });
    },
    revokeSecret: (clientId, secretId, { isForced = false } = {}) =>
      change('client.revoke-secret', clientId, { secretId }, async (tx) => {
        // A token that is being issued is stored before this, and deleted here, or finds no secret.
        await lockClient(tx, clientId);
        await requireRow(tx, guards, clientId);
        await deleteSecret(tx, clientId, secretId);
        // Under the lock: two operators may each revoke one of the two.
        if (!isForced) await refuseNone(tx, clientId);
        await tx.deleteFrom('oauth_token').where('secret_id', '=', secretId).execute();
      }),
    disable: (clientId) => change('client.disable', clientId, {}, (tx) => disableIn(tx, clientId)),
    enable: (clientId) =>
      change('client.enable', clientId, {}, async (tx) => {
        await ownership.lockIn(tx, (await requireRow(tx, guards, clientId)).organization_id);
        await updateRow(tx, clientId, { disabled_at: null });
      }),
    async disableAllIn(anyTx, organizationId) {
      const tx = tablesOf<OauthTables>(anyTx);
      const rows = await tx
        .selectFrom('oauth_client')
        .select('client_id')
        .where('organization_id', '=', organizationId)
        .where('disabled_at', 'is', null)
        .orderBy('client_id')
        .execute();
      for (const { client_id: clientId } of rows) {
        await disableIn(tx, clientId);
        await audit.recordIn(tx, {
          action: 'client.disable',
          actor: 'operator',
          outcome: 'ok',
          objects: { clientId, organization: organizationId },
        });
      }
      lookups.changeIn(tx);
      return rows.map(({ client_id }) => client_id);
    },
  };
}

type OwnerColumn = 'organization_id' | 'direct_addresses';

/** Of `user@domain` or `@domain`. */
const domainOfOwned = (own: string): string => own.slice(own.lastIndexOf('@') + 1);

function refuseForeign(
  organizationId: string,
  foreign: readonly { readonly own: string; readonly domain: string }[],
): void {
  if (foreign.length === 0) return;
  const problems = foreign.map(({ own, domain }) => ({
    field: 'directAddresses',
    reason: 'invalid',
    detail: `"${own}" is not of the client's organization, ${organizationId}: ${domain} belongs to another one.`,
  }));
  throw new OauthError('OAUTH_CLIENT_SETTINGS_INVALID', problems.map(({ detail }) => detail).join(' '), {
    problems,
  });
}

function newRow(client: NewClient, nowMs: number): Omit<OauthTables['oauth_client'], 'mac'> {
  const { clientId, clientSecret, ...settings } = client;
  const checked = checkSettings(settings, { clientId, clientSecret, isNew: true });
  return {
    client_id: clientId ?? `hisp-${randomBytes(12).toString('hex')}`,
    organization_id: operatorOrganization,
    name: client.name,
    secret_salt: createSalt(),
    secret_cost: secretCost,
    scopes: client.scopes.join(' '),
    direct_addresses: '[]',
    limits: '{}',
    requests_final_delivery: 0,
    data_use_accepted_at: null,
    disabled_at: null,
    created_at: nowMs,
    updated_at: nowMs,
    ...checked,
  };
}

async function issueSecret(
  hasher: SecretHasher,
  client: OauthTables['oauth_client'],
  chosen?: string,
): Promise<{ row: Omit<OauthTables['oauth_secret'], 'created_at' | 'mac'>; credentials: IssuedCredentials }> {
  const clientSecret = chosen ?? createSecret();
  const secretId = randomBytes(6).toString('hex');
  const hash = await hasher.hash(clientSecret, client.secret_salt, client.secret_cost);
  return {
    row: { secret_id: secretId, client_id: client.client_id, hash },
    credentials: { clientId: client.client_id, secretId, clientSecret },
  };
}

async function refuseKnown(tx: Tx, clientId: string): Promise<void> {
  const known = await tx
    .selectFrom('oauth_client')
    .select('client_id')
    .where('client_id', '=', clientId)
    .executeTakeFirst();
  if (known !== undefined) throw clientExists(clientId);
}

function clientExists(clientId: string): OauthError {
  return new OauthError('OAUTH_CLIENT_EXISTS', `there is a client ${clientId} already`);
}

async function countSecrets(tx: Tx, clientId: string): Promise<number> {
  const secrets = await tx
    .selectFrom('oauth_secret')
    .select('secret_id')
    .where('client_id', '=', clientId)
    .execute();
  return secrets.length;
}

async function refuseNone(tx: Tx, clientId: string): Promise<void> {
  if ((await countSecrets(tx, clientId)) > 0) return;
  throw new OauthError('OAUTH_SECRET_LAST', `client ${clientId} has no other secret`);
}

async function refuseThird(tx: Tx, clientId: string): Promise<void> {
  if ((await countSecrets(tx, clientId)) < maxSecrets) return;
  throw new OauthError(
    'OAUTH_SECRETS_EXHAUSTED',
    `client ${clientId} has ${maxSecrets} secrets; revoke one first`,
  );
}

async function deleteSecret(tx: Tx, clientId: string, secretId: string): Promise<void> {
  const { numDeletedRows } = await tx
    .deleteFrom('oauth_secret')
    .where('client_id', '=', clientId)
    .where('secret_id', '=', secretId)
    .executeTakeFirstOrThrow();
  if (numDeletedRows === 0n)
    throw new OauthError('OAUTH_SECRET_UNKNOWN', `client ${clientId} has no secret ${secretId}`);
}
