import { findDirectAddress, hasNpiCheckDigit, stateCodes, stateNames, type Npi } from '../../../lib/values/index.ts';
import { textFields, type TextField } from '../../../lib/provider-index/index.ts';
import type { Gazetteer, GeoPoint, ZipPlace } from '../../../lib/geo/index.ts';
import { maxFieldLength } from '../limits.ts';
import type { RefusalReason, RowDraft, WarningReason } from './row.ts';

/** A row that may be loaded. */
export interface CheckedRow {
  /** The text that identifies the record: the file's key, else lower-cased Direct address and NPI. */
  readonly key: string;
  /** The record as a block stores it (see block.ts). */
  readonly line: string;
}

export interface RowChecker {
  /** The checked row, or why it is refused. Warnings go to `warn` as they are found. */
  check(draft: RowDraft): CheckedRow | RefusalReason;
  /** The key of a row that is to be removed; such a row needs nothing else. */
  keyOf(draft: RowDraft): string;
}

type Warn = (reason: WarningReason, line: number) => void;

const position = Object.fromEntries(textFields.map((field, index) => [field, index])) as Record<TextField, number>;
// oxlint-disable-next-line no-control-regex
const controls = /[\u0000-\u001f\u007f]+/g;
// oxlint-disable-next-line no-control-regex
const beyondPlainText = /[^\u0020-\u007e]/;
const tenDigits = /^[0-9]{10}$/;

const codeOfName = new Map([...stateNames].map(([code, name]) => [name.toUpperCase(), code]));

/**
 * Checks rows one by one (Decision 0008): refuses what must not be served, repairs what has one reading, and warns
 * about the rest. A record without coordinates gets those of its ZIP code, else those of its city.
 */
export function createRowChecker(gazetteer: Gazetteer, warn: Warn): RowChecker {
  return {
    check: (draft) => checkRow(draft, gazetteer, warn),
    keyOf: findKey,
  };
}

function checkRow(draft: RowDraft, gazetteer: Gazetteer, warn: Warn): CheckedRow | RefusalReason {
  if (draft.isPatient) return 'patient_address';
  const { texts, isPlain } = cleanTexts(draft.texts);
  const refusal = findRefusal(texts, isPlain);
  if (refusal !== undefined) return refusal;
  const key = findKey(draft);
  const npi = texts[position.npi] ?? '';
  if (npi !== '' && !hasNpiCheckDigit(npi as Npi)) warn('npi_check_digit', draft.line);
  if (!isPlain) warn('not_ascii', draft.line);
  if (!isUsualPhone(texts[position.phone] ?? '')) warn('phone_form', draft.line);
  const state = checkState(texts[position.state] ?? '', draft.line, warn);
  const zip = checkZip(texts[position.zip] ?? '', draft.line, warn);
  const place = zip === '' ? undefined : gazetteer.findZipPlace(zip);
  if (zip !== '') checkPlace(place, state, draft.line, warn);
  const point = readPoint(draft, warn) ?? place?.point ?? findCity(texts[position.city] ?? '', state, gazetteer);
  if (point === undefined) warn('coordinates_missing', draft.line);
  texts[position.state] = state;
  texts[position.zip] = zip;
  const line = texts.join('\t');
  return { key, line: point === undefined ? `${line}\t\t` : `${line}\t${point.latitude}\t${point.longitude}` };
}

/**
 * Blanks inside a value count, those round it do not; a control character counts as a blank. Nearly all rows are plain
 * ASCII, which one test over the whole row tells.
 */
function cleanTexts(raw: readonly string[]): { texts: string[]; isPlain: boolean } {
  const texts: string[] = [];
  if (!beyondPlainText.test(raw.join(' '))) {
    for (const text of raw) texts.push(text.trim());
    return { texts, isPlain: true };
  }
  for (const text of raw) texts.push(text.replace(controls, ' ').trim());
  return { texts, isPlain: !texts.some((text) => beyondPlainText.test(text)) };
}

function findRefusal(texts: readonly string[], isPlain: boolean): RefusalReason | undefined {
  const address = texts[position.directAddress] ?? '';
  const npi = texts[position.npi] ?? '';
  for (const text of texts) if (text.length > maxFieldLength) return 'too_long';
  if (!isPlain && texts.some((text) => text.includes('\ufffd'))) return 'not_utf8';
  if (address === '') return 'direct_address_missing';
  if (findDirectAddress(address) === undefined) return 'direct_address_invalid';
  return npi === '' || tenDigits.test(npi) ? undefined : 'npi_invalid';
}

// The two kinds of key live in different name spaces, so that a file's key never meets another row's address.
function findKey(draft: RowDraft): string {
  const key = draft.key.trim();
  if (key !== '') return `k\t${key}`;
  return defaultKey((draft.texts[position.directAddress] ?? '').trim(), (draft.texts[position.npi] ?? '').trim());
}

/** The key of a record whose source has no keys of its own. */
export function defaultKey(directAddress: string, npi: string): string {
  return `a\t${directAddress.toLowerCase()}\t${npi}`;
}

const usualPhone = /^(?:\+?1[-. ]?)?(?:\([0-9]{3}\) ?|[0-9]{3}[-. ]?)[0-9]{3}[-. ]?[0-9]{4}(?: *(?:x|ext\.?) *[0-9]+)?$/i;

function isUsualPhone(phone: string): boolean {
  return phone === '' || usualPhone.test(phone);
}

function checkState(text: string, line: number, warn: Warn): string {
  if (text === '' || stateCodes.has(text)) return text;
  const state = text.toUpperCase();
  if (stateCodes.has(state)) return state;
  const code = codeOfName.get(state);
  if (code !== undefined) return code;
  warn('state_unknown', line);
  return state.length === 2 ? state : '';
}

function checkZip(text: string, line: number, warn: Warn): string {
  if (text === '' || usualZip.test(text)) return text;
  const zip = repairZip(text);
  warn(zip === undefined ? 'zip_invalid' : 'zip_repaired', line);
  return zip ?? '';
}

function checkPlace(place: ZipPlace | undefined, state: string, line: number, warn: Warn): void {
  if (place === undefined) warn('zip_unknown', line);
  else if (state !== '' && place.state !== '' && place.state !== state) warn('state_zip_disagree', line);
}

const usualZip = /^[0-9]{5}(?:-[0-9]{4})?$/;

function repairZip(text: string): string | undefined {
  const digits = text.replace(/[\s-]/g, '');
  if (!/^[0-9]{4,9}$/.test(digits)) return undefined;
  if (digits.length === 4) return `0${digits}`;
  if (digits.length === 5) return digits;
  if (digits.length === 8) return `0${digits.slice(0, 4)}-${digits.slice(4)}`;
  return digits.length === 9 ? `${digits.slice(0, 5)}-${digits.slice(5)}` : undefined;
}

function readPoint(draft: RowDraft, warn: Warn): GeoPoint | undefined {
  if (draft.latitude === '' && draft.longitude === '') return undefined;
  const latitude = readDegrees(draft.latitude, 90);
  const longitude = readDegrees(draft.longitude, 180);
  // Nobody practises at 0° N 0° E: it is how many systems write "unknown".
  if (latitude !== undefined && longitude !== undefined && (latitude !== 0 || longitude !== 0)) {
    return { latitude, longitude };
  }
  warn('coordinates_invalid', draft.line);
  return undefined;
}

function readDegrees(text: string, most: number): number | undefined {
  const value = text.trim() === '' ? Number.NaN : Number(text);
  return Math.abs(value) <= most ? value : undefined;
}

function findCity(city: string, state: string, gazetteer: Gazetteer): GeoPoint | undefined {
  return city === '' || state === '' ? undefined : gazetteer.findCity(city, state);
}
