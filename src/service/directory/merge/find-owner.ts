import { readOtherNames } from '../../../lib/provider-record/index.ts';
import { textOf } from '../records/record-line.ts';
import { mayBeSamePerson, nameOf, type StatedName } from './same-person.ts';

/** What decides whose an address is, of one source's record of it. */
export interface Claim {
  /** The source's place in the order of precedence. */
  readonly rank: number;
  /** Empty without an owner. */
  readonly npi: string;
  /** Undefined without a first and a last name. */
  readonly name: StatedName | undefined;
  /** Names a person by a last name. */
  readonly isPerson: boolean;
  readonly hasOrganization: boolean;
}

export function claimOf(line: string, rank: number): Claim {
  const [first, middle, last, suffix] = (['firstName', 'middleName', 'lastName', 'suffix'] as const).map(
    (field) => textOf(line, field),
  ) as [string, string, string, string];
  const otherLast = readOtherNames(textOf(line, 'otherNames')).map(({ lastName }) => lastName);
  return {
    rank,
    npi: textOf(line, 'npi'),
    name: first === '' && last === '' ? undefined : nameOf({ first, middle, last, suffix, otherLast }),
    isPerson: last !== '',
    hasOrganization: textOf(line, 'organization') !== '',
  };
}

/**
 * The NPI of the owner of an address, if its records with and without an NPI are those of one owner (Decision
 * 0025); undefined if they are not, or if all of them have an NPI, or none. More records may end this, but
 * never bring it about.
 */
export function findOwner(claims: readonly Claim[]): string | undefined {
  const owned = claims.filter(({ npi }) => npi !== '');
  const npi = owned[0]?.npi;
  if (npi === undefined || owned.length === claims.length || owned.some((claim) => claim.npi !== npi))
    return undefined;
  const ownerless = distinct(claims.filter((claim) => claim.npi === ''));
  const agrees = distinct(owned).every((owner) => ownerless.every((claim) => mayBeOf(claim, owner)));
  return agrees ? npi : undefined;
}

/** A source may have thousands of records of one address and NPI that say the same. */
function distinct(claims: readonly Claim[]): Claim[] {
  return [...new Map(claims.map((claim) => [JSON.stringify(claim), claim])).values()];
}

/**
 * False for two records of one source, which tells them apart, for different names, and where the NPI is an
 * organization's and the other record a person's.
 */
function mayBeOf(ownerless: Claim, owner: Claim): boolean {
  const isOrganization = !owner.isPerson && owner.hasOrganization;
  return (
    ownerless.rank !== owner.rank &&
    !(isOrganization && ownerless.isPerson) &&
    (ownerless.name === undefined || owner.name === undefined || mayBeSamePerson(ownerless.name, owner.name))
  );
}
