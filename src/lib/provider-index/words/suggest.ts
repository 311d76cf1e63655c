/**
 * Finds records by the words that people type into one box (docs/suggestions.md).
 * Used by `lib/provider-index`; others by its `index.ts`.
 * Begin with `suggest` here: `word-sets.ts` finds the rows of a word, `rank-rows.ts` orders those of all.
 */
import { parseWords, type QueryWord } from '../../search-words/index.ts';
import { countBits, hasBit } from '../bits.ts';
import { compileOnce } from '../compile-filter.ts';
import { compareNames, type NamedRow } from './compare-names.ts';
import { intersect, type Matches } from '../intersect.ts';
import type { Selector } from '../selector.ts';
import type { SuggestionQuery, SuggestionResult } from '../types.ts';
import type { IndexPart, WordContext, WordSets } from './context.ts';
import { countFacets, type FacetCounts } from './count-facets.ts';
import { addNearRows, findWordRows } from './word-sets.ts';
import { rankRows, type RankedRow } from './rank-rows.ts';

/** Fewer records than that, and misspelt words are looked for. */
const enoughRecords = 5;

/** The rows of each word of a query, in one index. */
interface PartSets {
  readonly part: IndexPart;
  readonly sets: readonly WordSets[];
  /** The conditions next to the words. */
  readonly conditions: readonly Selector[];
}

/** Answers a query from one index, or from an index and the records added since. */
export function suggest(query: SuggestionQuery, parts: readonly IndexPart[]): SuggestionResult {
  try {
    const { found, isNear, sets } = findRecords(query, parts);
    const totalCount = countOf(found);
    return {
      totalCount,
      isNear,
      ...rankIn(found, query, sets),
      nearlyMeant: totalCount > 0 ? [] : findNearlyMeant(query, sets, parts),
    };
  } finally {
    releaseSets(parts);
  }
}

function releaseSets(parts: readonly IndexPart[]): void {
  for (const { context } of parts) {
    context.compiled.clear();
    context.pool.releaseAll();
  }
}

interface Found {
  readonly found: readonly Matches[];
  readonly isNear: boolean;
  /** With the rows of misspelt words only if these were looked for. */
  readonly sets: readonly PartSets[];
}

function findRecords(query: SuggestionQuery, parts: readonly IndexPart[]): Found {
  const exact = parts.map((part): PartSets => {
    const sets = query.words.map((word) => findWordRows(word, part.context));
    return { part, sets, conditions: conditionsOf(query, part) };
  });
  const all = query.words.map((_, place) => place);
  const found = findIn(exact, all);
  if (countOf(found) >= enoughRecords || !query.words.some(mayBeMisspelt))
    return { found, isNear: false, sets: exact };
  const near = exact.map(({ part, sets, conditions }) => ({
    part,
    sets: sets.map((own, place) => addNearRows(query.words[place] as QueryWord, own, part.context)),
    conditions,
  }));
  const misspelt = findIn(near, all);
  if (countOf(misspelt) > countOf(found)) return { found: misspelt, isNear: true, sets: near };
  return { found, isNear: false, sets: countOf(found) > 0 ? exact : near };
}

function mayBeMisspelt({ edits, nearTerms }: QueryWord): boolean {
  return edits > 0 || nearTerms.length > 0;
}

function conditionsOf(query: SuggestionQuery, { context, firstRow }: IndexPart): Selector[] {
  const { filters, specialty, kind, isTrustedOnly, trusted } = query;
  const selectors: Selector[] = specialty.map((word) => findWordRows(word, context).all);
  for (const filter of filters) {
    const selector = compileOnce(filter, context);
    if (selector !== undefined) selectors.push(selector);
  }
  if (kind !== undefined) selectors.push(selectKind(kind, context));
  if (isTrustedOnly === true) selectors.push(selectPart(trusted ?? new Uint32Array(0), firstRow, context));
  return selectors;
}

// The records that fit the words of these places.
function findIn(parts: readonly PartSets[], places: readonly number[]): Matches[] {
  return parts.map(({ part: { context, removed }, sets, conditions }) => {
    const words = places.map((place) => (sets[place] as WordSets).all);
    return withoutRemoved(intersect([...words, ...conditions], context), removed, context);
  });
}

function countOf(found: readonly Matches[]): number {
  return found.reduce((sum, { count }) => sum + count, 0);
}

function rankIn(
  found: readonly Matches[],
  query: SuggestionQuery,
  parts: readonly PartSets[],
): Omit<SuggestionResult, 'totalCount' | 'isNear' | 'nearlyMeant'> {
  const records = parts.reduce((sum, { part }) => sum + part.context.rowCount, 0);
  const weights = query.words.map((_, place) =>
    weightOf(
      parts.reduce((sum, { sets }) => sum + (sets[place] as WordSets).all.count, 0),
      records,
    ),
  );
  const pages = parts.map((part, index) => rankPart(found[index] as Matches, query, weights, part));
  const ranked = pages.flatMap(({ rows }, index): NamedRow[] =>
    rows.map((row) => ({ ...row, part: (parts[index] as PartSets).part })),
  );
  // Within one index the rows are in order already.
  if (pages.filter(({ rows }) => rows.length > 0).length > 1) ranked.sort(compareNames);
  const first = ranked.slice(0, query.limit);
  return {
    rows: Uint32Array.from(first, ({ row, part }) => row + part.firstRow),
    ...(query.near && { distances: Float64Array.from(first, ({ miles }) => miles) }),
    states: addCounts(pages.map(({ facets }) => facets.states)),
    specialties: addCounts(pages.map(({ facets }) => facets.specialties)),
    trustedCount: pages.reduce((sum, { facets }) => sum + facets.trusted, 0),
  };
}

function addCounts(counts: readonly ReadonlyMap<string, number>[]): (readonly [string, number])[] {
  const sums = new Map<string, number>();
  for (const one of counts) for (const [text, count] of one) sums.set(text, (sums.get(text) ?? 0) + count);
  return [...sums].toSorted(([a, one], [b, other]) => other - one || (a < b ? -1 : 1));
}

/** Other texts that are told. */
const maxNearlyMeant = 3;

// Queries with one word less. Only what is found counts, so that a word of removed records or of records
// outside the filters is not told. Some texts mean something else than their words did: digits next to each
// other are one telephone number, and `smiths` is no longer whose it was.
function findNearlyMeant(
  query: SuggestionQuery,
  sets: readonly PartSets[],
  parts: readonly IndexPart[],
): string[] {
  const { words } = query;
  if (words.length < 2) return [];
  const places = [...words.keys()];
  const texts = places
    .map((left) => places.filter((place) => place !== left))
    .filter((rest) => countOf(findIn(sets, rest)) > 0)
    .map((rest) => rest.map((place) => words[place]?.text).join(' '));
  const meant: string[] = [];
  for (const text of texts) {
    // The sets of one text at a time: those of sixteen words are many.
    releaseSets(parts);
    if (countOf(findRecords({ ...query, words: parseWords(text) }, parts).found) > 0) meant.push(text);
    if (meant.length === maxNearlyMeant) break;
  }
  return meant;
}

// Records of a person have a name.
function selectKind(kind: 'person' | 'organization', { columns }: WordContext): Selector {
  const column = columns.get('lastName');
  if (column === undefined) throw new TypeError('The index has no column lastName.');
  const { blankGroup, groupCount, starts } = column;
  const ranges = kind === 'person' ? Uint32Array.of(0, blankGroup) : Uint32Array.of(blankGroup, groupCount);
  const count = starts.at(ranges[1] as number) - starts.at(ranges[0] as number);
  return { kind: 'groups', column, ranges, count };
}

/** The part of a set over all rows that is about the rows of one index. */
function partOf(all: Uint32Array, firstRow: number, rowCount: number): Uint32Array {
  const words = (rowCount + 31) >>> 5;
  // What the last word says about rows of the other index is about none of this one.
  if (firstRow === 0) return all.subarray(0, words);
  const part = new Uint32Array(words);
  for (let row = 0; row < rowCount; row++)
    if (firstRow + row < all.length * 32 && hasBit(all, firstRow + row))
      part[row >>> 5] = (part[row >>> 5] as number) | (1 << (row & 31));
  return part;
}

function selectPart(all: Uint32Array, firstRow: number, { rowCount }: WordContext): Selector {
  const bits = partOf(all, firstRow, rowCount);
  return { kind: 'bits', bits, count: countBits(bits) };
}

function withoutRemoved(matches: Matches, removed: Uint32Array | undefined, { pool }: WordContext): Matches {
  const { rows, bits } = matches;
  if (rows !== undefined) {
    const kept = removed === undefined ? rows : rows.filter((row) => !hasBit(removed, row));
    return { count: kept.length, rows: kept.sort() };
  }
  if (removed === undefined || bits === undefined) return matches;
  const kept = pool.take();
  for (let word = 0; word < kept.length; word++)
    kept[word] = (bits[word] as number) & ~(removed[word] as number);
  return { count: countBits(kept), bits: kept };
}

interface RankedPage {
  readonly rows: readonly RankedRow[];
  readonly facets: FacetCounts;
}

// The best rows of what was found, and what all of it has in common.
function rankPart(
  matches: Matches,
  query: SuggestionQuery,
  weights: readonly number[],
  { part: { context, firstRow }, sets }: PartSets,
): RankedPage {
  const own = (all: Uint32Array | undefined): Uint32Array | undefined =>
    all === undefined ? undefined : partOf(all, firstRow, context.rowCount);
  const [trusted, confirmed] = [own(query.trusted), own(query.confirmed)];
  const { near, limit } = query;
  return {
    rows: rankRows({ matches, sets, weights, near, trusted, confirmed, limit }, context),
    facets: countFacets(matches, trusted, context),
  };
}

/** A word counts the more the fewer records have it. */
function weightOf(count: number, recordCount: number): number {
  return 1 + Math.log2((recordCount + 1) / (count + 1));
}
