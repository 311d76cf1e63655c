import type { ConcealedValues } from './conceal.ts';

export type AuditOutcome = 'ok' | 'refused' | 'failed';

/** One event; the time is added when it is passed on. */
export interface AuditEvent {
  /** `area.verb`, for example `token.issue` or `directory.search`. */
  readonly action: string;
  /** A client id, `system`, or the name of an operator. */
  readonly actor?: string | undefined;
  readonly outcome: AuditOutcome;
  /** Identifiers only (SEC-03): message id, from, to, reason code, counts. */
  readonly objects?: Readonly<Record<string, string | number>> | undefined;
  /** Values that must not be stored: next to the objects, the row gets hashes of them. */
  readonly concealed?: ConcealedValues | undefined;
  readonly requestId?: string | undefined;
  readonly remoteAddress?: string | undefined;
}
