/**
 * Finds records by the words that people type into one box (docs/suggestions.md).
 * Used by `lib/provider-index`; others by its `index.ts`.
 * Begin with `suggest` here: `word-sets.ts` finds the rows of a word, `rank-rows.ts` orders those of all.
 */
import type { QueryWord } from '../../search-words/index.ts';
import { countBits, hasBit } from '../bits.ts';
import { compileOnce } from '../compile-filter.ts';
import { compareNames, type NamedRow } from './compare-names.ts';
import { intersect, type Matches } from '../intersect.ts';
import type { Selector } from '../selector.ts';
import type { SuggestionQuery, SuggestionResult } from '../types.ts';
import type { IndexPart, WordContext } from './context.ts';
import { countFacets, type FacetCounts } from './count-facets.ts';
import { findWordRows, type WordSets } from './word-sets.ts';
import { rankRows, type RankedRow } from './rank-rows.ts';

/** Fewer records than that, and misspelt words are looked for. */
const enoughRecords = 5;

/** Answers a query from one index, or from an index and the records added since. */
export function suggest(query: SuggestionQuery, parts: readonly IndexPart[]): SuggestionResult {
  try {
    let isNear = false;
    let found = findIn(query.words, query, false, parts);
    if (countOf(found) < enoughRecords && query.words.some(({ edits }) => edits > 0)) {
      const misspelt = findIn(query.words, query, true, parts);
      isNear = countOf(misspelt) > countOf(found);
      if (isNear) found = misspelt;
    }
    const totalCount = countOf(found);
    return {
      totalCount,
      isNear,
      ...rankIn(found, query, parts),
      nearlyMeant: totalCount > 0 ? [] : findNearlyMeant(query, parts),
    };
  } finally {
    for (const { context } of parts) {
      context.compiled.clear();
      context.pool.releaseAll();
    }
  }
}

function findIn(
  words: readonly QueryWord[],
  query: SuggestionQuery,
  isNear: boolean,
  parts: readonly IndexPart[],
): FoundWords[] {
  return parts.map((part) => findWordsOf(words, query, isNear, part));
}

function countOf(found: readonly FoundWords[]): number {
  return found.reduce((sum, { count }) => sum + count, 0);
}

function rankIn(
  found: readonly FoundWords[],
  query: SuggestionQuery,
  parts: readonly IndexPart[],
): Omit<SuggestionResult, 'totalCount' | 'isNear' | 'nearlyMeant'> {
  const records = parts.reduce((sum, { context }) => sum + context.rowCount, 0);
  const weights = query.words.map((_, index) =>
    weightOf(
      found.reduce((sum, { sets }) => sum + (sets[index]?.all.count ?? 0), 0),
      records,
    ),
  );
  const pages = parts.map((part, index) => rankFound(found[index] as FoundWords, query, weights, part));
  const ranked = pages.flatMap(({ rows }, index): NamedRow[] =>
    rows.map((row) => ({ ...row, part: parts[index] as IndexPart })),
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

/** Queries with one word less, and with one word misspelt more, that are tried. */
const maxNearlyMeant = 3;

// Only what is found counts, so that a word of removed records or of records outside the filters is not told.
function findNearlyMeant(query: SuggestionQuery, parts: readonly IndexPart[]): string[] {
  if (query.words.length < 2) return [];
  return query.words
    .map((_, left) => query.words.filter((_word, at) => at !== left))
    .filter((words) => countOf(findIn(words, query, true, parts)) > 0)
    .slice(0, maxNearlyMeant)
    .map((words) => words.map(({ text }) => text).join(' '));
}

/** The records that fit a query, in one index. */
interface FoundWords {
  readonly count: number;
  /** The rows of each word, in the order of the query's words. */
  readonly sets: readonly WordSets[];
  readonly matches: Matches;
}

function findWordsOf(
  words: readonly QueryWord[],
  query: SuggestionQuery,
  isNear: boolean,
  { context, removed, firstRow }: IndexPart,
): FoundWords {
  const sets = words.map((word) => findWordRows(word, isNear, context));
  const selectors: Selector[] = sets.map(({ all }) => all);
  for (const filter of query.filters) {
    const selector = compileOnce(filter, context);
    if (selector !== undefined) selectors.push(selector);
  }
  for (const word of query.specialty) selectors.push(findWordRows(word, false, context).all);
  if (query.kind !== undefined) selectors.push(selectKind(query.kind, context));
  if (query.isTrustedOnly === true)
    selectors.push(selectPart(query.trusted ?? new Uint32Array(0), firstRow, context));
  const matches = withoutRemoved(intersect(selectors, context), removed, context);
  return { count: matches.count, sets, matches };
}

// Records of a person have a name.
function selectKind(kind: 'person' | 'organization', { columns }: WordContext): Selector {
  const column = columns.get('lastName');
  if (column === undefined) throw new TypeError('The index has no column lastName.');
  const { blankGroup, groupCount, starts } = column;
  const ranges = kind === 'person' ? Uint32Array.of(0, blankGroup) : Uint32Array.of(blankGroup, groupCount);
  const count = (starts[ranges[1] as number] as number) - (starts[ranges[0] as number] as number);
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

/** The best rows of what was found, and what all of it has in common. */
function rankFound(
  found: FoundWords,
  query: SuggestionQuery,
  weights: readonly number[],
  { context, firstRow }: IndexPart,
): RankedPage {
  const part = (all: Uint32Array | undefined): Uint32Array | undefined =>
    all === undefined ? undefined : partOf(all, firstRow, context.rowCount);
  const [trusted, confirmed] = [part(query.trusted), part(query.confirmed)];
  return {
    rows: rankRows({ ...found, weights, near: query.near, trusted, confirmed, limit: query.limit }, context),
    facets: countFacets(found.matches, trusted, context),
  };
}

/** A word counts the more the fewer records have it. */
function weightOf(count: number, recordCount: number): number {
  return 1 + Math.log2((recordCount + 1) / (count + 1));
}
