import type { ProviderRecord } from '../../lib/provider-record/index.ts';
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

/** Word lists of the sample directory. All persons, organizations and addresses made of them are invented. */

export const givenNames =
  'James Mary Robert Patricia John Jennifer Michael Linda David Elizabeth William Barbara Richard Susan Joseph Jessica Thomas Sarah Christopher Karen Charles Lisa Daniel Nancy Matthew Betty Anthony Sandra Mark Margaret Steven Ashley Paul Kimberly Andrew Emily Joshua Donna Kenneth Michelle Kevin Carol Brian Amanda Timothy Melissa Ronald Deborah Jason Stephanie George Rebecca Edward Laura Jeffrey Sharon Ryan Cynthia Jacob Dorothy Nicholas Amy Gary Kathleen Eric Angela Jonathan Shirley Stephen Emma Larry Brenda Justin Pamela Scott Nicole Brandon Anna Benjamin Samantha Samuel Katherine Gregory Christine Alexander Helen Patrick Debra Frank Rachel Raymond Carolyn Jack Janet Dennis Maria Jerry Olivia Tyler Heather Aaron Diane José Ángela Renée Zoë André Noël Chloë Raúl Inés Óscar Siân Jürgen Björn Mei Wei Priya Anil Fatima Omar Ngozi Kwame Hiroshi Yuki Minh Linh'.split(
    ' ',
  );

export const familyNames =
  "Smith Johnson Williams Brown Jones Garcia Miller Davis Rodriguez Martinez Hernandez Lopez Gonzalez Wilson Anderson Thomas Taylor Moore Jackson Martin Lee Perez Thompson White Harris Sanchez Clark Ramirez Lewis Robinson Walker Young Allen King Wright Scott Torres Nguyen Hill Flores Green Adams Nelson Baker Hall Rivera Campbell Mitchell Carter Roberts Gomez Phillips Evans Turner Diaz Parker Cruz Edwards Collins Reyes Stewart Morris Morales Murphy Cook Rogers Gutierrez Ortiz Morgan Cooper Peterson Bailey Reed Kelly Howard Ramos Kim Cox Ward Richardson Watson Brooks Chavez Wood James Bennett Gray Mendoza Ruiz Hughes Price Alvarez Castillo Sanders Patel Myers Long Ross Foster Jimenez Powell Jenkins Perry Russell Sullivan Bell Coleman Butler Henderson Barnes Fisher Vasquez Simmons Graham Murray Ford Hamilton Khan Schmidt Snyder Stone Shah Silva Schwartz Weber Wang Sharma Singh Sato O'Brien O'Connor O'Neill D'Angelo St.John McCarthy MacDonald Nuñez Muñoz Peña Ibáñez Gómez Müller Schröder Håkansson Lindström Dvořák Łukasz Žižek Çelik Smith-Jones Garcia-Lopez".split(
    ' ',
  );

const syllables =
  'an ar bel ber bor bran cas chi col dan dar del den dor el er fal fen gar gil gor gran hal han har hol in jan kal kan kel kin kol lan lar len lin lor mal man mar mel mon mor nar nel nor ol or pal par pel per pol ran ras ren rin ros sal san sar sel sha sil sol son stan stel tan tar tel ten thor til tor ul val van var vel ver vin vol wal war wel wen wil win yar zan zel zor'.split(
    ' ',
  );

export const placeWords =
  'Cedar Maple Oak Pine Willow Birch River Lake Valley Summit Ridge Prairie Canyon Harbor Coastal Bayside Sunrise Heritage Liberty Unity Mercy Grace Providence Trinity|Good Samaritan|Saint Anne|Saint Luke|Saint Mary|St. Joseph|Mount Carmel|Holy Cross|North Shore|South Bay|East Side|West End|Northern Lights|Blue Mountain|Red Rock|Green Hills|Silver Creek|Golden Gate|Stone Bridge|Clear Water|Big Sky|Lone Star|Great Plains|Piedmont|Tidewater|Bluegrass|Cascade|Sierra|Mesa|Delta|Gulf|Central|Metropolitan|Regional|Community|University|County|Capitol|Children’s|Women’s|Veterans'
    .split('|')
    .flatMap((part, index) => (index === 0 ? part.split(' ') : [part]));

export const careWords =
  'Health System|Medical Center|Medical Group|Clinic|Family Clinic|Family Medicine|Hospital|Regional Hospital|Cardiology Associates|Orthopaedic Institute|Pediatrics|Internal Medicine|Eye Center|Dental Care|Physical Therapy|Urgent Care|Surgery Center|Cancer Center|Imaging|Behavioral Health|Home Health|Hospice|Nursing & Rehabilitation|Pharmacy|Laboratory|Women’s Care|Primary Care|Health Partners|Physicians|Associates, P.C.'.split(
    '|',
  );

/** Coded values have the form of Directory spec: Provider record, the others are free text. */
const specialties =
  '2.16.840.1.113883.6.101:HealthCareProviderTaxonomy:207Q00000X:Family Medicine|2.16.840.1.113883.6.101:HealthCareProviderTaxonomy:207R00000X:Internal Medicine|2.16.840.1.113883.6.101:HealthCareProviderTaxonomy:207RC0000X:Cardiovascular Disease|2.16.840.1.113883.6.101:HealthCareProviderTaxonomy:208000000X:Pediatrics|2.16.840.1.113883.6.101:HealthCareProviderTaxonomy:363LF0000X:Nurse Practitioner, Family|2.16.840.1.113883.6.101:HealthCareProviderTaxonomy:363A00000X:Physician Assistant|2.16.840.1.113883.6.101:HealthCareProviderTaxonomy:2084P0800X:Psychiatry|2.16.840.1.113883.6.101:HealthCareProviderTaxonomy:207X00000X:Orthopaedic Surgery|2.16.840.1.113883.6.101:HealthCareProviderTaxonomy:207V00000X:Obstetrics & Gynecology|2.16.840.1.113883.6.101:HealthCareProviderTaxonomy:208600000X:Surgery|Family Medicine|Internal Medicine|Cardiology|Interventional Cardiology|Pediatric Cardiology|Dermatology|Emergency Medicine|Endocrinology|Gastroenterology|Geriatrics|Hematology/Oncology|Infectious Disease|Nephrology|Neurology|Neurosurgery|Ophthalmology|Otolaryngology|Pathology|Physical Medicine and Rehabilitation|Podiatry|Pulmonology|Radiology|Rheumatology|Urology|Dentistry|Optometry|Chiropractic|Clinical Social Work|Psychology|Physical Therapy|Occupational Therapy|Speech-Language Pathology|Pharmacy|Nurse Midwife|Anesthesiology'.split(
    '|',
  );

const departments =
  'Referrals|Medical Records|Radiology|Laboratory|Cardiology|Emergency Department|Discharge Planning|Care Coordination|Release of Information|Oncology|Home Health|Pharmacy|Orders'.split(
    '|',
  );

export const streetNames =
  'Main Oak Maple Park Washington Lake Hill Elm Cedar Pine Walnut Church High Center Mill Spring Highland Lincoln Jackson Franklin Jefferson Adams Madison Monroe Sunset Ridge River Forest Meadow Prospect Railroad College University Hospital Medical|Martin Luther King Jr|First|Second|Third|Fourth|Fifth|Sixth|Seventh|Eighth|State Route 9|County Road 12|Old Mill|Peachtree|El Camino Real'
    .split('|')
    .flatMap((part, index) => (index === 0 ? part.split(' ') : [part]));

export const streetTypes = 'St|Street|Ave|Avenue|Blvd|Road|Rd|Drive|Dr|Lane|Way|Pkwy|Court|Plaza'.split('|');

/** A number from 0 up to, not including, 1. */
type Random = () => number;

/** A repeatable source (mulberry32). */
function mixedRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x100000000;
  };
}

/** A well-mixed 32-bit number from two numbers. */
export function hash32(a: number, b: number): number {
  let hash = Math.imul(a ^ 0x9e3779b9, 0x85ebca6b) ^ b;
  hash = Math.imul(hash ^ (hash >>> 16), 0x45d9f3b);
  hash = Math.imul(hash ^ (hash >>> 16), 0x45d9f3b);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/**
 * An index below `count`; index `n` is drawn about in proportion to 1 / (n + shift), as names and sizes are.
 */
function skewedIndex(random: Random, count: number, shift: number): number {
  const index = Math.floor((Math.exp(random() * Math.log((count + shift) / shift)) - 1) * shift);
  return Math.min(count - 1, index);
}
