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
  // A Map lists its entries in the order of insertion: whoever is asked for again is inserted anew.
  const results = new Map<string, Entry>();
  let bytes = 0;

  function drop(key: string, { result, size }: Entry): void {
    results.delete(key);
    bytes -= size;
    if (result.matches.bits !== undefined) pool.giveBack(result.matches.bits);
  }

  function insert(key: string, result: FoundResult): void {
    const size = sizeOf(result);
    results.set(key, { result, size });
    bytes += size;
    for (const [oldestKey, oldest] of results) {
      if (bytes <= maxBytes) return;
      drop(oldestKey, oldest);
    }
  }

  return {
    obtain(query, find) {
      const key = resultKey(query);
      const known = results.get(key);
      const result = known?.result ?? find();
      if (known === undefined) {
        if (result.matches.bits !== undefined) pool.keep(result.matches.bits);
      } else {
        results.delete(key);
        bytes -= known.size;
      }
      result.pagesAsked++;
      insert(key, result);
      return result;
    },
  };
}

interface Entry {
  readonly result: FoundResult;
  /** As of the last time that it was asked for: what is filled in afterwards counts from the next time on. */
  readonly size: number;
}

function sizeOf({ matches, arranged }: FoundResult): number {
  return (
    entryOverhead +
    (matches.bits?.byteLength ?? 0) +
    (matches.rows?.byteLength ?? 0) +
    (arranged === undefined ? 0 : arranged.rows.byteLength + arranged.starts.byteLength)
  );
}
