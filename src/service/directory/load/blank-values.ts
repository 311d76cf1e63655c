import { textFields, type TextField } from '../../../lib/provider-record/index.ts';

/** Written where there is no value; no name, place or number is written so. */
const signs = /^(?:-+|\.+|\?+|n\/a|n\.a\.|#n\/a|<unavail>|\(null\)|\\n)$/i;
/** Words for no value, which are surnames, too. */
const words = /^(?:na|null|none|nil|unknown|unavailable|undefined|not (?:available|applicable|provided))$/i;
/** Numbers of one repeated zero. */
const zeros = /^[0()\s.+-]*0[0()\s.+-]*$/;

const at = Object.fromEntries(textFields.map((field, index) => [field, index])) as Record<TextField, number>;
const names = [at.firstName, at.lastName];
const numbers = [at.npi, at.phone, at.zip];
const longestBlank = 16;

/** How a spreadsheet keeps a number from losing its zeros: `="02114"`. */
const formula = /^="(.*)"$/;

/**
 * The text in a cell, blank if it says that there is no value. `field` is its place among the text fields.
 * Words such as "Null" may be a surname: see `blankNames`.
 */
export function cellText(raw: string, field: number): string {
  const text = raw.startsWith('="') ? raw.replace(formula, '$1').trim() : raw;
  if (text.length > longestBlank || text === '' || field === at.directAddress) return text;
  if (signs.test(text) || (numbers.includes(field) && zeros.test(text))) return '';
  return !names.includes(field) && words.test(text) ? '' : text;
}

/**
 * Blanks a person's name if no part of it is more than a word for no value: "Jo Null" is a name, "NULL NULL"
 * is none.
 */
export function blankNames(texts: string[]): void {
  if (names.some((name) => texts[name] !== '' && !words.test(texts[name] ?? ''))) return;
  for (const name of names) texts[name] = '';
}
