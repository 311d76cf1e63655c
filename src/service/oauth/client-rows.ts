import type { Kysely } from 'kysely';
import type { Storage } from '../../platform/index.ts';
import type { Client } from './client.ts';
import { OauthError } from './errors.ts';
import type { OauthGuards } from './guards.ts';
import type { OauthTables } from './tables.ts';

type Db = Kysely<OauthTables>;

/** Throws OAUTH_CLIENT_UNKNOWN, INTEGRITY_ROW_CHANGED. */
export async function requireRow(
  db: Db,
  guards: OauthGuards,
  clientId: string,
): Promise<OauthTables['oauth_client']> {
  const row = await findRow(db, guards, clientId);
  if (row === undefined) throw new OauthError('OAUTH_CLIENT_UNKNOWN', `there is no client ${clientId}`);
  return row;
}

/** Throws INTEGRITY_ROW_CHANGED. */
export async function findRow(
  db: Db,
  guards: OauthGuards,
  clientId: string,
): Promise<OauthTables['oauth_client'] | undefined> {
  const row = await db
    .selectFrom('oauth_client')
    .selectAll()
    .where('client_id', '=', clientId)
    .executeTakeFirst();
  return row && guards.clients.check(row);
}

type SecretName = Pick<OauthTables['oauth_secret'], 'client_id' | 'secret_id' | 'created_at'>;

const selectSecrets = (db: Db) =>
  db.selectFrom('oauth_secret').select(['client_id', 'secret_id', 'created_at']).orderBy('created_at');

/** A client as an operator sees it, with the names of its secrets. */
export async function toClient(db: Db, row: OauthTables['oauth_client']): Promise<Client> {
  return withSecrets(row, await selectSecrets(db).where('client_id', '=', row.client_id).execute());
}

/**
 * All clients, or those named, with the names of their secrets, by age; in two statements, however many they
 * are.
 */
export async function listClients(db: Db, clientIds?: readonly string[]): Promise<readonly Client[]> {
  const rows = await db
    .selectFrom('oauth_client')
    .selectAll()
    .$if(clientIds !== undefined, (query) => query.where('client_id', 'in', clientIds ?? []))
    .orderBy('created_at')
    .orderBy('client_id')
    .execute();
  const secretRows = await selectSecrets(db)
    .$if(clientIds !== undefined, (query) => query.where('client_id', 'in', clientIds ?? []))
    .execute();
  const secrets = Map.groupBy(secretRows, (secret) => secret.client_id);
  return rows.map((row) => withSecrets(row, secrets.get(row.client_id) ?? []));
}

/** The organization of each client. */
export async function readClientOwners(storage: Storage): Promise<ReadonlyMap<string, string>> {
  const rows = await storage
    .tables<OauthTables>()
    .selectFrom('oauth_client')
    .select(['client_id', 'organization_id'])
    .execute();
  return new Map(rows.map((row) => [row.client_id, row.organization_id]));
}

/** The addresses and domains of all enabled clients that have the scope. */
export async function readOwned(db: Db, scope: string): Promise<ReadonlySet<string>> {
  const rows = await db
    .selectFrom('oauth_client')
    .select(['scopes', 'direct_addresses'])
    .where('disabled_at', 'is', null)
    .execute();
  return new Set(
    rows
      .filter(({ scopes }) => scopes.split(' ').includes(scope))
      .flatMap((row) => JSON.parse(row.direct_addresses) as string[]),
  );
}

function withSecrets(row: OauthTables['oauth_client'], secrets: readonly SecretName[]): Client {
  return {
    ...readClientRow(row),
    createdAt: new Date(row.created_at),
    updatedAt: new Date(row.updated_at),
    ...(row.disabled_at === null ? {} : { disabledAt: new Date(row.disabled_at) }),
    secrets: secrets.map((secret) => ({
      secretId: secret.secret_id,
      createdAt: new Date(secret.created_at),
    })),
  };
}

/** The part of a client that its identity shares. */
export function readClientRow(
  row: OauthTables['oauth_client'],
): Omit<Client, 'createdAt' | 'updatedAt' | 'secrets'> {
  return {
    clientId: row.client_id,
    organizationId: row.organization_id,
    name: row.name,
    scopes: row.scopes.split(' ').filter((scope) => scope !== ''),
    directAddresses: JSON.parse(row.direct_addresses) as string[],
    requestFinalDelivery: row.requests_final_delivery === 1,
    limits: JSON.parse(row.limits) as Client['limits'],
    ...(row.data_use_accepted_at === null ? {} : { dataUseAcceptedAt: new Date(row.data_use_accepted_at) }),
  };
}
