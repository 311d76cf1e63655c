import { sql, type RawBuilder } from 'kysely';

/**
 * True if a lower-case address equals the given one, or belongs to the domain given as `@domain`. The
 * expressions are those of the indexes (`platform/storage/baseline/messaging.ts`), which both engines have.
 */
export function isParty(address: RawBuilder<unknown>, party: string): RawBuilder<boolean> {
  if (!party.startsWith('@')) return sql<boolean>`${address} = ${party}`;
  return sql<boolean>`replace(${address}, rtrim(${address}, replace(${address}, '@', '')), '') = ${party.slice(1)}`;
}
