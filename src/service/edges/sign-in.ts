import { createHmac, createSecretKey, randomBytes } from 'node:crypto';
import type { Kysely } from 'kysely';
import {
  createGrowingCache,
  createTokenBuckets,
  errorCode,
  networkOf,
  type Clock,
} from '../../core/index.ts';
import { createLookups, type Storage } from '../../platform/index.ts';
import type { Audit } from '../audit/index.ts';
import {
  createSalt,
  findEqualHash,
  secretCost,
  type ClientIdentity,
  type ClientStore,
  type SlowHasher,
} from '../oauth/index.ts';
import { identityOf, readAccountRow, type EdgeAccount, type EdgeProtocol } from './account.ts';
import { accountTopic } from './account-store.ts';
import { EdgesError } from './errors.ts';
import type { EdgesGuards } from './guards.ts';
import type { EdgesTables } from './tables.ts';

export interface PresentedPassword {
  readonly username: string;
  readonly password: string;
  readonly protocol: EdgeProtocol;
  readonly remoteAddress: string;
}

/** A signed-in edge client. */
export interface EdgeSession {
  readonly account: Omit<EdgeAccount, 'passwords'>;
  /** As whom it acts, no more than account and client may. */
  readonly client: ClientIdentity;
  /** It signed in with; absent where the account acts by itself. */
  readonly passwordId?: string | undefined;
}

export interface SignIns {
  /**
   * Throws EDGES_SIGN_IN_REFUSED after the same work for whatever is wrong, EDGES_ATTEMPTS_EXCEEDED without
   * a look at the password, and INTEGRITY_ROW_CHANGED.
   */
  signIn(presented: PresentedPassword): Promise<EdgeSession>;
  /**
   * The session as it is now: a disabled account, client or protocol and a revoked password end it, and
   * addresses that were taken away are gone. To be called at each command that touches mail; throws
   * EDGES_SIGN_IN_REFUSED.
   */
  renew(session: EdgeSession, protocol: EdgeProtocol): Promise<EdgeSession>;
  /** The account where it acts by itself, whatever its protocols. Throws EDGES_SIGN_IN_REFUSED. */
  open(accountId: string): Promise<EdgeSession>;
}

export interface SignInDependencies {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly audit: Audit;
  readonly clients: Pick<ClientStore, 'get'>;
  readonly hasher: SlowHasher;
  readonly guards: EdgesGuards;
  readonly attemptsPerMinute: number;
  readonly onSignIn?: ((protocol: EdgeProtocol, outcome: 'ok' | 'refused' | 'throttled') => void) | undefined;
}

/** Mail programs sign in for each look at a mailbox; a verified password needs no second hash for a while. */
const verifiedForMs = 3_600_000;
const maxVerified = 10_000;

type AccountRow = EdgesTables['edge_account'];
type PasswordRow = EdgesTables['edge_password'];

interface FoundAccount {
  readonly account: AccountRow;
  readonly passwords: readonly PasswordRow[];
}

interface SignedIn {
  readonly account: AccountRow;
  readonly passwordId: string;
}

/**
 * Sign-in over all protocols together: who guesses by POP3 is held back at IMAP too. Refusals count by
 * network and by user name there, never by user name alone, so that an outsider cannot lock anybody out.
 */
export function createSignIns(deps: SignInDependencies): SignIns {
  const { storage, clock, audit, clients, hasher, guards, attemptsPerMinute, onSignIn } = deps;
  const db = storage.tables<EdgesTables>();
  const lookups = createLookups(storage, accountTopic);
  const refusals = createTokenBuckets({
    ratePerSecond: attemptsPerMinute / 60,
    burst: attemptsPerMinute,
    clock,
  });
  const unknownSalt = createSalt();
  const processKey = createSecretKey(randomBytes(32));
  const verified = createGrowingCache<{ readonly passwordId: string; readonly untilMs: number }>(maxVerified);

  async function verify(presented: PresentedPassword): Promise<SignedIn | undefined> {
    const found = await findByName(db, guards, presented.username);
    const proof = createHmac('sha256', processKey)
      .update(`${presented.username.toLowerCase()}\0${presented.password}`)
      .digest('base64');
    const known = verified.get(proof);
    const isFresh = known !== undefined && known.untilMs > clock.now().getTime();
    if (isFresh && found?.passwords.some(({ password_id }) => password_id === known.passwordId))
      return { account: found.account, passwordId: known.passwordId };
    const keys = keysOf(presented);
    // Counted before the slow hash: refusals counted after it would let all guesses through that come
    // meanwhile.
    if (keys.some((key) => refusals.take(key, 0).remaining < 1)) throw throttled();
    for (const key of keys) refusals.take(key);
    const hash = await hasher.hash(presented.password, found?.account.salt ?? unknownSalt, secretCost);
    if (hash === undefined) {
      for (const key of keys) refusals.take(key, -1);
      throw throttled();
    }
    const equal = findEqualHash(hash, found?.passwords ?? []);
    if (found === undefined || equal === undefined) return undefined;
    for (const key of keys) refusals.take(key, -1);
    verified.set(proof, { passwordId: equal.password_id, untilMs: clock.now().getTime() + verifiedForMs });
    return { account: found.account, passwordId: equal.password_id };
  }

  async function openSession(
    account: EdgeSession['account'],
    protocol?: EdgeProtocol,
    passwordId?: string,
  ): Promise<EdgeSession> {
    const client = await clients.get(account.clientId);
    const isAllowed =
      account.disabledAt === undefined &&
      client.disabledAt === undefined &&
      (protocol === undefined || account.protocols.includes(protocol)) &&
      client.scopes.includes('messaging.api');
    if (!isAllowed) throw refused();
    return { account, client: identityOf(client, account, protocol), passwordId };
  }

  async function reopen(
    accountId: string,
    protocol?: EdgeProtocol,
    passwordId?: string,
  ): Promise<EdgeSession> {
    const found = await lookups.find(accountId, async () => {
      const read = await findAccount(db, guards, 'account_id', accountId);
      return (
        read && {
          account: readAccountRow(read.account),
          passwordIds: new Set(read.passwords.map(({ password_id }) => password_id)),
        }
      );
    });
    if (found === undefined || (passwordId !== undefined && !found.passwordIds.has(passwordId)))
      throw refused();
    return openSession(found.account, protocol, passwordId);
  }

  return {
    async signIn(presented) {
      const { protocol, remoteAddress } = presented;
      let account: AccountRow | undefined;
      try {
        const signedIn = await verify(presented);
        account = signedIn?.account;
        if (signedIn === undefined) throw refused();
        const session = await openSession(readAccountRow(signedIn.account), protocol, signedIn.passwordId);
        onSignIn?.(protocol, 'ok');
        return session;
      } catch (error) {
        const code = errorCode(error);
        if (code === 'EDGES_SIGN_IN_REFUSED' || code === 'EDGES_ATTEMPTS_EXCEEDED') {
          onSignIn?.(protocol, code === 'EDGES_SIGN_IN_REFUSED' ? 'refused' : 'throttled');
          // Refusals may come in floods, so they are written with others.
          await audit.record({
            action: 'edge.sign-in',
            actor: account?.client_id,
            outcome: 'refused',
            objects: { code, protocol, ...(account && { edgeAccount: account.account_id }) },
            remoteAddress,
          });
        }
        throw error;
      }
    },
    renew: ({ account: { accountId }, passwordId }, protocol) => reopen(accountId, protocol, passwordId),
    open: (accountId) => reopen(accountId),
  };
}

async function findByName(
  db: Kysely<EdgesTables>,
  guards: EdgesGuards,
  username: string,
): Promise<FoundAccount | undefined> {
  // No name has such characters, and PostgreSQL refuses to look for NUL.
  if (!/^[\x21-\x7e]{1,254}$/.test(username)) return undefined;
  return findAccount(db, guards, 'username_key', username.toLowerCase());
}

async function findAccount(
  db: Kysely<EdgesTables>,
  guards: EdgesGuards,
  column: 'account_id' | 'username_key',
  value: string,
): Promise<FoundAccount | undefined> {
  const account = await db
    .selectFrom('edge_account')
    .selectAll()
    .where(column, '=', value)
    .executeTakeFirst();
  if (account === undefined) return undefined;
  const passwords = await db
    .selectFrom('edge_password')
    .selectAll()
    .where('account_id', '=', account.account_id)
    .execute();
  await guards.passwords.checkAll(passwords);
  return { account: await guards.accounts.check(account), passwords };
}

function keysOf({ username, remoteAddress }: PresentedPassword): readonly string[] {
  const network = networkOf(remoteAddress);
  return [network, `${network} ${username.toLowerCase().slice(0, 254)}`];
}

function refused(): EdgesError {
  return new EdgesError('EDGES_SIGN_IN_REFUSED', 'an edge client could not sign in');
}

function throttled(): EdgesError {
  return new EdgesError('EDGES_ATTEMPTS_EXCEEDED', 'too many failed sign-ins of one network', {
    retryAfterSeconds: 60,
  });
}
