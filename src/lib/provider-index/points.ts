/** The map: distinct points in spatial order, the rows of each, and a tree over them. */
import { haversineMiles } from '../geo/index.ts';
import { Ascending } from './ascending.ts';
import type { ArrayReader, CodeArray } from './arrays.ts';
import { cellShiftOf, openTree, squaredChord, walkShell, type PointTree } from './point-tree.ts';
import { selectRanges, type GroupedRows, type RangeSelector } from './selector.ts';
import type { RadiusFilter } from './types.ts';
import { chordOfMiles, chordTolerance, unitVector, type Vector } from './unit-sphere.ts';

export interface PointMap extends GroupedRows {
  /** Rows without coordinates have this as their code. */
  readonly count: number;
  readonly codes: CodeArray;
  readonly postings: Uint32Array;
  latitudeOf(point: number): number;
  longitudeOf(point: number): number;
  readonly tree: PointTree;
  /** A cell has `1 << cellShift` points. */
  readonly cellShift: number;
}

export function openPointMap(arrays: ArrayReader): PointMap {
  const starts = new Ascending('point.starts', arrays);
  const count = starts.length - 2;
  const codes = arrays.getCodes('point.codes');
  return {
    count,
    codes,
    starts,
    postings: arrays.get('point.postings', 'u32'),
    latitudeOf: openDegrees('point.latitudes', arrays),
    longitudeOf: openDegrees('point.longitudes', arrays),
    tree: openTree(arrays.get('point.vectors', 'f32'), arrays.get('point.spheres', 'f32')),
    cellShift: cellShiftOf(count, codes.length),
  };
}

/** Coordinates are kept as whole numbers of this part of a degree, a centimeter, if all are such numbers. */
export const degreeParts = 1e7;

function openDegrees(name: string, arrays: ArrayReader): (point: number) => number {
  const whole = arrays.find(name, 'i32');
  if (whole !== undefined) return (point) => (whole[point] as number) / degreeParts;
  const degrees = arrays.get(name, 'f64');
  return (point) => degrees[point] as number;
}

/** A radius condition made ready: the circle in chords, and the points inside. */
export interface Circle extends RadiusFilter {
  readonly center: Vector;
  readonly chord: number;
  /** The rows inside, as runs of points. */
  readonly inside: RangeSelector;
}

export function circleOf(map: PointMap, radius: RadiusFilter): Circle {
  // A chord below the tolerance means that every point is decided by the exact formula anyway.
  const chord = Math.max(chordTolerance, chordOfMiles(radius.miles));
  const center = unitVector(radius.latitude, radius.longitude);
  const inside = selectRanges(map, rangesInside(map, { ...radius, center, chord }));
  return { ...radius, center, chord, inside };
}

/** Unrounded miles from the center (Decision 0004). */
export function milesToPoint(map: PointMap, { latitude, longitude }: RadiusFilter, point: number): number {
  return haversineMiles(latitude, longitude, map.latitudeOf(point), map.longitudeOf(point));
}

/** The same for rows, of which most that follow each other are at one point. */
export function milesToRows(map: PointMap, center: RadiusFilter): (row: number) => number {
  const { codes } = map;
  let point = -1;
  let miles = 0;
  return (row) => {
    const own = codes[row] as number;
    if (own !== point) {
      point = own;
      miles = milesToPoint(map, center, own);
    }
    return miles;
  };
}

/** True if the point is in the circle: by its chord, or exactly if the chord is too close to decide. */
export function isInside(
  map: PointMap,
  circle: Omit<Circle, 'inside'>,
  point: number,
  chord: number,
): boolean {
  if (chord < circle.chord - chordTolerance) return true;
  return chord <= circle.chord + chordTolerance && milesToPoint(map, circle, point) <= circle.miles;
}

// Whole nodes where the circle holds them, single points along its edge.
function rangesInside(map: PointMap, circle: Omit<Circle, 'inside'>): Uint32Array {
  const { tree } = map;
  let ranges = new Uint32Array(256);
  let end = 0;
  const add = (first: number, stop: number): void => {
    if (end > 0 && ranges[end - 1] === first) {
      ranges[end - 1] = stop;
      return;
    }
    if (end === ranges.length) {
      const larger = new Uint32Array(end * 2);
      larger.set(ranges);
      ranges = larger;
    }
    ranges[end++] = first;
    ranges[end++] = stop;
  };
  const surely = Math.max(0, circle.chord - chordTolerance) ** 2;
  walkShell(tree, circle.center, -1, circle.chord + chordTolerance, {
    whole: add,
    leaf(first, stop) {
      for (let point = first; point < stop; point++) {
        const square = squaredChord(tree, circle.center, point);
        if (square < surely || isInside(map, circle, point, Math.sqrt(square))) add(point, point + 1);
      }
    },
  });
  return ranges.subarray(0, end);
}
