/**
 * The directory as plainly as it can be written: filter, sort and slice over an array of records.
 * The tests of the index and of the service compare with it; it is the meaning of Decisions 0002 to 0004 in forty lines.
 */
import {
  readOtherNames,
  type FilterMatch,
  type ProviderRecord,
  type SearchField,
} from '../../src/lib/provider-record/index.ts';
import { foldText } from '../../src/core/index.ts';
import { distanceMiles, placeWords } from '../../src/lib/geo/index.ts';
import type { ProviderFilter, ProviderQuery, SortKey } from '../../src/lib/provider-index/index.ts';

export interface PlainResult {
  readonly totalCount: number;
  readonly ids: readonly number[];
  /** One per id, unrounded, only with a radius. */
  readonly distances?: readonly number[];
}

interface Candidate {
  readonly record: ProviderRecord;
  readonly distance: number;
}

export function searchPlainly(records: readonly ProviderRecord[], query: ProviderQuery): PlainResult {
  const candidates: Candidate[] = [];
  for (const record of records) {
    const distance = distanceFromCenter(record, query);
    if (distance === undefined || !query.filters.every((filter) => matchesPlainly(record, filter))) continue;
    candidates.push({ record, distance });
  }
  candidates.sort((a, b) => compareCandidates(a, b, sortKeysOf(query)));
  const page = candidates.slice(query.offset, query.offset + query.limit);
  return {
    totalCount: candidates.length,
    ids: page.map((candidate) => candidate.record.id),
    ...(query.radius === undefined ? {} : { distances: page.map((candidate) => candidate.distance) }),
  };
}

export function matchesPlainly(record: ProviderRecord, { field, match, value }: ProviderFilter): boolean {
  return textsOf(record, field).some((text, at) => (at === 0 || value !== '') && matches(text, match, value));
}

// The field, and the other names of the person.
function textsOf(record: ProviderRecord, field: SearchField): readonly string[] {
  const others = readOtherNames(record.otherNames);
  if (field === 'lastName') return [record[field], ...others.map(({ lastName }) => lastName)];
  if (field !== 'firstName') return [record[field]];
  return [record[field], ...others.map(({ givenNames }) => givenNames).filter((given) => given !== '')];
}

function matches(own: string, match: FilterMatch, value: string): boolean {
  const text = foldText(own);
  const wanted = foldText(value);
  switch (match) {
    case 'exact':
      return text === wanted;
    case 'prefix':
      return text.startsWith(wanted);
    case 'contains':
      return text.includes(wanted);
    case 'name-prefix':
      return text.startsWith(wanted) || isSpelled(text, wanted, 1, (one, other) => one.startsWith(other));
    case 'text-contains':
      return text.includes(wanted) || isSpelled(text, wanted, 3, (one, other) => one.includes(other));
    case 'city-prefix':
      return text.startsWith(wanted) || isSameCity(text, wanted);
    case 'zip-prefix':
      return text.replaceAll('-', '').startsWith(wanted.replaceAll('-', ''));
    case 'phone-prefix':
      return (
        text.startsWith(wanted) ||
        (/^[\d\s()+\-./]*\d[\d\s()+\-./]*$/.test(wanted) &&
          digitsOf(wanted) !== '' &&
          digitsOf(text).startsWith(digitsOf(wanted)))
      );
  }
}

// Without the country.
function digitsOf(text: string): string {
  return text.replace(/[^0-9]/g, '').replace(/^1/, '');
}

type Fits = (text: string, wanted: string) => boolean;

// Apostrophes left out, hyphens left out or as blanks, on both sides.
function isSpelled(text: string, wanted: string, minBytes: number, fits: Fits): boolean {
  if (/^['`-]|['`-]$/.test(wanted)) return false;
  const spellings = (one: string): string[] =>
    ['', ' '].map((blank) => one.replace(/['`]/g, '').replaceAll('-', blank));
  return spellings(wanted).some(
    (other) =>
      Buffer.byteLength(other) >= minBytes && [text, ...spellings(text)].some((one) => fits(one, other)),
  );
}

// The last word of what is wanted may be unfinished; a blank may be left out, and one too many is no fault in a whole name.
function isSameCity(text: string, wanted: string): boolean {
  const known = [text, placeWords(text).join(' '), placeWords(text).join('')];
  return [true, false].some((isUnfinished) => {
    const words = placeWords(wanted, isUnfinished);
    return (
      words.length > 0 &&
      known.some((one) => one.startsWith(words.join(' ')) || (words.length > 1 && one === words.join('')))
    );
  });
}

// Undefined leaves the record out: outside the circle, or without coordinates.
function distanceFromCenter(record: ProviderRecord, { radius }: ProviderQuery): number | undefined {
  if (radius === undefined) return 0;
  if (record.latitude === undefined || record.longitude === undefined) return undefined;
  const miles = distanceMiles(radius, { latitude: record.latitude, longitude: record.longitude });
  return miles <= radius.miles ? miles : undefined;
}

function sortKeysOf(query: ProviderQuery): readonly SortKey[] {
  if (query.sort.length > 0) return query.sort;
  return [{ field: query.radius === undefined ? 'npi' : 'distance', isDescending: false }];
}

function compareCandidates(a: Candidate, b: Candidate, keys: readonly SortKey[]): number {
  for (const { field, isDescending } of keys) {
    const order =
      field === 'distance'
        ? a.distance - b.distance
        : compareTexts(foldText(a.record[field]), foldText(b.record[field]), isDescending);
    if (order !== 0) return field === 'distance' && isDescending ? -order : order;
  }
  return a.record.id - b.record.id;
}

// Blank last in both directions (Decision 0003); UTF-8 bytes compare as code points do.
function compareTexts(a: string, b: string, isDescending: boolean): number {
  if (a === b) return 0;
  if (a === '') return 1;
  if (b === '') return -1;
  const order = Buffer.compare(Buffer.from(a), Buffer.from(b));
  return isDescending ? -order : order;
}
