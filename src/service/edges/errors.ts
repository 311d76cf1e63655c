import { codedError, type ErrorTable } from '../../core/index.ts';

export const edgesErrors = {
  EDGES_ACCOUNT_UNKNOWN: { kind: 'not-found' },
  EDGES_ACCOUNT_EXISTS: {
    kind: 'conflict',
    publicMessage: 'There is an edge account of this user name already.',
  },
  EDGES_ACCOUNT_SETTINGS_INVALID: { kind: 'invalid-input' },
  EDGES_PASSWORD_UNKNOWN: { kind: 'not-found' },
  EDGES_PASSWORDS_EXHAUSTED: {
    kind: 'conflict',
    publicMessage: 'The account has two passwords already. Revoke one first.',
  },
  EDGES_PASSWORD_LAST: {
    kind: 'conflict',
    publicMessage: 'It is the only password. Issue another first, or disable the account.',
  },
  EDGES_OVERLOADED: {
    kind: 'unavailable',
    publicMessage: 'Too much is being sent or fetched at present. Try again in a moment.',
  },
  // What a client is told of a sign-in that failed.
  EDGES_SIGN_IN_REFUSED: {
    kind: 'unauthenticated',
    publicMessage: 'User name or password is wrong, or the account may not use this protocol.',
  },
  EDGES_ATTEMPTS_EXCEEDED: {
    kind: 'rate-limited',
    publicMessage: 'Too many failed sign-ins from this address. Try again in a minute.',
  },
} as const satisfies ErrorTable;

/** Errors of edge accounts. No message repeats a password. */
export class EdgesError extends codedError(edgesErrors) {}

export function edgesOverloaded(): EdgesError {
  return new EdgesError('EDGES_OVERLOADED', 'no memory is left for messages that are being fetched');
}
