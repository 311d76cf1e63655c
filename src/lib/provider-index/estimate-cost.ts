import { compileOnce } from './compile-filter.ts';
import type { FilterContext } from './filter-context.ts';
import type { ProviderFilter, ProviderQuery } from './types.ts';

// Writing a record of the page costs about as much as looking at this many rows.
const rowsPerWritten = 100;
// Circles up to this size are looked through at once.
const smallRadiusMiles = 25;
// A text somewhere inside may be in many values; how many is only known once they are found.
const containsShare = 0.125;
// Ordering by several fields looks at whole groups of the first one.
const groupShare = 0.1;

/** A rough number of rows that a query looks at, from what is known without carrying it out. */
export function estimateCost(query: ProviderQuery, context: FilterContext): number {
  const { rowCount } = context;
  const written = query.limit * rowsPerWritten;
  const [only, ...others] = query.filters;
  // A single condition in row order takes its page without a set of rows; what remains is finding the texts that fit.
  if (only !== undefined && others.length === 0 && query.radius === undefined && query.sort.length === 0)
    return written + query.offset + countTexts(only, context);
  const selected = Math.min(rowCount, ...query.filters.map((filter) => estimateRows(filter, context)));
  const isWide = query.radius !== undefined && query.radius.miles > smallRadiusMiles;
  const ordered = query.sort.length > 1 ? Math.min(selected, rowCount * groupShare) : 0;
  // Without a condition, the order of one field is there already.
  if (query.filters.length === 0) return written + ordered + (isWide ? rowCount * containsShare : 0);
  return written + ordered + selected;
}

function countTexts({ field, match }: ProviderFilter, { columns, address }: FilterContext): number {
  if (match !== 'contains') return 0;
  return (field === 'directAddress' ? address.local : columns.get(field))?.groupCount ?? 0;
}

function estimateRows(filter: ProviderFilter, context: FilterContext): number {
  if (filter.match === 'contains' || (filter.field === 'directAddress' && filter.match !== 'exact'))
    return context.rowCount * containsShare;
  return compileOnce(filter, context)?.count ?? context.rowCount;
}
