/**
 * Access to the console and its API: named operators with roles, their sign-in (passkey, one-time link,
 * OpenID Connect, bearer token) and their sessions (Decision 0030). Credentials are stored as SHA-256 only;
 * all rows that grant access carry a MAC (Decision 0024).
 *
 * Not here: HTTP, cookies and origins, which belong to the console's listener (`app/console`).
 * Called by the console, by the composition root and by the command line.
 */
export { createOperators, type Operators } from './create-operators.ts';
export type { Operator, OperatorEntry, OperatorIdentity } from './operator.ts';
export { parseRole, roles, type Permission, type Role } from './roles.ts';
export type { IssuedLink } from './links.ts';
export type { SessionEntry, SignInSource, StartedSession } from './sessions.ts';
export type { OpenIdSettings } from './open-id.ts';
export type { PasskeyEntry, RelyingParty } from './passkey-registration.ts';
export type { SignedInOperator } from './fresh-sign-in.ts';
export type { OperatorAdministration } from './administration.ts';
export type { SignInMethod } from './tables.ts';
export { OperatorsError } from './errors.ts';
export { operatorsGuardedTables } from './guards.ts';
export { measureOperators } from './measure-operators.ts';
