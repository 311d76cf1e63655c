/**
 * Filters on the Direct address, which is kept as two columns: the local part with its `@` (the whole text if
 * there is none), and the domain. Both dictionaries are small against the number of addresses, above all the
 * domains.
 */
import type { FilterMatch } from '../provider-record/index.ts';
import { selectContaining, type FilterContext } from './filter-context.ts';
import { groupsEqualTo, groupsWithPrefix } from './find-groups.ts';
import { intersect, selectBits } from './intersect.ts';
import { addGroups, selectRanges, writeBits, type Selector } from './selector.ts';

const at = 0x40;

/** Undefined if every row fits. */
export function findInAddress(
  match: FilterMatch,
  wanted: Uint8Array,
  context: FilterContext,
): Selector | undefined {
  if (match === 'exact') return findExact(wanted, context);
  if (wanted.length === 0) return undefined;
  return match === 'contains' ? findSubstring(wanted, context) : findStart(wanted, context);
}

function findExact(wanted: Uint8Array, context: FilterContext): Selector {
  const { local, domain } = context.address;
  const split = wanted.indexOf(at) + 1;
  const head = split === 0 ? wanted : wanted.subarray(0, split);
  const heads = selectRanges(local, Uint32Array.from(groupsEqualTo(local, head)));
  return both(
    heads,
    selectRanges(domain, Uint32Array.from(groupsEqualTo(domain, wanted.subarray(head.length)))),
    context,
  );
}

function findStart(wanted: Uint8Array, context: FilterContext): Selector {
  const { local, domain } = context.address;
  const split = wanted.indexOf(at) + 1;
  if (split === 0) return selectRanges(local, Uint32Array.from(groupsWithPrefix(local, wanted)));
  const heads = selectRanges(local, Uint32Array.from(groupsEqualTo(local, wanted.subarray(0, split))));
  return both(
    heads,
    selectRanges(domain, Uint32Array.from(groupsWithPrefix(domain, wanted.subarray(split)))),
    context,
  );
}

// The text is in the local part, in the domain, or across the first `@`.
function findSubstring(wanted: Uint8Array, context: FilterContext): Selector {
  const { local, domain } = context.address;
  const split = wanted.indexOf(at) + 1;
  const selectors = [selectContaining(domain, wanted, context.trigrams.get('addressDomain'))];
  if (split === 0 || split === wanted.length) {
    selectors.push(selectContaining(local, wanted, context.trigrams.get('addressLocal')));
  } else {
    const heads = selectContaining(local, wanted.subarray(0, split), context.trigrams.get('addressLocal'));
    const tails = selectRanges(domain, Uint32Array.from(groupsWithPrefix(domain, wanted.subarray(split))));
    selectors.push(both(heads, tails, context));
  }
  return either(
    selectors.filter((selector) => selector.count > 0),
    context,
  );
}

function both(a: Selector, b: Selector, context: FilterContext): Selector {
  // Nearly all local parts end in the `@` that is looked for.
  if (a.count === context.rowCount) return b;
  if (b.count === context.rowCount) return a;
  const { count, rows, bits } = intersect([a, b], context);
  if (rows !== undefined) return { kind: 'rows', rows, count };
  return bits === undefined ? a : { kind: 'bits', bits, count };
}

/** The rows of any of the selectors. */
export function either(selectors: readonly Selector[], { rowCount, pool }: FilterContext): Selector {
  const [most, ...others] = selectors.toSorted((a, b) => b.count - a.count);
  if (most === undefined) return { kind: 'rows', rows: new Uint32Array(0), count: 0 };
  if (others.length === 0 || most.count === rowCount) return most;
  const bits = pool.take();
  writeBits(most, bits, rowCount);
  for (const other of others) addRows(other, bits);
  return selectBits(bits);
}

function addRows(selector: Selector, bits: Uint32Array): void {
  if (selector.kind === 'groups') {
    addGroups(selector.column, selector.ranges, bits);
  } else if (selector.kind === 'bits') {
    for (let word = 0; word < bits.length; word++)
      bits[word] = (bits[word] as number) | (selector.bits[word] as number);
  } else {
    for (const row of selector.rows) bits[row >>> 5] = (bits[row >>> 5] as number) | (1 << (row & 31));
  }
}
