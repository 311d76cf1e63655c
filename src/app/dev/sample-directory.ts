import type { ProviderRecord } from '../../lib/provider-record/index.ts';
import { hash32, mixedRandom, skewedIndex, type Random } from './sample-random.ts';
import {
  careWords,
  departments,
  familyNames,
  givenNames,
  placeWords,
  specialties,
  streetNames,
  streetTypes,
  syllables,
} from './sample-names.ts';
import type { Gazetteer, ZipPlace } from '../../lib/geo/index.ts';

export interface SampleOptions {
  readonly count: number;
  /** The same seed gives the same records. */
  readonly seed: number;
  readonly gazetteer: Gazetteer;
}

// Sizes of the invented world, from the proportions of public provider directories.
const recordsPerOrganization = 72;
const familyNameCount = 150_000;
const givenNameCount = 4_000;

/**
 * Invents provider records over all states: organizations from giant to tiny, departments without a person,
 * about one record in five without an NPI, persons with several addresses. Names are synthetic, all domains
 * end in `.example`.
 */
export function* generateProviders({ count, seed, gazetteer }: SampleOptions): Generator<ProviderRecord> {
  const random = mixedRandom(seed);
  const places = placesByChance(gazetteer, random);
  const organizationCount = Math.max(30, Math.floor(count / recordsPerOrganization));
  let person: Person | undefined;
  for (let id = 1; id <= count; id++) {
    const organization = skewedIndex(random, organizationCount, 10);
    const site = makeSite(
      seed,
      organization,
      Math.floor(random() ** 2 * (2 + 4000 / (organization + 12))),
      places,
    );
    if (random() < 0.13) {
      yield makeDepartment(id, site, random);
      continue;
    }
    // Some persons work at several sites: same person, same NPI, another address.
    if (person === undefined || random() > 0.18) person = makePerson(random);
    yield makeProvider(id, person, site, random);
  }
}

interface Person {
  readonly npi: string;
  readonly firstName: string;
  readonly middleName: string;
  readonly lastName: string;
  readonly suffix: string;
  readonly specialty: string;
}

interface Site {
  readonly organization: string;
  readonly domain: string;
  readonly street: string;
  readonly city: string;
  readonly state: string;
  readonly zip: string;
  readonly phone: (random: Random) => string;
  readonly isUpperCase: boolean;
  readonly point?: { readonly latitude: number; readonly longitude: number };
}

// Every place takes part; the first ones of a shuffled list are drawn more often, like towns.
function placesByChance(gazetteer: Gazetteer, random: Random): readonly ZipPlace[] {
  const places = gazetteer
    .zipPlaces()
    .filter((place) => place.point !== undefined && place.state !== '' && !/^A[AEP]$/.test(place.state));
  const shuffled = [...places];
  for (let index = shuffled.length - 1; index > 0; index--) {
    const other = Math.floor(random() * (index + 1));
    [shuffled[index], shuffled[other]] = [shuffled[other] as ZipPlace, shuffled[index] as ZipPlace];
  }
  return shuffled;
}

function makeSite(seed: number, organization: number, number: number, places: readonly ZipPlace[]): Site {
  const name = organizationName(seed, organization);
  const random = mixedRandom(hash32(seed ^ 0x5eed, organization * 8191 + number));
  const home = mixedRandom(hash32(seed ^ 0x40e, organization));
  const place = random() < 0.3 ? pick(random, places) : nearHome(home, random, places);
  const { latitude, longitude } = place.point ?? { latitude: 0, longitude: 0 };
  const isUpperCase = hash32(seed, organization) % 7 === 0;
  const street = `${1 + Math.floor(random() ** 2 * 9900)} ${random() < 0.2 ? `${pick(random, ['N', 'S', 'E', 'W'])} ` : ''}${pick(random, streetNames)} ${pick(random, streetTypes)}`;
  const hasOwnPoint = random() < 0.4;
  const moved = (degrees: number): number =>
    Math.round((degrees + (hasOwnPoint ? (random() - 0.5) * 0.06 : 0)) * 1e4) / 1e4;
  const point = { latitude: moved(latitude), longitude: moved(longitude) };
  return {
    organization: name,
    domain: domainOf(name, organization),
    street,
    city: place.city,
    state: place.state,
    zip: random() < 0.5 ? place.zip : `${place.zip}-${String(1000 + Math.floor(random() * 9000))}`,
    phone: phoneMaker(hash32(7, organization), random),
    isUpperCase,
    ...(random() < 0.03 ? {} : { point }),
  };
}

// Most sites of an organization are in a few neighboring ZIP codes of the shuffled list's most drawn places.
function nearHome(home: Random, random: Random, places: readonly ZipPlace[]): ZipPlace {
  const start = skewedIndex(home, places.length, 2000);
  return places[(start + Math.floor(random() * 6)) % places.length] as ZipPlace;
}

function organizationName(seed: number, organization: number): string {
  const random = mixedRandom(hash32(seed, organization));
  const place =
    random() < 0.4
      ? pick(random, placeWords)
      : `${pick(random, placeWords)} ${pick(random, [familyName(skewedIndex(random, 20_000, 50)), pick(random, placeWords)])}`;
  const name = `${place} ${pick(random, careWords)}`;
  return random() < 0.2 ? name.toUpperCase() : name;
}

function domainOf(name: string, organization: number): string {
  const slug = plainAscii(name)
    .replace(/[^a-z0-9]+/g, '')
    .slice(0, 22);
  return `${organization % 3 === 0 ? '' : 'direct.'}${slug}${organization > 200 ? organization % 9973 : ''}.example`;
}

function phoneMaker(hash: number, random: Random): (random: Random) => string {
  const area = 201 + Math.floor(random() * 780);
  const own = Math.floor(random() * 10_000);
  return (each) => {
    if (hash % 11 === 0) return '';
    const line = String(each() < 0.4 ? own : Math.floor(each() * 10_000)).padStart(4, '0');
    if (hash % 4 === 0) return `${area}-555-${line}`;
    if (hash % 4 === 1) return `+1${area}555${line}`;
    return `(${area}) 555-${line}`;
  };
}

function makePerson(random: Random): Person {
  const hasMiddleName = random() < 0.6;
  return {
    npi: random() < 0.08 ? '' : makeNpi(random),
    firstName: givenName(skewedIndex(random, givenNameCount, 25)),
    middleName: hasMiddleName
      ? random() < 0.7
        ? String.fromCharCode(65 + Math.floor(random() * 26))
        : givenName(skewedIndex(random, 300, 25))
      : '',
    lastName: familyName(skewedIndex(random, familyNameCount, 20)),
    suffix:
      random() < 0.55
        ? pick(random, ['MD', 'MD', 'DO', 'NP', 'PA-C', 'RN', 'PhD', 'DDS', 'Jr.', 'III', 'LCSW', 'PharmD'])
        : '',
    specialty: random() < 0.06 ? '' : (specialties[skewedIndex(random, specialties.length, 8)] ?? ''),
  };
}

function makeProvider(id: number, person: Person, site: Site, random: Random): ProviderRecord {
  const cased = site.isUpperCase
    ? (text: string): string => text.toUpperCase()
    : (text: string): string => text;
  return {
    id,
    ...person,
    firstName: cased(person.firstName),
    lastName: cased(person.lastName),
    directAddress: `${localPart(person, random)}@${site.domain}`,
    ...located(site, random, cased),
  };
}

function makeDepartment(id: number, site: Site, random: Random): ProviderRecord {
  const department = pick(random, departments);
  const number = random() < 0.5 ? '' : String(Math.floor(random() * 40));
  return {
    id,
    npi: random() < 0.2 ? makeNpi(random) : '',
    firstName: '',
    middleName: '',
    lastName: random() < 0.5 ? department : '',
    suffix: '',
    directAddress: `${plainAscii(department).replaceAll(' ', '')}${number}@${site.domain}`,
    specialty: department,
    ...located(site, random, (text) => text),
  };
}

function located(site: Site, random: Random, cased: (text: string) => string) {
  const suite =
    random() < 0.35
      ? ` ${pick(random, ['Suite', 'Ste', 'Floor', '#'])} ${1 + Math.floor(random() ** 2 * 900)}`
      : '';
  return {
    organization: site.organization,
    street: cased(site.street + suite),
    city: cased(site.city),
    state: site.state,
    zip: site.zip,
    phone: site.phone(random),
    excluded: '',
    otherNames: '',
    ...site.point,
  };
}

function localPart({ firstName, lastName }: Person, random: Random): string {
  const first = plainAscii(firstName);
  const last = plainAscii(lastName).replace(/[^a-z]/g, '');
  const number = random() < 0.45 ? String(Math.floor(random() ** 2 * 1000)) : '';
  const shape = random();
  if (shape < 0.55) return `${first}.${last}${number}`;
  if (shape < 0.85) return `${first.charAt(0)}${last}${number}`;
  return shape < 0.95 ? `${last}${number}` : `Dr${lastName.replace(/[^A-Za-z]/g, '')}${number}`;
}

function familyName(rank: number): string {
  return familyNames[rank] ?? inventName(rank, 0x11);
}

function givenName(rank: number): string {
  return givenNames[rank] ?? inventName(rank, 0x77);
}

function inventName(rank: number, salt: number): string {
  const hash = hash32(salt, rank);
  const words = [hash, hash >>> 8, hash >>> 16]
    .slice(0, 2 + (hash % 3 === 0 ? 1 : 0))
    .map((part) => syllables[(part + rank) % syllables.length]);
  const name = words.join('');
  return name.charAt(0).toUpperCase() + name.slice(1);
}

/** Ten digits with a valid check digit, so that quality reports have nothing to say about them. */
function makeNpi(random: Random): string {
  const digits = `${random() < 0.9 ? 1 : 2}${String(Math.floor(random() * 1e8)).padStart(8, '0')}`;
  // 45 CFR 162.406: Luhn over the number with 80840 in front, which adds 24.
  let sum = 24;
  for (let place = 0; place < 9; place++) {
    const digit = digits.charCodeAt(place) - 48;
    sum += place % 2 === 0 ? (digit > 4 ? digit * 2 - 9 : digit * 2) : digit;
  }
  return `${digits}${(10 - (sum % 10)) % 10}`;
}

function plainAscii(text: string): string {
  return text
    .normalize('NFD')
    .replace(/[^\x20-\x7e]/g, '')
    .toLowerCase();
}

function pick<Value>(random: Random, values: readonly Value[]): Value {
  return values[Math.floor(random() * values.length)] as Value;
}
