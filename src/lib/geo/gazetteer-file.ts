import { GeoError } from './errors.ts';

/**
 * One line of a gazetteer file, for example `zip,78701,30.2713,-97.7426,Austin,TX` or
 * `city,Austin,TX,30.2672,-97.7431`.
 */
export type GazetteerLine =
  | {
      readonly kind: 'zip';
      readonly zip: string;
      readonly latitude: number;
      readonly longitude: number;
      readonly city: string;
      readonly state: string;
    }
  | {
      readonly kind: 'city';
      readonly city: string;
      readonly state: string;
      readonly latitude: number;
      readonly longitude: number;
    };

/**
 * Reads the file format of data/README.md; `source` is the text of its comment lines. NaN coordinates mean
 * "no point".
 */
export function readGazetteerText(text: string): { source: string; lines: GazetteerLine[] } {
  const comments: string[] = [];
  const lines: GazetteerLine[] = [];
  let lineNumber = 0;
  for (const line of text.split('\n')) {
    lineNumber++;
    const trimmed = line.trim();
    if (trimmed.startsWith('#')) comments.push(trimmed.slice(1).trim());
    else if (trimmed !== '') lines.push(readLine(trimmed.split(','), lineNumber));
  }
  if (lines.length === 0) throw new GeoError('GEO_GAZETTEER_INVALID', 'The gazetteer holds no places.');
  return { source: comments.join(' '), lines };
}

function readLine(cells: readonly string[], lineNumber: number): GazetteerLine {
  const [kind, ...rest] = cells;
  if (kind === 'zip' && rest.length === 5) return readZip(rest, lineNumber);
  if (kind === 'city' && rest.length === 4) return readCity(rest, lineNumber);
  throw faulty(lineNumber, 'it is neither a zip line of 6 cells nor a city line of 5 cells');
}

function readZip(cells: readonly string[], lineNumber: number): GazetteerLine {
  const [zip = '', latitude = '', longitude = '', city = '', state = ''] = cells;
  if (!/^\d{5}$/.test(zip)) throw faulty(lineNumber, 'the ZIP code is not five digits');
  if (!/^([A-Z]{2})?$/.test(state)) throw faulty(lineNumber, 'the state is not two capital letters');
  const hasPoint = latitude !== '' || longitude !== '';
  return {
    kind: 'zip',
    zip,
    latitude: hasPoint ? readDegrees(latitude, 90, lineNumber) : Number.NaN,
    longitude: hasPoint ? readDegrees(longitude, 180, lineNumber) : Number.NaN,
    city,
    state,
  };
}

function readCity(cells: readonly string[], lineNumber: number): GazetteerLine {
  const [city = '', state = '', latitude = '', longitude = ''] = cells;
  if (city === '' || !/^[A-Z]{2}$/.test(state)) throw faulty(lineNumber, 'the city or the state is missing');
  return {
    kind: 'city',
    city,
    state,
    latitude: readDegrees(latitude, 90, lineNumber),
    longitude: readDegrees(longitude, 180, lineNumber),
  };
}

function readDegrees(text: string, limit: number, lineNumber: number): number {
  const degrees = /^-?\d{1,3}(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (!(Math.abs(degrees) <= limit)) throw faulty(lineNumber, 'a coordinate is not decimal degrees');
  return degrees;
}

function faulty(lineNumber: number, reason: string): GeoError {
  return new GeoError('GEO_GAZETTEER_INVALID', `Line ${lineNumber} of the gazetteer: ${reason}.`);
}
