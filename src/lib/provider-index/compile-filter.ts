import { foldText } from '../../core/index.ts';
import { alternateKeys } from './columns.ts';
import { selectContaining, type FilterContext } from './filter-context.ts';
import { findInAddress } from './find-address.ts';
import { groupsEqualTo, groupsWithAlternatePrefix, groupsWithPrefix } from './find-groups.ts';
import { selectRanges, type Selector } from './selector.ts';
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

function compileFilter(
  { field, match, value }: ProviderFilter,
  context: FilterContext,
): Selector | undefined {
  const folded = foldText(value);
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
    case 'zip-prefix':
      return selectAlternate(column, wanted, alternateKeys['zip-prefix']);
    case 'phone-prefix':
      return selectPhone(column, folded, wanted);
  }
}

type IsKept = (foldedByte: number) => boolean;

function selectAlternate(
  column: TextColumn,
  wanted: Uint8Array,
  isKept: IsKept = () => true,
): Selector | undefined {
  const kept = wanted.filter(isKept);
  if (kept.length === 0) return undefined;
  return selectRanges(
    column.alternate ?? column,
    Uint32Array.from(groupsWithAlternatePrefix(column, kept, isKept)),
  );
}

// A telephone number as people write it: digits and the separators used between them.
const phoneText = /^[\d\s()+\-./]*\d[\d\s()+\-./]*$/;

// A text with this prefix also has its digits as prefix once punctuation is removed, so the digits alone
// decide.
function selectPhone(column: TextColumn, folded: string, wanted: Uint8Array): Selector | undefined {
  if (wanted.length === 0) return undefined;
  if (phoneText.test(folded)) return selectAlternate(column, wanted, alternateKeys['phone-prefix']);
  return selectRanges(column, Uint32Array.from(groupsWithPrefix(column, wanted)));
}
