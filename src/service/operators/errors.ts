import { CodedError, type ErrorOptionsFor, type ErrorTable } from '../../core/index.ts';

export const operatorErrors = {
  // Sign-in. Which part was wrong is for the audit trail, not for who tries.
  OPERATORS_LINK_INVALID: {
    kind: 'unauthenticated',
    publicMessage: 'The link is unknown, expired or used. Ask for a new one.',
  },
  OPERATORS_PASSKEY_INVALID: {
    kind: 'unauthenticated',
    publicMessage: 'The passkey was not accepted. Register it again by a new link, or use another one.',
  },
  OPERATORS_CEREMONY_INVALID: {
    kind: 'unauthenticated',
    publicMessage: 'The sign-in took too long or was begun elsewhere. Begin again.',
  },
  OPERATORS_PROVIDER_UNREACHABLE: {
    kind: 'unavailable',
    publicMessage: 'The OpenID provider cannot be reached. Try again later.',
  },
  OPERATORS_PROVIDER_REFUSED: {
    kind: 'unauthenticated',
    publicMessage: 'The OpenID provider did not confirm the sign-in. Begin again.',
  },
  OPERATORS_ROLE_MISSING: {
    kind: 'forbidden',
    publicMessage: 'The OpenID provider gives you no role of this console.',
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
} as const satisfies ErrorTable;

export type OperatorsErrorCode = keyof typeof operatorErrors;

/** What is refused to operators. No message ever repeats a token. */
export class OperatorsError extends CodedError<OperatorsErrorCode> {
  constructor(code: OperatorsErrorCode, message: string, options: ErrorOptionsFor = {}) {
    super(operatorErrors, code, message, options);
  }
}
