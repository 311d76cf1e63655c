import { createRecentMap } from '../../core/index.ts';
import type { BitsPool, Matches } from './intersect.ts';
import type { ArrangedRows } from './order/arrange-rows.ts';
import type { OrderStep } from './order/row-key.ts';
import type { Circle } from './points.ts';
import { resultKey } from './result-key.ts';
import type { ProviderQuery } from './types.ts';

/** What a query has found, whatever page of it is asked for. */
export interface FoundResult {
  readonly matches: Matches;
  readonly steps: readonly OrderStep[];
  readonly circle: Circle | undefined;
  /** Groups of the first step's column outside which nothing matches. */
  readonly groupRange: readonly [first: number, end: number] | undefined;
  /** Filled in when another page of the same result is asked for. */
  arranged?: ArrangedRows | undefined;
  pagesAsked: number;
}

/** Results of one index in one thread, for the next page of the same search. What was not asked for longest leaves first. */
export interface KeptResults {
  /** The result of an earlier query that differs in nothing but the page, else what `find` returns. */
  obtain(query: ProviderQuery, find: () => FoundResult): FoundResult;
}

// Objects, key and arrays' heads.
const entryOverhead = 2048;

/** Keeps results of about `maxBytes` together. */
export function createKeptResults(maxBytes: number, pool: BitsPool): KeptResults {
  const results = createRecentMap<FoundResult>(maxBytes, ({ matches: { bits } }) => {
    if (bits !== undefined) pool.giveBack(bits);
  });
  return {
    obtain(query, find) {
      const key = resultKey(query);
      const known = results.get(key);
      const result = known ?? find();
      if (known === undefined && result.matches.bits !== undefined) pool.keep(result.matches.bits);
      result.pagesAsked++;
      // Again, because what was filled in meanwhile has made it larger.
      results.set(key, result, sizeOf(result));
      return result;
    },
  };
}

function sizeOf({ matches, arranged }: FoundResult): number {
  return (
    entryOverhead +
    (matches.bits?.byteLength ?? 0) +
    (matches.rows?.byteLength ?? 0) +
    (arranged === undefined ? 0 : arranged.rows.byteLength + arranged.starts.byteLength)
  );
}
