import { clearBit, countOnes, fillAll, hasBit, setBit, sumBits, wordCount } from '../bits.ts';
import type { FilterContext } from '../filter-context.ts';
import { intersect, type Matches } from '../intersect.ts';
import { selectRanges, type Selector } from '../selector.ts';
import type { TextColumn } from '../text-column.ts';

/**
 * Of the matching rows, keeps those with a last name, and of these the first one of each NPI. Rows are in NPI
 * order, so that one pass finds them; without an NPI every row is a person.
 */
export function onePerPerson(selectors: readonly Selector[], context: FilterContext): Matches {
  // Without a condition of a query there is only the view itself, whose persons are the same each time.
  const [view, ...others] = selectors;
  const key = view === undefined ? context : isView(view) && others.length === 0 ? view : undefined;
  const known = key && everybody.get(key);
  if (known !== undefined) return known;
  const found = find(selectors, context);
  if (key !== undefined) everybody.set(key, keep(found));
  return found;
}

type GroupSelector = Selector & { readonly kind: 'groups' };

function keep({ bits, ...found }: Matches): Matches {
  if (bits === undefined) return found;
  const own = bits.slice();
  return { ...found, bits: own, sums: sumBits(own) };
}

const everybody = new WeakMap<object, Matches>();
const views = new WeakSet<Selector>();

/** Marks a selector that stays the same for many queries. */
export function markView(selector: Selector): Selector {
  views.add(selector);
  return selector;
}

const isView = (selector: Selector): boolean => views.has(selector);

function find(selectors: readonly Selector[], context: FilterContext): Matches {
  const { columns, rowCount } = context;
  const lastName = columns.get('lastName') as TextColumn;
  const npi = columns.get('npi') as TextColumn;
  const isNamed = selectors.some((selector) => hasNames(selector, lastName));
  const named = selectRanges(lastName, Uint32Array.of(0, lastName.blankGroup));
  const conditions = isNamed ? selectors : [...selectors, named];
  const { count, rows, bits } = intersect(conditions, context, true);
  const groups = groupsOf(npi, rowCount);
  if (rows !== undefined) return thinRows(rows, npi, groups);
  const all = bits ?? context.pool.take();
  if (bits === undefined) fillAll(all, rowCount);
  const [rarest] = conditions.toSorted((a, b) => a.count - b.count);
  return bits !== undefined && rarest?.kind === 'groups' && rarest.count < wordCount(rowCount)
    ? thinAmong(rarest, { count, bits }, groups)
    : thinBits(all, groups);
}

/**
 * Of a set of which `selector` selects every row, and few others: asks about those rows instead of passing
 * over the words.
 */
function thinAmong(
  { column: { starts, postings }, ranges }: GroupSelector,
  { count, bits }: { readonly count: number; readonly bits: Uint32Array },
  { following }: NpiGroups,
): Matches {
  const gone: number[] = [];
  for (let at = 0; at < ranges.length; at += 2) {
    const end = starts.at(ranges[at + 1] as number);
    for (let index = starts.at(ranges[at] as number); index < end; index++) {
      const row = postings === undefined ? index : (postings[index] as number);
      if (hasBit(following, row) && hasBit(bits, row) && followsOther(bits, following, row)) gone.push(row);
    }
  }
  for (let at = 0; at < gone.length; at++) clearBit(bits, gone[at] as number);
  return { count: count - gone.length, bits };
}

/** True if an earlier row of the same NPI is in the set. */
function followsOther(bits: Uint32Array, following: Uint32Array, row: number): boolean {
  for (let before = row; hasBit(following, before);) if (hasBit(bits, --before)) return true;
  return false;
}

/** True if a condition excludes all rows without a last name. */
function hasNames(selector: Selector, lastName: TextColumn): boolean {
  return (
    selector.kind === 'groups' &&
    selector.column === lastName &&
    (selector.ranges.at(-1) ?? 0) <= lastName.blankGroup
  );
}

// Single rows of an NPI need no sorting.
function thinRows(rows: Uint32Array, { codes }: TextColumn, { starting, following }: NpiGroups): Matches {
  const own = rows.slice();
  let count = 0;
  let others = 0;
  const several = new Uint32Array(rows.length);
  for (let at = 0; at < rows.length; at++) {
    const row = rows[at] as number;
    if (hasBit(starting, row) || hasBit(following, row)) several[others++] = row;
    else own[count++] = row;
  }
  const ascending = several.subarray(0, others).sort();
  let before = -1;
  for (let at = 0; at < others; at++) {
    const row = ascending[at] as number;
    const group = codes[row] as number;
    if (group !== before) own[count++] = row;
    before = group;
  }
  return { count, rows: own.subarray(0, count) };
}

/**
 * Word by word: removes a row that follows a row of its NPI that is in the set. Where it follows one that is
 * not, the rows before that one are looked at.
 */
function thinBits(bits: Uint32Array, { following, later }: NpiGroups): Matches {
  let before = 0;
  let count = 0;
  for (let word = 0; word < bits.length; word++) {
    const all = bits[word] as number;
    // Bit n is set if the row before row n is in the set.
    const previous = (all << 1) | (before >>> 31);
    before = all;
    if (all === 0) continue;
    const followers = all & (following[word] as number);
    let gone = followers & previous;
    for (let left = followers & ~previous & (later[word] as number); left !== 0; left &= left - 1) {
      const bit = left & -left;
      if (hasEarlier(bits, following, word, 31 - Math.clz32(bit), all)) gone |= bit;
    }
    const kept = all & ~gone;
    bits[word] = kept;
    count += countOnes(kept);
  }
  return { count, bits };
}

/**
 * True if an earlier row of the same NPI, not the one directly before, is in the set. Words before this one
 * have lost the rows that follow others, but still have one of each NPI that had any; this word is passed as
 * it was.
 */
function hasEarlier(
  bits: Uint32Array,
  following: Uint32Array,
  word: number,
  bit: number,
  all: number,
): boolean {
  for (let row = (word << 5) + bit; hasBit(following, row);) {
    row--;
    const isIn = row >>> 5 === word ? ((all >>> (row & 31)) & 1) !== 0 : hasBit(bits, row);
    if (isIn) return true;
  }
  return false;
}

/** Rows by their place among those of their NPI; sets are empty for rows without one. */
interface NpiGroups {
  /** The first of several. */
  readonly starting: Uint32Array;
  /** All but the first one. */
  readonly following: Uint32Array;
  /** From the third one on. */
  readonly later: Uint32Array;
}

const groupsKnown = new WeakMap<TextColumn, NpiGroups>();

/** Computed on first use. */
function groupsOf(npi: TextColumn, rowCount: number): NpiGroups {
  const known = groupsKnown.get(npi);
  if (known !== undefined) return known;
  const { starts, blankGroup } = npi;
  const words = wordCount(rowCount);
  const groups = {
    starting: new Uint32Array(words),
    following: new Uint32Array(words),
    later: new Uint32Array(words),
  };
  for (let group = 0; group < blankGroup; group++) {
    const start = starts.at(group);
    const end = starts.at(group + 1);
    if (end - start < 2) continue;
    setBit(groups.starting, start);
    for (let row = start + 1; row < end; row++) setBit(groups.following, row);
    for (let row = start + 2; row < end; row++) setBit(groups.later, row);
  }
  groupsKnown.set(npi, groups);
  return groups;
}
