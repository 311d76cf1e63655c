import { sql, type RawBuilder } from 'kysely';

/**
 * True if an address in lower case is the one named, or one of the domain that is named as `@domain`: in the words of the indexes of
 * migration 0081, which both engines have.
 */
export function isParty(address: RawBuilder<unknown>, party: string): RawBuilder<boolean> {
  if (!party.startsWith('@')) return sql<boolean>`${address} = ${party}`;
  return sql<boolean>`replace(${address}, rtrim(${address}, replace(${address}, '@', '')), '') = ${party.slice(1)}`;
}
