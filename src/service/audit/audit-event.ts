import { hash } from 'node:crypto';
import { foldText } from '../../core/index.ts';

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

/** Values of which a row shows only whether they are equal to others. */
interface ConcealedValues {
  /** 32 random bytes as text, which never leave the database. */
  readonly secret: string;
  readonly values: readonly (readonly [name: string, value: string])[];
}

/**
 * The hash of each value by its name: 64 bits of SHA-256 over the secret and the folded value. The secret has
 * a fixed length, and cutting the hash short leaves nothing that could be extended. A keyed HMAC would cost
 * three times as much.
 */
export function conceal({ secret, values }: ConcealedValues): Record<string, string> {
  return Object.fromEntries(
    values.map(([name, value]) => [name, hash('sha256', `${secret}${foldText(value)}`, 'hex').slice(0, 16)]),
  );
}
