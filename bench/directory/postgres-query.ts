import type pg from 'pg';
import { foldText } from '../../src/core/index.ts';
import type { ProviderFilter, ProviderQuery, SortKey } from '../../src/lib/provider-index/index.ts';
import { timingOf, type Timing } from './engine.ts';

export interface PostgresTiming extends Timing {
  /** Undefined if it took longer than the limit. */
  readonly totalCount: number | undefined;
}

const limitMs = 20_000;
const metersPerMile = 1609.344;

/** Times count and page together, up to ten times, once if that takes long. */
export async function timeInPostgres(client: pg.Client, query: ProviderQuery): Promise<PostgresTiming> {
  const { count, page } = statementsFor(query);
  const times: number[] = [];
  let totalCount: number | undefined;
  await client.query(`set statement_timeout = ${limitMs}`);
  for (
    let spent = 0;
    times.length < 10 && spent < (times.length < 2 ? 2500 : 1200);
    spent += times.at(-1) ?? 0
  ) {
    const start = performance.now();
    try {
      totalCount = Number((await client.query<{ count: string }>(count)).rows[0]?.count);
      await client.query(page);
    } catch {
      return { totalCount: undefined, p50Ms: limitMs, p95Ms: limitMs, leastMs: limitMs };
    }
    times.push(performance.now() - start);
  }
  // The first run warms the caches.
  return { totalCount, ...timingOf(times.length > 1 ? times.slice(1) : times) };
}

type Circle = NonNullable<ProviderQuery['radius']>;

const centerOf = ({ latitude, longitude }: Circle): string => `ll_to_earth(${latitude}, ${longitude})`;

function within(circle: Circle): string {
  const [center, meters] = [centerOf(circle), circle.miles * metersPerMile];
  return `earth_box(${center}, ${meters}) @> place and earth_distance(${center}, place) <= ${meters}`;
}

/** A query of the index in SQL: one statement for the count, one for the page. */
function statementsFor(query: ProviderQuery): { count: string; page: string } {
  const conditions = query.filters.map(conditionFor);
  if (query.radius !== undefined) conditions.push(within(query.radius));
  const where = conditions.length === 0 ? '' : ` where ${conditions.join(' and ')}`;
  const order = [...sortOf(query).map((key) => orderFor(key, query)), 'id'].join(', ');
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

function like(pattern: string): string {
  return `like ${quote(pattern)}`;
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

function orderFor({ field, isDescending }: SortKey, { radius }: ProviderQuery): string {
  const direction = isDescending ? ' desc nulls last' : '';
  if (field !== 'distance') return `"f_${field}"${direction}`;
  if (radius === undefined) throw new Error('without a circle there is no distance');
  // The straight line between two points orders as the distance does and can be read off the spatial index.
  return `place <-> ${centerOf(radius)}${direction}`;
}
