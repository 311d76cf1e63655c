import { textFields } from '../../../lib/provider-record/index.ts';
import { hasNpiCheckDigit, isPlainDirectAddress, stateCodes, type Npi } from '../../../lib/values/index.ts';
import { maxFieldLength } from '../limits.ts';
import type { PlainRow } from './csv-reader.ts';
import type { PlaceOfZip, PlaceTable } from './place-table.ts';
import { readDegrees } from './read-degrees.ts';

/** Column numbers of a plain table for the fields of a record, -1 for missing columns. */
export interface PlainColumns {
  /** In the order of `textFields`. */
  readonly texts: readonly number[];
  readonly latitude: number;
  readonly longitude: number;
  readonly key: number;
  /** Rows that have anything in one of these are left to the checker. */
  readonly others: readonly number[];
}

/**
 * Writes the lines of rows in which there is nothing to refuse, to repair or to warn about, which nearly all rows of a
 * good file are, without making texts of their bytes. Every other row is left to the row checker, whose line and key for
 * the same row would be the same.
 */
export interface OrdinaryRows {
  /** Writes the row's line into `target` from `start` on; returns where it ends, or -1 if the checker has to see the row. */
  write(row: PlainRow, target: Buffer, start: number): number;
  /** Writes the key of the row last written into `target` from its beginning; returns where it ends. */
  writeKey(row: PlainRow, target: Uint8Array): number;
  /** The same for the key that the row would have without one in its file: Direct address and NPI. */
  writePairKey(row: PlainRow, target: Uint8Array): number;
}

/** A line is at most so much longer than its row: it has all columns, and coordinates. */
export const lineOverhead = 256;

const positionOf = (field: (typeof textFields)[number]): number => textFields.indexOf(field);
const checkedFields = {
  npi: positionOf('npi'),
  directAddress: positionOf('directAddress'),
  phone: positionOf('phone'),
  state: positionOf('state'),
  zip: positionOf('zip'),
} as const;

/** `keyPrefix` comes before the keys of the file. */
export function createOrdinaryRows(
  columns: PlainColumns,
  places: PlaceTable,
  keyPrefix = 'k\t',
): OrdinaryRows {
  const prefix = Buffer.from(keyPrefix);
  // First and end byte of each text, without spaces around it.
  const texts = new Uint32Array(textFields.length * 2);

  function trimAll({ bytes, spans }: PlainRow): boolean {
    for (let index = 0; index < textFields.length; index++) {
      const column = columns.texts[index] as number;
      let start = 0;
      let end = 0;
      if (column >= 0) {
        start = spans[column * 2] as number;
        end = spans[column * 2 + 1] as number;
        while (start < end && bytes[start] === space) start++;
        while (start < end && bytes[end - 1] === space) end--;
        if (end - start > maxFieldLength) return false;
      }
      texts[index * 2] = start;
      texts[index * 2 + 1] = end;
    }
    return true;
  }

  const startOf = (field: number): number => texts[field * 2] as number;
  const endOf = (field: number): number => texts[field * 2 + 1] as number;

  function isOrdinary({ bytes, spans }: PlainRow): boolean {
    const { npi, directAddress, phone } = checkedFields;
    for (const column of columns.others) if (lengthOf(spans, column) > 0) return false;
    return (
      isPlainDirectAddress(bytes, startOf(directAddress), endOf(directAddress)) &&
      isOrdinaryNpi(bytes, startOf(npi), endOf(npi)) &&
      isOrdinaryPhone(bytes, startOf(phone), endOf(phone))
    );
  }

  /** The place of a row whose ZIP code is known and is in its state. */
  function findPlace({ bytes }: PlainRow): PlaceOfZip | undefined {
    const { state, zip } = checkedFields;
    const number = readZip(bytes, startOf(zip), endOf(zip));
    const place = number < 0 ? undefined : places.findZipNumber(number);
    if (place === undefined) return undefined;
    const start = startOf(state);
    const length = endOf(state) - start;
    if (length === 0) return place;
    if (length !== 2) return undefined;
    const code = codes.get(((bytes[start] as number) << 8) | (bytes[start + 1] as number));
    return code !== undefined && (place.state === '' || place.state === code) ? place : undefined;
  }

  function writePairKey({ bytes }: PlainRow, target: Uint8Array): number {
    let at = 2;
    target[0] = 0x61;
    target[1] = tab;
    const { npi, directAddress } = checkedFields;
    for (let from = startOf(directAddress); from < endOf(directAddress); from++)
      target[at++] = lowerCase[bytes[from] as number] as number;
    target[at++] = tab;
    for (let from = startOf(npi); from < endOf(npi); from++) target[at++] = bytes[from] as number;
    return at;
  }

  return {
    writePairKey,
    write(row, target, start) {
      if (!trimAll(row) || !isOrdinary(row)) return -1;
      const { bytes, spans } = row;
      const place = findPlace(row);
      if (place === undefined) return -1;
      const hasCoordinates = lengthOf(spans, columns.latitude) + lengthOf(spans, columns.longitude) > 0;
      let at = start;
      for (let index = 0; index < texts.length; index += 2) {
        const end = texts[index + 1] as number;
        for (let from = texts[index] as number; from < end; from++) target[at++] = bytes[from] as number;
        target[at++] = tab;
      }
      if (hasCoordinates) return writeCoordinates(row, columns, target, at);
      const { coordinateBytes } = place;
      if (coordinateBytes === undefined) return -1;
      for (let from = 0; from < coordinateBytes.length; from++)
        target[at++] = coordinateBytes[from] as number;
      return at;
    },
    writeKey(row, target) {
      const { bytes, spans } = row;
      if (lengthOf(spans, columns.key) > 0) {
        let start = spans[columns.key * 2] as number;
        let end = spans[columns.key * 2 + 1] as number;
        while (start < end && bytes[start] === space) start++;
        while (start < end && bytes[end - 1] === space) end--;
        if (end > start) {
          let at = prefix.length;
          target.set(prefix);
          for (let from = start; from < end; from++) target[at++] = bytes[from] as number;
          return at;
        }
      }
      return writePairKey(row, target);
    },
  };
}

const space = 0x20;
const tab = 0x09;
const lowerCase = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte,
);

// State codes by their two letters as one number.
const codes = new Map([...stateCodes].map((code) => [(code.charCodeAt(0) << 8) | code.charCodeAt(1), code]));

function lengthOf(spans: Uint32Array, column: number): number {
  return column < 0 ? 0 : (spans[column * 2 + 1] as number) - (spans[column * 2] as number);
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

// True if there are so many digits from `from` on, before `to`.
function hasDigits(bytes: Uint8Array, from: number, count: number, to: number): boolean {
  if (from + count > to) return false;
  for (let at = from; at < from + count; at++) if (!isDigit(bytes[at])) return false;
  return true;
}

function isOrdinaryNpi(bytes: Buffer, from: number, to: number): boolean {
  if (from === to) return true;
  return (
    to - from === 10 &&
    hasDigits(bytes, from, 10, to) &&
    hasNpiCheckDigit(bytes.toString('latin1', from, to) as Npi)
  );
}

// Without an extension; the country code may be there.
function isOrdinaryPhone(bytes: Uint8Array, from: number, to: number): boolean {
  if (from === to) return true;
  let at = from;
  if (bytes[at] === 0x2b) at++;
  if (bytes[at] === 0x31) at = skipSeparator(bytes, at + 1);
  else if (at > from) return false;
  if (bytes[at] === 0x28) {
    if (!hasDigits(bytes, at + 1, 3, to) || bytes[at + 4] !== 0x29) return false;
    at += bytes[at + 5] === space ? 6 : 5;
  } else {
    if (!hasDigits(bytes, at, 3, to)) return false;
    at = skipSeparator(bytes, at + 3);
  }
  if (!hasDigits(bytes, at, 3, to)) return false;
  at = skipSeparator(bytes, at + 3);
  return at + 4 === to && hasDigits(bytes, at, 4, to);
}

function skipSeparator(bytes: Uint8Array, at: number): number {
  const byte = bytes[at];
  return byte === 0x2d || byte === 0x2e || byte === space ? at + 1 : at;
}

// The five digits of `#####` or `#####-####` as a number, else -1.
function readZip(bytes: Uint8Array, from: number, to: number): number {
  const isLong = to - from === 10 && bytes[from + 5] === 0x2d && hasDigits(bytes, from + 6, 4, to);
  if (!isLong && to - from !== 5) return -1;
  let number = 0;
  for (let at = from; at < from + 5; at++) {
    if (!isDigit(bytes[at])) return -1;
    number = number * 10 + (bytes[at] as number) - 0x30;
  }
  return number;
}

// Those of the row, as the checker writes them; -1 if it has to see them.
function writeCoordinates(
  { bytes, spans }: PlainRow,
  columns: PlainColumns,
  target: Buffer,
  start: number,
): number {
  const latitude = degreesOf(bytes, spans, columns.latitude, 90);
  const longitude = degreesOf(bytes, spans, columns.longitude, 180);
  if (latitude === undefined || longitude === undefined || (latitude === 0 && longitude === 0)) return -1;
  return start + target.write(`${latitude}\t${longitude}`, start, 'latin1');
}

function degreesOf(bytes: Buffer, spans: Uint32Array, column: number, most: number): number | undefined {
  if (column < 0) return undefined;
  return readDegrees(bytes.toString('latin1', spans[column * 2], spans[column * 2 + 1]), most);
}
