import { randomBytes, randomUUID } from 'node:crypto';
import type { Kysely } from 'kysely';
import { type Clock, errorCode } from '../../core/index.ts';
import type { Storage } from '../../platform/index.ts';
import type { Audit } from '../audit/index.ts';
import { type ClientStore, createSalt, secretCost, type SlowHasher } from '../oauth/index.ts';
import {
  checkSettings,
  defaultPolicies,
  type EdgeAccount,
  type EdgeSettings,
  readAccountRow,
} from './account.ts';
import { EdgesError } from './errors.ts';
import type { EdgesGuards } from './guards.ts';
import { type EdgesTables, mailboxNames } from './tables.ts';

/** Two, so that a client can change from one to the other without a gap. */
const maxPasswords = 2;
const shortestPassword = 16;

/** The values that are shown exactly once. */
export interface IssuedPassword {
  readonly accountId: string;
  readonly username: string;
  readonly passwordId: string;
  readonly password: string;
}

export interface NewEdgeAccount extends EdgeSettings {
  readonly clientId: string;
  /** Usually the Direct address; unique in any case of letters. */
  readonly username: string;
  readonly addresses: readonly string[];
  /** Brought along from elsewhere; generated if absent. */
  readonly password?: string;
}

/** The operator's side of edge accounts. Every change is audited in its own transaction. */
export interface EdgeAccountStore {
  /**
   * Throws OAUTH_CLIENT_UNKNOWN, EDGES_ACCOUNT_EXISTS, EDGES_ACCOUNT_SETTINGS_INVALID with the fields at
   * fault.
   */
  create(account: NewEdgeAccount): Promise<IssuedPassword>;
  list(): Promise<readonly EdgeAccount[]>;
  /** By id or user name. Throws EDGES_ACCOUNT_UNKNOWN, as do all that follow. */
  get(name: string): Promise<EdgeAccount>;
  /** Changes the given settings and keeps the others. */
  update(name: string, settings: EdgeSettings): Promise<EdgeAccount>;
  /** A further password; the old one stays valid. Throws EDGES_PASSWORDS_EXHAUSTED. */
  rotatePassword(name: string): Promise<IssuedPassword>;
  /** Throws EDGES_PASSWORD_UNKNOWN, EDGES_PASSWORD_LAST. */
  revokePassword(name: string, passwordId: string): Promise<void>;
  /** Ends its sessions at their next command and refuses new ones. */
  disable(name: string): Promise<void>;
  enable(name: string): Promise<void>;
}

export interface AccountStoreDependencies {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly audit: Audit;
  readonly clients: Pick<ClientStore, 'get'>;
  readonly hasher: SlowHasher;
  readonly guards: EdgesGuards;
}

/** Announced to all nodes when an account or its passwords change. */
export const accountTopic = 'edges';

type Tx = Kysely<EdgesTables>;
type AccountRow = EdgesTables['edge_account'];

export function createAccountStore(deps: AccountStoreDependencies): EdgeAccountStore {
  const { storage, clock, audit, clients, hasher, guards } = deps;
  const db = storage.tables<EdgesTables>();

  function change<R>(
    action: string,
    account: Pick<AccountRow, 'account_id' | 'client_id'>,
    objects: Record<string, string>,
    work: (tx: Tx) => Promise<R>,
  ): Promise<R> {
    return storage.transaction(async (tx: Tx) => {
      const done = await work(tx);
      storage.announce(tx, accountTopic);
      await audit.recordIn(tx, {
        action,
        actor: 'operator',
        outcome: 'ok',
        objects: { edgeAccount: account.account_id, clientId: account.client_id, ...objects },
      });
      return done;
    });
  }

  /** A row that was changed by hand gets no new MAC. */
  async function updateRow(tx: Tx, accountId: string, values: Partial<AccountRow>): Promise<void> {
    await lock(tx, accountId);
    const { mac: _old, ...row } = await requireAccount(tx, guards, accountId);
    const changed = guards.accounts.withMac({ ...row, ...values, updated_at: clock.now().getTime() });
    await tx.updateTable('edge_account').set(changed).where('account_id', '=', accountId).execute();
  }

  const lock = (tx: Tx, accountId: string): Promise<unknown> =>
    storage
      .forUpdate(tx.selectFrom('edge_account').select('account_id').where('account_id', '=', accountId))
      .execute();

  async function issue(account: Pick<AccountRow, 'account_id' | 'username' | 'salt'>, chosen?: string) {
    const password = chosen ?? createPassword();
    const hash = await hasher.hash(password, account.salt, secretCost);
    if (hash === undefined) throw new Error('too many passwords are being hashed');
    const passwordId = randomBytes(6).toString('hex');
    const row = guards.passwords.withMac({
      password_id: passwordId,
      account_id: account.account_id,
      hash,
      created_at: clock.now().getTime(),
    });
    const issued = { accountId: account.account_id, username: account.username, passwordId, password };
    return { row, issued };
  }

  return {
    async create({ clientId, username, password, ...settings }) {
      const client = await clients.get(clientId);
      checkNames(username, password);
      const columns = checkSettings(client, username, settings, {
        addresses: [],
        protocols: [],
        policies: defaultPolicies,
      });
      const nowMs = clock.now().getTime();
      const row = guards.accounts.withMac({
        account_id: randomUUID(),
        client_id: client.clientId,
        username,
        username_key: username.toLowerCase(),
        ...columns,
        salt: createSalt(),
        disabled_at: null,
        created_at: nowMs,
        updated_at: nowMs,
      });
      const { row: passwordRow, issued } = await issue(row, password);
      const created = change('edge.create', row, { protocols: row.protocols }, async (tx) => {
        await tx.insertInto('edge_account').values(row).execute();
        await tx.insertInto('edge_password').values(passwordRow).execute();
        await tx
          .insertInto('edge_mailbox')
          .values(
            mailboxNames.map((name) => ({
              account_id: row.account_id,
              name,
              // RFC 9051 §2.3.1.1: 32 bits, never the same for another mailbox of the name.
              uid_validity: Math.floor(nowMs / 1000),
              uid_next: 1,
              change_number: 1,
              removals: 0,
              filled_at: null,
            })),
          )
          .execute();
        await putAddresses(tx, row.account_id, JSON.parse(columns.addresses) as string[]);
        return issued;
      });
      return created.catch((error: unknown) => {
        if (errorCode(error) !== 'PLATFORM_STORAGE_DUPLICATE') throw error;
        throw new EdgesError('EDGES_ACCOUNT_EXISTS', `there is an edge account ${username} already`);
      });
    },
    async list() {
      const rows = await db.selectFrom('edge_account').selectAll().orderBy('username_key').execute();
      const passwords = Map.groupBy(
        await db.selectFrom('edge_password').selectAll().orderBy('created_at').execute(),
        (password) => password.account_id,
      );
      return rows.map((row) => toAccount(row, passwords.get(row.account_id) ?? []));
    },
    get: (name) => findAccount(db, guards, name),
    async update(name, settings) {
      const account = await findAccount(db, guards, name);
      const columns = checkSettings(await clients.get(account.clientId), account.username, settings, account);
      const changed = { settings: Object.keys(settings).sort().join(' ') };
      await change('edge.update', namesOf(account), changed, async (tx) => {
        await updateRow(tx, account.accountId, columns);
        await putAddresses(tx, account.accountId, JSON.parse(columns.addresses) as string[]);
        await refill(tx, account, settings);
      });
      return findAccount(db, guards, account.accountId);
    },
    async rotatePassword(name) {
      const { accountId } = await findAccount(db, guards, name);
      const account = await requireAccount(db, guards, accountId);
      const { row, issued } = await issue(account);
      return change('edge.rotate-password', account, { passwordId: row.password_id }, async (tx) => {
        await lock(tx, accountId);
        if ((await passwordsOf(tx, accountId)).length >= maxPasswords)
          throw new EdgesError(
            'EDGES_PASSWORDS_EXHAUSTED',
            `${account.username} has ${maxPasswords} passwords; revoke one first`,
          );
        await tx.insertInto('edge_password').values(row).execute();
        return issued;
      });
    },
    async revokePassword(name, passwordId) {
      const account = await findAccount(db, guards, name);
      const { accountId, username } = account;
      await change('edge.revoke-password', namesOf(account), { passwordId }, async (tx) => {
        await lock(tx, accountId);
        const passwords = await passwordsOf(tx, accountId);
        if (!passwords.some((password) => password.password_id === passwordId))
          throw new EdgesError('EDGES_PASSWORD_UNKNOWN', `${username} has no password ${passwordId}`);
        if (passwords.length === 1)
          throw new EdgesError(
            'EDGES_PASSWORD_LAST',
            `${username} has no other password; disable it instead`,
          );
        await tx.deleteFrom('edge_password').where('password_id', '=', passwordId).execute();
      });
    },
    async disable(name) {
      const account = await findAccount(db, guards, name);
      await change('edge.disable', namesOf(account), {}, (tx) =>
        updateRow(tx, account.accountId, { disabled_at: clock.now().getTime() }),
      );
    },
    async enable(name) {
      const account = await findAccount(db, guards, name);
      await change('edge.enable', namesOf(account), {}, (tx) =>
        updateRow(tx, account.accountId, { disabled_at: null }),
      );
    },
  };
}

function checkNames(username: string, password: string | undefined): void {
  const problems = [];
  if (!/^[\x21-\x7e]{1,254}$/.test(username))
    problems.push({
      field: 'username',
      reason: 'invalid',
      detail: 'A user name has 1 to 254 visible ASCII characters and no blank.',
    });
  if (password !== undefined && !/^[^\p{Cc}]{16,200}$/u.test(password))
    problems.push({
      field: 'password',
      reason: 'invalid',
      detail: `A chosen password has ${shortestPassword} to 200 characters on one line.`,
    });
  if (problems.length === 0) return;
  const text = problems.map(({ detail }) => detail).join(' ');
  throw new EdgesError('EDGES_ACCOUNT_SETTINGS_INVALID', text, { problems });
}

const namesOf = ({ accountId, clientId }: EdgeAccount): Pick<AccountRow, 'account_id' | 'client_id'> => ({
  account_id: accountId,
  client_id: clientId,
});

function passwordsOf(db: Tx, accountId: string): Promise<EdgesTables['edge_password'][]> {
  return db
    .selectFrom('edge_password')
    .selectAll()
    .where('account_id', '=', accountId)
    .orderBy('created_at')
    .execute();
}

async function putAddresses(tx: Tx, accountId: string, addresses: readonly string[]): Promise<void> {
  await tx.deleteFrom('edge_address').where('account_id', '=', accountId).execute();
  const rows = [...new Set(addresses)].map((address) => ({ account_id: accountId, address }));
  await tx.insertInto('edge_address').values(rows).execute();
}

/** What a mailbox holds follows the addresses, and its octets the form in which it shows packages. */
async function refill(tx: Tx, { accountId, policies }: EdgeAccount, settings: EdgeSettings): Promise<void> {
  if (settings.addresses !== undefined)
    await tx
      .updateTable('edge_mailbox')
      .set({ filled_at: null })
      .where('account_id', '=', accountId)
      .where('name', '=', 'INBOX')
      .execute();
  const inbound = settings.policies?.inbound;
  if (inbound === undefined || inbound === policies.inbound) return;
  // Clients must forget what they know of the messages: their octets are others now.
  await tx
    .updateTable('edge_mailbox')
    .set((eb) => ({ uid_validity: eb('uid_validity', '+', 1) }))
    .where('account_id', '=', accountId)
    .where('name', '<>', 'Sent')
    .execute();
  await tx
    .updateTable('edge_mail')
    .set({ size_bytes: null })
    .where('account_id', '=', accountId)
    .where('mailbox', '<>', 'Sent')
    .execute();
}

async function requireAccount(db: Tx, guards: EdgesGuards, accountId: string): Promise<AccountRow> {
  const row = await db
    .selectFrom('edge_account')
    .selectAll()
    .where('account_id', '=', accountId)
    .executeTakeFirst();
  if (row === undefined) throw unknown(accountId);
  return guards.accounts.check(row);
}

async function findAccount(db: Tx, guards: EdgesGuards, name: string): Promise<EdgeAccount> {
  const row = await db
    .selectFrom('edge_account')
    .selectAll()
    .where((eb) => eb.or([eb('account_id', '=', name), eb('username_key', '=', name.toLowerCase())]))
    .executeTakeFirst();
  if (row === undefined) throw unknown(name);
  return toAccount(await guards.accounts.check(row), await passwordsOf(db, row.account_id));
}

function unknown(name: string): EdgesError {
  return new EdgesError('EDGES_ACCOUNT_UNKNOWN', `there is no edge account ${name}`);
}

function toAccount(row: AccountRow, passwords: readonly EdgesTables['edge_password'][]): EdgeAccount {
  return {
    ...readAccountRow(row),
    passwords: passwords.map(({ password_id, created_at }) => ({
      passwordId: password_id,
      createdAt: new Date(created_at),
    })),
  };
}

/**
 * Some 124 random bits in groups that a person can type from paper; without letters that look like others.
 * Slow hashes all the same: operators may choose shorter ones.
 */
function createPassword(): string {
  const alphabet = 'abcdefghjkmnpqrstuvwxyz23456789';
  const letters = Array.from(randomBytes(64))
    .filter((octet) => octet < 8 * alphabet.length)
    .slice(0, 25)
    .map((octet) => alphabet.charAt(octet % alphabet.length))
    .join('');
  return letters.replace(/(.{5})(?=.)/g, '$1-');
}
