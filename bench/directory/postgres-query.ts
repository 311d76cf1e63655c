import type pg from 'pg';
import type { ProviderQuery } from '../../src/lib/provider-index/index.ts';
import { statementsFor, type Dialect } from './sql-query.ts';
import { timingOf, type Timing } from './engine.ts';

export interface PostgresTiming extends Timing {
  /** Undefined if it took longer than the limit. */
  readonly totalCount: number | undefined;
}

const limitMs = 20_000;
const metersPerMile = 1609.344;

/** Times count and page together, up to ten times, once if that takes long. */
export async function timeInPostgres(client: pg.Client, query: ProviderQuery): Promise<PostgresTiming> {
  const { count, page } = statementsFor(query, dialect);
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

const dialect: Dialect = {
  within(circle) {
    const [center, meters] = [centerOf(circle), circle.miles * metersPerMile];
    return `earth_box(${center}, ${meters}) @> place and earth_distance(${center}, place) <= ${meters}`;
  },
  // The straight line between two points orders as the distance does and can be read off the spatial index.
  distance: (circle) => `place <-> ${centerOf(circle)}`,
};
