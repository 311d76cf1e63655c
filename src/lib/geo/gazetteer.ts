import { readFileSync } from 'node:fs';
import { brotliDecompressSync } from 'node:zlib';
import { GeoError } from './errors.ts';
import { readGazetteerText, type GazetteerLine } from './gazetteer-file.ts';
import { placeKey } from './place-name.ts';

export interface GeoPoint {
  readonly latitude: number;
  readonly longitude: number;
}

/** The city and state that a ZIP code's mail goes to; empty texts where unknown. */
export interface ZipPlace {
  readonly zip: string;
  readonly city: string;
  readonly state: string;
  /** Absent for military ZIP codes whose place is not published. */
  readonly point?: GeoPoint;
}

export interface Gazetteer {
  /** Sources and dates of the data: the comment lines of the file. */
  readonly source: string;
  readonly zipCount: number;
  readonly cityCount: number;
  /** The point of a ZIP code: five digits, or ZIP+4 whose last four are ignored. Undefined if unknown. */
  findZip(zip: string): GeoPoint | undefined;
  /** City and state of a ZIP code, also of those without a point, for quality checks. */
  findZipPlace(zip: string): ZipPlace | undefined;
  /** The centre of a city in a two-letter state, any case; St and Saint, Ft and Fort, Mt and Mount are the same. */
  findCity(city: string, state: string): GeoPoint | undefined;
  /** Every ZIP code, ascending. */
  zipPlaces(): readonly ZipPlace[];
}

/** Reads a gazetteer: CSV text as described in data/README.md, plain or brotli-compressed. Throws GEO_GAZETTEER_INVALID. */
export function createGazetteer(bytes: Uint8Array): Gazetteer {
  const { source, lines } = readGazetteerText(textOf(bytes));
  const zips = collectZips(lines);
  const cities = collectCities(lines);
  return {
    source,
    zipCount: zips.size,
    cityCount: cities.size,
    findZip: (zip) => zips.get(zip.slice(0, 5))?.point,
    findZipPlace: (zip) => zips.get(zip.slice(0, 5)),
    findCity: (city, state) => cities.get(cityKey(city, state)),
    zipPlaces: () => [...zips.values()].sort((a, b) => (a.zip < b.zip ? -1 : 1)),
  };
}

/** The gazetteer that comes with the program; about 50 ms. */
export function loadBuiltInGazetteer(): Gazetteer {
  return createGazetteer(readFileSync(new URL('./data/us-places.csv.br', import.meta.url)));
}

// Every gazetteer text starts with a comment or a kind; brotli data of ours starts with neither.
function textOf(bytes: Uint8Array): string {
  const first = bytes[0];
  const isText = first === 0x23 || first === 0x7a || first === 0x63 || first === 0xef;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(isText ? bytes : brotliDecompressSync(bytes));
  } catch (error) {
    throw new GeoError(
      'GEO_GAZETTEER_INVALID',
      'The gazetteer is neither UTF-8 text nor brotli-compressed text.',
      { cause: error },
    );
  }
}

function collectZips(lines: readonly GazetteerLine[]): Map<string, ZipPlace> {
  const zips = new Map<string, ZipPlace>();
  for (const line of lines) {
    if (line.kind !== 'zip') continue;
    const { zip, city, state, latitude, longitude } = line;
    zips.set(
      zip,
      Number.isNaN(latitude) ? { zip, city, state } : { zip, city, state, point: { latitude, longitude } },
    );
  }
  return zips;
}

// The first line of a name wins, so that a file lists the better-known place first.
function collectCities(lines: readonly GazetteerLine[]): Map<string, GeoPoint> {
  const cities = new Map<string, GeoPoint>();
  for (const line of lines) {
    if (line.kind !== 'city') continue;
    const key = cityKey(line.city, line.state);
    if (!cities.has(key)) cities.set(key, { latitude: line.latitude, longitude: line.longitude });
  }
  return cities;
}

function cityKey(city: string, state: string): string {
  return `${placeKey(city)}|${state.trim().toUpperCase()}`;
}
