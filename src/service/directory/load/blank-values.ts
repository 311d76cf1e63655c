import { textFields, type TextField } from '../../../lib/provider-record/index.ts';
import { findDirectAddress } from '../../../lib/values/index.ts';
import { maxFieldLength } from '../limits.ts';

/** Written where there is no value, and never for one: signs alone, or errors of programs. */
const signs =
  /^(?:[^\p{L}\p{N}\ufffd]+|&nbsp;|n ?[/\\.] ?a\.?|#n\/?a(?: n\/a)?|#[a-z0-9_/]+[!?]|#getting_data|-?1\.#(?:ind|qnan)|[<([{](?:na|null|none|blank|empty|unavail)[>)\]}]|\[object object\]|\\+n)$/iu;
/** Words for no value, which are surnames, too. */
const done =
  '(?:applicable|assigned|avail(?:able)?|collected|disclosed|entered|found|given|known|listed|on file|provided|recorded|reported|selected|set|specified|stated)';
const noData = `not? ?(?:yet )?(?:${done}|(?:data|info(?:rmation)?|value)(?: ${done})?)`;
const word = `(?:na|nan|nat|(?:db)?null|none(?: ${done})?|nil|unkn?|unknown|un(?:assigned|avail(?:able)?|defined|specified)|pending|tb[acd]|to be (?:announced|assigned|determined)|x{3,}|blank|empty|(?:data )?missing|redacted|data not available|${noData})`;
const words = new RegExp(`^${word}(?: ${word})*$`, 'i');
/** Zeros alone. */
const zeros = /^[0()\s.+-]*0[0()\s.+-]*$/;

const at = Object.fromEntries(textFields.map((field, index) => [field, index])) as Record<TextField, number>;
const names = [at.firstName, at.lastName];
const tenDigits = [at.npi, at.phone];
const longestBlank = 24;
/** Of the texts that a number, or a word for no value, is read out of. */
const longestWritten = 100;
/** What no such text begins with; most texts do, and are not looked at further. */
const otherBeginnings: ReadonlySet<number> = new Set(
  [...'23456789acfghijkloqsvwyzACFGHIJKLOQSVWYZ'].map((sign) => sign.charCodeAt(0)),
);

/** How a spreadsheet keeps a number from losing its zeros: `="02114"`. */
const formula = /^="(.*)"$/;
/** How a program writes digits that it takes for a number: `1234567893.0`, `1.23E+09`. */
const decimal = /^([0-9]{10,11})\.0*$/;
const scientific = /^'?([0-9])[.,]([0-9]+) ?e[+ ]?0*([789]|10)$/i;
/** An NPI as cards, labels and FHIR write it. */
const labeledNpi =
  /^(?:npi|80840|\S*(?:us-npi|113883\.4\.6)[|:.])?[^\p{L}\p{N}]*((?:[0-9][\s,'_-]*){10})[^\p{L}\p{N}]*$/iu;

/**
 * The text in a cell, blank if it says that there is no value. `field` is its place among the text fields.
 * Words such as "Null" may be a surname: see `blankNames`.
 */
export function cellText(raw: string, field: number): string {
  const text = raw.startsWith('="') && raw.length <= maxFieldLength ? raw.replace(formula, '$1').trim() : raw;
  if (field === at.directAddress) return plainAddress(text);
  if (tenDigits.includes(field)) return plainNumber(text, field);
  if (text === '' || text.length > longestBlank || otherBeginnings.has(text.charCodeAt(0))) return text;
  const plain = text.normalize('NFKC');
  if (signs.test(plain) || zeros.test(plain)) return '';
  return !names.includes(field) && isWord(plain) ? '' : text;
}

/** A part of a text field, such as a line of a street; blank if it says that there is none. */
export function partText(raw: string): string {
  return cellText(raw.trim(), -1);
}

/** True for such words in any brackets, quotes and punctuation. */
function isWord(text: string): boolean {
  if (text.length > longestWritten || otherBeginnings.has(text.charCodeAt(0))) return false;
  const plain = text
    .replace(/\bn ?[/\\.-] ?a\b/gi, 'na')
    .replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, '')
    .replace(/[-_/,;\s]+/g, ' ');
  return words.test(plain);
}

/** A telephone number or an NPI; one of a single digit repeated is none. */
function plainNumber(text: string, field: number): string {
  if (text.length > longestWritten) return text;
  const form = formOf(text);
  if (form === 'one digit') return '';
  if (form === 'other') {
    const plain = text.normalize('NFKC');
    if (signs.test(plain) || isWord(plain)) return '';
    const written = plain
      .replace(/\p{Pd}/gu, '-')
      .replace(/^'/, '')
      .replace(decimal, '$1');
    const number = withoutPower(written);
    if (number !== text && formOf(number) !== 'other') return plainNumber(number, field);
    if (field !== at.npi) return number;
  }
  if (field !== at.npi || text.length === 10) return text;
  return labeledNpi.exec(text)?.[1]?.replace(/[^0-9]/g, '') ?? text;
}

/** A number that a program wrote as `1.234567893E9`, if it has all its digits; else the text as it is. */
export function withoutPower(text: string): string {
  return text.replace(scientific, wholeNumber);
}

/** The digits of a number in powers of ten, if it has all of them. */
function wholeNumber(text: string, first: string, rest: string, power: string): string {
  const count = Number(power);
  return rest.length >= count && !/[1-9]/.test(rest.slice(count)) ? first + rest.slice(0, count) : text;
}

/** True for a telephone number or an NPI (see `cellText`) whose last digits a spreadsheet rounded away. */
export function isRounded(text: string): boolean {
  return scientific.test(text);
}

/**
 * `number` for digits and the signs of telephone numbers, `one digit` if the digits are zeros, or at least
 * seven times the same one.
 */
function formOf(text: string): 'number' | 'one digit' | 'other' {
  let [digits, first, isSame] = [0, 0, true];
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit >= 0x30 && unit <= 0x39) {
      if (digits++ === 0) first = unit;
      else if (unit !== first) isSame = false;
    } else if (!separators.has(unit)) return 'other';
  }
  if (digits === 0) return text === '' ? 'number' : 'other';
  return isSame && (first === 0x30 || digits >= 7) ? 'one digit' : 'number';
}

const separators: ReadonlySet<number> = new Set([...' ()+-,'].map((sign) => sign.charCodeAt(0)));

/** Signs that are not seen, at which copied addresses break. */
export const invisible = /[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]/g;
const wrapped = /^(?:['"<([`]|mailto:|smtp:|direct:)|['".,;:>)\]`#]$|[^\x21-\x7e]|#mailto:/i;

/** Databases keep a link as its text and its target. */
const databaseLink = /^[^#]*#(mailto:[^#]*)#[^#]*$/i;
const inAngles = /<([^<>]*)>$/;
const partners: ReadonlyMap<string, string> = new Map([
  ['"', '"'],
  ["'", "'"],
  ['“', '”'],
  ['‘', '’'],
  ['`', "`'"],
  ['(', ')'],
  ['[', ']'],
]);
const stops = /[\s.,;:\u2013\u2014]/;
const closers = /[\s"“”‘’`<>()[\]{}.,;:\u2013\u2014]/;
/** No local part begins with them, as one may with other quotes. */
const openers = /^[“‘([]+/;

/** An address as it is, out of a link, quotes, brackets with or without a name before them, or a sentence. */
function plainAddress(text: string): string {
  if (text.length > maxFieldLength || !wrapped.test(text) || isAddress(text)) return text;
  let plain = text.replace(invisible, '').replace('\uff20', '@').replace(databaseLink, '$1');
  for (;;) {
    plain = withoutEnd(plain, stops);
    if (isAddress(plain)) return plain;
    const inner = inAngles.exec(plain)?.[1] ?? withoutQuotes(plain);
    if (inner === undefined) break;
    plain = inner.trim();
  }
  plain = withoutEnd(plain, closers);
  if (isAddress(plain)) return plain;
  return plain
    .replace(openers, '')
    .replace(/^mailto:([^?@]*@[^?]*)\?.*$/i, '$1')
    .replace(/^(?:mailto:(?:\/\/)?|smtp:|direct:)\s*(?!\?)/i, '');
}

function isAddress(text: string): boolean {
  return findDirectAddress(text) !== undefined;
}

/** A pattern that looks for an end starts anew at each sign. */
function withoutEnd(text: string, signsBehind: RegExp): string {
  let end = text.length;
  while (end > 0 && signsBehind.test(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}

/** What stands between quotes or brackets that are each other's, if it does. */
function withoutQuotes(text: string): string | undefined {
  const isPair = text.length > 2 && partners.get(text.charAt(0))?.includes(text.charAt(text.length - 1));
  return isPair === true ? text.slice(1, -1) : undefined;
}

/**
 * Blanks a person's name if no part of it is more than a word for no value: "Jo Null" is a name, "NULL NULL"
 * is none.
 */
export function blankNames(texts: string[]): void {
  if (names.some((name) => texts[name] !== '' && !isWord(texts[name] ?? ''))) return;
  for (const name of names) texts[name] = '';
}
