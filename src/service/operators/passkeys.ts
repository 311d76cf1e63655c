import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/server';
import type { Kysely } from 'kysely';
import { CodedError } from '../../core/index.ts';
import type { Ceremonies } from './ceremonies.ts';
import { OperatorsError } from './errors.ts';
import type { Links } from './links.ts';
import { findActiveRow, lockOperatorRow, type OperatorParts } from './operator.ts';
import {
  addPasskeyIn,
  listPasskeyRows,
  refusePasskey as refuse,
  registrationOptions,
  timeoutMs,
  toPasskeyEntry,
  verifyRegistration,
  type BegunCeremony,
  type PasskeyEntry,
  type RelyingParty,
} from './passkey-registration.ts';
import { endSessionsIn, type Sessions, type SignInSource, type StartedSession } from './sessions.ts';
import type { OperatorTables } from './tables.ts';

type Tx = Kysely<OperatorTables>;
type PasskeyRow = OperatorTables['console_passkey'];

/**
 * WebAuthn Level 2 with discoverable credentials, so that no name is typed, and with user verification by the
 * device.
 */
export interface Passkeys {
  /** Throws OPERATORS_LINK_INVALID. */
  beginEnrolment(
    rp: RelyingParty,
    linkToken: string,
  ): Promise<BegunCeremony<PublicKeyCredentialCreationOptionsJSON>>;
  /**
   * Registers the passkey, marks the link as used and signs in. Throws OPERATORS_LINK_INVALID,
   * OPERATORS_CEREMONY_INVALID, OPERATORS_PASSKEY_INVALID.
   */
  enrol(
    rp: RelyingParty,
    linkToken: string,
    ceremonyToken: string | undefined,
    response: unknown,
    source: SignInSource,
  ): Promise<StartedSession>;
  beginSignIn(rp: RelyingParty): Promise<BegunCeremony<PublicKeyCredentialRequestOptionsJSON>>;
  /** Throws OPERATORS_CEREMONY_INVALID, OPERATORS_PASSKEY_INVALID. */
  signIn(
    rp: RelyingParty,
    ceremonyToken: string | undefined,
    response: unknown,
    source: SignInSource,
  ): Promise<StartedSession>;
  list(operatorId: string): Promise<readonly PasskeyEntry[]>;
  /** False if the operator has no such passkey. Audited. Sessions that began with it end. */
  remove(operator: { readonly id: string; readonly name: string }, passkeyId: string): Promise<boolean>;
}

export function createPasskeys(
  parts: OperatorParts & {
    readonly links: Links;
    readonly sessions: Sessions;
    readonly ceremonies: Ceremonies;
  },
): Passkeys {
  const { storage, clock, audit, guards, links, sessions, ceremonies } = parts;
  const db = storage.tables<OperatorTables>();

  async function requireEnrolment(tx: Tx, linkToken: string) {
    const link = await links.requireIn(tx, linkToken);
    const operator = await findActiveRow(tx, parts, link.operator_id);
    if (link.purpose !== 'enrol' || operator === undefined)
      throw new OperatorsError('OPERATORS_LINK_INVALID', 'the link is not for registering a passkey', {
        fields: { reason: 'purpose' },
      });
    return { link, operator };
  }

  async function findPasskey(on: Tx, id: string): Promise<PasskeyRow> {
    const query = on.selectFrom('console_passkey').selectAll().where('id', '=', id);
    const row = await query.executeTakeFirst();
    if (row === undefined) throw refuse('unknown passkey');
    return guards.passkeys.check(row);
  }

  async function recordSignIn(tx: Tx, session: StartedSession, passkey: string, source: SignInSource) {
    await audit.recordIn(tx, {
      action: 'console.sign-in',
      actor: session.operator.actor,
      outcome: 'ok',
      objects: { method: 'passkey', session: session.sessionId, passkey },
      requestId: source.requestId,
      remoteAddress: source.remoteAddress,
    });
  }

  return {
    async beginEnrolment(rp, linkToken) {
      const { operator, known } = await storage.transaction(async (tx: Tx) => {
        const { operator: found } = await requireEnrolment(tx, linkToken);
        return { operator: found, known: await listPasskeyRows(tx, found.id) };
      });
      const ceremony = await ceremonies.begin('enrol');
      const options = await registrationOptions(rp, operator, known, ceremony);
      return { ceremony, options };
    },

    async enrol(rp, linkToken, ceremonyToken, response, source) {
      const expectedChallenge = await ceremonies.take('enrol', ceremonyToken);
      // Checked before untrusted data is parsed.
      await storage.transaction((tx: Tx) => requireEnrolment(tx, linkToken));
      const registration = await verifyRegistration(rp, expectedChallenge, response);
      return storage.transaction(async (tx: Tx) => {
        const { link, operator } = await requireEnrolment(tx, linkToken);
        await links.useIn(tx, link);
        const row = await addPasskeyIn(tx, parts, operator.id, registration, '');
        const session = await sessions.startIn(tx, operator.id, 'passkey', source, row.id);
        await audit.recordIn(tx, {
          action: 'operator.enrol',
          actor: session.operator.actor,
          outcome: 'ok',
          objects: { passkey: row.id },
          requestId: source.requestId,
          remoteAddress: source.remoteAddress,
        });
        await recordSignIn(tx, session, row.id, source);
        return session;
      });
    },

    async beginSignIn(rp) {
      const ceremony = await ceremonies.begin('passkey');
      const { generateAuthenticationOptions } = await import('@simplewebauthn/server');
      const options = await generateAuthenticationOptions({
        rpID: rp.id,
        challenge: Buffer.from(ceremony.challenge, 'base64url'),
        userVerification: 'required',
        timeout: timeoutMs,
      });
      return { ceremony, options };
    },

    async signIn(rp, ceremonyToken, response, source) {
      const expectedChallenge = await ceremonies.take('passkey', ceremonyToken);
      const given = readAssertion(response);
      const passkey = await findPasskey(db, given.id);
      // The user handle of a discoverable credential must match the stored owner.
      if (Buffer.from(given.response.userHandle ?? '', 'base64url').toString() !== passkey.operator_id)
        throw refuse('passkey of another operator');
      const { newCounter, credentialBackedUp } = await verifyAssertion(rp, expectedChallenge, given, passkey);
      return storage.transaction(async (tx: Tx) => {
        await lockOperatorRow(tx, parts, { id: passkey.operator_id });
        const { mac: _old, ...row } = await findPasskey(tx, passkey.id);
        // Under the lock: a concurrent sign-in with the same counter may have been stored first. Passkeys
        // without a counter say 0 (WebAuthn §6.1.1).
        if ((newCounter > 0 || row.counter > 0) && newCounter <= row.counter)
          throw refuse('counter went back');
        const session = await sessions.startIn(tx, row.operator_id, 'passkey', source, row.id);
        const used = guards.passkeys.withMac({
          ...row,
          counter: newCounter,
          is_backed_up: credentialBackedUp ? 1 : 0,
          last_used_at: clock.now().getTime(),
        });
        await tx.updateTable('console_passkey').set(used).where('id', '=', row.id).execute();
        await recordSignIn(tx, session, row.id, source);
        return session;
      });
    },

    async list(operatorId) {
      const rows = await guards.passkeys.checkAll(await listPasskeyRows(db, operatorId));
      return rows.map(toPasskeyEntry);
    },

    remove: (operator, passkeyId) => removePasskey(parts, operator, passkeyId),
  };
}

/** As `Passkeys.remove`. */
export async function removePasskey(
  parts: OperatorParts,
  operator: { readonly id: string; readonly name: string },
  passkeyId: string,
): Promise<boolean> {
  return parts.storage.transaction(async (tx: Tx) => {
    await lockOperatorRow(tx, parts, { id: operator.id });
    const { numDeletedRows } = await tx
      .deleteFrom('console_passkey')
      .where('operator_id', '=', operator.id)
      .where('id', '=', passkeyId)
      .executeTakeFirst();
    if (numDeletedRows === 0n) return false;
    const ended = await endSessionsIn(tx, operator.id, { passkeyId });
    const objects = { operator: operator.name, passkey: passkeyId, ended };
    await parts.audit.recordIn(tx, {
      action: 'operator.passkey-remove',
      actor: 'operator',
      outcome: 'ok',
      objects,
    });
    return true;
  });
}

async function verifyAssertion(
  rp: RelyingParty,
  expectedChallenge: string,
  response: AuthenticationResponseJSON,
  row: PasskeyRow,
) {
  const { verifyAuthenticationResponse } = await import('@simplewebauthn/server');
  try {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response,
      expectedChallenge,
      expectedOrigin: rp.origin,
      expectedRPID: rp.id,
      requireUserVerification: true,
      // The counter is compared below: the library would refuse it in words that name no reason.
      credential: { id: row.id, publicKey: new Uint8Array(row.public_key), counter: 0 },
    });
    if (!verified) throw refuse('signature is wrong');
    return authenticationInfo;
  } catch (error) {
    throw error instanceof CodedError ? error : refuse('assertion is invalid', error);
  }
}

/** Only the fields that are read here before the library checks the whole. */
function readAssertion(response: unknown): AuthenticationResponseJSON {
  const given = response as Partial<AuthenticationResponseJSON> | null;
  if (typeof given?.id !== 'string' || typeof given.response !== 'object' || given.response === null)
    throw refuse('assertion is malformed');
  const { userHandle } = given.response;
  if (typeof userHandle !== 'string') throw refuse('assertion names no operator');
  return given as AuthenticationResponseJSON;
}
