import { Type, type Static } from 'typebox';
import { nullable, oneOf, time, named, queryOf } from './common.ts';

export const role = oneOf(['help-desk', 'operator', 'auditor', 'administrator']);
export type Role = Static<typeof role>;

export const permission = oneOf([
  'messages.read',
  'messages.change',
  'messages.send',
  'legal-hold.change',
  'addresses.check',
  'directory.read',
  'directory.change',
  'settings.read',
  'settings.change',
  'audit.read',
  'audit.export',
  'operators.read',
  'operators.change',
]);
export type Permission = Static<typeof permission>;

/** `GET /admin/v1/session`: who is signed in. `DELETE` signs out. */
export const session = named('Session', {
  operator: Type.Object({
    id: Type.String(),
    name: Type.String(),
    role,
    /** The only one that the operator sees; null: everything. */
    organization: nullable(Type.Object({ id: Type.String(), name: Type.String() })),
  }),
  permissions: Type.Array(permission, {
    description: 'A page hides actions without permission; the API refuses them.',
  }),
  isSandbox: Type.Boolean(),
  version: Type.String(),
  hisp: Type.Object({
    hostname: Type.String(),
    /** In alphabetical order, the first 100. */
    domains: Type.Array(Type.String()),
    /** Address of the edge API, for requests to copy. */
    apiUrl: Type.String(),
  }),
  startedAt: time,
  idleEndsAt: time,
  endsAt: time,
  idleMinutes: Type.Integer({ description: 'Minutes without activity after which a session ends.' }),
});
export type Session = Static<typeof session>;

export const sessionEntry = named('SessionEntry', {
  id: Type.String(),
  isCurrent: Type.Boolean(),
  /** The sign-in method: `link`, `passkey`, `oidc` or `token`. */
  method: Type.String(),
  startedAt: time,
  lastSeenAt: time,
  endsAt: time,
  remoteAddress: Type.String(),
  userAgent: Type.String(),
});
export type SessionEntry = Static<typeof sessionEntry>;

/**
 * `GET /admin/v1/sessions`: the operator's own. `DELETE /admin/v1/sessions/:id` ends one,
 * `DELETE /admin/v1/sessions` all.
 */
export const sessionList = named('SessionList', { result: Type.Array(sessionEntry) });
export type SessionList = Static<typeof sessionList>;

/** The operator's own: `PATCH /admin/v1/passkeys/:id` names one, `DELETE` removes it. */
export const ownPasskey = named('Passkey', {
  id: Type.String(),
  /** Empty until the operator gives one. */
  name: Type.String(),
  /** True if a password manager or the maker of the device keeps a copy. */
  isBackedUp: Type.Boolean(),
  createdAt: time,
  lastUsedAt: nullable(time),
});
export type OwnPasskey = Static<typeof ownPasskey>;

/** `GET /admin/v1/passkeys`. */
export const ownPasskeyList = named('PasskeyList', {
  canChange: Type.Boolean({ description: 'False for an operator of an OpenID provider.' }),
  result: Type.Array(ownPasskey),
});
export type OwnPasskeyList = Static<typeof ownPasskeyList>;

const passkeyName = Type.String({ minLength: 1, maxLength: 60 });

/** `PATCH /admin/v1/passkeys/:id`. */
export const passkeyChange = queryOf({ name: passkeyName });

/**
 * `POST /admin/v1/passkeys`: the result of `navigator.credentials.create` as JSON, for the options of
 * `POST /admin/v1/passkeys/options`.
 */
export const newPasskey = queryOf({
  name: passkeyName,
  response: Type.Object({}, { additionalProperties: true }),
});
