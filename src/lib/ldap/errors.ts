import { codedError, type ErrorTable } from '../../core/index.ts';

/** Error codes of `lib/ldap`. To callers of the client an unreachable server is an outcome, not an error. */
export const ldapErrors = {
  /** The peer sent invalid LDAP, or a message over the limits. The responder ends the connection. */
  LDAP_MESSAGE_INVALID: { kind: 'invalid-input' },
  /** A server is unreachable, too slow or answers with a failure; the next one is tried. */
  LDAP_SERVER_FAILED: { kind: 'unavailable' },
  /**
   * The system gave this process no socket, for example because too many files are open: no server was asked.
   */
  LDAP_NO_SOCKET: { kind: 'unavailable' },
} as const satisfies ErrorTable;

export class LdapError extends codedError(ldapErrors) {}
