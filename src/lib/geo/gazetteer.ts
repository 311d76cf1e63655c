export interface GeoPoint {
  readonly latitude: number;
  readonly longitude: number;
}

/** A ZIP code's point and, where known, the city and state that the mail goes to. */
export interface ZipPlace extends GeoPoint {
  readonly city: string;
  readonly state: string;
}

export interface Gazetteer {
  /** Where the data comes from and of what date, one line. */
  readonly source: string;
  readonly zipCount: number;
  /** Five digits, or ZIP+4 whose last four are ignored. Undefined if unknown. */
  findZip(zip: string): ZipPlace | undefined;
  /** City and two-letter state, folded, with the usual abbreviations (St/Saint, Ft/Fort, Mt/Mount). Undefined if unknown. */
  findCity(city: string, state: string): GeoPoint | undefined;
  /** Two-letter states in which a city of that name is known. */
  findStates(city: string): readonly string[];
  /** Every ZIP code in ascending order. */
  zips(): IterableIterator<{ readonly zip: string; readonly place: ZipPlace }>;
}

/** Reads a gazetteer: CSV text as described in data/README.md, plain or brotli-compressed. Throws GEO_GAZETTEER_INVALID. */
export declare function createGazetteer(bytes: Uint8Array): Gazetteer;

/** The gazetteer that comes with the program. */
export declare function loadBuiltInGazetteer(): Gazetteer;
