import type { PublicKeyCredentialCreationOptionsJSON } from '@simplewebauthn/server';
import type { Kysely } from 'kysely';
import type { Ceremonies } from './ceremonies.ts';
import { CodedError, errorCode } from '../../core/index.ts';
import { OperatorsError } from './errors.ts';
import { requireFreshSignIn, type SignedInOperator } from './fresh-sign-in.ts';
import {
  findActiveRow,
  lockActiveRow,
  signsInElsewhere,
  type OperatorIdentity,
  type OperatorParts,
  type OperatorRow,
} from './operator.ts';
import {
  addPasskeyIn,
  listPasskeyRows,
  registrationOptions,
  toPasskeyEntry,
  verifyRegistration,
  type BegunCeremony,
  type PasskeyEntry,
  type RelyingParty,
} from './passkey-registration.ts';
import { endSessionsIn, type SignInSource } from './sessions.ts';
import type { OperatorTables } from './tables.ts';

type Tx = Kysely<OperatorTables>;

/** The passkeys of the caller. */
export interface OwnPasskeyList {
  /** False if an OpenID provider signs the operator in. */
  readonly canChange: boolean;
  readonly passkeys: readonly PasskeyEntry[];
}

/**
 * An operator's management of their own passkeys. Adding and removing throw OPERATORS_SIGN_IN_STALE unless
 * the session began with a passkey within the last five minutes, so that an unattended browser cannot give
 * somebody else a way in. All but `list` throw OPERATORS_EXTERNAL for an operator of an OpenID provider.
 * Every change is audited.
 */
export interface OwnPasskeys {
  list(operator: OperatorIdentity): Promise<OwnPasskeyList>;
  beginAdding(
    rp: RelyingParty,
    owner: SignedInOperator,
  ): Promise<BegunCeremony<PublicKeyCredentialCreationOptionsJSON>>;
  /** Throws OPERATORS_PASSKEY_NOT_ADDED, OPERATORS_PASSKEY_NAME_INVALID. */
  add(
    rp: RelyingParty,
    owner: SignedInOperator,
    given: { readonly name: string; readonly response: unknown; readonly ceremonyToken: string | undefined },
    source: SignInSource,
  ): Promise<PasskeyEntry>;
  /** Throws OPERATORS_PASSKEY_UNKNOWN, OPERATORS_PASSKEY_NAME_INVALID. */
  rename(
    owner: SignedInOperator,
    passkeyId: string,
    name: string,
    source: SignInSource,
  ): Promise<PasskeyEntry>;
  /**
   * Throws OPERATORS_PASSKEY_UNKNOWN, and OPERATORS_PASSKEY_LAST for the only one. Sessions that began
   * with it end, the caller's excepted.
   */
  remove(owner: SignedInOperator, passkeyId: string, source: SignInSource): Promise<void>;
}

/** No control or formatting characters, which could make one name look like another. */
const nameForm = /^[\p{L}\p{N}][\p{L}\p{M}\p{N} .,:_@+()'’/-]{0,59}$/u;

export function createOwnPasskeys(parts: OperatorParts & { readonly ceremonies: Ceremonies }): OwnPasskeys {
  const { storage, clock, audit, guards, ceremonies } = parts;
  const db = storage.tables<OperatorTables>();

  const requireFresh = (owner: SignedInOperator): void => requireFreshSignIn(owner, clock, ['passkey']);

  /** The operator's row, locked. */
  async function lockOwner(tx: Tx, { operator }: SignedInOperator): Promise<OperatorRow> {
    return requireLocal(await lockActiveRow(tx, parts, operator.id));
  }

  async function record(
    tx: Tx,
    action: string,
    { operator }: SignedInOperator,
    objects: Readonly<Record<string, string>>,
    source: SignInSource,
  ): Promise<void> {
    await audit.recordIn(tx, {
      action,
      actor: operator.actor,
      outcome: 'ok',
      objects: { operator: operator.name, ...objects },
      requestId: source.requestId,
      remoteAddress: source.remoteAddress,
    });
  }

  return {
    async list({ id }) {
      const [operator, rows] = await Promise.all([
        findActiveRow(db, parts, id),
        listPasskeyRows(db, id).then((all) => guards.passkeys.checkAll(all)),
      ]);
      return { canChange: operator?.subject === null, passkeys: rows.map(toPasskeyEntry) };
    },

    async beginAdding(rp, owner) {
      requireFresh(owner);
      const operator = requireLocal(await findActiveRow(db, parts, owner.operator.id));
      const known = await listPasskeyRows(db, operator.id);
      const ceremony = await ceremonies.begin(`add:${operator.id}`);
      return { ceremony, options: await registrationOptions(rp, operator, known, ceremony) };
    },

    async add(rp, owner, { name, response, ceremonyToken }, source) {
      requireFresh(owner);
      const ownName = requireName(name);
      try {
        const expectedChallenge = await ceremonies.take(`add:${owner.operator.id}`, ceremonyToken);
        const registration = await verifyRegistration(rp, expectedChallenge, response);
        return await storage.transaction(async (tx: Tx) => {
          const { id } = await lockOwner(tx, owner);
          const row = await addPasskeyIn(tx, parts, id, registration, ownName);
          await record(tx, 'operator.passkey-add', owner, { passkey: row.id, name: ownName }, source);
          return toPasskeyEntry(row);
        });
      } catch (error) {
        throw isNotAdded(error) ? notAdded(error) : error;
      }
    },

    async rename(owner, passkeyId, name, source) {
      const ownName = requireName(name);
      return storage.transaction(async (tx: Tx) => {
        const { id } = await lockOwner(tx, owner);
        const row = (await listPasskeyRows(tx, id)).find((one) => one.id === passkeyId);
        if (row === undefined) throw unknownPasskey();
        await guards.passkeys.check(row);
        await tx.updateTable('console_passkey').set({ name: ownName }).where('id', '=', row.id).execute();
        await record(tx, 'operator.passkey-name', owner, { passkey: row.id, name: ownName }, source);
        return toPasskeyEntry({ ...row, name: ownName });
      });
    },

    async remove(owner, passkeyId, source) {
      requireFresh(owner);
      await storage.transaction(async (tx: Tx) => {
        const { id } = await lockOwner(tx, owner);
        const rows = await listPasskeyRows(tx, id);
        const row = rows.find((one) => one.id === passkeyId);
        if (row === undefined) throw unknownPasskey();
        // A changed row lets nobody in, so it is no other way in either.
        const others = rows.filter((one) => one !== row);
        await guards.passkeys.checkAll(others);
        if (others.length === 0)
          throw new OperatorsError('OPERATORS_PASSKEY_LAST', 'the operator has no other passkey');
        await tx.deleteFrom('console_passkey').where('id', '=', row.id).execute();
        await endSessionsIn(tx, id, { passkeyId: row.id, except: owner.sessionId });
        await record(tx, 'operator.passkey-remove', owner, { passkey: row.id, name: row.name }, source);
      });
    },
  };
}

function requireLocal(row: OperatorRow | undefined): OperatorRow {
  if (row === undefined) throw new OperatorsError('OPERATORS_SESSION_INVALID', 'the operator is disabled');
  if (row.subject === null) return row;
  throw signsInElsewhere(row.name);
}

function requireName(name: string): string {
  const trimmed = name.trim().normalize('NFC');
  if (nameForm.test(trimmed)) return trimmed;
  throw new OperatorsError('OPERATORS_PASSKEY_NAME_INVALID', 'not a name of a passkey');
}

const isNotAdded = (error: unknown): boolean =>
  ['OPERATORS_CEREMONY_INVALID', 'OPERATORS_PASSKEY_INVALID'].includes(errorCode(error));

function notAdded(cause: unknown): OperatorsError {
  const reason = cause instanceof CodedError ? cause.fields['reason'] : undefined;
  return new OperatorsError('OPERATORS_PASSKEY_NOT_ADDED', `passkey not added: ${String(reason)}`, { cause });
}

function unknownPasskey(): OperatorsError {
  return new OperatorsError('OPERATORS_PASSKEY_UNKNOWN', 'the passkey is not one of this operator');
}
