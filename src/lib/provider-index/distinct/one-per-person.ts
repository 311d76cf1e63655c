import { countOnes, fillAll, setBit, wordCount } from '../bits.ts';
import type { FilterContext } from '../filter-context.ts';
import { intersect, type Matches } from '../intersect.ts';
import { selectRanges, type Selector } from '../selector.ts';
import type { TextColumn } from '../text-column.ts';

/**
 * Of the rows that match those with a last name, and of these the first one of each NPI. Rows are in NPI order, so that
 * one pass finds them; without an NPI every row is a person.
 */
export function onePerPerson(selectors: readonly Selector[], context: FilterContext): Matches {
  // Without a condition of a query there is only the view itself, whose persons are the same each time.
  const [view, ...others] = selectors;
  const key = view === undefined ? context : isView(view) && others.length === 0 ? view : undefined;
  const known = key && everybody.get(key);
  if (known !== undefined) return known;
  const found = find(selectors, context);
  if (key !== undefined) everybody.set(key, { ...found, ...(found.bits && { bits: found.bits.slice() }) });
  return found;
}

const everybody = new WeakMap<object, Matches>();
const views = new WeakSet<Selector>();

/** Says that a selector stays the same for many queries. */
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
  const { rows, bits } = intersect(isNamed ? selectors : [...selectors, named], context, true);
  if (rows !== undefined) return thinRows(rows, npi);
  const all = bits ?? context.pool.take();
  if (bits === undefined) fillAll(all, rowCount);
  return thinBits(all, severalOf(npi, rowCount), npi);
}

/** True if a condition excludes all rows without a last name. */
function hasNames(selector: Selector, lastName: TextColumn): boolean {
  return (
    selector.kind === 'groups' &&
    selector.column === lastName &&
    (selector.ranges.at(-1) ?? 0) <= lastName.blankGroup
  );
}

function thinRows(rows: Uint32Array, { codes, blankGroup }: TextColumn): Matches {
  const ascending = rows.slice().sort();
  let count = 0;
  let before = -1;
  for (let at = 0; at < ascending.length; at++) {
    const row = ascending[at] as number;
    const group = codes[row] as number;
    if (group !== before || group === blankGroup) ascending[count++] = row;
    before = group;
  }
  return { count, rows: ascending.subarray(0, count) };
}

// Only rows whose NPI has other rows are looked at one by one.
function thinBits(bits: Uint32Array, several: Uint32Array, { codes }: TextColumn): Matches {
  let before = -1;
  let count = 0;
  for (let word = 0; word < bits.length; word++) {
    let kept = bits[word] as number;
    if (kept === 0) continue;
    for (let left = kept & (several[word] as number); left !== 0;) {
      const bit = left & -left;
      const group = codes[(word << 5) + (31 - Math.clz32(bit))] as number;
      if (group === before) kept ^= bit;
      before = group;
      left ^= bit;
    }
    bits[word] = kept;
    count += countOnes(kept);
  }
  return { count, bits };
}

const severalKnown = new WeakMap<TextColumn, Uint32Array>();

/** The rows whose NPI has other rows, as a set; computed on first use. */
function severalOf(npi: TextColumn, rowCount: number): Uint32Array {
  const known = severalKnown.get(npi);
  if (known !== undefined) return known;
  const { starts, blankGroup } = npi;
  const several = new Uint32Array(wordCount(rowCount));
  for (let group = 0; group < blankGroup; group++) {
    const end = starts[group + 1] as number;
    const start = starts[group] as number;
    for (let row = start; end - start > 1 && row < end; row++) setBit(several, row);
  }
  severalKnown.set(npi, several);
  return several;
}
