import { LRUCache } from 'lru-cache';
import { wordCount } from '../bits.ts';
import type { BitsPool } from '../intersect.ts';
import type { WordContext } from './context.ts';

/** Sets of the words of some twenty people who are typing. */
const mostSets = 128;
/** In each thread; that many sets of three million rows. */
const mostBytes = 48e6;

/** For an index of so many rows, whose sets are of the pool. */
export function createKnownWords(rowCount: number, pool: BitsPool): WordContext['knownWords'] {
  const setBytes = wordCount(rowCount) * Uint32Array.BYTES_PER_ELEMENT;
  return new LRUCache({
    maxSize: Math.max(1, Math.min(mostSets, Math.floor(mostBytes / setBytes))),
    sizeCalculation: ({ sets }) => sets.length + 1,
    dispose: ({ sets }) => pool.letGo(sets),
  });
}
