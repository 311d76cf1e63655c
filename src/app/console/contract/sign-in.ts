import { Type, type Static } from 'typebox';
import { nullable, time, named, queryOf } from './common.ts';
import { role } from './session.ts';

/** The operator who signed in or is to register a passkey. */
const person = Type.Object({ id: Type.String(), name: Type.String(), role });

/**
 * A session has started; the answer sets the cookie. Also the answer of `sign-in/passkey/verify` and
 * `enrol/passkey/verify`.
 */
export const signedIn = named('SignedIn', { kind: Type.Literal('signed-in'), operator: person });
export type SignedIn = Static<typeof signedIn>;

/** `POST /admin/v1/sign-in/link`, without a session: the token after `#enter=`. */
export const linkRequest = queryOf({ token: Type.String({ maxLength: 200 }) });

/**
 * A sign-in link starts a session; an enrolment link names the operator whose passkey is to be registered,
 * and is consumed by the registration.
 */
export const linkAnswer = Type.Union(
  [signedIn, Type.Object({ kind: Type.Literal('enrol'), operator: person, expiresAt: time })],
  { title: 'LinkAnswer' },
);
export type LinkAnswer = Static<typeof linkAnswer>;

/** `GET /admin/v1/sign-in/methods`, without a session. */
export const signInMethods = named('SignInMethods', {
  passkey: Type.Boolean(),
  /** `GET /admin/v1/sign-in/oidc?after=/path` starts it: a link, not a fetch. */
  oidc: nullable(Type.Object({ name: Type.String() })),
});
export type SignInMethods = Static<typeof signInMethods>;

/**
 * `POST /admin/v1/enrol/passkey/verify`: the link's token again, and the result of
 * `navigator.credentials.create` as JSON.
 */
export const passkeyEnrolment = queryOf({
  token: Type.String({ maxLength: 200 }),
  response: Type.Object({}, { additionalProperties: true }),
});

/** `POST /admin/v1/sign-in/passkey/verify`: the result of `navigator.credentials.get` as JSON. */
export const passkeyAssertion = Type.Object({}, { additionalProperties: true });
