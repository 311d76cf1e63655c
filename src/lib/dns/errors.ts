import { codedError, type ErrorTable } from '../../core/index.ts';

/** Error codes of `lib/dns`. All but the first are transient: another try, or another server, may answer. */
export const dnsErrors = {
  /** The name cannot be written in a DNS message (label over 63 octets, name over 255, empty label). */
  DNS_NAME_INVALID: { kind: 'invalid-input' },
  /** No server answered within its time. */
  DNS_TIMEOUT: { kind: 'unavailable' },
  /** A server could not be reached (refused port, no route, closed connection). */
  DNS_UNREACHABLE: { kind: 'unavailable' },
  /**
   * The system gave this process no socket, for example because too many files are open: no server was asked.
   */
  DNS_NO_SOCKET: { kind: 'unavailable' },
  /** A server answered with a failure (SERVFAIL, REFUSED, NOTIMP …) or referred elsewhere. */
  DNS_SERVER_FAILURE: { kind: 'unavailable' },
  /** An answer could not be read, or does not belong to the question. */
  DNS_MESSAGE_INVALID: { kind: 'unavailable' },
  /** Too many CNAME records in a row, or a circle of them. */
  DNS_ALIAS_LOOP: { kind: 'unavailable' },
  /** The resolver was closed while the query was in progress. */
  DNS_CLOSED: { kind: 'unavailable' },
} as const satisfies ErrorTable;

export class DnsError extends codedError(dnsErrors) {}
