import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
  WebAuthnCredential,
} from '@simplewebauthn/server';
import type { Kysely } from 'kysely';
import { CodedError } from '../../core/index.ts';
import type { Ceremonies, Ceremony } from './ceremonies.ts';
import { OperatorsError } from './errors.ts';
import type { Links } from './links.ts';
import { findActiveRow, lockOperatorRow, type OperatorParts } from './operator.ts';
import type { Sessions, SignInSource, StartedSession } from './sessions.ts';
import type { OperatorTables } from './tables.ts';

type Tx = Kysely<OperatorTables>;
type PasskeyRow = OperatorTables['console_passkey'];

/** The relying party of passkeys: the console, under its public address. */
export interface RelyingParty {
  /** A host name. */
  readonly id: string;
  readonly origin: string;
}

export interface BegunCeremony<Options> {
  readonly ceremony: Ceremony;
  readonly options: Options;
}

export interface PasskeyEntry {
  readonly id: string;
  readonly isBackedUp: boolean;
  readonly createdAt: Date;
  readonly lastUsedAt: Date | undefined;
}

/** WebAuthn Level 2 with discoverable credentials, so that no name is typed, and with user verification by the device. */
export interface Passkeys {
  /** Throws OPERATORS_LINK_INVALID. */
  beginEnrolment(
    rp: RelyingParty,
    linkToken: string,
  ): Promise<BegunCeremony<PublicKeyCredentialCreationOptionsJSON>>;
  /**
   * Registers the passkey, marks the link as used and signs in. Throws OPERATORS_LINK_INVALID, OPERATORS_CEREMONY_INVALID,
   * OPERATORS_PASSKEY_INVALID.
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
  /** False if the operator has no such passkey. Audited; sessions started with it continue. */
  remove(operator: { readonly id: string; readonly name: string }, passkeyId: string): Promise<boolean>;
}

/** COSE: EdDSA, ES256, RS256. */
const algorithms = [-8, -7, -257];
const timeoutMs = 120_000;
/** Of one operator. */
const maxPasskeys = 20;

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
    const operator = await findActiveRow(tx, guards, link.operator_id);
    if (link.purpose !== 'enrol' || operator === undefined)
      throw new OperatorsError('OPERATORS_LINK_INVALID', 'the link is not for registering a passkey', {
        fields: { reason: 'purpose' },
      });
    return { link, operator };
  }

  const rowsOf = (on: Tx, operatorId: string): Promise<PasskeyRow[]> =>
    on.selectFrom('console_passkey').selectAll().where('operator_id', '=', operatorId).execute();

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
        return { operator: found, known: await rowsOf(tx, found.id) };
      });
      const ceremony = await ceremonies.begin('enrol');
      const { generateRegistrationOptions } = await import('@simplewebauthn/server');
      const options = await generateRegistrationOptions({
        rpName: 'openhisp console',
        rpID: rp.id,
        userName: operator.name,
        userDisplayName: operator.name,
        userID: Buffer.from(operator.id),
        challenge: Buffer.from(ceremony.challenge, 'base64url'),
        timeout: timeoutMs,
        attestationType: 'none',
        authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
        supportedAlgorithmIDs: algorithms,
        excludeCredentials: known.map(({ id }) => ({ id })),
      });
      return { ceremony, options };
    },

    async enrol(rp, linkToken, ceremonyToken, response, source) {
      const expectedChallenge = await ceremonies.take('enrol', ceremonyToken);
      // Checked before untrusted data is parsed.
      await storage.transaction((tx: Tx) => requireEnrolment(tx, linkToken));
      const { credential, isBackedUp } = await verifyRegistration(rp, expectedChallenge, response);
      return storage.transaction(async (tx: Tx) => {
        const { link, operator } = await requireEnrolment(tx, linkToken);
        await links.useIn(tx, link);
        if ((await rowsOf(tx, operator.id)).length >= maxPasskeys) throw refuse('too many passkeys');
        const exists = await tx
          .selectFrom('console_passkey')
          .select('id')
          .where('id', '=', credential.id)
          .executeTakeFirst();
        if (exists !== undefined) throw refuse('passkey is already registered');
        const row = guards.passkeys.withMac({
          id: credential.id,
          operator_id: operator.id,
          public_key: Buffer.from(credential.publicKey),
          counter: credential.counter,
          transports: (credential.transports ?? []).join(','),
          is_backed_up: isBackedUp ? 1 : 0,
          created_at: clock.now().getTime(),
          last_used_at: null,
        });
        await tx.insertInto('console_passkey').values(row).execute();
        const session = await sessions.startIn(tx, operator.id, 'passkey', source);
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
        // A concurrent sign-in with the same counter may have been stored first.
        if (newCounter > 0 && newCounter <= row.counter) throw refuse('counter went back');
        const session = await sessions.startIn(tx, row.operator_id, 'passkey', source);
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
      const rows = await guards.passkeys.checkAll(await rowsOf(db, operatorId));
      return rows.map((row) => ({
        id: row.id,
        isBackedUp: row.is_backed_up === 1,
        createdAt: new Date(row.created_at),
        lastUsedAt: row.last_used_at === null ? undefined : new Date(row.last_used_at),
      }));
    },

    remove: (operator, passkeyId) =>
      storage.transaction(async (tx: Tx) => {
        const { numDeletedRows } = await tx
          .deleteFrom('console_passkey')
          .where('operator_id', '=', operator.id)
          .where('id', '=', passkeyId)
          .executeTakeFirst();
        if (numDeletedRows === 0n) return false;
        const objects = { operator: operator.name, passkey: passkeyId };
        await audit.recordIn(tx, {
          action: 'operator.passkey-remove',
          actor: 'operator',
          outcome: 'ok',
          objects,
        });
        return true;
      }),
  };
}

async function verifyRegistration(
  rp: RelyingParty,
  expectedChallenge: string,
  response: unknown,
): Promise<{ readonly credential: WebAuthnCredential; readonly isBackedUp: boolean }> {
  const { verifyRegistrationResponse } = await import('@simplewebauthn/server');
  const given = response as RegistrationResponseJSON;
  try {
    await requireNoAttestation(given);
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response: given,
      expectedChallenge,
      expectedOrigin: rp.origin,
      expectedRPID: rp.id,
      requireUserVerification: true,
      supportedAlgorithmIDs: algorithms,
    });
    if (!verified) throw refuse('registration is not verified');
    const { credential, credentialBackedUp } = registrationInfo;
    return { credential, isBackedUp: credentialBackedUp };
  } catch (error) {
    throw error instanceof CodedError ? error : refuse('registration is invalid', error);
  }
}

// None was requested. Certificates of authenticators would be untrusted chains with CRLs to fetch.
async function requireNoAttestation({ response }: RegistrationResponseJSON): Promise<void> {
  const { decodeAttestationObject } = await import('@simplewebauthn/server/helpers');
  const decoded = decodeAttestationObject(
    new Uint8Array(Buffer.from(String(response.attestationObject), 'base64url')),
  );
  const isSelf = decoded.get('fmt') === 'packed' && decoded.get('attStmt').get('x5c') === undefined;
  if (decoded.get('fmt') !== 'none' && !isSelf) throw refuse('attestation was not requested');
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
      credential: { id: row.id, publicKey: new Uint8Array(row.public_key), counter: row.counter },
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

function refuse(reason: string, cause?: unknown): OperatorsError {
  return new OperatorsError('OPERATORS_PASSKEY_INVALID', `passkey refused: ${reason}`, {
    fields: { reason },
    ...(cause !== undefined && { cause }),
  });
}
