/**
 * The shapes of data that the benchmark measures: what a directory holds decides what it costs. Each shape is made from a seed, by
 * changing the records of the sample directory; none of them is the shape of a particular directory.
 */
import { generateProviders } from '../../src/app/dev/sample-directory.ts';
import { loadBuiltInGazetteer } from '../../src/lib/geo/index.ts';
import type { ProviderRecord } from '../../src/lib/provider-record/index.ts';
import { seededRandom } from '../../test/support/random-directory.ts';

export const shapeNames = ['zip', 'street', 'national', 'hospital', 'adversarial'] as const;
export type ShapeName = (typeof shapeNames)[number];

export const shapeTexts: Readonly<Record<ShapeName, string>> = {
  zip: 'points of ZIP codes, organizations with many records each',
  street: 'a distinct point for nearly every record, organizations by name and number, coded specialties',
  national:
    'a third as many addresses as records, five sixths as many places, one organization in ten named, capitals',
  hospital: 'one record in fifteen at one point and in one organization, all others as `zip`',
  adversarial: 'every value another one, long, in many scripts',
};

const benchSeed = 20_261_121;
const gazetteer = loadBuiltInGazetteer();

export function isShape(name: string): name is ShapeName {
  return shapeNames.some((one) => one === name);
}

/** The same records in each run, in order of id. */
export function recordsOfShape(shape: ShapeName, count: number): Iterable<ProviderRecord> {
  const records = generateProviders({ count, seed: benchSeed, gazetteer });
  if (shape === 'zip') return records;
  return changeAll(records, changes[shape](count));
}

type Change = (record: ProviderRecord) => ProviderRecord;

function* changeAll(records: Iterable<ProviderRecord>, change: Change): Generator<ProviderRecord> {
  for (const record of records) yield change(record);
}

const changes: Readonly<Record<Exclude<ShapeName, 'zip'>, (count: number) => Change>> = {
  street: () => streetLevel(seededRandom(benchSeed)),
  national,
  hospital: () => {
    const random = seededRandom(benchSeed);
    return (record) => (random() < hospitalShare ? { ...record, ...hospital } : record);
  },
  adversarial: () => adversarial(seededRandom(benchSeed)),
};

// Most people are in towns: a record is a few miles from its town's middle, the nearer the likelier.
const townDegrees = 0.09;
const withoutPoint = 0.02;
const samePractice = 0.03;

function streetLevel(random: () => number): Change {
  let last: Pick<ProviderRecord, 'latitude' | 'longitude'> = {};
  return ({ latitude = 39.5, longitude = -98.3, ...record }) => {
    const coded = {
      ...record,
      organization: `${record.organization}${random() < 0.1 ? ', "North" Campus' : ''} ${1 + Math.floor(random() * 90_000)}`,
      street: random() < 0.3 ? record.street.replace(/ (Suite|Ste|Floor|#)/, ', $1') : record.street,
      specialty: record.specialty === '' ? '' : codedSpecialty(record.specialty, random),
    };
    // A record without a point has no place that the gazetteer knows either.
    if (random() < withoutPoint) return { ...coded, zip: '', city: 'Unincorporated' };
    if (last.latitude !== undefined && random() < samePractice) return { ...coded, ...last };
    last = {
      latitude: round(latitude + scatter(random) * townDegrees),
      longitude: round(longitude + scatter(random) * townDegrees),
    };
    return { ...coded, ...last };
  };
}

/** From -1 to 1, mostly near 0. */
function scatter(random: () => number): number {
  return (random() - 0.5) * 2 * random() ** 2;
}

function round(degrees: number): number {
  return Math.round(degrees * 1e6) / 1e6;
}

function codedSpecialty(specialty: string, random: () => number): string {
  if (specialty.startsWith('2.16.')) return specialty;
  const code = `${100 + ((specialty.length * 37) % 290)}${'RXLNP'.charAt(specialty.length % 5)}${String(Math.floor(random() * 12)).padStart(5, '0')}X`;
  return `2.16.840.1.113883.6.101:HealthCareProviderTaxonomy:${code}:${specialty}`;
}

const recordsPerAddress = 3;
const recordsPerPlace = 1.2;

function national(): Change {
  const random = seededRandom(benchSeed);
  const street = streetLevel(random);
  let address: ProviderRecord | undefined;
  let place: ProviderRecord | undefined;
  return (record) => {
    const own = street({ ...record, organization: '' });
    if (address === undefined || random() < 1 / recordsPerAddress) address = own;
    if (place === undefined || random() < 1 / recordsPerPlace) place = own;
    const { npi, firstName, middleName, lastName, suffix, directAddress, specialty } = address;
    const { latitude: _, longitude: __, ...placed } = place;
    const point =
      place.latitude === undefined ? {} : { latitude: place.latitude, longitude: place.longitude };
    return {
      ...placed,
      ...point,
      id: record.id,
      npi,
      firstName: firstName.toUpperCase(),
      middleName: middleName.toUpperCase(),
      lastName: lastName.toUpperCase(),
      suffix,
      directAddress,
      specialty,
      organization: random() < 0.1 ? record.organization.toUpperCase() : '',
      street: place.street.toUpperCase(),
      city: place.city.toUpperCase(),
    } as ProviderRecord;
  };
}

const hospitalShare = 1 / 15;
const hospital = {
  organization: 'Mercy General Health System',
  street: '1500 Hospital Parkway',
  city: 'Houston',
  state: 'TX',
  zip: '77030',
  latitude: 29.7079,
  longitude: -95.4011,
};

const scripts: readonly (readonly [first: number, count: number])[] = [
  [0x61, 26],
  [0x61, 26],
  [0xc0, 60],
  [0x3b1, 24],
  [0x430, 32],
  [0x5d0, 26],
  [0x627, 30],
  [0x905, 50],
  [0x4e00, 3000],
  [0xac00, 3000],
  [0x1f300, 300],
];

function adversarial(random: () => number): Change {
  const word = (length: number): string => {
    const [first, count] = scripts[Math.floor(random() * scripts.length)] as (typeof scripts)[number];
    return String.fromCodePoint(...Array.from({ length }, () => first + Math.floor(random() * count)));
  };
  const text = (words: number): string =>
    Array.from({ length: words }, () => word(2 + Math.floor(random() * 9))).join(' ');
  return (record) => ({
    ...record,
    firstName: text(2),
    middleName: text(1),
    lastName: text(3),
    suffix: text(1),
    directAddress: `${Math.floor(random() * 2 ** 52).toString(36)}.${record.id.toString(36)}@${Math.floor(random() * 2 ** 40).toString(36)}.example`,
    organization: text(8),
    specialty: text(6),
    street: `${record.id} ${text(5)}`,
    city: text(2),
    latitude: (random() - 0.5) * 180,
    longitude: (random() - 0.5) * 360,
  });
}
