import { sql, type RawBuilder } from 'kysely';

/**
 * The domain of a lower-case address; the expression is that of the indexes
 * (`platform/storage/baseline/messaging.ts`), which both engines have.
 */
export function domainIn(column: RawBuilder<unknown>): RawBuilder<string> {
  return sql<string>`replace(${column}, rtrim(${column}, replace(${column}, '@', '')), '')`;
}

/** True if a lower-case address equals the given one, or belongs to the domain given as `@domain`. */
export function matchesAddress(column: RawBuilder<unknown>, address: string): RawBuilder<boolean> {
  if (!address.startsWith('@')) return sql<boolean>`${column} = ${address}`;
  return sql<boolean>`${domainIn(column)} = ${address.slice(1)}`;
}
