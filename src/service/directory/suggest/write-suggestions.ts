import { roundUpMiles } from '../../../lib/geo/index.ts';
import type { FoundSuggestions, ProviderIndex } from '../../../lib/provider-index/index.ts';
import {
  shownFields,
  type ProviderRecord,
  type TextField,
  type WireName,
} from '../../../lib/provider-record/index.ts';
import {
  findDigits,
  findMatches,
  matchLevels,
  type QueryWord,
  type TextMatch,
  type WordField,
  type WordStyle,
} from '../../../lib/search-words/index.ts';
import { stateNames } from '../../../lib/values/index.ts';
import { maxFacetEntries, maxSuggestedAddresses } from '../limits.ts';
import { formatState, type AddressStates } from '../verification/address-states.ts';
import { groupOfSpecialty } from './specialty-groups.ts';

/** A word of the query that was found in a suggestion: UTF-16 units of the field's text. */
export interface SuggestionMatch {
  readonly field: WireName | 'prov_other_names';
  readonly start: number;
  readonly length: number;
  /** As it was understood: folded, a number by its digits. */
  readonly word: string;
  readonly match: 'exact' | 'prefix' | 'near';
}

export interface SuggestedAddress {
  readonly id: number;
  readonly serv_direct_addr: string;
  readonly org_name: string;
  readonly org_city: string;
  readonly org_state: string;
  readonly verification: ReturnType<typeof formatState> | null;
}

/** A person or an organization, by its record that fits best, and all its addresses. */
export interface Suggestion extends Readonly<Record<WireName, string>> {
  readonly kind: 'person' | 'organization';
  readonly id: number;
  /** Absent without one. */
  readonly prov_other_names?: string;
  readonly lat: number | null;
  readonly lng: number | null;
  readonly addresses: readonly SuggestedAddress[];
  /** All, also those that are not shown. */
  readonly addressCount: number;
  readonly matched: readonly SuggestionMatch[];
  /** Miles from the place that was given; null if one of both places is not known. */
  readonly distance?: number | null;
}

export interface Facet {
  /** As the parameter of the same name takes it. */
  readonly value: string;
  readonly label: string;
  readonly count: number;
}

export interface SuggestionAnswer {
  readonly status: 'OK';
  readonly suggestions: readonly Suggestion[];
  /** Digits: the records that fit. */
  readonly totalCount: string;
  /** Words were taken as misspelt, because too little was found otherwise. */
  readonly misspelt: boolean;
  readonly facets: {
    readonly state: readonly Facet[];
    readonly specialty: readonly Facet[];
    readonly verified: readonly Facet[];
  };
  readonly nearlyMeant: readonly string[];
}

/** Rows of one person or organization, the best one first. */
export interface GroupedRows {
  readonly rows: number[];
  readonly place: number;
}

/** Puts the rows of one person, or of one organization at one place, together, in the order of the first. */
export function groupRows({ index, rows }: Pick<FoundSuggestions, 'index' | 'rows'>): GroupedRows[] {
  const groups = new Map<string, GroupedRows>();
  for (const [place, row] of rows.entries()) {
    const key = keyOf(index.record(row));
    const known = groups.get(key);
    if (known === undefined) groups.set(key, { rows: [row], place });
    else known.rows.push(row);
  }
  return [...groups.values()];
}

// Without an NPI only equal names at one place are taken for one.
function keyOf(record: ProviderRecord): string {
  if (record.npi !== '') return record.npi;
  const { lastName, firstName, middleName, suffix, organization, street, city, state } = record;
  return JSON.stringify(
    [lastName, firstName, middleName, suffix, organization, street, city, state].map((text) =>
      text.toLowerCase(),
    ),
  );
}

export function writeSuggestions(
  found: FoundSuggestions,
  groups: readonly GroupedRows[],
  words: readonly QueryWord[],
  states: AddressStates | undefined,
): { readonly answer: SuggestionAnswer; readonly shown: number } {
  const suggestions = groups.map((group) => toSuggestion(found, group, words, states));
  return {
    answer: {
      status: 'OK',
      suggestions,
      totalCount: String(found.totalCount),
      misspelt: found.isNear,
      facets: writeFacets(found),
      nearlyMeant: found.nearlyMeant,
    },
    shown: suggestions.reduce((sum, { addresses }) => sum + addresses.length, 0),
  };
}

function toSuggestion(
  { index, distances, isNear }: FoundSuggestions,
  { rows, place }: GroupedRows,
  words: readonly QueryWord[],
  states: AddressStates | undefined,
): Suggestion {
  const [first = 0] = rows;
  const record = index.record(first);
  const all = record.npi === '' ? rows : [...new Set([...rows, ...index.rowsOfPerson(first)])];
  const miles = distances?.[place];
  return {
    kind: record.lastName === '' ? 'organization' : 'person',
    id: record.id,
    ...textsOf(record),
    ...(record.otherNames !== '' && { prov_other_names: record.otherNames }),
    lat: record.latitude ?? null,
    lng: record.longitude ?? null,
    addresses: all.slice(0, maxSuggestedAddresses).map((row) => toAddress(index, row, states)),
    addressCount: all.length,
    matched: matchesOf(record, words, isNear),
    ...(miles !== undefined && { distance: Number.isFinite(miles) ? roundUpMiles(miles) : null }),
  };
}

function textsOf(record: ProviderRecord): Record<WireName, string> {
  const pairs = shownFields.map(({ field, wireName }): [WireName, string] => [wireName, record[field]]);
  return Object.fromEntries(pairs) as Record<WireName, string>;
}

function toAddress(index: ProviderIndex, row: number, states: AddressStates | undefined): SuggestedAddress {
  const { id, directAddress, organization, city, state } = index.record(row);
  return {
    id,
    serv_direct_addr: directAddress,
    org_name: organization,
    org_city: city,
    org_state: state,
    verification:
      states === undefined ? null : formatState(states.read(states.slotOf(index.addresses.addressOf(row)))),
  };
}

const wordFields: Partial<Record<TextField, readonly [WordStyle, WordField]>> = {
  firstName: ['name', 'name'],
  middleName: ['name', 'name'],
  lastName: ['name', 'name'],
  otherNames: ['name', 'name'],
  suffix: ['text', 'name'],
  directAddress: ['text', 'address'],
  organization: ['text', 'organization'],
  specialty: ['text', 'specialty'],
  street: ['text', 'place'],
  city: ['name', 'place'],
  state: ['text', 'place'],
};
const digitFields: ReadonlySet<TextField> = new Set(['npi', 'zip', 'phone']);

function matchesOf(record: ProviderRecord, words: readonly QueryWord[], isNear: boolean): SuggestionMatch[] {
  const others = { field: 'otherNames', wireName: 'prov_other_names' } as const;
  return [...shownFields, others].flatMap(({ field, wireName }) =>
    matchesIn(field, record[field], words, isNear).map(({ word, level, start, end }): SuggestionMatch => ({
      field: wireName,
      start,
      length: end - start,
      word: words[word]?.text ?? '',
      match: level === matchLevels.exact ? 'exact' : level === matchLevels.prefix ? 'prefix' : 'near',
    })),
  );
}

function matchesIn(
  field: TextField,
  text: string,
  words: readonly QueryWord[],
  isNear: boolean,
): readonly TextMatch[] {
  if (digitFields.has(field)) return findDigits(text, words, field === 'phone');
  const [style, kind] = wordFields[field] ?? [];
  if (style === undefined || kind === undefined) return [];
  if (field === 'state') return matchesOfState(text, words, isNear);
  const found = findMatches(text, style, kind, words, isNear && kind !== 'address');
  // The kind of a name is no part of it.
  if (field === 'otherNames')
    return found.filter(({ start }) => text.lastIndexOf('(', start) <= text.lastIndexOf(';', start));
  // The code system of a coded value is not searched.
  const begin = field === 'specialty' ? (/^[0-9.]+:[^:]*:/.exec(text)?.[0].length ?? 0) : 0;
  return found.filter(({ start }) => start >= begin);
}

// A state is also found by the words of its name.
function matchesOfState(code: string, words: readonly QueryWord[], isNear: boolean): TextMatch[] {
  const named = `${code} ${stateNames.get(code.toUpperCase()) ?? ''}`;
  const found = findMatches(named, 'text', 'place', words, isNear);
  const best = new Map<number, TextMatch>();
  for (const match of found)
    if ((best.get(match.word)?.level ?? 0) < match.level) best.set(match.word, match);
  return [...best.values()].map((match) => ({
    ...match,
    start: 0,
    end: match.end <= code.length ? match.end : code.length,
  }));
}

function writeFacets({
  states,
  specialties,
  trustedCount,
  totalCount,
}: FoundSuggestions): SuggestionAnswer['facets'] {
  return {
    state: states
      .filter(([code]) => code !== '')
      .slice(0, maxFacetEntries)
      .map(([code, count]) => {
        const value = code.toUpperCase();
        return { value, label: stateNames.get(value) ?? value, count };
      }),
    specialty: groupSpecialties(specialties).slice(0, maxFacetEntries),
    verified: [
      { value: 'true', label: 'Verified', count: trustedCount },
      { value: 'false', label: 'Not verified', count: totalCount - trustedCount },
    ],
  };
}

function groupSpecialties(specialties: readonly (readonly [string, number])[]): Facet[] {
  const groups = new Map<string, Facet>();
  for (const [text, count] of specialties) {
    if (text === '') continue;
    const { value, label } = groupOfSpecialty(text);
    const known = groups.get(value);
    groups.set(value, { value, label, count: (known?.count ?? 0) + count });
  }
  return [...groups.values()].toSorted((a, b) => b.count - a.count || (a.label < b.label ? -1 : 1));
}
