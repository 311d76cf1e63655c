import { hasBit } from '../bits.ts';
import { chordToCell, chordToPoint, isInside, type Circle, type PointMap } from '../points.ts';
import { chordTolerance } from '../unit-sphere.ts';
import { countByBucket } from './count-rows.ts';

/** Number of matching rows in each ring around a circle's center. */
export interface Rings {
  readonly map: PointMap;
  readonly circle: Circle;
  /** The matching rows; absent if all rows inside the circle match. */
  readonly bits: Uint32Array | undefined;
  /** Matching rows inside the circle. */
  readonly count: number;
  readonly rowsOfRing: Uint32Array;
}

/** For each point, the number of rows of the set at the points before it. */
export function sumByPoint(map: PointMap, bits: Uint32Array): Uint32Array {
  const sums = new Uint32Array(map.count + 1);
  for (let word = 0; word < bits.length; word++)
    for (let left = bits[word] as number; left !== 0; left &= left - 1) {
      const point = map.codes[(word << 5) + 31 - Math.clz32(left & -left)] as number;
      if (point < map.count) sums[point + 1] = (sums[point + 1] as number) + 1;
    }
  for (let point = 0; point < map.count; point++)
    sums[point + 1] = (sums[point + 1] as number) + (sums[point] as number);
  return sums;
}

/** A few more rows than wanted: all matching ones between two distances, and how many are nearer than every one of them. */
export interface RingRows {
  readonly rows: Uint32Array;
  readonly nearer: number;
}

const ringCount = 1024;

/**
 * Counts the rows of a circle by distance: all of them, or those of a set of `count` rows. Without a set, or with its sums, a
 * cell of points that is in one ring is counted as a whole.
 */
export function countRings(
  map: PointMap,
  circle: Circle,
  { bits, count: matching }: { readonly bits?: Uint32Array; readonly count: number },
  sums?: Uint32Array,
): Rings {
  const { cells, spheres, starts } = map;
  const rowsOfRing = new Uint32Array(ringCount);
  const rowsOfPoint =
    sums === undefined ? bits && countByBucket({ ...map, shift: 0 }, bits, matching) : undefined;
  const before = sums ?? starts;
  let count = 0;
  const add = (ring: number, first: number, end: number): void => {
    const rows = rowsOfPoint
      ? (rowsOfPoint[map.count - first] as number)
      : (before[end] as number) - (before[first] as number);
    rowsOfRing[ring] = (rowsOfRing[ring] as number) + rows;
    count += rows;
  };
  for (let cell = 0; cell + 1 < cells.length; cell++) {
    const chord = chordToCell(map, circle.center, cell);
    const extent = (spheres[cell * 4 + 3] as number) + chordTolerance;
    if (chord - extent > circle.chord + chordTolerance) continue;
    const first = cells[cell] as number;
    const end = cells[cell + 1] as number;
    const ring = ringOf(circle, chord - extent);
    const isInRing =
      chord + extent < circle.chord - chordTolerance && ringOf(circle, chord + extent) === ring;
    if (isInRing && rowsOfPoint === undefined) {
      add(ring, first, end);
      continue;
    }
    for (let point = first; point < end; point++) {
      const pointChord = chordToPoint(map, circle.center, point);
      if (isInside(map, circle, point, pointChord)) add(ringOf(circle, pointChord), point, point + 1);
    }
  }
  return { map, circle, bits, count, rowsOfRing };
}

function ringOf({ chord }: Circle, value: number): number {
  return Math.max(0, Math.min(ringCount - 1, Math.floor((value / chord) * ringCount)));
}

/** The rows of the rings that hold the places [from, to) counted from the center. */
export function collectRings(rings: Rings, from: number, to: number): RingRows {
  const { rowsOfRing } = rings;
  let lowRing = 0;
  let before = 0;
  while (before + (rowsOfRing[lowRing] as number) <= from) before += rowsOfRing[lowRing++] as number;
  let highRing = lowRing;
  let seen = before + (rowsOfRing[lowRing] as number);
  while (seen < to) seen += rowsOfRing[++highRing] as number;
  return collect(rings, lowRing, highRing, before);
}

// Chords are approximate: points a little outside the rings come along, and the exact order is made of all of them.
function collect({ map, circle, bits }: Rings, lowRing: number, highRing: number, before: number): RingRows {
  const low = (lowRing / ringCount) * circle.chord - chordTolerance;
  const high =
    highRing === ringCount - 1 ? Infinity : ((highRing + 1) / ringCount) * circle.chord + chordTolerance;
  const rows: number[] = [];
  let nearer = before;
  for (let cell = 0; cell + 1 < map.cells.length; cell++) {
    const cellChord = chordToCell(map, circle.center, cell);
    const extent = (map.spheres[cell * 4 + 3] as number) + chordTolerance;
    if (cellChord - extent > Math.min(high, circle.chord + chordTolerance) || cellChord + extent < low)
      continue;
    for (let point = map.cells[cell] as number; point < (map.cells[cell + 1] as number); point++) {
      const chord = chordToPoint(map, circle.center, point);
      if (chord < low || chord > high || !isInside(map, circle, point, chord)) continue;
      const size = rows.length;
      for (let index = map.starts[point] as number; index < (map.starts[point + 1] as number); index++) {
        const row = map.postings[index] as number;
        if (bits === undefined || hasBit(bits, row)) rows.push(row);
      }
      if (ringOf(circle, chord) < lowRing) nearer -= rows.length - size;
    }
  }
  return { rows: Uint32Array.from(rows), nearer };
}
