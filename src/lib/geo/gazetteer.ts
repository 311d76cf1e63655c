import { readFileSync } from 'node:fs';
import { brotliDecompressSync } from 'node:zlib';
import { GeoError } from './errors.ts';
import { type GazetteerLine, readGazetteerText } from './gazetteer-file.ts';
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
  /**
   * The center of a city in a two-letter state, any case; St and Saint, Ft and Fort, N and North … are the
   * same.
   */
  findCity(city: string, state: string): GeoPoint | undefined;
  /** Every ZIP code, ascending. */
  zipPlaces(): readonly ZipPlace[];
}

/**
 * Reads a gazetteer: CSV text as described in data/README.md, plain or brotli-compressed. Throws
 * GEO_GAZETTEER_INVALID.
 */
export function createGazetteer(bytes: Uint8Array): Gazetteer {
  const { source, lines } = readGazetteerText(textOf(bytes));
  const zips = collectZips(lines);
  const cities = collectCities(lines);
  return {
    source,
    zipCount: zips.count,
    cityCount: cities.count,
    findZip: (zip) => zips.find(zip.slice(0, 5))?.point,
    findZipPlace: (zip) => zips.find(zip.slice(0, 5)),
    findCity: (city, state) => cities.find(city, state),
    zipPlaces: zips.list,
  };
}

let builtIn: Gazetteer | undefined;

const readBuiltIn = (): Uint8Array => readFileSync(new URL('./data/us-places.csv.br', import.meta.url));

/** The gazetteer that comes with the program; the first call takes a tenth of a second or two. */
export function loadBuiltInGazetteer(): Gazetteer {
  builtIn ??= createGazetteer(readBuiltIn());
  return builtIn;
}

/** What it says about one ZIP code or ZIP+4, and nothing else, for commands that ask once. */
export function loadBuiltInZip(zip: string): Gazetteer {
  const text = textOf(readBuiltIn());
  const start = /^\d{5}/.test(zip) ? text.lastIndexOf(`\nzip,${zip.slice(0, 5)},`) + 1 : 0;
  return createGazetteer(Buffer.from(start === 0 ? noPlace : text.slice(start, text.indexOf('\n', start))));
}

// A gazetteer has a line.
const noPlace = 'city,none,ZZ,0,0';

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

/** The last line of a ZIP code counts. */
function collectZips(lines: readonly GazetteerLine[]) {
  const zipLines = lines.filter((line) => line.kind === 'zip');
  const rowOf = new Int32Array(100_000).fill(-1);
  const [names, states] = [createTextListBuilder(), createTextListBuilder()];
  const [nameOf, stateOf] = [new Uint32Array(zipLines.length), new Uint16Array(zipLines.length)];
  const points = createPoints(zipLines);
  for (const [row, { zip, city, state }] of zipLines.entries()) {
    rowOf[Number(zip)] = row;
    nameOf[row] = names.add(city);
    stateOf[row] = states.add(state);
  }
  const [cityNames, stateNames] = [names.build(), states.build()];
  const read = (zip: string, row: number): ZipPlace => {
    const place = {
      zip,
      city: cityNames.at(nameOf[row] ?? 0),
      state: stateNames.at(stateOf[row] ?? 0),
    };
    const point = points.at(row);
    return Number.isNaN(point.latitude) ? place : { ...place, point };
  };
  const listNumbers = (): number[] => [...rowOf.keys()].filter((number) => rowOf[number] !== -1);
  return {
    count: listNumbers().length,
    find(zip: string): ZipPlace | undefined {
      const row = /^\d{5}$/.test(zip) ? (rowOf[Number(zip)] ?? -1) : -1;
      return row < 0 ? undefined : read(zip, row);
    },
    list: (): readonly ZipPlace[] =>
      listNumbers().map((number) => read(String(number).padStart(5, '0'), rowOf[number] ?? 0)),
  };
}

/** The first line of a name wins, so that a file lists the better-known place first. */
function collectCities(lines: readonly GazetteerLine[]) {
  const cityLines = lines.filter((line) => line.kind === 'city');
  const points = createPoints(cityLines);
  const rowsOfState = new Map<string, Map<string, number>>();
  let count = 0;
  for (const [row, { city, state }] of cityLines.entries()) {
    const rows = rowsOfState.get(state) ?? new Map<string, number>();
    rowsOfState.set(state, rows);
    const key = placeKey(city);
    if (rows.has(key)) continue;
    rows.set(key, row);
    count++;
  }
  return {
    count,
    find(city: string, state: string): GeoPoint | undefined {
      const row = rowsOfState.get(state.trim().toUpperCase())?.get(placeKey(city));
      return row === undefined ? undefined : points.at(row);
    },
  };
}

/** Coordinates of all lines in one piece of memory. */
function createPoints(lines: readonly GeoPoint[]) {
  const latitudes = Float64Array.from(lines, ({ latitude }) => latitude);
  const longitudes = Float64Array.from(lines, ({ longitude }) => longitude);
  return {
    at: (row: number): GeoPoint => ({
      latitude: latitudes[row] ?? Number.NaN,
      longitude: longitudes[row] ?? Number.NaN,
    }),
  };
}

/**
 * Texts in one piece of memory, by number. Tens of thousands of strings that live as long as the process
 * would be visited by each garbage collection.
 */
interface TextList {
  at(index: number): string;
}

interface TextListBuilder {
  /** The number of a text; the same text has one number. */
  add(text: string): number;
  build(): TextList;
}

function createTextListBuilder(): TextListBuilder {
  const numbers = new Map<string, number>();
  return {
    add(text) {
      const known = numbers.get(text);
      if (known !== undefined) return known;
      numbers.set(text, numbers.size);
      return numbers.size - 1;
    },
    build() {
      const ends = new Uint32Array(numbers.size);
      const bytes = Buffer.from([...numbers.keys()].join(''), 'utf8');
      let end = 0;
      for (const [text, index] of numbers) ends[index] = end += Buffer.byteLength(text, 'utf8');
      return { at: (index) => bytes.toString('utf8', ends[index - 1] ?? 0, ends[index] ?? 0) };
    },
  };
}
