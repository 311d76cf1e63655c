import { hasHidden, type FieldProblem } from '../../core/index.ts';
import { hasNpiCheckDigit, isStateCode, parseNpi, parseZip } from '../../lib/values/index.ts';
import { OrganizationsError } from './errors.ts';
import type { OrganizationsTables } from './tables.ts';

/**
 * The operator's own organization. It owns whatever was given to no other, and needs no row until its name
 * or another setting is stored.
 */
export const operatorOrganization = 'operator';

/** Each empty if unknown. */
export interface PostalAddress {
  readonly street: string;
  readonly city: string;
  /** Two letters. */
  readonly state: string;
  /** `#####` or `#####-####`. */
  readonly zip: string;
}

/** What an organization may have; an absent one is no limit. */
export interface OrganizationLimits {
  /** Active addresses. */
  readonly addresses?: number;
  /** Messages that its clients send on a day (UTC), and their octets before they are sealed. */
  readonly messagesPerDay?: number;
  readonly octetsPerDay?: number;
  /** Octets of the messages that are kept for its addresses and clients. */
  readonly storageOctets?: number;
}

export const limitNames = ['addresses', 'messagesPerDay', 'octetsPerDay', 'storageOctets'] as const;

export interface Organization {
  readonly id: string;
  readonly name: string;
  /** Of an organization (type 2); empty if unknown. */
  readonly npi: string;
  readonly postalAddress: PostalAddress;
  /** Lines for people: who, role, telephone, mail. */
  readonly contacts: readonly string[];
  readonly limits: OrganizationLimits;
  /** Since then its mail is refused and its clients are disabled; absent: it is active. */
  readonly closedAt?: Date;
  /** Empty unless it is closed. */
  readonly closedReason: string;
  /** Absent for the operator's own while nothing of it is stored. */
  readonly createdAt?: Date;
  readonly updatedAt?: Date;
}

export interface OrganizationSettings {
  readonly name?: string;
  readonly npi?: string;
  readonly postalAddress?: Partial<PostalAddress>;
  readonly contacts?: readonly string[];
  /** Those that are given; null ends one. */
  readonly limits?: Readonly<Record<string, number | null>>;
}

const maxContacts = 10;

/** Of the built-in organization while it has no row, and what a new one begins with. */
export function blankOrganization(id: string): Organization {
  return {
    id,
    name: id === operatorOrganization ? 'The operator of this HISP' : '',
    npi: '',
    postalAddress: { street: '', city: '', state: '', zip: '' },
    contacts: [],
    limits: {},
    closedReason: '',
  };
}

type Columns = Pick<
  OrganizationsTables['organization'],
  'name' | 'npi' | 'postal_address' | 'contacts' | 'limits'
>;

/** The settings as columns, over `before`. Throws ORGANIZATION_SETTINGS_INVALID with the fields at fault. */
export function checkSettings(settings: OrganizationSettings, before: Organization, newId?: string): Columns {
  const { name, npi, contacts } = { ...before, ...settings };
  const postalAddress = { ...before.postalAddress, ...settings.postalAddress };
  postalAddress.state = postalAddress.state.toUpperCase();
  const limits = Object.fromEntries(
    Object.entries({ ...before.limits, ...settings.limits }).filter(([, value]) => value !== null),
  );
  const problems: FieldProblem[] = [
    ...checkLimits(limits),
    ...(newId === undefined || /^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/.test(newId)
      ? []
      : [
          problem('id', 'An id has 1 to 64 small letters, digits and hyphens, without a hyphen at its ends.'),
        ]),
    ...(isLine(name, 200) ? [] : [problem('name', 'A name has 1 to 200 visible characters in one line.')]),
    ...(npi === '' || isNpi(npi)
      ? []
      : [problem('npi', 'An NPI has exactly ten digits, the last of which is its check digit.')]),
    ...checkPostalAddress(postalAddress),
    ...(contacts.length <= maxContacts && contacts.every((line) => isLine(line, 200))
      ? []
      : [
          problem('contacts', `There are up to ${maxContacts} contacts, each a line of 1 to 200 characters.`),
        ]),
  ];
  if (problems.length > 0) {
    const text = `the settings of the organization are not valid: ${problems.map(({ detail }) => detail).join(' ')}`;
    throw new OrganizationsError('ORGANIZATION_SETTINGS_INVALID', text, { problems });
  }
  return {
    name,
    npi,
    postal_address: JSON.stringify(postalAddress),
    contacts: JSON.stringify(contacts),
    limits: JSON.stringify(limits),
  };
}

function checkLimits(limits: Readonly<Record<string, unknown>>): FieldProblem[] {
  return Object.entries(limits)
    .filter(
      ([name, value]) =>
        !limitNames.some((known) => known === name) || !Number.isSafeInteger(value) || Number(value) < 0,
    )
    .map(([name]) =>
      problem(
        `limits.${name}`,
        `limits.${name} is not a whole number; the limits are ${limitNames.join(', ')}.`,
      ),
    );
}

function checkPostalAddress({ street, city, state, zip }: PostalAddress): FieldProblem[] {
  return [
    ...(street === '' || isLine(street, 200)
      ? []
      : [problem('street', 'A street address has up to 200 visible characters in one line.')]),
    ...(city === '' || isLine(city, 100)
      ? []
      : [problem('city', 'A city has up to 100 visible characters in one line.')]),
    ...(state === '' || isStateCode(state) ? [] : [problem('state', 'A state has its two letters.')]),
    ...(zip === '' || isZip(zip) ? [] : [problem('zip', 'A ZIP code is ##### or #####-####.')]),
  ];
}

export const isLine = (text: string, longest: number): boolean =>
  text.trim() !== '' && text.length <= longest && !hasHidden(text);

function isNpi(text: string): boolean {
  try {
    return hasNpiCheckDigit(parseNpi(text));
  } catch {
    return false;
  }
}

function isZip(text: string): boolean {
  try {
    parseZip(text);
    return true;
  } catch {
    return false;
  }
}

const problem = (field: string, detail: string): FieldProblem => ({ field, reason: 'invalid', detail });

export function readOrganizationRow(row: OrganizationsTables['organization']): Organization {
  return {
    id: row.id,
    name: row.name,
    npi: row.npi,
    postalAddress: JSON.parse(row.postal_address) as PostalAddress,
    contacts: JSON.parse(row.contacts) as string[],
    limits: JSON.parse(row.limits) as OrganizationLimits,
    ...(row.closed_at === null ? {} : { closedAt: new Date(row.closed_at) }),
    closedReason: row.closed_reason,
    createdAt: new Date(row.created_at),
    updatedAt: new Date(row.updated_at),
  };
}
