/**
 * Points as unit vectors: a straight line between two of them, the chord, grows with their distance on the
 * sphere and obeys the triangle inequality, so that cells are bounded without trigonometry and
 * without caring about poles or the antimeridian.
 */
import { earthRadiusMiles } from '../geo/index.ts';

const radiansPerDegree = Math.PI / 180;

/**
 * Chords are computed from 32-bit coordinates and may be wrong by some 1e-7; whatever lies closer than this
 * to a limit is decided by the exact great-circle formula. In miles about 0.004.
 */
export const chordTolerance = 1e-6;

export type Vector = readonly [x: number, y: number, z: number];

export function unitVector(latitude: number, longitude: number): Vector {
  const radius = Math.cos(latitude * radiansPerDegree);
  return [
    radius * Math.cos(longitude * radiansPerDegree),
    radius * Math.sin(longitude * radiansPerDegree),
    Math.sin(latitude * radiansPerDegree),
  ];
}

/** The chord that spans so many miles; at most 2, the diameter. */
export function chordOfMiles(miles: number): number {
  return 2 * Math.sin(Math.min(miles / (2 * earthRadiusMiles), Math.PI / 2));
}
