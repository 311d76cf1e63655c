/** A query of the index in SQL: one statement for the count, one for the page. */
import { foldText } from '../../src/core/index.ts';
import type { ProviderFilter, ProviderQuery, SortKey } from '../../src/lib/provider-index/index.ts';

/** What each program says in its own way about places. */
export interface Dialect {
  /** The condition that a row is inside. */
  within(circle: NonNullable<ProviderQuery['radius']>): string;
  /** What rows are ordered by, nearest first. */
  distance(circle: NonNullable<ProviderQuery['radius']>): string;
}

/** The statements of a query over the table of `postgres-table.ts`. */
export function statementsFor(
  query: ProviderQuery,
  { within, distance }: Dialect,
): { count: string; page: string } {
  const conditions = query.filters.map(conditionFor);
  if (query.radius !== undefined) conditions.push(within(query.radius));
  const where = conditions.length === 0 ? '' : ` where ${conditions.join(' and ')}`;
  const order = [...sortOf(query).map((key) => orderFor(key, query, distance)), 'id'].join(', ');
  return {
    count: `select count(*) from providers${where}`,
    page: `select * from providers${where} order by ${order} offset ${query.offset} limit ${query.limit}`,
  };
}

function conditionFor({ field, match, value }: ProviderFilter): string {
  const text = foldText(value);
  switch (match) {
    case 'exact':
      return `"f_${field}" = ${quote(text)}`;
    case 'prefix':
    // Values of the bench are not written otherwise than they are stored.
    case 'name-prefix':
    case 'city-prefix':
      return `"f_${field}" ${like(`${likeText(text)}%`)}`;
    case 'contains':
    case 'text-contains':
      return `"f_${field}" ${like(`%${likeText(text)}%`)}`;
    case 'zip-prefix':
      return `zip_plain ${like(`${likeText(text.replaceAll('-', ''))}%`)}`;
    case 'phone-prefix':
      return `phone_digits ${like(`${text.replace(/\D/g, '')}%`)}`;
  }
}

// A statement is the same in all programs with the escape character named.
function like(pattern: string): string {
  return `like ${quote(pattern)}${pattern.includes('\\') ? " escape '\\'" : ''}`;
}

function likeText(text: string): string {
  return text.replace(/[\\%_]/g, (character) => `\\${character}`);
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

function sortOf({ sort, radius }: ProviderQuery): readonly SortKey[] {
  return sort.length > 0 ? sort : [{ field: radius === undefined ? 'npi' : 'distance', isDescending: false }];
}

function orderFor(
  { field, isDescending }: SortKey,
  { radius }: ProviderQuery,
  distance: Dialect['distance'],
): string {
  const direction = isDescending ? ' desc nulls last' : '';
  if (field !== 'distance') return `"f_${field}"${direction}`;
  if (radius === undefined) throw new Error('without a circle there is no distance');
  return `${distance(radius)}${direction}`;
}
