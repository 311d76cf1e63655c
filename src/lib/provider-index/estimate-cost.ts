import { compileOnce } from './compile-filter.ts';
import type { FilterContext } from './filter-context.ts';
import type { Alternative, ProviderFilter, ProviderQuery } from './types.ts';

// Circles up to this size are looked through at once.
const smallRadiusMiles = 25;
// A `contains` filter may match many values; their number is only known once they are found. The same holds
// for wide circles.
const unknownShare = 0.125;
// Ordering by several fields looks at a whole group of the first one.
const groupShare = 0.1;
// The time of the last change is read of every row.
const changedShare = 0.25;
// The first row of each NPI is found by looking at the set of all.
const personShare = 0.5;

/** An estimate of the number of rows that a query reads, without running it. */
export function estimateCost(
  {
    filters,
    alternatives = [],
    ids,
    radius,
    sort,
    distinct,
    changed,
  }: Omit<ProviderQuery, 'offset' | 'limit'>,
  context: FilterContext,
): number {
  const selected = filters.map((filter) => estimateRows(filter, context));
  for (const group of alternatives)
    selected.push(group.reduce((sum, filters) => sum + estimateAll(filters, context), 0));
  if (ids !== undefined) selected.push(ids.length);
  if (radius !== undefined && radius.miles > smallRadiusMiles) selected.push(context.rowCount * unknownShare);
  if (changed !== undefined) return context.rowCount * changedShare;
  if (selected.length > 0) return Math.min(...selected);
  if (distinct?.kind === 'person') return context.rowCount * personShare;
  return sort.length > 1 ? context.rowCount * groupShare : 0;
}

function estimateAll(filters: Alternative, context: FilterContext): number {
  return Math.min(context.rowCount, ...filters.map((filter) => estimateRows(filter, context)));
}

function estimateRows(filter: ProviderFilter, context: FilterContext): number {
  const isInside = filter.match === 'contains' || filter.match === 'text-contains';
  if (isInside || (filter.field === 'directAddress' && filter.match !== 'exact'))
    return context.rowCount * unknownShare;
  return compileOnce(filter, context)?.count ?? context.rowCount;
}
