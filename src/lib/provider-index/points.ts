/** The map: distinct points in spatial order, the rows of each, and cells of neighboring points. */
import { haversineMiles } from '../geo/index.ts';
import type { ArrayReader, CodeArray } from './arrays.ts';
import { selectRanges, type GroupedRows, type Selector } from './selector.ts';
import type { RadiusFilter } from './types.ts';
import { chordOfMiles, chordTolerance, unitVector, type Vector } from './unit-sphere.ts';

export interface PointMap extends GroupedRows {
  /** Rows without coordinates have this as their code. */
  readonly count: number;
  readonly codes: CodeArray;
  readonly postings: Uint32Array;
  readonly latitudes: Float64Array;
  readonly longitudes: Float64Array;
  /** Three coordinates a point. */
  readonly vectors: Float32Array;
  /** First point of each cell, and one more. */
  readonly cells: Uint32Array;
  /** Middle (three coordinates) and largest chord from there, for each cell. */
  readonly spheres: Float64Array;
}

export function openPointMap(arrays: ArrayReader): PointMap {
  const latitudes = arrays.get('point.latitudes', 'f64');
  return {
    count: latitudes.length,
    codes: arrays.getCodes('point.codes'),
    starts: arrays.get('point.starts', 'u32'),
    postings: arrays.get('point.postings', 'u32'),
    latitudes,
    longitudes: arrays.get('point.longitudes', 'f64'),
    vectors: arrays.get('point.vectors', 'f32'),
    cells: arrays.get('point.cells', 'u32'),
    spheres: arrays.get('point.spheres', 'f64'),
  };
}

/** A radius condition made ready: the circle in chords. */
export interface Circle extends RadiusFilter {
  readonly center: Vector;
  readonly chord: number;
}

export function circleOf(radius: RadiusFilter): Circle {
  // A chord below the tolerance means that every point is decided by the exact formula anyway.
  const chord = Math.max(chordTolerance, chordOfMiles(radius.miles));
  return { ...radius, center: unitVector(radius.latitude, radius.longitude), chord };
}

/** Unrounded miles from the center (Decision 0004). */
export function milesToPoint(map: PointMap, { latitude, longitude }: RadiusFilter, point: number): number {
  return haversineMiles(latitude, longitude, map.latitudes[point] as number, map.longitudes[point] as number);
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

export function chordToPoint({ vectors }: PointMap, [x, y, z]: Vector, point: number): number {
  const dx = (vectors[point * 3] as number) - x;
  const dy = (vectors[point * 3 + 1] as number) - y;
  const dz = (vectors[point * 3 + 2] as number) - z;
  return Math.sqrt(dx * dx + dy * dy + dz * dz);
}

export function chordToCell({ spheres }: PointMap, [x, y, z]: Vector, cell: number): number {
  const dx = (spheres[cell * 4] as number) - x;
  const dy = (spheres[cell * 4 + 1] as number) - y;
  const dz = (spheres[cell * 4 + 2] as number) - z;
  return Math.sqrt(dx * dx + dy * dy + dz * dz);
}

/** True if the point is in the circle: by its chord, or exactly if the chord is too close to decide. */
export function isInside(map: PointMap, circle: Circle, point: number, chord: number): boolean {
  if (chord < circle.chord - chordTolerance) return true;
  return chord <= circle.chord + chordTolerance && milesToPoint(map, circle, point) <= circle.miles;
}

/** The rows inside: whole cells where the circle holds them, single points along its edge. */
export function selectCircle(map: PointMap, circle: Circle): Selector {
  const { cells, spheres } = map;
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
  for (let cell = 0; cell + 1 < cells.length; cell++) {
    const chord = chordToCell(map, circle.center, cell);
    const extent = (spheres[cell * 4 + 3] as number) + chordTolerance;
    if (chord - extent > circle.chord) continue;
    const first = cells[cell] as number;
    const stop = cells[cell + 1] as number;
    if (chord + extent < circle.chord) add(first, stop);
    else
      for (let point = first; point < stop; point++)
        if (isInside(map, circle, point, chordToPoint(map, circle.center, point))) add(point, point + 1);
  }
  return selectRanges(map, ranges.subarray(0, end));
}
