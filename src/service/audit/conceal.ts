import { hash } from 'node:crypto';
import { foldText } from '../../core/index.ts';

/** Values of which a row shows only whether they are equal to others. */
export interface ConcealedValues {
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
