import type {
  PublicKeyCredentialCreationOptionsJSON,
  RegistrationResponseJSON,
  WebAuthnCredential,
} from '@simplewebauthn/server';
import type { Kysely } from 'kysely';
import { CodedError } from '../../core/index.ts';
import type { Ceremony } from './ceremonies.ts';
import { OperatorsError } from './errors.ts';
import type { OperatorParts, OperatorRow } from './operator.ts';
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
  /** Given by the operator; may be empty. */
  readonly name: string;
  readonly isBackedUp: boolean;
  readonly createdAt: Date;
  readonly lastUsedAt: Date | undefined;
}

/** A new passkey, as verified. */
interface Registration {
  readonly credential: WebAuthnCredential;
  readonly isBackedUp: boolean;
}

/** COSE: EdDSA, ES256, RS256. */
const algorithms = [-8, -7, -257];
export const timeoutMs = 120_000;
/** Of one operator. */
const maxPasskeys = 20;

export function listPasskeyRows(on: Tx, operatorId: string): Promise<PasskeyRow[]> {
  return on
    .selectFrom('console_passkey')
    .selectAll()
    .where('operator_id', '=', operatorId)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
}

export function toPasskeyEntry(row: PasskeyRow): PasskeyEntry {
  return {
    id: row.id,
    name: row.name,
    isBackedUp: row.is_backed_up === 1,
    createdAt: new Date(row.created_at),
    lastUsedAt: row.last_used_at === null ? undefined : new Date(row.last_used_at),
  };
}

/**
 * For `navigator.credentials.create`. `known`: the operator's passkeys, so that no device gets a second one.
 */
export async function registrationOptions(
  rp: RelyingParty,
  operator: Pick<OperatorRow, 'id' | 'name'>,
  known: readonly PasskeyRow[],
  ceremony: Ceremony,
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  const { generateRegistrationOptions } = await import('@simplewebauthn/server');
  return generateRegistrationOptions({
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
}

/**
 * Under the lock of the operator. Throws OPERATORS_PASSKEY_INVALID for one too many, or one that is already
 * registered.
 */
export async function addPasskeyIn(
  tx: Tx,
  { guards, clock }: Pick<OperatorParts, 'guards' | 'clock'>,
  operatorId: string,
  { credential, isBackedUp }: Registration,
  name: string,
): Promise<PasskeyRow> {
  if ((await listPasskeyRows(tx, operatorId)).length >= maxPasskeys) throw refusePasskey('too many passkeys');
  const exists = await tx
    .selectFrom('console_passkey')
    .select('id')
    .where('id', '=', credential.id)
    .executeTakeFirst();
  if (exists !== undefined) throw refusePasskey('passkey is already registered');
  const row = guards.passkeys.withMac({
    id: credential.id,
    operator_id: operatorId,
    name,
    public_key: Buffer.from(credential.publicKey),
    counter: credential.counter,
    transports: (credential.transports ?? []).join(','),
    is_backed_up: isBackedUp ? 1 : 0,
    created_at: clock.now().getTime(),
    last_used_at: null,
  });
  await tx.insertInto('console_passkey').values(row).execute();
  return row;
}

/** Throws OPERATORS_PASSKEY_INVALID. */
export async function verifyRegistration(
  rp: RelyingParty,
  expectedChallenge: string,
  response: unknown,
): Promise<Registration> {
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
    if (!verified) throw refusePasskey('registration is not verified');
    const { credential, credentialBackedUp } = registrationInfo;
    return { credential, isBackedUp: credentialBackedUp };
  } catch (error) {
    throw error instanceof CodedError ? error : refusePasskey('registration is invalid', error);
  }
}

// None was requested. Certificates of authenticators would be untrusted chains with CRLs to fetch.
async function requireNoAttestation({ response }: RegistrationResponseJSON): Promise<void> {
  const { decodeAttestationObject } = await import('@simplewebauthn/server/helpers');
  const decoded = decodeAttestationObject(
    new Uint8Array(Buffer.from(String(response.attestationObject), 'base64url')),
  );
  const isSelf = decoded.get('fmt') === 'packed' && decoded.get('attStmt').get('x5c') === undefined;
  if (decoded.get('fmt') !== 'none' && !isSelf) throw refusePasskey('attestation was not requested');
}

export function refusePasskey(reason: string, cause?: unknown): OperatorsError {
  return new OperatorsError('OPERATORS_PASSKEY_INVALID', `passkey refused: ${reason}`, {
    fields: { reason },
    ...(cause !== undefined && { cause }),
  });
}
