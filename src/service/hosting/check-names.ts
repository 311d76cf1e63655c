import { addressKey, type DirectAddress } from '../../lib/values/index.ts';
import type { DirectoryName } from '../directory/index.ts';

/** The names that the loaded directory has for an NPI. */
export type FindNames = (npi: string) => readonly DirectoryName[];

interface NamedEntry {
  readonly npi?: string | undefined;
  readonly firstName?: string | undefined;
  readonly lastName?: string | undefined;
  readonly organization?: string | undefined;
}

/**
 * A warning if every record that the directory has of the NPI is named otherwise: of somebody else, or
 * misspelt here. Of a person the last name counts, which one may have changed, so it is no refusal.
 */
export function findNameWarning(
  address: DirectAddress,
  { npi = '', lastName = '', organization = '' }: NamedEntry,
  findNames: FindNames | undefined,
): string | undefined {
  const own = lastName === '' ? organization : lastName;
  if (findNames === undefined || npi === '' || own === '') return undefined;
  const others = findNames(npi)
    .filter(({ directAddress }) => directAddress.toLowerCase() !== addressKey(address))
    .map((one) => ({ name: lastName === '' ? one.organization : one.lastName, one }))
    .filter(({ name }) => name !== '');
  const [first] = others;
  if (first === undefined || others.some(({ name }) => isAlike(name, own))) return undefined;
  const { firstName, lastName: last, organization: place } = first.one;
  const shown = lastName === '' ? place : `${firstName} ${last}`.trim();
  return `npi: the directory has ${npi} as ${shown}.`;
}

/** Parts of a double name are alike, whatever their accents and signs. */
function isAlike(one: string, other: string): boolean {
  const [left, right] = [fold(one), fold(other)];
  return left.includes(right) || right.includes(left);
}

const fold = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(/[^\p{L}\p{N}]/gu, '')
    .toLowerCase();
