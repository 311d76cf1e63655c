import { randomUUID } from 'node:crypto';
import type { Kysely } from 'kysely';
import { OperatorsError } from './errors.ts';
import {
  findActiveRow,
  lockActiveRow,
  toIdentity,
  type OperatorIdentity,
  type OperatorParts,
} from './operator.ts';
import { createSecretToken, hashSecretToken, longestToken } from './secret-token.ts';
import type { OperatorTables, SignInMethod } from './tables.ts';

type Tx = Kysely<OperatorTables>;
type SessionRow = OperatorTables['console_session'];

/** The origin of a sign-in. */
export interface SignInSource {
  readonly remoteAddress: string;
  readonly userAgent: string;
  readonly requestId?: string | undefined;
  /** Token of the browser's previous session, which ends at the sign-in. */
  readonly previousToken?: string | undefined;
}

export interface StartedSession {
  /** For the cookie; not stored. */
  readonly token: string;
  readonly sessionId: string;
  readonly operator: OperatorIdentity;
  readonly expiresAt: Date;
}

export interface ActiveSession {
  readonly sessionId: string;
  readonly operator: OperatorIdentity;
  readonly method: SignInMethod;
  readonly startedAt: Date;
  /** The time at which the session ends without further activity. */
  readonly idleEndsAt: Date;
  readonly endsAt: Date;
}

/** One line of the list of sessions. */
export interface SessionEntry {
  readonly id: string;
  readonly method: SignInMethod;
  readonly remoteAddress: string;
  readonly userAgent: string;
  readonly createdAt: Date;
  readonly seenAt: Date;
  readonly expiresAt: Date;
}

export interface SessionLimits {
  readonly idleMs: number;
  readonly lifetimeMs: number;
}

/** Whose sessions end; `actor` ends them. */
type SessionOwner = Pick<OperatorIdentity, 'id' | 'name' | 'actor'>;

export interface Sessions {
  /**
   * In the transaction of the sign-in. Its audit row is the caller's. `passkeyId`: the session ends when that
   * passkey is removed.
   */
  startIn(
    tx: Tx,
    operatorId: string,
    method: SignInMethod,
    source: SignInSource,
    passkeyId?: string,
  ): Promise<StartedSession>;
  /**
   * The session of a cookie. `isActivity` is false for background requests of a page, so that an open page
   * does not keep its session alive. Throws OPERATORS_SESSION_INVALID for one that is unknown, idle, expired,
   * or of a disabled operator.
   */
  find(token: string, options: { readonly isActivity: boolean }): Promise<ActiveSession>;
  /** Newest first. */
  list(operatorId: string): Promise<readonly SessionEntry[]>;
  /** Signs out. Throws OPERATORS_SESSION_UNKNOWN unless it is a session of this operator. */
  end(operator: SessionOwner, sessionId: string, source?: SignInSource): Promise<void>;
  /** Signs out everywhere. Returns the number of ended sessions. */
  endAll(operator: SessionOwner, source?: SignInSource): Promise<number>;
}

/** Maximum lag of `seen_at`, so that not every request writes. */
const seenLagMs = 60_000;
const maxUserAgent = 300;
/** Of one operator; the oldest end. */
const maxSessions = 50;

export function createSessions({
  storage,
  clock,
  audit,
  guards,
  ownership,
  openIdIssuer,
  limits,
}: OperatorParts & { readonly limits: SessionLimits }): Sessions {
  const db = storage.tables<OperatorTables>();

  const isLive = (row: SessionRow): boolean => {
    const nowMs = clock.now().getTime();
    return nowMs < row.expires_at && nowMs < row.seen_at + limits.idleMs;
  };

  async function noteSeen({ mac: _old, ...row }: SessionRow): Promise<number> {
    const nowMs = clock.now().getTime();
    if (nowMs < row.seen_at + Math.min(seenLagMs, limits.idleMs / 10)) return row.seen_at;
    const seen = guards.sessions.withMac({ ...row, seen_at: nowMs });
    // No effect if the session has ended in the meantime.
    await db.updateTable('console_session').set(seen).where('id', '=', row.id).execute();
    return nowMs;
  }

  async function endWhere(
    operator: SessionOwner,
    sessionId: string | undefined,
    source: SignInSource | undefined,
  ): Promise<number> {
    return storage.transaction(async (tx: Tx) => {
      const doomed = tx.deleteFrom('console_session').where('operator_id', '=', operator.id);
      const { numDeletedRows } = await (
        sessionId === undefined ? doomed : doomed.where('id', '=', sessionId)
      ).executeTakeFirst();
      const count = Number(numDeletedRows);
      if (count > 0)
        await audit.recordIn(tx, {
          action: sessionId === undefined ? 'console.sign-out-everywhere' : 'console.sign-out',
          actor: operator.actor,
          outcome: 'ok',
          objects: {
            operator: operator.name,
            ...(sessionId === undefined ? { count } : { session: sessionId }),
          },
          requestId: source?.requestId,
          remoteAddress: source?.remoteAddress,
        });
      return count;
    });
  }

  return {
    async startIn(tx, operatorId, method, source, passkeyId) {
      const operator = await lockActiveRow(tx, { storage, guards, ownership, openIdIssuer }, operatorId);
      if (operator === undefined)
        throw new OperatorsError('OPERATORS_SESSION_INVALID', 'the operator is disabled');
      if (source.previousToken !== undefined)
        await tx
          .deleteFrom('console_session')
          .where('token_hash', '=', hashSecretToken(source.previousToken.slice(0, longestToken)))
          .execute();
      await makeRoom(tx, operatorId);
      const token = createSecretToken();
      const nowMs = clock.now().getTime();
      const row = guards.sessions.withMac({
        id: randomUUID(),
        token_hash: hashSecretToken(token),
        operator_id: operatorId,
        method,
        passkey_id: passkeyId ?? null,
        remote_address: source.remoteAddress,
        user_agent: source.userAgent.slice(0, maxUserAgent),
        created_at: nowMs,
        seen_at: nowMs,
        expires_at: nowMs + limits.lifetimeMs,
      });
      await tx.insertInto('console_session').values(row).execute();
      return {
        token,
        sessionId: row.id,
        operator: toIdentity(operator),
        expiresAt: new Date(row.expires_at),
      };
    },
    async find(token, { isActivity }) {
      const row =
        token.length > longestToken
          ? undefined
          : await db
              .selectFrom('console_session')
              .selectAll()
              .where('token_hash', '=', hashSecretToken(token))
              .executeTakeFirst();
      if (row === undefined || !isLive(await guards.sessions.check(row)))
        throw new OperatorsError('OPERATORS_SESSION_INVALID', 'the session is unknown or has ended');
      const operator = await findActiveRow(db, { guards, ownership, openIdIssuer }, row.operator_id);
      if (operator === undefined)
        throw new OperatorsError('OPERATORS_SESSION_INVALID', 'the operator is disabled');
      const seenMs = isActivity ? await noteSeen(row) : row.seen_at;
      return {
        sessionId: row.id,
        operator: toIdentity(operator),
        method: row.method,
        startedAt: new Date(row.created_at),
        idleEndsAt: new Date(Math.min(seenMs + limits.idleMs, row.expires_at)),
        endsAt: new Date(row.expires_at),
      };
    },
    async list(operatorId) {
      const rows = await db
        .selectFrom('console_session')
        .selectAll()
        .where('operator_id', '=', operatorId)
        .orderBy('created_at', 'desc')
        .execute();
      return (await guards.sessions.checkAll(rows)).filter(isLive).map(toEntry);
    },
    async end(operator, sessionId, source) {
      if ((await endWhere(operator, sessionId, source)) === 0)
        throw new OperatorsError(
          'OPERATORS_SESSION_UNKNOWN',
          'the session is not one of this operator, or has ended',
        );
    },
    endAll: (operator, source) => endWhere(operator, undefined, source),
  };
}

/** Under the lock of the operator. Returns how many there were. */
export async function endSessionsIn(
  tx: Tx,
  operatorId: string,
  { passkeyId, except }: { readonly passkeyId?: string; readonly except?: string | undefined } = {},
): Promise<number> {
  const { numDeletedRows } = await tx
    .deleteFrom('console_session')
    .where('operator_id', '=', operatorId)
    .$if(passkeyId !== undefined, (query) => query.where('passkey_id', '=', passkeyId ?? ''))
    .$if(except !== undefined, (query) => query.where('id', '!=', except ?? ''))
    .executeTakeFirst();
  return Number(numDeletedRows);
}

/** For one more. Under the lock of the operator. */
async function makeRoom(tx: Tx, operatorId: string): Promise<void> {
  const sessions = await tx
    .selectFrom('console_session')
    .select('id')
    .where('operator_id', '=', operatorId)
    .orderBy('created_at', 'desc')
    .execute();
  const oldest = sessions.slice(maxSessions - 1).map(({ id }) => id);
  if (oldest.length > 0) await tx.deleteFrom('console_session').where('id', 'in', oldest).execute();
}

function toEntry(row: SessionRow): SessionEntry {
  return {
    id: row.id,
    method: row.method,
    remoteAddress: row.remote_address,
    userAgent: row.user_agent,
    createdAt: new Date(row.created_at),
    seenAt: new Date(row.seen_at),
    expiresAt: new Date(row.expires_at),
  };
}
