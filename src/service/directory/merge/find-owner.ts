import { foldText } from '../../../core/index.ts';
import { readOtherNames } from '../../../lib/provider-record/index.ts';
import { textOf } from '../records/record-line.ts';

/** What decides whose an address is, of one source's record of it. */
export interface Claim {
  /** The source's place in the order of precedence. */
  readonly rank: number;
  /** Empty without an owner. */
  readonly npi: string;
  /** First and last name, folded, letters and digits alone: national files write OBRIEN. */
  readonly firstName: string;
  readonly lastName: string;
  /** Last names that the person had or uses, too. */
  readonly otherLastNames: readonly string[];
  readonly hasOrganization: boolean;
}

export function claimOf(line: string, rank: number): Claim {
  return {
    rank,
    npi: textOf(line, 'npi'),
    firstName: lettersOf(textOf(line, 'firstName')),
    lastName: lettersOf(textOf(line, 'lastName')),
    otherLastNames: readOtherNames(textOf(line, 'otherNames')).map(({ lastName }) => lettersOf(lastName)),
    hasOrganization: textOf(line, 'organization') !== '',
  };
}

function lettersOf(name: string): string {
  return foldText(name).replace(/[^\p{L}\p{N}]/gu, '');
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
  return [...new Map(claims.map((claim) => [Object.values(claim).join('\t'), claim])).values()];
}

/**
 * False for two records of one source, which tells them apart, for different names, and where the NPI is an
 * organization's and the other record a person's.
 */
function mayBeOf(ownerless: Claim, owner: Claim): boolean {
  const isOrganization = owner.lastName === '' && owner.hasOrganization;
  return (
    ownerless.rank !== owner.rank &&
    !(isOrganization && ownerless.lastName !== '') &&
    // An initial, or a first name with another one behind it, is no other name.
    (ownerless.firstName.startsWith(owner.firstName) || owner.firstName.startsWith(ownerless.firstName)) &&
    (ownerless.lastName === '' || owner.lastName === '' || haveOneName(ownerless, owner))
  );
}

/** One source may know a person by the name that another one calls the former one. */
function haveOneName(one: Claim, other: Claim): boolean {
  return (
    one.lastName === other.lastName ||
    one.otherLastNames.includes(other.lastName) ||
    other.otherLastNames.includes(one.lastName)
  );
}
