import { sql, type RawBuilder } from 'kysely';

/**
 * True if a lower-case address equals the given one, or belongs to the domain given as `@domain`. The
 * expressions are those of the indexes (`platform/storage/baseline/messaging.ts`), which both engines have.
 */
export function matchesAddress(column: RawBuilder<unknown>, address: string): RawBuilder<boolean> {
  if (!address.startsWith('@')) return sql<boolean>`${column} = ${address}`;
  return sql<boolean>`replace(${column}, rtrim(${column}, replace(${column}, '@', '')), '') = ${address.slice(1)}`;
}
