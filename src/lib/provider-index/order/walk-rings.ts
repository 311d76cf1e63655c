import { hasBit } from '../bits.ts';
import { chordToCell, chordToPoint, isInside, type Circle, type PointMap } from '../points.ts';
import { chordTolerance } from '../unit-sphere.ts';

/** Asks for the rows at certain places of the order by distance. */
export interface RingWalk {
  readonly map: PointMap;
  readonly circle: Circle;
  /** The matching rows; absent if all rows inside the circle match. */
  readonly bits: Uint32Array | undefined;
  /** Matching rows in all. */
  readonly count: number;
  /** Places [from, to) counted from the centre are wanted. */
  readonly from: number;
  readonly to: number;
}

/** A few more rows than wanted: all matching ones between two distances, and how many lie nearer than every one of them. */
export interface RingRows {
  readonly rows: Uint32Array;
  readonly nearer: number;
}

const ringCount = 256;

interface Window {
  readonly lowRing: number;
  readonly highRing: number;
  /** Rows in rings below `lowRing`, or, seen from the edge, above `highRing`. */
  readonly outside: number;
  readonly isFromEdge: boolean;
}

/**
 * Looks at rings round the centre from the nearer end of the order and stops when the page is covered, so that a first
 * page touches few cells however large the circle is. Cells of points are put into rings by their nearest (or, from the
 * edge, farthest) possible point, so that a ring is complete once the walk is past it.
 */
export function walkRings(walk: RingWalk): RingRows {
  const window = findWindow(walk);
  return collect(walk, window);
}

function findWindow(walk: RingWalk): Window {
  const { map, count, from, to } = walk;
  const isFromEdge = count - to < from;
  const cellsOfRing = sortCells(walk, isFromEdge);
  const rowsOfRing = new Float64Array(ringCount);
  const wanted = isFromEdge ? count - from : to;
  const skipped = isFromEdge ? count - to : from;
  let seen = 0;
  let firstRing = -1;
  let outside = 0;
  for (let step = 0; step < ringCount; step++) {
    const ring = isFromEdge ? ringCount - 1 - step : step;
    for (
      let index = cellsOfRing.starts[ring] as number;
      index < (cellsOfRing.starts[ring + 1] as number);
      index++
    ) {
      countCell(walk, cellsOfRing.cells[index] as number, rowsOfRing);
    }
    const before = seen;
    seen += rowsOfRing[ring] as number;
    if (firstRing < 0 && seen > skipped) {
      firstRing = ring;
      outside = before;
    }
    if (seen >= wanted && firstRing >= 0) return windowOf(firstRing, ring, outside, isFromEdge);
  }
  // Only a page of no rows gets here.
  return windowOf(Math.max(0, firstRing), isFromEdge ? 0 : map.cells.length, outside, isFromEdge);
}

function windowOf(firstRing: number, lastRing: number, outside: number, isFromEdge: boolean): Window {
  return {
    lowRing: Math.min(firstRing, lastRing),
    highRing: Math.max(firstRing, lastRing),
    outside,
    isFromEdge,
  };
}

// Cells that touch the circle, by the ring in which they begin as seen from the walk's end.
function sortCells(
  { map, circle }: RingWalk,
  isFromEdge: boolean,
): { cells: Uint32Array; starts: Uint32Array } {
  const cellCount = map.cells.length - 1;
  const rings = new Int32Array(cellCount);
  const starts = new Uint32Array(ringCount + 1);
  for (let cell = 0; cell < cellCount; cell++) {
    const chord = chordToCell(map, circle.center, cell);
    const extent = (map.spheres[cell * 4 + 3] as number) + chordTolerance;
    const isOutside = chord - extent > circle.chord + chordTolerance;
    rings[cell] = isOutside ? -1 : ringOf(circle, isFromEdge ? chord + extent : chord - extent);
    if (!isOutside) starts[(rings[cell] as number) + 1] = (starts[(rings[cell] as number) + 1] as number) + 1;
  }
  for (let ring = 0; ring < ringCount; ring++)
    starts[ring + 1] = (starts[ring + 1] as number) + (starts[ring] as number);
  const cells = new Uint32Array(starts[ringCount] as number);
  const cursors = starts.slice();
  for (let cell = 0; cell < cellCount; cell++) {
    const ring = rings[cell] as number;
    if (ring < 0) continue;
    cells[cursors[ring] as number] = cell;
    cursors[ring] = (cursors[ring] as number) + 1;
  }
  return { cells, starts };
}

function ringOf({ chord }: Circle, value: number): number {
  return Math.max(0, Math.min(ringCount - 1, Math.floor((value / chord) * ringCount)));
}

function countCell(walk: RingWalk, cell: number, rowsOfRing: Float64Array): void {
  const { map, circle } = walk;
  const end = map.cells[cell + 1] as number;
  for (let point = map.cells[cell] as number; point < end; point++) {
    const chord = chordToPoint(map, circle.center, point);
    if (!isInside(map, circle, point, chord)) continue;
    const ring = ringOf(circle, chord);
    rowsOfRing[ring] = (rowsOfRing[ring] as number) + countPoint(walk, point);
  }
}

function countPoint({ map, bits }: RingWalk, point: number): number {
  const start = map.starts[point] as number;
  const end = map.starts[point + 1] as number;
  if (bits === undefined) return end - start;
  let count = 0;
  for (let index = start; index < end; index++) if (hasBit(bits, map.postings[index] as number)) count++;
  return count;
}

// Chords are approximate, so points a little outside the rings come along; the exact order is made of all of them.
function collect(walk: RingWalk, { lowRing, highRing, outside, isFromEdge }: Window): RingRows {
  const { map, circle, bits, count } = walk;
  const low = (lowRing / ringCount) * circle.chord - chordTolerance;
  const high =
    highRing >= ringCount - 1 ? Infinity : ((highRing + 1) / ringCount) * circle.chord + chordTolerance;
  const rows: number[] = [];
  let extra = 0;
  for (let cell = 0; cell + 1 < map.cells.length; cell++) {
    const cellChord = chordToCell(map, circle.center, cell);
    const extent = (map.spheres[cell * 4 + 3] as number) + chordTolerance;
    if (cellChord - extent > Math.min(high, circle.chord + chordTolerance) || cellChord + extent < low)
      continue;
    for (let point = map.cells[cell] as number; point < (map.cells[cell + 1] as number); point++) {
      const chord = chordToPoint(map, circle.center, point);
      if (chord < low || chord > high || !isInside(map, circle, point, chord)) continue;
      const ring = ringOf(circle, chord);
      const before = rows.length;
      for (let index = map.starts[point] as number; index < (map.starts[point + 1] as number); index++) {
        const row = map.postings[index] as number;
        if (bits === undefined || hasBit(bits, row)) rows.push(row);
      }
      if (isFromEdge ? ring > highRing : ring < lowRing) extra += rows.length - before;
    }
  }
  const nearer = isFromEdge ? count - (outside - extra) - rows.length : outside - extra;
  return { rows: Uint32Array.from(rows), nearer };
}
