import { sql, type RawBuilder } from 'kysely';

/**
 * What an operator sees and changes: all of this HISP, or what one organization owns. Every query of the
 * console passes through the two functions here (Decision 0035).
 */
export type Owned = typeof everything | OwnedByOrganization;

export const everything = { organizationId: undefined } as const;

export interface OwnedByOrganization {
  readonly organizationId: string;
  /** It alone. */
  readonly organizations: ReadonlySet<string>;
  /** Lower-cased. */
  readonly domains: ReadonlySet<string>;
  readonly clients: ReadonlySet<string>;
}

/** The things that have an owner; the rest is of a domain or of a client. */
export type OwnedKind = 'organizations' | 'domains' | 'clients';

/** True if the organization, domain or client is among what is owned. */
export function isOwned(owned: Owned, kind: OwnedKind, name: string): boolean {
  return owned.organizationId === undefined || owned[kind].has(name);
}

/** The same as a condition on a column of a statement. */
export function whereOwned(owned: Owned, kind: OwnedKind, column: RawBuilder<unknown>): RawBuilder<boolean> {
  if (owned.organizationId === undefined) return sql<boolean>`1 = 1`;
  const names = [...owned[kind]];
  return names.length === 0 ? sql<boolean>`1 = 0` : sql<boolean>`${column} in (${sql.join(names)})`;
}

/** With more, an organization has a good part of all rows, and finds its own among them. */
const maxParts = 50;

/**
 * What is owned in parts of one domain or client each, of which an index gives the newest rows at once. Of
 * several, an engine sorts all rows that they ever had.
 */
export function splitOwned(owned: Owned, kind: OwnedKind): readonly Owned[] {
  if (owned.organizationId === undefined || owned[kind].size > maxParts) return [owned];
  return [...owned[kind]].map((name) => ({ ...owned, [kind]: new Set([name]) }));
}

/** True if the domain of the address is owned. */
export const isOwnedAddress = (owned: Owned, address: string): boolean =>
  isOwned(owned, 'domains', address.slice(address.lastIndexOf('@') + 1).toLowerCase());
