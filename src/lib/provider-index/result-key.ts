import type { ProviderQuery } from './types.ts';

/** A text that is equal for queries that differ in nothing but the page. Writing it costs a third of making JSON. */
export function resultKey({ filters, radius, sort }: Omit<ProviderQuery, 'offset' | 'limit'>): string {
  let key = radius === undefined ? '' : ` ${radius.latitude} ${radius.longitude} ${radius.miles}`;
  for (const { field, isDescending } of sort) key += isDescending ? ` -${field}` : ` +${field}`;
  // The length says where a value ends, whatever is in it.
  for (const { field, match, value } of filters) key += ` ${field} ${match} ${value.length} ${value}`;
  return key;
}
