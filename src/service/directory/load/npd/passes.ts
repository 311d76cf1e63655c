import { partText } from '../blank-values.ts';
import {
  codingsAt,
  isActive,
  itemsAt,
  parseResource,
  referenceAt,
  referencedId,
  textAt,
  type Resource,
} from './fhir.ts';
import type { NpdResource } from './manifest.ts';
import {
  coordinatesOf,
  isPseudoOrganization,
  phoneOf,
  placeOf,
  placeOfOrganization,
  plainText,
  specialtiesAt,
} from './read-parts.ts';
import type { LineListener } from './scan-lines.ts';
import { wantId, type Staging } from './staging.ts';

/** The counts of the passes. */
export interface PassNotes {
  /** A line that had to be read and could not. */
  fault(resource: NpdResource, line: number): void;
  count(what: PassCount): void;
}

/** Why a resource was not used. */
export type PassCount =
  | 'otherEndpoints'
  | 'inactiveEndpoints'
  | 'inactiveRoles'
  | 'inactivePractitioners'
  | 'inactiveOrganizations'
  | 'inactiveLocations'
  | 'pseudoOrganizations';

/**
 * Each pass looks at one file. Lines that do not matter are skipped before they are parsed, by a text that
 * must be in them or by the id at their beginning.
 */
export type Pass = (staging: Staging, notes: PassNotes) => LineListener;

/** Asks of each line in turn whether a text is in it. */
type LineFilter = (bytes: Buffer, start: number, end: number) => boolean;

/** Searches a piece once for each place where the text is, instead of once for each line. */
function createTextFilter(text: string): LineFilter {
  const wanted = Buffer.from(text);
  let searched: Buffer | undefined;
  let found = -1;
  return (bytes, start, end) => {
    if (bytes !== searched || found < start) {
      searched = bytes;
      const at = bytes.indexOf(wanted, start);
      found = at < 0 ? Infinity : at;
    }
    return found < end;
  };
}

/** Keeps the active endpoints with Direct addresses. */
export const readEndpoints: Pass = (staging, notes) => {
  const { endpoints, addressOfEndpoint, addresses, organizations, texts } = staging;
  const mayBeDirect = createTextFilter('direct-project');
  return (bytes, start, end, line) => {
    if (!mayBeDirect(bytes, start, end)) return notes.count('otherEndpoints');
    const resource = parseResource(bytes, start, end, 'Endpoint');
    const id = textAt(resource, 'id');
    if (resource === undefined || id === '') return notes.fault('Endpoint', line);
    const isDirect = codingsAt(resource, 'connectionType').some(
      (coding) => textAt(coding, 'code') === 'direct-project',
    );
    if (!isDirect) return notes.count('otherEndpoints');
    if (textAt(resource, 'status') !== 'active') return notes.count('inactiveEndpoints');
    // Refused rows are part of the report, so that an address that is none is kept like the others.
    const address = plainText(textAt(resource, 'address').replace(/^mailto:/i, ''));
    const before = addresses.table.size;
    const number = addresses.table.add(address.toLowerCase());
    if (number === before) {
      addresses.text.set(number, texts.add(address));
      addresses.line.set(number, line);
    }
    addressOfEndpoint.set(endpoints.add(id), number + 1);
    const manager = referenceAt(resource, 'managingOrganization', 'Organization');
    if (manager !== '' && addresses.managingOrganization.get(number) === 0)
      addresses.managingOrganization.set(number, wantId(organizations.table, manager));
  };
};

/** Calls `visit` with the number of each kept address that the resource's `endpoint` names. */
function visitEndpoints(staging: Staging, resource: Resource, visit: (address: number) => void): void {
  for (const reference of itemsAt(resource, 'endpoint')) {
    const endpoint = staging.endpoints.find(referencedId(reference, 'Endpoint'));
    if (endpoint >= 0) visit(staging.addressOfEndpoint.get(endpoint) - 1);
  }
}

/** Links addresses to practitioners and to the data of their roles. */
export const readRoles: Pass = (staging, notes) => {
  const namesEndpoint = createTextFilter('Endpoint');
  return (bytes, start, end, line) => {
    if (!namesEndpoint(bytes, start, end)) return;
    const role = parseResource(bytes, start, end, 'PractitionerRole');
    if (role === undefined) return notes.fault('PractitionerRole', line);
    if (!isActive(role)) return notes.count('inactiveRoles');
    visitEndpoints(staging, role, (address) => addLink(staging, role, address));
  };
};

/**
 * Of several roles with the same address and practitioner, chooses the one with the most details, else the
 * first.
 */
function addLink(
  { links, practitioners, organizations, locations, texts }: Staging,
  role: Resource,
  address: number,
) {
  const practitioner = wantId(practitioners.table, referenceAt(role, 'practitioner', 'Practitioner'));
  const before = links.table.size;
  const link = links.table.add(address, practitioner);
  const organization = referenceAt(role, 'organization', 'Organization');
  const location = referenceAt(role, 'location', 'Location');
  const weight = (organization === '' ? 0 : 2) + (location === '' ? 0 : 1);
  if (link === before) {
    links.address.set(link, address);
    if (practitioner > 0) {
      links.next.set(link, practitioners.firstLink.get(practitioner - 1));
      practitioners.firstLink.set(practitioner - 1, link + 1);
    }
  } else if (weight <= links.weight.get(link)) return;
  links.weight.set(link, weight);
  links.organization.set(link, wantId(organizations.table, organization));
  links.location.set(link, wantId(locations.table, location));
  const [specialty] = specialtiesAt(role, 'specialty');
  const phone = phoneOf(role);
  const hasText = phone !== '' || specialty !== undefined;
  links.text.set(
    link,
    hasText ? texts.add([phone, specialty?.code ?? '', specialty?.display ?? ''].join('\t')) : 0,
  );
}

/** Keeps the places that roles name, and those that name addresses themselves. */
export const readLocations: Pass = (staging, notes) => {
  const { addresses, locations, organizations, texts } = staging;
  const isWanted = createIdFilter((id) => locations.table.find(id) >= 0);
  const namesEndpoint = createTextFilter('Endpoint');
  return (bytes, start, end, line) => {
    if (!isWanted(bytes, start, end) && !namesEndpoint(bytes, start, end)) return;
    const location = parseResource(bytes, start, end, 'Location');
    const id = textAt(location, 'id');
    if (location === undefined || id === '') return notes.fault('Location', line);
    if (textAt(location, 'status') === 'inactive') return notes.count('inactiveLocations');
    visitEndpoints(staging, location, (address) => {
      if (addresses.namingLocation.get(address) === 0)
        addresses.namingLocation.set(address, locations.table.add(id) + 1);
    });
    const number = locations.table.find(id);
    if (number < 0) return;
    const place = placeOf(location['address']);
    // The organization is needed only for its address.
    const manager =
      place === undefined
        ? wantId(organizations.table, referenceAt(location, 'managingOrganization', 'Organization'))
        : 0;
    const { latitude, longitude } = coordinatesOf(location);
    const { street, city, state, zip } = place ?? { street: '', city: '', state: '', zip: '' };
    locations.text.set(
      number,
      texts.add([street, city, state, zip, latitude, longitude, phoneOf(location), manager].join('\t')),
    );
  };
};

/**
 * Keeps the organizations that are named, and those that name addresses themselves; none that is only a tax
 * number.
 */
export const readOrganizations: Pass = (staging, notes) => {
  const { addresses, organizations, texts } = staging;
  const isWanted = createIdFilter((id) => organizations.table.find(id) >= 0);
  const namesEndpoint = createTextFilter('Endpoint');
  return (bytes, start, end, line) => {
    if (!isWanted(bytes, start, end) && !namesEndpoint(bytes, start, end)) return;
    const organization = parseResource(bytes, start, end, 'Organization');
    const id = textAt(organization, 'id');
    if (organization === undefined || id === '') return notes.fault('Organization', line);
    if (isPseudoOrganization(organization)) return notes.count('pseudoOrganizations');
    if (!isActive(organization)) return notes.count('inactiveOrganizations');
    visitEndpoints(staging, organization, (address) => {
      if (addresses.namingOrganization.get(address) === 0)
        addresses.namingOrganization.set(address, organizations.table.add(id) + 1);
    });
    const number = organizations.table.find(id);
    if (number < 0) return;
    const { street, city, state, zip } = placeOfOrganization(organization) ?? {
      street: '',
      city: '',
      state: '',
      zip: '',
    };
    const name = plainText(partText(textAt(organization, 'name')));
    organizations.text.set(
      number,
      texts.add([name, phoneOf(organization), street, city, state, zip].join('\t')),
    );
  };
};

/** Called for each practitioner that roles name. */
export function readPractitioners(
  { practitioners }: Staging,
  notes: PassNotes,
  onPractitioner: (number: number, resource: Resource) => void,
): LineListener {
  const isWanted = createIdFilter((id) => practitioners.table.find(id) >= 0);
  return (bytes, start, end, line) => {
    if (!isWanted(bytes, start, end)) return;
    const resource = parseResource(bytes, start, end, 'Practitioner');
    const id = textAt(resource, 'id');
    if (resource === undefined || id === '') return notes.fault('Practitioner', line);
    const number = practitioners.table.find(id);
    if (number < 0) return;
    if (isActive(resource)) onPractitioner(number, resource);
    else notes.count('inactivePractitioners');
  };
}

/**
 * True if a line may contain a wanted resource, by the id at its start; also true if the line starts
 * differently.
 */
function createIdFilter(isWantedId: (id: string) => boolean): LineFilter {
  const span: Span = { start: 0, end: 0 };
  return (bytes, start, end) =>
    !findResourceId(bytes, start, end, span) || isWantedId(bytes.toString('latin1', span.start, span.end));
}

const quote = 0x22;
const backslash = 0x5c;
const colon = 0x3a;
const comma = 0x2c;
const openBrace = 0x7b;

/** Position of an id. */
export interface Span {
  start: number;
  end: number;
}

// A resource's id precedes anything long, so the search ends after this many bytes.
const maxPrefixBytes = 400;

/**
 * Finds the id of a resource at the beginning of its line without parsing the line: among the first members,
 * as long as their values are plain texts. False if it is not there; the line may have one all the same.
 */
export function findResourceId(bytes: Buffer, start: number, end: number, out: Span): boolean {
  const limit = Math.min(end, start + maxPrefixBytes);
  let at = skipBlank(bytes, start, limit);
  if (bytes[at] !== openBrace) return false;
  do {
    at = skipBlank(bytes, at + 1, limit);
    if (bytes[at] !== quote) return false;
    const nameStart = at + 1;
    const nameEnd = endOfText(bytes, nameStart, limit);
    if (nameEnd < 0) return false;
    at = skipBlank(bytes, nameEnd + 1, limit);
    if (bytes[at] !== colon) return false;
    at = skipBlank(bytes, at + 1, limit);
    if (bytes[at] !== quote) return false;
    const valueEnd = endOfText(bytes, at + 1, limit);
    if (valueEnd < 0) return false;
    if (nameEnd - nameStart === 2 && bytes[nameStart] === 0x69 && bytes[nameStart + 1] === 0x64) {
      out.start = at + 1;
      out.end = valueEnd;
      return true;
    }
    at = skipBlank(bytes, valueEnd + 1, limit);
  } while (bytes[at] === comma);
  return false;
}

function skipBlank(bytes: Buffer, from: number, limit: number): number {
  let at = from;
  while (at < limit && (bytes[at] === 0x20 || bytes[at] === 0x09 || bytes[at] === 0x0d)) at++;
  return at;
}

/** The closing quote, or -1 for a text that is escaped or continues too long. */
function endOfText(bytes: Buffer, from: number, limit: number): number {
  for (let at = from; at < limit; at++) {
    if (bytes[at] === quote) return at;
    if (bytes[at] === backslash) return -1;
  }
  return -1;
}
