/** Great-circle distance and how it is shown (Decision 0004). */

/** Mean radius of the earth (DIR-07). */
export const earthRadiusMiles = 3958.7613;

const radiansPerDegree = Math.PI / 180;

interface Point {
  readonly latitude: number;
  readonly longitude: number;
}

/**
 * Great-circle miles between two points in decimal degrees, by the haversine formula; also across the
 * antimeridian.
 */
export function distanceMiles(from: Point, to: Point): number {
  return haversineMiles(from.latitude, from.longitude, to.latitude, to.longitude);
}

/** The same without objects, for loops over many points. Both functions give the very same number. */
export function haversineMiles(
  fromLatitude: number,
  fromLongitude: number,
  toLatitude: number,
  toLongitude: number,
): number {
  const sinLatitude = Math.sin(((toLatitude - fromLatitude) * radiansPerDegree) / 2);
  const sinLongitude = Math.sin(((toLongitude - fromLongitude) * radiansPerDegree) / 2);
  const cosines = Math.cos(fromLatitude * radiansPerDegree) * Math.cos(toLatitude * radiansPerDegree);
  const haversine = sinLatitude * sinLatitude + cosines * sinLongitude * sinLongitude;
  return 2 * earthRadiusMiles * Math.asin(Math.sqrt(Math.min(1, haversine)));
}

// A distance that is a whole number of hundredths up to floating-point noise is shown as that number: 12.30,
// not 12.31.
const noiseHundredths = 1e-6;

/** Rounds up to two decimals, as `distance` is shown (Directory spec: Provider record). */
export function roundUpMiles(miles: number): number {
  return Math.max(0, Math.ceil(miles * 100 - noiseHundredths)) / 100;
}
