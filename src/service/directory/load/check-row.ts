import {
  formatOtherNames,
  readOtherNames,
  textFields,
  type TextField,
} from '../../../lib/provider-record/index.ts';
import {
  findDirectAddress,
  hasNpiCheckDigit,
  stateCodes,
  stateNames,
  type Npi,
} from '../../../lib/values/index.ts';
import { maxFieldLength } from '../limits.ts';
import type { RecordKey } from '../store/provisioned.ts';
import { defaultSource } from '../store/sources.ts';
import { blankNames, cellText, invisible, isRounded, withoutPower } from './blank-values.ts';
import type { PlaceOfZip, PlaceTable } from './place-table.ts';
import { readDegrees } from './read-degrees.ts';
import type { RefusalReason, RowDraft, WarningReason } from './row.ts';

/** A row that may be loaded. */
export interface CheckedRow {
  readonly key: RecordKey;
  /** The same as the key if the file has none. */
  readonly pair: Exclude<RecordKey, string>;
  /** The record as a block stores it (see block.ts). */
  readonly line: string;
}

export interface RowChecker {
  /** The checked row, or why it is refused. Warnings go to `warn` as they are found. */
  check(draft: RowDraft): CheckedRow | RefusalReason;
  /** The key of a row that is to be removed; such a row needs nothing else. */
  keyOf(draft: RowDraft): RecordKey;
}

type Warn = (reason: WarningReason, line: number) => void;

const position = Object.fromEntries(textFields.map((field, index) => [field, index])) as Record<
  TextField,
  number
>;
// oxlint-disable-next-line no-control-regex
const controls = /[\u0000-\u001f\u007f]+/g;

/**
 * Checks rows one by one (Decision 0008): refuses rows that must not be served, repairs values with only one
 * possible reading, and warns about the rest. A record without coordinates gets those of its ZIP code, else
 * those of its city. `keyPrefix` comes before the keys of the file.
 */
export function createRowChecker(places: PlaceTable, warn: Warn, keyPrefix = 'k\t'): RowChecker {
  return {
    check(draft) {
      if (draft.isPatient) return 'patient_address';
      const texts: string[] = [];
      let isAscii = true;
      for (const [field, raw] of draft.texts.entries()) {
        const isPlain = hasOnlyPlainText(raw);
        const seen = isPlain ? raw : raw.replace(controls, ' ').replace(invisible, '');
        const text = cellText(seen.trim(), field);
        isAscii &&= isPlain || hasOnlyPlainText(text);
        texts.push(text);
      }
      blankNames(texts);
      const npi = texts[position.npi] ?? '';
      const refusal = findRefusal(texts, npi, isAscii);
      if (refusal !== undefined) return refusal;
      const pair = pairOf(texts);
      const key = fileKeyOf(draft, keyPrefix) ?? pair;
      if (!isAscii) warn('not_ascii', draft.line);
      if (npi !== '' && !hasNpiCheckDigit(npi as Npi)) warn('npi_check_digit', draft.line);
      texts[position.phone] = checkPhone(texts[position.phone] ?? '', draft.line, warn);
      const city = texts[position.city] ?? '';
      const state = checkState(texts[position.state] ?? '', draft.line, warn);
      const zip = checkZip(texts[position.zip] ?? '', { city, state, places }, draft.line, warn);
      const place = zip === '' ? undefined : places.findZip(zip);
      const isElsewhere = zip !== '' && !checkPlace({ place, zip, city, state }, places, draft.line, warn);
      const coordinates =
        readCoordinates(draft, warn) ??
        (isElsewhere ? undefined : place?.coordinates) ??
        places.findCity(city, state) ??
        place?.coordinates;
      if (coordinates === undefined) warn('coordinates_missing', draft.line);
      texts[position.state] = state;
      texts[position.zip] = zip;
      texts[position.otherNames] = ownOtherNames(texts);
      texts[position.excluded] = isMarked(texts[position.excluded] ?? '') ? 'true' : '';
      texts.push(coordinates ?? '\t');
      return { key, pair, line: texts.join('\t') };
    },
    keyOf: (draft) =>
      fileKeyOf(draft, keyPrefix) ?? pairOf(draft.texts.map((text, field) => cellText(text.trim(), field))),
  };
}

/** In the form in which they are stored; of persons alone. */
function ownOtherNames(texts: readonly string[]): string {
  const [text = '', firstName = '', lastName = ''] = (['otherNames', 'firstName', 'lastName'] as const).map(
    (field) => texts[position[field]],
  );
  return text === '' || lastName === ''
    ? ''
    : formatOtherNames(readOtherNames(text), { firstName, lastName });
}

/** Anything but a plain no is a mark. */
function isMarked(text: string): boolean {
  return !/^(?:|0|n|no|false)$/i.test(text);
}

/**
 * True for printable ASCII: nearly all values; a loop is faster than a regular expression for short texts.
 */
function hasOnlyPlainText(text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit < 0x20 || unit > 0x7e) return false;
  }
  return true;
}

function findRefusal(texts: readonly string[], npi: string, isAscii: boolean): RefusalReason | undefined {
  for (const text of texts) if (text.length > maxFieldLength) return 'too_long';
  if (!isAscii && texts.some((text) => text.includes('\ufffd'))) return 'not_utf8';
  const address = texts[position.directAddress] ?? '';
  if (address === '') return 'direct_address_missing';
  if (findDirectAddress(address) === undefined) return 'direct_address_invalid';
  if (npi === '' || hasTenDigits(npi)) return undefined;
  return isRounded(npi) ? 'npi_rounded' : 'npi_invalid';
}

function hasTenDigits(text: string): boolean {
  if (text.length !== 10) return false;
  for (let index = 0; index < 10; index++) {
    const unit = text.charCodeAt(index);
    if (unit < 0x30 || unit > 0x39) return false;
  }
  return true;
}

// Two sources may number their records alike.
function fileKeyOf(draft: RowDraft, keyPrefix: string): string | undefined {
  const key = draft.key.trim();
  return key === '' ? undefined : keyPrefix + key;
}

function pairOf(texts: readonly string[]): Exclude<RecordKey, string> {
  return {
    directAddress: (texts[position.directAddress] ?? '').trim(),
    npi: (texts[position.npi] ?? '').trim(),
  };
}

/** Prefix of the keys of a source's files. */
export function keyPrefixOf(sourceName: string): string {
  return sourceName === defaultSource ? 'k\t' : `s\t${sourceName}\t`;
}

const usualPhone =
  /^(?:\+?1[-. ]?)?(?:\([0-9]{3}\) ?|[0-9]{3}[-. ]?)[0-9]{3}[-. ]?[0-9]{4}(?: *(?:x|ext\.?) *[0-9]+)?$/i;

function checkPhone(text: string, line: number, warn: Warn): string {
  if (text === '' || usualPhone.test(text)) return text;
  const isLost = isRounded(text);
  warn(isLost ? 'phone_rounded' : 'phone_form', line);
  return isLost ? '' : text;
}

const codeOfName = new Map([
  ...[...stateNames].map(([code, name]): [string, string] => [plainState(name), code]),
  ['VIRGIN ISLANDS', 'VI'],
  ['USVI', 'VI'],
  ['WASHINGTON DC', 'DC'],
  ...olderAbbreviations(),
]);

/** Those that are no codes once their points and blanks are gone. */
function olderAbbreviations(): [string, string][] {
  const texts =
    'AL ALA,AZ ARIZ,AR ARK,CA CALIF,CA CAL,CO COLO,CT CONN,DE DEL,FL FLA,IL ILL,IN IND,KS KANS,KS KAN,MA MASS,MI MICH,MN MINN,' +
    'MS MISS,MT MONT,NE NEBR,NE NEB,NV NEV,NM N MEX,ND N DAK,OK OKLA,OR OREG,OR ORE,PA PENN,SD S DAK,TN TENN,TX TEX,WA WASH,' +
    'WV W VA,WI WIS,WI WISC,WY WYO';
  return texts.split(',').map((text) => [text.slice(3), text.slice(0, 2)]);
}

const winds: Readonly<Record<string, string>> = { N: 'NORTH', S: 'SOUTH', W: 'WEST' };

/** In capitals, without points and the country, and without the blank of `N. Y.`. */
function plainState(text: string): string {
  return text
    .normalize('NFKC')
    .toUpperCase()
    .replace(/[.,]/g, '')
    .replace(/\s+/g, ' ')
    .replace(/^UNITED STATES /, 'US ')
    .replace(/^USA?[-_]| USA?$/, '')
    .replace(/^(?:STATE|COMMONWEALTH) OF /, '')
    .replace(/^([NSW]) (?=CAROLINA$|DAKOTA$|VIRGINIA$)/, (_, letter: string) => `${winds[letter] ?? ''} `)
    .replace(/^([A-Z]) ([A-Z])$/, '$1$2');
}

const longestState = 60;

/** The code of `MA - Massachusetts` and `Massachusetts (MA)`. */
function codeWithName(state: string): string | undefined {
  if (state.length > longestState) return undefined;
  const [, first, rest, name, last] = /^([A-Z]{2})\W+(.+)$|^(.+?)\W+([A-Z]{2})\W?$/.exec(state) ?? [];
  const code = first ?? last;
  return code !== undefined && codeOfName.get(rest ?? name ?? '') === code ? code : undefined;
}

function checkState(text: string, line: number, warn: Warn): string {
  if (text === '' || stateCodes.has(text)) return text;
  const state = plainState(text);
  if (stateCodes.has(state)) return state;
  const code = codeOfName.get(state) ?? codeWithName(state);
  if (code !== undefined) return code;
  warn('state_unknown', line);
  return state.length === 2 ? state : '';
}

/** No ZIP code has the extension 0000. */
const usualZip = /^(?!00000)[0-9]{5}(?:-(?!0000)[0-9]{4})?$/;

interface ZipContext {
  readonly city: string;
  readonly state: string;
  readonly places: PlaceTable;
}

function checkZip(text: string, context: ZipContext, line: number, warn: Warn): string {
  if (text === '' || usualZip.test(text)) return text;
  const zip = repairZip(text, context);
  warn(zip === undefined ? 'zip_invalid' : 'zip_repaired', line);
  return zip ?? '';
}

/** Brackets, and quotes and signs by which a spreadsheet keeps a text from becoming a number. */
const signsAround = /^[='’‘`"([\s]+|['’‘`")\],\s]+$/g;
const labeled = /^(?:([a-z]{2,3})[\s:#-]*)?([0-9].*?)(?:[\s,]+([a-z]{2,3}))?$/i;
const inGroups = /^[0-9]{1,3}(?:,[0-9]{3})+$/;
/** Digits, and behind a hyphen or blank an extension, what is left of one, or a word for none. */
const zipParts = /^([0-9]{3,5})(?:[-\s_./]+([0-9]{4})|-|[-\s]+(?:[0-9]{1,3}|nan|null|none|n\/a|[x*#_]+))?$/i;
const longestZip = 100;
const zipDigits = /^([0-9]{3,5})([0-9]{4})$/;
/** A number that a program filled with zeros to a column's width. */
const filled = /^0+(?=[0-9]{5}$)/;
const lowestZip = '00501';

/**
 * A spreadsheet cuts the zeros at the beginning: one of New England and New Jersey, two of Puerto Rico and
 * the Virgin Islands. They are added only if the place is in the state of the row then: 7870 may as well be
 * what is left of 78701.
 */
function repairZip(text: string, { city, state, places }: ZipContext): string | undefined {
  if (text.length > longestZip) return undefined;
  const plain = withoutLabel(text.normalize('NFKC').replace(signsAround, ''), state)
    .replace(/\.0*$/, '')
    .replace(/[\p{Pd}\u2212]/gu, '-');
  const written = inGroups.test(plain) ? plain.replaceAll(',', '') : withoutPower(plain);
  const number = written.replace(filled, '');
  const [, digits, extension = '0000'] = zipDigits.exec(number) ?? zipParts.exec(number) ?? [];
  if (digits === undefined) return undefined;
  const whole = digits.padStart(5, '0');
  if (whole < lowestZip) return undefined;
  const zip = extension === '0000' ? whole : `${whole}-${extension}`;
  if (whole === digits && number === written) return zip;
  const isThere = state !== '' && places.findZip(zip)?.state === state && !places.isFar(zip, city);
  return isThere ? zip : undefined;
}

/** Without a word for ZIP code, the country, or the state of the row. */
function withoutLabel(text: string, state: string): string {
  const [, before, digits, after] = labeled.exec(text) ?? [];
  const isLabel = (word?: string) =>
    word === undefined || ['ZIP', 'US', 'USA', state].includes(word.toUpperCase());
  return digits !== undefined && isLabel(before) && isLabel(after) ? digits : text;
}

interface StatedPlace {
  /** That of the ZIP code. */
  readonly place: PlaceOfZip | undefined;
  readonly zip: string;
  readonly city: string;
  readonly state: string;
}

/** False if the ZIP code lies in another state, or far from the city. */
function checkPlace(
  { place, zip, city, state }: StatedPlace,
  places: PlaceTable,
  line: number,
  warn: Warn,
): boolean {
  if (place === undefined) warn('zip_unknown', line);
  if (place === undefined || state === '' || place.state === '') return true;
  const isOtherState = place.state !== state;
  if (!isOtherState && !places.isFar(zip, city)) return true;
  warn(isOtherState ? 'state_zip_disagree' : 'city_zip_disagree', line);
  return false;
}

// A number of so few digits is written as JavaScript would write it, which takes longer than reading it.
const shortest = /^-?(?:0|[1-9][0-9]{0,2})\.[0-9]{0,11}[1-9]$/;
const leastWritten = 1e-3;

function asWritten(text: string, degrees: number): string {
  return Math.abs(degrees) >= leastWritten && shortest.test(text) ? text : String(degrees);
}

/** Latitude and longitude as a block stores them, or undefined to look them up. */
function readCoordinates(draft: RowDraft, warn: Warn): string | undefined {
  if (draft.latitude === '' && draft.longitude === '') return undefined;
  const latitude = readDegrees(draft.latitude, 90);
  const longitude = readDegrees(draft.longitude, 180);
  // Nobody practises at 0° N 0° E: it is how many systems write "unknown".
  if (latitude !== undefined && longitude !== undefined && (latitude !== 0 || longitude !== 0)) {
    return `${asWritten(draft.latitude, latitude)}\t${asWritten(draft.longitude, longitude)}`;
  }
  warn('coordinates_invalid', draft.line);
  return undefined;
}
