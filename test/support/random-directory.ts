/** Small directories and queries full of awkward cases, from a seed. */
import {
  formatOtherNames,
  otherNameKinds,
  readOtherNames,
  searchFields,
  type FilterMatch,
  type ProviderRecord,
  type SearchField,
} from '../../src/lib/provider-record/index.ts';
import { createRandom } from './fast-check.ts';
import type { ProviderFilter, ProviderQuery, SortKey } from '../../src/lib/provider-index/index.ts';

/** Numbers from 0 up to, not including, 1: others for another number, and for another seed of the run. */
export const seededRandom = (number: number): (() => number) => createRandom(`directory ${number}`);

type Random = () => number;

export function pick<Value>(random: Random, values: readonly Value[]): Value {
  return values[Math.floor(random() * values.length)] as Value;
}

const names = [
  'Smith',
  'SMITH',
  'smith',
  'Smyth',
  'Müller',
  'Muller',
  "O'Brien",
  'OBrien',
  'O’Brien-Smith',
  'Garcia-Lopez',
  'garcia lopez',
  'GarciaLopez',
  'Smith–Ng',
  "'t Hooft",
  '-',
  'O”Hara',
  'Ünal',
  'ÉLAN',
  'élan',
  'de la Cruz',
  'Ng',
  'Ń',
  '王',
  '😀',
  'ﬁne',
  'İpek',
  'Straße',
  'a"b',
  'back\\slash',
  'tab\there',
  '가나',
  '王’小-明 a',
  '小a-明b',
  'ΟΔΥΣΣΕΥΣ',
  'Άγιος',
];
const words = [
  'Clinic',
  'clinic',
  'Health',
  'HEART',
  'of',
  'St.',
  'Saint',
  'Avenue',
  'Ave',
  'N',
  '100%',
  'a_b',
  '*',
  'Café',
  'Women’s',
  'womens',
  'X-Ray',
  'x ray',
  'Suite 5',
  '(512) 555-0100',
  '512',
  '12',
  '120',
  '@home',
  'Ω',
  'x',
];
const domains = [
  'direct.a.example',
  'Direct.A.example',
  'b.example',
  'hisp.example',
  'é.example',
  'x@y.example',
  '',
];
const cities = [
  'Austin',
  'AUSTIN',
  'Añasco',
  'San Juan',
  '',
  'St. Louis',
  'Saint Louis',
  'St Louis Park',
  'Ste. Genevieve',
  'Ft Worth',
  'Fort Worth',
  'N Las Vegas',
  'North Las Vegas',
  'De Kalb',
  'DeKalb',
  'Mt',
  'Winston-Salem',
  'Coeur d’Alene',
  '.',
];
const states = ['TX', 'CA', 'AK', 'HI', 'PR', 'GU', 'tx', ''];
const zips = ['78701', '78701-1234', '78-701', '02139', '02139-0001', '96910', '', '7870', '787011'];
const phones = [
  '(512) 555-0100',
  '512-555-0100',
  '5125550199',
  '+1 512 555 0100',
  'ext 5',
  '',
  '512.555.0142',
  '555-0100',
  '15125550100',
  '1-512-555-0142',
  '1',
  '1 1 5',
];
/** Texas, both sides of the antimeridian, Hawaii, Puerto Rico, the Pacific territories and the poles. */
export const places: readonly (readonly [latitude: number, longitude: number])[] = [
  [30.2672, -97.7431],
  [30.2673, -97.7431],
  [32.7767, -96.797],
  [51.88, -176.658],
  [52.73, 174.1],
  [51.9, 179.9999],
  [51.9, -179.9999],
  [51.9, 180],
  [51.9, -180],
  [21.3069, -157.8583],
  [18.4655, -66.1057],
  [13.4443, 144.7937],
  [15.1778, 145.751],
  [-14.2756, -170.702],
  [71.2906, -156.7886],
  [90, 0],
  [-90, 12],
  [0, 0],
];

function someWords(random: Random): string {
  return Array.from({ length: Math.floor(random() * 4) }, () => pick(random, words)).join(' ');
}

function address(random: Random): string {
  const local = pick(random, ['a', 'ab', 'a.b', 'john.smith', 'John.Smith', 'info', 'ünal', '']);
  return pick(random, [
    `${local}@${pick(random, domains)}`,
    `${local}${Math.floor(random() * 30)}@${pick(random, domains)}`,
    local,
    '',
  ]);
}

function someNames(random: Random, own: Pick<ProviderRecord, 'firstName' | 'lastName'>): string {
  if (random() < 0.7) return '';
  const count = pick(random, [1, 1, 1, 2, 3]);
  return formatOtherNames(
    Array.from({ length: count }, () => ({
      kind: pick(random, otherNameKinds),
      lastName: pick(random, [...names, '']),
      givenNames: pick(random, ['', '', own.firstName, pick(random, names), 'Ann Marie B.']),
    })),
    own,
  );
}

export function randomRecord(random: Random, id: number): ProviderRecord {
  const [latitude, longitude] = pick(random, places);
  const jitter = random() < 0.4 ? 0 : (random() - 0.5) * pick(random, [0.001, 0.5, 6]);
  const hasPoint = random() < 0.85;
  const [firstName, lastName] = [pick(random, ['', ...names]), pick(random, names)];
  return {
    id,
    npi:
      random() < 0.25
        ? ''
        : pick(random, [
            String(1_000_000_000 + Math.floor(random() * 40)),
            String(2_000_000_000 + Math.floor(random() * 400)),
          ]),
    firstName,
    middleName: pick(random, ['', '', 'A', 'a', 'B.']),
    lastName,
    suffix: pick(random, ['', 'MD', 'md', 'M.D.', 'PhD', 'III']),
    directAddress: address(random),
    organization: someWords(random),
    specialty: pick(random, [
      '',
      '2.16.840.1.113883.6.101:NUCC:207RC0000X:Cardiology',
      'cardiology',
      'Family Medicine',
      someWords(random),
    ]),
    street: `${Math.floor(random() * 300)} ${someWords(random)}`,
    city: pick(random, cities),
    state: pick(random, states),
    zip: pick(random, zips),
    excluded: random() < 0.1 ? 'true' : '',
    otherNames: someNames(random, { firstName, lastName }),
    phone: pick(random, phones),
    ...(hasPoint
      ? {
          latitude: Math.max(-90, Math.min(90, latitude + jitter)),
          longitude: Math.max(-180, Math.min(180, longitude - jitter)),
        }
      : {}),
  };
}

/** Records with distinct ids in no particular order. */
export function randomDirectory(seed: number, count: number): ProviderRecord[] {
  const random = seededRandom(seed);
  const ids = Array.from({ length: count }, (_, index) => index * 3 + 1).sort(() => random() - 0.5);
  return ids.map((id) => randomRecord(random, id));
}

// A part of a value that occurs, so that filters find something; sometimes a text that does not occur.
function wantedText(
  random: Random,
  records: readonly ProviderRecord[],
  field: SearchField,
  match: FilterMatch,
): string {
  if (records.length === 0 || random() < 0.1)
    return pick(random, ['', 'q', 'zzz', '%', '@', '王王', '\\', '"']);
  const record = pick(random, records);
  const other = pick(random, [...readOtherNames(record.otherNames), undefined, undefined]);
  const text =
    (field === 'lastName' ? other?.lastName : field === 'firstName' ? other?.givenNames : undefined) ??
    record[field];
  const characters = [...text];
  const cased = (part: string): string => (random() < 0.3 ? part.toUpperCase() : part);
  if (match === 'exact') return cased(text);
  const length = 1 + Math.floor(random() * Math.min(20, characters.length));
  const start = match.endsWith('contains') ? Math.floor(random() * characters.length) : 0;
  return cased(characters.slice(start, start + length).join(''));
}

const nameFields: ReadonlySet<string> = new Set(['firstName', 'middleName', 'lastName']);
const insideFields: ReadonlySet<string> = new Set(['suffix', 'organization', 'specialty', 'street']);

// As somebody could write it otherwise: without a mark, with a blank instead, or with a mark that is not there.
function respelled(random: Random, text: string): string {
  const change = random();
  if (change < 0.5) return text;
  if (change < 0.7) return text.replace(/['’-]/g, '');
  if (change < 0.8) return text.replace(/[-–]/g, ' ');
  if (change < 0.9) return text.replace(/ /, pick(random, ['-', '', "'"]));
  return text.replace(/Saint|North|Fort/i, (word) => pick(random, [word[0] ?? '', 'St', 'Ft']));
}

function randomFilter(random: Random, records: readonly ProviderRecord[]): ProviderFilter {
  const field = pick(random, [
    ...searchFields,
    'directAddress',
    'directAddress',
    'organization',
    'street',
  ] as const);
  const matches: FilterMatch[] = ['exact', 'prefix', 'contains', 'contains'];
  if (nameFields.has(field)) matches.push('name-prefix', 'name-prefix', 'name-prefix');
  if (insideFields.has(field)) matches.push('text-contains', 'text-contains', 'text-contains');
  if (field === 'city') matches.push('city-prefix', 'city-prefix', 'city-prefix');
  if (field === 'zip') matches.push('zip-prefix', 'zip-prefix', 'zip-prefix');
  if (field === 'phone') matches.push('phone-prefix', 'phone-prefix', 'phone-prefix');
  const match = pick(random, matches);
  const value = wantedText(random, records, field, match);
  return { field, match, value: /^(?:name|text|city)-/.test(match) ? respelled(random, value) : value };
}

function randomSort(random: Random): SortKey[] {
  const isDescending = random() < 0.5;
  return Array.from({ length: pick(random, [0, 1, 1, 2, 3]) }, () => ({
    field: pick(random, [...searchFields, 'distance', 'distance', 'state', 'directAddress'] as const),
    isDescending: random() < 0.2 ? !isDescending : isDescending,
  }));
}

/** A random query over the records; pages may lie beyond the end. */
export function randomQuery(random: Random, records: readonly ProviderRecord[]): ProviderQuery {
  const [latitude, longitude] = pick(random, places);
  const hasRadius = random() < 0.4;
  return {
    filters: Array.from({ length: pick(random, [0, 1, 1, 1, 2, 3]) }, () => randomFilter(random, records)),
    ...(hasRadius
      ? { radius: { latitude, longitude, miles: pick(random, [1, 5, 25, 100, 300, 1000]) } }
      : {}),
    sort: randomSort(random),
    offset: pick(random, [0, 0, 0, 1, 10, Math.floor(random() * records.length), records.length]),
    limit: pick(random, [1, 10, 10, 100, 1000]),
  };
}
