import {
  formatOtherNames,
  type OtherName,
  type OtherNameKind,
} from '../../../../lib/provider-record/index.ts';
import { partText } from '../blank-values.ts';
import { taxonomyOid, type TaxonomyNames } from '../formats/nppes.ts';
import { maxFieldLength } from '../../limits.ts';
import { codingsAt, hasTrueExtension, itemsAt, memberOf, textAt, textsAt, type Resource } from './fhir.ts';

/** Data for a record from the resources of a release. Texts are short and contain no control characters. */

export interface Place {
  readonly street: string;
  readonly city: string;
  readonly state: string;
  readonly zip: string;
}

export interface Person {
  readonly npi: string;
  readonly firstName: string;
  readonly middleName: string;
  readonly lastName: string;
  readonly suffix: string;
  /** As a record stores them. */
  readonly otherNames: string;
  readonly isExcluded: boolean;
  readonly place: Place | undefined;
  readonly phone: string;
  readonly specialty: Specialty | undefined;
  /** Names of the specialties that the person states, by code: roles give the code alone. */
  readonly displays: ReadonlyMap<string, string>;
}

export interface Specialty {
  readonly code: string;
  readonly display: string;
}

// oxlint-disable-next-line no-control-regex
const controls = /[\u0000-\u001f\u007f]+/g;

/**
 * One more than a field may have is kept, so that a text which is too long refuses its row as in any file.
 */
export function plainText(text: string): string {
  const short = text.length > maxFieldLength ? text.slice(0, maxFieldLength + 1) : text;
  return short.replace(controls, ' ');
}

const npiSystems: ReadonlySet<string> = new Set([
  'http://terminology.hl7.org/NamingSystem/npi',
  'http://hl7.org/fhir/sid/us-npi',
]);

function npiOf(resource: Resource): string {
  const identifier = itemsAt(resource, 'identifier').find((item) => npiSystems.has(textAt(item, 'system')));
  return plainText(textAt(identifier, 'value'));
}

/** True for an organization that stands for a tax number: nobody's name, and nobody's address. */
export function isPseudoOrganization(resource: Resource): boolean {
  if (itemsAt(resource, 'type').some((type) => textAt(type, 'text').toLowerCase() === 'ein')) return true;
  const systems = itemsAt(resource, 'identifier').map((item) => textAt(item, 'system'));
  return systems.some((system) => system.endsWith('/us-pseudo-ein')) && npiOf(resource) === '';
}

export function personOf(resource: Resource): Person {
  const name = officialName(resource);
  const given = textsAt(name, 'given');
  const specialties = itemsAt(resource, 'qualification').flatMap((item) => specialtiesAt(item, 'code'));
  const own = { firstName: plainText(given[0] ?? ''), lastName: plainText(textAt(name, 'family')) };
  return {
    npi: npiOf(resource),
    ...own,
    middleName: plainText(given.slice(1).join(' ')),
    otherNames: formatOtherNames(otherNamesOf(resource, name), own),
    suffix: plainText(partsAt(name, 'suffix').join(' ')),
    isExcluded: hasTrueExtension(resource, 'base-ext-hhs-in-exclusion-list'),
    place: placeOf(businessAddress(resource)),
    phone: phoneOf(resource),
    specialty: specialties[0],
    displays: new Map(specialties.map(({ code, display }) => [code, display])),
  };
}

const formerUses: ReadonlySet<string> = new Set(['maiden', 'old', 'nickname', 'temp', 'anonymous']);

/** The lists are in no order: a maiden name may come first. */
function officialName(resource: Resource): unknown {
  const names = itemsAt(resource, 'name');
  return (
    names.find((name) => textAt(name, 'use') === 'official') ??
    names.find((name) => !formerUses.has(textAt(name, 'use')))
  );
}

const kindOfUse: ReadonlyMap<string, OtherNameKind> = new Map([
  ['old', 'former'],
  ['maiden', 'maiden'],
  ['nickname', 'nickname'],
  ['usual', 'professional'],
]);

/** Names that somebody uses now or had; none that hides who it is. */
function otherNamesOf(resource: Resource, own: unknown): OtherName[] {
  return itemsAt(resource, 'name').flatMap((name) => {
    const use = textAt(name, 'use');
    if (name === own || use === 'temp' || use === 'anonymous') return [];
    const givenNames = plainText(textsAt(name, 'given').join(' '));
    return [{ kind: kindOfUse.get(use) ?? 'other', lastName: plainText(textAt(name, 'family')), givenNames }];
  });
}

/** Those of the texts that say something. */
function partsAt(value: unknown, name: string): string[] {
  return textsAt(value, name).filter((text) => partText(text) !== '');
}

/** An address of work, a physical one first. A home is nobody's business. */
function businessAddress(resource: Resource): unknown {
  const addresses = itemsAt(resource, 'address').filter((address) => {
    const use = textAt(address, 'use');
    return use === 'work' || use === '';
  });
  return addresses.find((address) => textAt(address, 'type') !== 'postal') ?? addresses[0];
}

export function placeOf(address: unknown): Place | undefined {
  const place = {
    street: plainText(partsAt(address, 'line').join(', ')),
    city: plainText(partText(textAt(address, 'city'))),
    state: plainText(partText(textAt(address, 'state'))),
    zip: plainText(partText(textAt(address, 'postalCode'))),
  };
  return place.street === '' && place.city === '' && place.zip === '' ? undefined : place;
}

export const placeOfOrganization = (resource: Resource): Place | undefined =>
  placeOf(businessAddress(resource));

/** The first telephone of work; fax numbers stand first in many lists. */
export function phoneOf(resource: unknown): string {
  const phones = itemsAt(resource, 'telecom').filter((point) => {
    const use = textAt(point, 'use');
    return textAt(point, 'system') === 'phone' && (use === 'work' || use === '');
  });
  return plainText(
    phones.map((point) => partText(textAt(point, 'value'))).find((value) => value !== '') ?? '',
  );
}

export interface Coordinates {
  readonly latitude: string;
  readonly longitude: string;
}

export function coordinatesOf(location: Resource): Coordinates {
  const position = location['position'];
  const [latitude, longitude] = [memberOf(position, 'latitude'), memberOf(position, 'longitude')];
  return typeof latitude === 'number' && typeof longitude === 'number'
    ? { latitude: String(latitude), longitude: String(longitude) }
    : { latitude: '', longitude: '' };
}

// Codes of the provider taxonomy; others, such as Medicare's 14-50, would need their own table.
const taxonomyCode = /^[0-9A-Z]{9}X$/;

/** The codes of the provider taxonomy among the codings of a member. */
export function specialtiesAt(value: unknown, name: string): Specialty[] {
  return codingsAt(value, name)
    .map((coding) => ({
      code: textAt(coding, 'code').toUpperCase(),
      display: plainText(textAt(coding, 'display')),
    }))
    .filter(({ code }) => taxonomyCode.test(code));
}

export function formatSpecialty({ code, display }: Specialty, names: TaxonomyNames): string {
  return code === '' ? '' : `${taxonomyOid}:NUCC:${code}:${names.get(code) ?? display}`;
}
