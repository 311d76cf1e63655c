import type { SubIndex } from '../open-index.ts';
import type { ProviderIndex } from '../types.ts';

const comma = Buffer.from(',');

/**
 * Writes records whose rows come from two indexes, those of the second one numbered behind the first one's: each run of
 * rows by its own index, byte for byte what one index of both would write.
 */
export function createMixedWriter(base: SubIndex, added: SubIndex): ProviderIndex['writeRecords'] {
  const { rowCount } = base.context;
  return ({ rows, distances }, format) => {
    const pieces = runsOf(rows, rowCount).map(({ start, end, isAdded }) => {
      const run = rows.subarray(start, end);
      const page = {
        rows: isAdded ? run.map((row) => row - rowCount) : run,
        ...(distances && { distances: distances.subarray(start, end) }),
      };
      return (isAdded ? added : base).index.writeRecords(page, format);
    });
    const [only] = pieces;
    if (only !== undefined && pieces.length === 1) return only;
    return Buffer.concat(pieces.flatMap((piece, at) => (at === 0 ? [piece] : [comma, piece])));
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
