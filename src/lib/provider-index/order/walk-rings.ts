import { gatherCodes } from '../arrays.ts';
import { chordToCell, chordToPoint, isInside, milesToPoint, type Circle, type PointMap } from '../points.ts';
import { filterRows, gatherRows, selectGroups, type Selector } from '../selector.ts';
import { chordTolerance } from '../unit-sphere.ts';
import { countByBucket } from './count-rows.ts';

/** Number of matching rows in each ring around a circle's center. */
export interface Rings {
  readonly map: PointMap;
  readonly circle: Circle;
  /** The matching rows; absent if all rows inside the circle match. */
  readonly among: Selector | undefined;
  /** Matching rows inside the circle. */
  readonly count: number;
  readonly rowsOfRing: Uint32Array;
  /** For each point, the number of matching rows at the points before it. */
  readonly before: Uint32Array;
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

/**
 * A few more points than wanted: all between two distances, and how many matching rows are nearer than every
 * one of them.
 */
interface RingPoints {
  readonly points: Uint32Array;
  /** Their matching rows. */
  readonly count: number;
  readonly nearer: number;
}

const ringCount = 1024;

/**
 * Counts the rows of a circle by distance: all of them, or those of a set of `count` rows, whose sums may be
 * known.
 */
export function countRings(
  map: PointMap,
  circle: Circle,
  { bits, count }: { readonly bits?: Uint32Array; readonly count: number },
  sums?: Uint32Array,
): Rings {
  if (bits === undefined) return countBefore(map, circle, map.starts, undefined);
  const among = { kind: 'bits', bits, count } as const;
  if (sums !== undefined) return countBefore(map, circle, sums, among);
  // Buckets are in descending order.
  const counts = countByBucket({ ...map, shift: 0 }, bits, count);
  const before = new Uint32Array(map.count + 1);
  for (let point = 0; point < map.count; point++)
    before[point + 1] = (before[point] as number) + (counts[map.count - point] as number);
  return countBefore(map, circle, before, among);
}

/** The same for the rows that a condition selects, read one by one. */
export function countRingsOf(map: PointMap, circle: Circle, among: Selector): Rings {
  const points = gatherRows(among);
  gatherCodes(map.codes, points, points);
  const before = new Uint32Array(map.count + 2);
  for (let index = 0; index < points.length; index++) {
    const point = points[index] as number;
    before[point + 1] = (before[point + 1] as number) + 1;
  }
  for (let point = 0; point < map.count; point++)
    before[point + 1] = (before[point + 1] as number) + (before[point] as number);
  return countBefore(map, circle, before, among);
}

// A cell of points that is in one ring is counted as a whole.
function countBefore(map: PointMap, circle: Circle, before: Uint32Array, among: Selector | undefined): Rings {
  const { cells, spheres } = map;
  const rowsOfRing = new Uint32Array(ringCount);
  let count = 0;
  const add = (ring: number, first: number, end: number): void => {
    const rows = (before[end] as number) - (before[first] as number);
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
    if (chord + extent < circle.chord - chordTolerance && ringOf(circle, chord + extent) === ring) {
      add(ring, first, end);
      continue;
    }
    for (let point = first; point < end; point++) {
      const pointChord = chordToPoint(map, circle.center, point);
      if (isInside(map, circle, point, pointChord)) add(ringOf(circle, pointChord), point, point + 1);
    }
  }
  return { map, circle, among, count, rowsOfRing, before };
}

/** Matching rows at a point. */
function rowsAt({ before }: Rings, point: number): number {
  return (before[point + 1] as number) - (before[point] as number);
}

function ringOf({ chord }: Circle, value: number): number {
  return Math.max(0, Math.min(ringCount - 1, Math.floor((value / chord) * ringCount)));
}

/** The points of the rings that hold the places [from, to) counted from the center. */
export function collectRings(rings: Rings, from: number, to: number): RingPoints {
  const { rowsOfRing } = rings;
  let lowRing = 0;
  let before = 0;
  while (before + (rowsOfRing[lowRing] as number) <= from) before += rowsOfRing[lowRing++] as number;
  let highRing = lowRing;
  let seen = before + (rowsOfRing[lowRing] as number);
  while (seen < to) seen += rowsOfRing[++highRing] as number;
  return collect(rings, lowRing, highRing, before);
}

// Chords are approximate: points a little outside the rings come along, and the exact order is made of all of
// them.
function collect(rings: Rings, lowRing: number, highRing: number, before: number): RingPoints {
  const { map, circle } = rings;
  const low = (lowRing / ringCount) * circle.chord - chordTolerance;
  const high =
    highRing === ringCount - 1 ? Infinity : ((highRing + 1) / ringCount) * circle.chord + chordTolerance;
  const points: number[] = [];
  let count = 0;
  let nearer = before;
  for (let cell = 0; cell + 1 < map.cells.length; cell++) {
    const cellChord = chordToCell(map, circle.center, cell);
    const extent = (map.spheres[cell * 4 + 3] as number) + chordTolerance;
    if (cellChord - extent > Math.min(high, circle.chord + chordTolerance) || cellChord + extent < low)
      continue;
    for (let point = map.cells[cell] as number; point < (map.cells[cell + 1] as number); point++) {
      const chord = chordToPoint(map, circle.center, point);
      if (chord < low || chord > high || !isInside(map, circle, point, chord)) continue;
      const rows = rowsAt(rings, point);
      if (rows === 0) continue;
      points.push(point);
      count += rows;
      if (ringOf(circle, chord) < lowRing) nearer -= rows;
    }
  }
  return { points: Uint32Array.from(points), count, nearer };
}

/** Points at the same distance, together with the places of their rows. */
export interface PointRun {
  readonly points: Uint32Array;
  /** Matching rows of points before them, and of themselves. */
  readonly before: number;
  readonly count: number;
}

/**
 * The points in order of exact distance, in runs of equal distance: those whose rows are at the places [from,
 * to).
 */
export function runsOfPoints(
  rings: Rings,
  points: Uint32Array,
  isDescending: boolean,
  from: number,
  to: number,
): PointRun[] {
  const { map, circle } = rings;
  const miles = Float64Array.from(points, (point) => milesToPoint(map, circle, point));
  const order = Uint32Array.from(points, (_, at) => at);
  const sign = isDescending ? -1 : 1;
  order.sort((a, b) => sign * ((miles[a] as number) - (miles[b] as number)));
  const runs: PointRun[] = [];
  let before = 0;
  for (let start = 0, end = 0; start < order.length && before < to; start = end) {
    let count = 0;
    for (; end < order.length && miles[order[end] as number] === miles[order[start] as number]; end++)
      count += rowsAt(rings, points[order[end] as number] as number);
    if (before + count > from)
      runs.push({
        points: order
          .slice(start, end)
          .map((at) => points[at] as number)
          .sort(),
        before,
        count,
      });
    before += count;
  }
  return runs;
}

/** The matching rows of a run, those of a point by id. */
export function rowsOfRun({ map, among }: Rings, { points }: PointRun, rowCount: number): Uint32Array {
  const rows = gatherRows(selectGroups(map, points));
  return among === undefined ? rows : rows.subarray(0, filterRows(among, rows, rows.length, rowCount));
}
