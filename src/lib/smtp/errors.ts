import { codedError, type ErrorTable } from '../../core/index.ts';

/** Error codes of `lib/smtp`. A recipient refused by a server is not an error but an outcome of the call. */
export const smtpErrors = {
  /** An address or host name that must not appear in a command line (SEC-12). */
  SMTP_ADDRESS_INVALID: { kind: 'invalid-input' },
  /** The domain does not exist. */
  SMTP_DOMAIN_UNKNOWN: { kind: 'not-found' },
  /** The domain exists, but has no mail host. */
  SMTP_NO_MAIL_HOST: { kind: 'not-found' },
  /** Every mail host of the domain is at an address that is not public. */
  SMTP_MAIL_HOST_PRIVATE: { kind: 'forbidden' },
  /** The domain has a null MX: it accepts no mail (RFC 7505). */
  SMTP_NULL_MX: { kind: 'not-found' },
  /** The server could not be reached, or the connection broke. */
  SMTP_UNREACHABLE: { kind: 'unavailable' },
  SMTP_TIMEOUT: { kind: 'unavailable' },
  /**
   * The system gave this process no socket, for example because too many files are open: the server was not
   * asked.
   */
  SMTP_NO_SOCKET: { kind: 'unavailable' },
  /** TLS is required, and the server does not offer it or the handshake failed. */
  SMTP_TLS_FAILED: { kind: 'unavailable' },
  /** The server refuses our credentials. An operator can correct them, so trying again makes sense. */
  SMTP_AUTH_FAILED: { kind: 'unavailable' },
  /** The server refused the session temporarily (4xx before the transaction). */
  SMTP_SESSION_DEFERRED: { kind: 'unavailable' },
  /** The server refused the session permanently (5xx before the transaction). */
  SMTP_SESSION_REFUSED: { kind: 'forbidden' },
  /** The server's reply is not SMTP. */
  SMTP_PROTOCOL: { kind: 'unavailable' },
} as const satisfies ErrorTable;

export type SmtpErrorCode = keyof typeof smtpErrors;

export class SmtpError extends codedError(smtpErrors) {}
