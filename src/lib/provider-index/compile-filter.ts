import { foldText } from '../../core/index.ts';
import { countBits, rowsOfBits, setBits, wordCount } from './bits.ts';
import { alternateKeys, spellingStyleOf, type AlternateKey, type ColumnName } from './columns.ts';
import { selectContaining, type FilterContext } from './filter-context.ts';
import { either, findInAddress } from './find-address.ts';
import { groupsEqualTo, groupsWithAlternatePrefix, groupsWithPrefix } from './find-groups.ts';
import { findInOtherNames } from './find-other-names.ts';
import { selectGroups, selectRanges, type Selector } from './selector.ts';
import { wantedSpellings } from './spellings.ts';
import type { TextColumn } from './text-column.ts';
import type { ProviderFilter } from './types.ts';

/**
 * The rows that fit a filter; undefined if it fits every row. Compiled once for a query's estimate and its
 * search.
 */
export function compileOnce(filter: ProviderFilter, context: FilterContext): Selector | undefined {
  const { compiled } = context;
  if (!compiled.has(filter)) compiled.set(filter, compileFilter(filter, context));
  return compiled.get(filter);
}

function compileFilter(filter: ProviderFilter, context: FilterContext): Selector | undefined {
  const folded = foldText(filter.value);
  const own = compileText(filter, folded, context);
  if (own === undefined || own.count === context.rowCount) return own;
  const others = findInOtherNames(filter.field, filter.match, folded, context);
  return others === undefined ? own : either([own, others], context);
}

function compileText(
  { field, match }: ProviderFilter,
  folded: string,
  context: FilterContext,
): Selector | undefined {
  const wanted = Buffer.from(folded);
  if (field === 'directAddress') return findInAddress(match, wanted, context);
  const column = context.columns.get(field) as TextColumn;
  switch (match) {
    case 'exact':
      return selectRanges(column, Uint32Array.from(groupsEqualTo(column, wanted)));
    case 'prefix':
      return wanted.length === 0
        ? undefined
        : selectRanges(column, Uint32Array.from(groupsWithPrefix(column, wanted)));
    case 'contains':
      return wanted.length === 0 ? undefined : selectContaining(column, wanted, context.trigrams.get(field));
    case 'name-prefix':
    case 'city-prefix':
      return wanted.length === 0 ? undefined : selectSpelledStart(field, column, folded, context);
    case 'text-contains':
      return wanted.length === 0 ? undefined : selectSpelledInside(field, column, folded, context);
    case 'zip-prefix':
      return selectAlternate(column, wanted, alternateKeys['zip-prefix']);
    case 'phone-prefix':
      return selectPhone(column, folded, wanted);
  }
}

// Shorter values are found as they are written: they would be found everywhere.
const minSpelledBytes = 3;

function selectSpelledStart(
  name: ColumnName,
  column: TextColumn,
  folded: string,
  { spellings }: FilterContext,
): Selector {
  const [first, end] = groupsWithPrefix(column, Buffer.from(folded));
  const ranges: Range[] = [[first, end]];
  const others = spellings.get(name);
  const style = spellingStyleOf(name);
  for (const { text, isWhole } of style === undefined ? [] : wantedSpellings(folded, style)) {
    const wanted = Buffer.from(text);
    if (isWhole) ranges.push(groupsEqualTo(column, wanted));
    else if (text !== folded) ranges.push(groupsWithPrefix(column, wanted));
    // Most begin so as they are written, too.
    for (const group of others?.findStart(wanted, isWhole) ?? [])
      if (group < first || group >= end) ranges.push([group, group + 1]);
  }
  return selectRanges(column, joinRanges(ranges));
}

function selectSpelledInside(
  name: ColumnName,
  column: TextColumn,
  folded: string,
  context: FilterContext,
): Selector {
  const trigrams = context.trigrams.get(name);
  const others = context.spellings.get(name);
  const spelled = wantedSpellings(folded, 'text')
    .map(({ text }) => text)
    .filter((text) => Buffer.byteLength(text) >= minSpelledBytes);
  // What has the value with its marks has another spelling, which is found without them.
  const isMarked = spelled.length > 0 && !spelled.includes(folded) && others !== undefined;
  const groups = new Uint32Array(wordCount(column.groupCount));
  for (const text of spelled) others?.addInside(Buffer.from(text), groups);
  const found = (isMarked ? spelled : [...new Set([folded, ...spelled])])
    .map((text) => selectContaining(column, Buffer.from(text), trigrams))
    .filter(({ count }) => count > 0);
  const count = countBits(groups);
  const [only] = found;
  if (count === 0 && only !== undefined && found.length === 1) return only;
  if (!found.every((selector) => selector.kind === 'groups'))
    return either([...found, selectGroups(column, rowsOfBits(groups, count))], context);
  for (const { ranges } of found)
    for (let at = 0; at < ranges.length; at += 2)
      setBits(groups, ranges[at] as number, ranges[at + 1] as number);
  return selectGroups(column, rowsOfBits(groups, countBits(groups)));
}

type Range = readonly [first: number, end: number];

/** In order, those that touch or overlap as one. */
function joinRanges(ranges: readonly Range[]): Uint32Array {
  const joined: number[] = [];
  for (const [first, end] of ranges.toSorted((a, b) => a[0] - b[0])) {
    if (first === end) continue;
    const last = joined.at(-1);
    if (last === undefined || first > last) joined.push(first, end);
    else if (end > last) joined[joined.length - 1] = end;
  }
  return Uint32Array.from(joined);
}

function selectAlternate(column: TextColumn, wanted: Uint8Array, putKey: AlternateKey): Selector | undefined {
  const key = new Uint8Array(wanted.length);
  const length = putKey(wanted, 0, wanted.length, key, 0);
  if (length === 0) return undefined;
  return selectRanges(
    column.alternate ?? column,
    Uint32Array.from(groupsWithAlternatePrefix(column, key.subarray(0, length), putKey)),
  );
}

// A telephone number as people write it: digits and the separators used between them.
const phoneText = /^[\d\s()+\-./]*\d[\d\s()+\-./]*$/;

// A text with this prefix also has its digits as prefix once punctuation is removed, so the digits alone
// decide; the country's 1 alone is looked for as written.
function selectPhone(column: TextColumn, folded: string, wanted: Uint8Array): Selector | undefined {
  if (wanted.length === 0) return undefined;
  if (phoneText.test(folded)) {
    const found = selectAlternate(column, wanted, alternateKeys['phone-prefix']);
    if (found !== undefined) return found;
  }
  return selectRanges(column, Uint32Array.from(groupsWithPrefix(column, wanted)));
}
