import { codedError, type ErrorTable } from '../../core/index.ts';

export const operatorErrors = {
  // Sign-in. Only the audit trail records which part was wrong; the caller does not learn it.
  OPERATORS_LINK_INVALID: {
    kind: 'unauthenticated',
    publicMessage: 'The link is unknown, expired or used. Ask for a new one.',
  },
  OPERATORS_PASSKEY_INVALID: {
    kind: 'unauthenticated',
    publicMessage: 'The passkey was not accepted. Register it again with a new link, or use another one.',
  },
  OPERATORS_CEREMONY_INVALID: {
    kind: 'unauthenticated',
    publicMessage: 'The sign-in took too long or was started in another browser. Start again.',
  },
  OPERATORS_PROVIDER_UNREACHABLE: {
    kind: 'unavailable',
    publicMessage: 'The OpenID provider cannot be reached. Try again later.',
  },
  OPERATORS_PROVIDER_REFUSED: {
    kind: 'unauthenticated',
    publicMessage: 'The OpenID provider did not confirm the sign-in. Start again.',
  },
  OPERATORS_ROLE_MISSING: {
    kind: 'forbidden',
    publicMessage: 'The OpenID provider gives you no role for this console.',
  },
  OPERATORS_ATTEMPTS_EXCEEDED: {
    kind: 'rate-limited',
    publicMessage: 'Too many sign-ins. Wait a minute.',
  },
  // Requests.
  OPERATORS_SESSION_INVALID: {
    kind: 'unauthenticated',
    publicMessage: 'The session is missing or has ended. Sign in.',
  },
  OPERATORS_TOKEN_INVALID: {
    kind: 'unauthenticated',
    publicMessage: 'The token is unknown, expired or revoked.',
  },
  OPERATORS_PERMISSION_MISSING: {
    kind: 'forbidden',
    publicMessage: 'Your role does not allow this.',
  },
  // Administration.
  OPERATORS_NAME_INVALID: { kind: 'invalid-input' },
  OPERATORS_ROLE_INVALID: { kind: 'invalid-input' },
  OPERATORS_NAME_TAKEN: { kind: 'conflict' },
  OPERATORS_EXTERNAL: { kind: 'conflict' },
  OPERATORS_UNKNOWN: { kind: 'not-found' },
  OPERATORS_SESSION_UNKNOWN: { kind: 'not-found' },
  OPERATORS_TOKEN_UNKNOWN: { kind: 'not-found', publicMessage: 'The operator has no such token.' },
  OPERATORS_SELF: {
    kind: 'conflict',
    publicMessage: 'You cannot change your own role or access. Ask another operator.',
  },
  // Own passkeys.
  OPERATORS_SIGN_IN_STALE: {
    kind: 'forbidden',
    publicMessage: 'Sign in again; then this is allowed for five minutes.',
  },
  OPERATORS_PASSKEY_UNKNOWN: { kind: 'not-found', publicMessage: 'The operator has no such passkey.' },
  // Not 401: the session goes on.
  OPERATORS_PASSKEY_NOT_ADDED: {
    kind: 'invalid-input',
    publicMessage:
      'The passkey was not added: it took longer than five minutes, was started in another browser, is registered already, or is the 21st. Start again.',
  },
  OPERATORS_PASSKEY_LAST: {
    kind: 'conflict',
    publicMessage: 'This is your only passkey. Add another one first; otherwise you could not sign in again.',
  },
  OPERATORS_PASSKEY_NAME_INVALID: {
    kind: 'invalid-input',
    publicMessage:
      "The name must be 1 to 60 letters, digits, blanks and . , : _ @ + ( ) ' / - that begin with a letter or digit.",
  },
} as const satisfies ErrorTable;

/** Refusals of operators' requests. No message repeats a token. */
export class OperatorsError extends codedError(operatorErrors) {}
