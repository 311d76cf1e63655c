/** Text rules that more than one module relies on. */
import { readJsonList } from './json.ts';

const combiningMarks = /\p{M}+/gu;

const typographicSigns: ReadonlyMap<string, RegExp> = new Map([
  ["'", /[’‘‛´ʹʻʼʽ′＇]/g],
  ['"', /[“”„‟″＂]/g],
  ['-', /[‐-―−﹘﹣－]/g],
  [' ', /\p{Zs}/gu],
]);

/** Typographic apostrophes, quotes, dashes and blanks as those of a keyboard (Decision 0003). */
export function toPlainSigns(text: string): string {
  if (isPlainAscii(text)) return text;
  let plain = text;
  for (const [sign, forms] of typographicSigns) plain = plain.replace(forms, sign);
  return plain;
}

/**
 * Folds text for comparison: canonical decomposition, combining marks removed, lower-cased, typographic signs
 * as those of a keyboard (Decision 0003). `É` and `e` are equal, and so are all forms of sigma; `ß`, `ø` and
 * ligatures are not changed.
 */
export function foldText(text: string): string {
  if (isPlainAscii(text)) return text.toLowerCase();
  // `Σ` at the end of a word becomes `ς`: a part of a text would fold differently from the same part of a
  // longer one.
  const letters = text.normalize('NFD').replace(combiningMarks, '').toLowerCase().replaceAll('ς', 'σ');
  return toPlainSigns(letters);
}

/**
 * True for combining marks alone. Folded, such a text is empty, and with that the beginning of every other.
 */
export function hasOnlyMarks(text: string): boolean {
  return text !== '' && foldText(text) === '';
}

/** Without the blanks and tabs at both ends, in a time that grows with the length alone. */
export function trimBlanks(text: string): string {
  const isBlank = (at: number): boolean => text[at] === ' ' || text[at] === '\t';
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(start)) start++;
  while (start < end && isBlank(end - 1)) end--;
  return text.slice(start, end);
}

function isPlainAscii(text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    if (text.charCodeAt(index) > 0x7f) return false;
  }
  return true;
}

// CR, LF and NUL end or split a header line or an SMTP command (CWE-93).
const lineBreakers = /[\r\n\0]/;

/** True if the text would break out of a header line or a command line. */
export function hasLineBreaker(text: string): boolean {
  return lineBreakers.test(text);
}

const decimal = /^[+-]?[0-9]+(?:\.[0-9]+)?$/;

/**
 * The number that plain decimal digits spell, such as `-97.5`; NaN for anything else: ``, `
 * 1`, `1e3`, `0x10`, `Infinity`.
 */
export function readDecimal(text: string): number {
  return decimal.test(text) ? Number(text) : Number.NaN;
}

/**
 * True if the text has more than `most` characters, counted as JSON Schema does: code points, not UTF-16
 * units.
 */
export function isLongerThan(text: string, most: number): boolean {
  if (text.length <= most || text.length > 2 * most) return text.length > most;
  let count = 0;
  for (const _ of text) count++;
  return count > most;
}

/** `1 message`, `3 messages`. */
export function countOf(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/**
 * The texts of a JSON list as a row of the database has it; empty for anything else. For rows that nothing
 * guards: one that was changed by hand must not end the reading of the others.
 */
export function readTexts(json: string): readonly string[] {
  const list = readJsonList(json);
  return list.every((one) => typeof one === 'string') ? list : [];
}
