import type { IndexPart } from '../open-index.ts';
import type { ProviderIndex, TextAround } from '../types.ts';

const comma = 0x2c;

/**
 * Writes pages whose rows come from two indexes, those of the second one numbered behind the first one's: each run of
 * rows by its own index, byte for byte what one index of both would write.
 */
export function createMixedPageWriter(base: IndexPart, added: IndexPart): ProviderIndex['writePageJson'] {
  const { rowCount } = base.context;
  return (page, around) => {
    const runs = runsOf(page.rows, rowCount);
    if (runs.length === 0) return base.index.writePageJson(page, around);
    const [only] = runs;
    if (runs.length === 1 && only?.isAdded === false) return base.index.writePageJson(page, around);
    const pieces = runs.map(({ start, end, isAdded }) => {
      const rows = page.rows.subarray(start, end);
      const distances = page.distances?.subarray(start, end);
      const part = isAdded ? added : base;
      const own = isAdded ? rows.map((row) => row - rowCount) : rows;
      return part.index.writePageJson(distances === undefined ? { rows: own } : { rows: own, distances });
    });
    return joinArrays(pieces, around ?? { before: '', after: '' });
  };
}

interface Run {
  readonly start: number;
  readonly end: number;
  readonly isAdded: boolean;
}

function runsOf(rows: Uint32Array, rowCount: number): Run[] {
  const runs: Run[] = [];
  let start = 0;
  for (let place = 1; place <= rows.length; place++) {
    const isAdded = (rows[start] as number) >= rowCount;
    if (place < rows.length && (rows[place] as number) >= rowCount === isAdded) continue;
    runs.push({ start, end: place, isAdded });
    start = place;
  }
  return runs;
}

// One array out of several that are not empty: the brackets between two of them become a comma. Its memory is its own,
// since a search thread gives it away.
function joinArrays(arrays: readonly Uint8Array[], { before, after }: TextAround): Uint8Array {
  const bytes = arrays.reduce((sum, array) => sum + array.length - 1, 1);
  const joined = new Uint8Array(before.length + bytes + after.length);
  let position = putAscii(joined, before, 0);
  for (const array of arrays) {
    joined.set(array, position);
    if (position > before.length) joined[position] = comma;
    position += array.length - 1;
  }
  putAscii(joined, after, position + 1);
  return joined;
}

// Returns where the text ends.
function putAscii(target: Uint8Array, text: string, start: number): number {
  for (let at = 0; at < text.length; at++) target[start + at] = text.charCodeAt(at);
  return start + text.length;
}
