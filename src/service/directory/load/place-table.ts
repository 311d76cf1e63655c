import { distanceMiles, type Gazetteer, type GeoPoint } from '../../../lib/geo/index.ts';

export interface PlaceOfZip {
  readonly state: string;
  /** Latitude and longitude as a block stores them; undefined for a ZIP code without a point. */
  readonly coordinates: string | undefined;
}

/**
 * The gazetteer prepared for millions of lookups: by number instead of by text, with coordinates already
 * formatted.
 */
export interface PlaceTable {
  /** `#####` or `#####-####`. */
  findZip(zip: string): PlaceOfZip | undefined;
  findCity(city: string, state: string): string | undefined;
  /** True for a known city of the ZIP code's own state that lies too far from it to have it. */
  isFar(zip: string, city: string): boolean;
}

/** Farther from its city than any ZIP code of the gazetteer is from the city that it names. */
const farMiles = 60;
export function createPlaceTable(gazetteer: Gazetteer): PlaceTable {
  const byNumber: (PlaceOfZip | null | undefined)[] = Array.from({ length: 100_000 });
  const lookUp = (zip: string): PlaceOfZip | null => {
    const place = gazetteer.findZipPlace(zip);
    if (place === undefined) return null;
    return { state: place.state, coordinates: format(place.point) };
  };
  const findZipNumber = (number: number): PlaceOfZip | undefined => {
    let place = byNumber[number];
    // Null means that the ZIP code is not in the gazetteer.
    if (place === undefined) byNumber[number] = place = lookUp(String(number).padStart(5, '0'));
    return place ?? undefined;
  };
  // The city found near each ZIP code last: nearly all rows of a ZIP code name the same one.
  const nearCity: (string | undefined)[] = Array.from({ length: 100_000 });
  const isFarFrom = (zip: string, city: string): boolean => {
    const place = gazetteer.findZipPlace(zip.slice(0, 5));
    const center = place && gazetteer.findCity(city, place.state);
    return (
      place?.point !== undefined && center !== undefined && distanceMiles(place.point, center) > farMiles
    );
  };
  return {
    isFar(zip, city) {
      const number = numberOf(zip);
      if (city === '' || nearCity[number] === city) return false;
      if (isFarFrom(zip, city)) return true;
      nearCity[number] = city;
      return false;
    },
    findZip: (zip) => findZipNumber(numberOf(zip)),
    findCity: (city, state) =>
      city === '' || state === '' ? undefined : format(gazetteer.findCity(city, state)),
  };
}

function numberOf(zip: string): number {
  let number = 0;
  for (let index = 0; index < 5; index++) number = number * 10 + (zip.charCodeAt(index) - 48);
  return number;
}

function format(point: GeoPoint | undefined): string | undefined {
  return point === undefined ? undefined : `${point.latitude}\t${point.longitude}`;
}
