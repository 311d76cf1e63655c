import { textFields, type TextField } from '../../../../lib/provider-record/index.ts';
import type { TaxonomyNames } from '../formats/nppes.ts';
import { bitOf, type LinkPath } from './link-paths.ts';
import { formatSpecialty, type Person, type Place } from './read-parts.ts';
import type { Staging } from './staging.ts';

/** A record as the values of a row: the text fields in their order, then latitude and longitude. */
export interface MadeRow {
  /** Of the endpoint. */
  readonly line: number;
  readonly fields: readonly string[];
}

/** One value for each text field, and two for the coordinates. */
export const rowHeader: readonly string[] = [...textFields, 'latitude', 'longitude'];

export interface RecordMaker {
  /** A row for each address that a practitioner's roles name. */
  ofPerson(practitioner: number, person: Person): MadeRow[];
  /**
   * A row for the address if no person's record was made of it: an organization's, a place's, or the address
   * alone.
   */
  ofAddress(address: number, link: number | undefined): MadeRow | undefined;
  /** The best link of each address that has no person's record; call after all persons. */
  bestLinks(): (address: number) => number | undefined;
}

interface Organization {
  readonly name: string;
  readonly phone: string;
  readonly place: Place | undefined;
}

interface Location {
  readonly place: Place | undefined;
  readonly latitude: string;
  readonly longitude: string;
  readonly phone: string;
  /** Number of the organization that manages it, plus one. */
  readonly manager: number;
}

interface FoundPlace {
  readonly path: LinkPath;
  readonly place: Place;
  readonly location?: Location;
}

const noPlace: Place = { street: '', city: '', state: '', zip: '' };

/** Joins the staged data, each value from the first source that has it, and counts the paths used. */
export function createRecordMaker(staging: Staging, taxonomy: TaxonomyNames): RecordMaker {
  const { addresses, links, practitioners, texts } = staging;

  function organizationAt(numberPlusOne: number): Organization | undefined {
    const place = numberPlusOne === 0 ? 0 : staging.organizations.text.get(numberPlusOne - 1);
    if (place === 0) return undefined;
    const [name = '', phone = '', ...rest] = texts.read(place).split('\t');
    return { name, phone, place: readPlace(rest) };
  }

  function locationAt(numberPlusOne: number): Location | undefined {
    const place = numberPlusOne === 0 ? 0 : staging.locations.text.get(numberPlusOne - 1);
    if (place === 0) return undefined;
    const columns = texts.read(place).split('\t');
    const [latitude = '', longitude = '', phone = '', manager = '0'] = columns.slice(4);
    return { place: readPlace(columns), latitude, longitude, phone, manager: Number(manager) };
  }

  function make(address: number, link: number | undefined, person: Person | undefined): MadeRow {
    const found: LinkPath[] = person === undefined ? [] : ['PractitionerRole.endpoint'];
    const ofLink = (column: 'organization' | 'location'): number =>
      link === undefined ? 0 : links[column].get(link);
    const [phone = '', code = '', display = ''] =
      link === undefined ? [] : texts.read(links.text.get(link)).split('\t');

    const organizations = (
      [
        ['PractitionerRole.organization', ofLink('organization')],
        ['Endpoint.managingOrganization', addresses.managingOrganization.get(address)],
        ['Organization.endpoint', addresses.namingOrganization.get(address)],
      ] as const
    ).flatMap(([path, number]) => {
      const organization = organizationAt(number);
      return organization === undefined ? [] : [{ path, organization }];
    });
    const [chosen] = organizations;
    if (chosen !== undefined) found.push(chosen.path);

    const roleLocation = locationAt(ofLink('location'));
    const namingLocation = locationAt(addresses.namingLocation.get(address));
    const candidates: (FoundPlace | undefined)[] = [
      at('PractitionerRole.location', roleLocation?.place, roleLocation),
      at('Location.managingOrganization', organizationAt(roleLocation?.manager ?? 0)?.place),
      at('Location.endpoint', namingLocation?.place, namingLocation),
      at('Practitioner.address', person?.place),
      at('Organization.address', chosen?.organization.place),
    ];
    const place = candidates.find((candidate) => candidate !== undefined);
    if (place !== undefined) found.push(place.path);
    note(address, found);

    const specialty =
      code === ''
        ? person?.specialty
        : { code, display: display === '' ? (person?.displays.get(code) ?? '') : display };
    const { street, city, state, zip } = place?.place ?? noPlace;
    const values: Record<TextField, string> = {
      npi: person?.npi ?? '',
      firstName: person?.firstName ?? '',
      middleName: person?.middleName ?? '',
      lastName: person?.lastName ?? '',
      suffix: person?.suffix ?? '',
      directAddress: texts.read(addresses.text.get(address)),
      organization: chosen?.organization.name ?? '',
      specialty: specialty === undefined ? '' : formatSpecialty(specialty, taxonomy),
      street,
      city,
      state,
      zip,
      phone:
        phone ||
        (place?.location ?? roleLocation)?.phone ||
        chosen?.organization.phone ||
        (person?.phone ?? ''),
      excluded: person?.isExcluded === true ? 'true' : '',
      otherNames: person?.otherNames ?? '',
    };
    return {
      line: addresses.line.get(address),
      fields: [
        ...textFields.map((field) => values[field]),
        place?.location?.latitude ?? '',
        place?.location?.longitude ?? '',
      ],
    };
  }

  function note(address: number, found: readonly LinkPath[]): void {
    let bits = addresses.paths.get(address);
    for (const path of found) bits |= bitOf(path);
    if (bits !== 0) addresses.paths.set(address, bits);
  }

  return {
    ofPerson(practitioner, person) {
      const rows: MadeRow[] = [];
      let next = practitioners.firstLink.get(practitioner);
      while (next > 0) {
        const link = next - 1;
        const address = links.address.get(link);
        addresses.hasPerson.set(address, 1);
        rows.push(make(address, link, person));
        next = links.next.get(link);
      }
      return rows;
    },
    ofAddress: (address, link) =>
      addresses.hasPerson.get(address) === 1 ? undefined : make(address, link, undefined),
    bestLinks() {
      const best = new Map<number, number>();
      for (let link = 0; link < links.table.size; link++) {
        const address = links.address.get(link);
        if (addresses.hasPerson.get(address) === 1) continue;
        const other = best.get(address);
        if (other === undefined || links.weight.get(link) > links.weight.get(other)) best.set(address, link);
      }
      return (address) => best.get(address);
    },
  };
}

function at(path: LinkPath, place: Place | undefined, location?: Location): FoundPlace | undefined {
  if (place === undefined) return undefined;
  return location === undefined ? { path, place } : { path, place, location };
}

function readPlace([street = '', city = '', state = '', zip = '']: readonly string[]): Place | undefined {
  return street === '' && city === '' && zip === '' ? undefined : { street, city, state, zip };
}
