/**
 * Which records a suggestion query fits, as plainly as it can be written: every word of every record is compared with
 * every word of the query. The tests of the index compare with it; it is the meaning of docs/suggestions.md without the
 * order.
 */
import { foldText } from '../../src/core/index.ts';
import type { SuggestionQuery } from '../../src/lib/provider-index/index.ts';
import { readOtherNames, type ProviderRecord, type TextField } from '../../src/lib/provider-record/index.ts';
import type { QueryWord, WordField, WordTerm } from '../../src/lib/search-words/index.ts';
import { stateNames } from '../../src/lib/values/index.ts';

type Style = 'name' | 'text' | 'domain';

const letters = String.raw`[\p{L}\p{N}\ud800-\udfff]+`;
const apostrophe = String.raw`['’‘‛\u0060´ʹʻʼʽ′＇]`;
const joiner = String.raw`[-./_‐-―−﹘﹣－]`;
const word = `${letters}(?:${apostrophe}${letters})*`;
// Without the flag u a surrogate is a character of its own.
const chunks = new RegExp(
  `${word}(?:${joiner}${word})*`.replaceAll(String.raw`\p{L}\p{N}`, classOfWords()),
  'g',
);

function classOfWords(): string {
  const codes = Array.from({ length: 0xffff }, (_, code) => code).filter((code) =>
    /[\p{L}\p{N}]/u.test(String.fromCharCode(code)),
  );
  return codes.map((code) => `\\u${code.toString(16).padStart(4, '0')}`).join('');
}

const longest = 32;

function plainWords(text: string, style: Style): string[] {
  const found: string[] = [];
  const all: string[] = [];
  const matches = text.match(chunks) ?? [];
  for (const chunk of matches) {
    const words = chunk.split(new RegExp(joiner)).map((one) => one.split(new RegExp(apostrophe)));
    for (const parts of words) {
      found.push(parts.join(''));
      const last = parts.at(-1) ?? '';
      if (parts.length > 1 && last.length > 2) found.push(last);
    }
    const plain = words.map((parts) => parts.join(''));
    all.push(...plain);
    if (style !== 'domain' && words.length > 1 && words.length <= 4 && plain.join('').length <= longest)
      found.push(plain.join(''));
  }
  // A telephone number, however it is written.
  if (style !== 'domain')
    for (const [number] of all
      .join(' ')
      .matchAll(/(?<![^ ])(?=[0-9]{3} [0-9]{3} [0-9]{4}(?![^ ]))[0-9 ]{12}/g))
      found.push(number.replaceAll(' ', ''));
  const isWhole = style === 'name' && matches.length > 1 && all.length <= 4;
  if (isWhole && all.join('').length <= longest) found.push(all.join(''));
  return found.map((one) => one.slice(0, longest));
}

interface FieldWords {
  readonly field: WordField;
  readonly words: readonly string[];
  readonly mayBeNear: boolean;
}

const fields: readonly (readonly [TextField, Style, WordField])[] = [
  ['firstName', 'name', 'name'],
  ['middleName', 'name', 'name'],
  ['lastName', 'name', 'name'],
  ['suffix', 'text', 'name'],
  ['organization', 'text', 'organization'],
  ['specialty', 'text', 'specialty'],
  ['street', 'text', 'place'],
  ['city', 'name', 'place'],
  ['state', 'text', 'place'],
];

const known = new WeakMap<ProviderRecord, readonly FieldWords[]>();

function wordsOfRecord(record: ProviderRecord): readonly FieldWords[] {
  const words = known.get(record) ?? findWords(record);
  known.set(record, words);
  return words;
}

function findWords(record: ProviderRecord): FieldWords[] {
  const at = record.directAddress.indexOf('@') + 1 || record.directAddress.length;
  const [local, domain] = [record.directAddress.slice(0, at), record.directAddress.slice(at)].map(foldText);
  return [
    ...fields.map(([name, style, field]) => ({
      field,
      words: plainWords(textOf(record, name), style),
      mayBeNear: name !== 'suffix',
    })),
    ...readOtherNames(record.otherNames).map(({ lastName, givenNames }) => ({
      field: 'name' as const,
      words: plainWords(foldText(givenNames === '' ? lastName : `${lastName}, ${givenNames}`), 'name'),
      mayBeNear: true,
    })),
    { field: 'address', words: plainWords(local ?? '', 'text'), mayBeNear: false },
    { field: 'address', words: plainWords(domain ?? '', 'domain'), mayBeNear: false },
  ];
}

function textOf(record: ProviderRecord, name: TextField): string {
  const text = foldText(record[name]);
  if (name === 'specialty') return text.replace(/^[0-9.]+:[^:]*:/, '');
  if (name === 'state') return `${text} ${foldText(stateNames.get(text.toUpperCase()) ?? '')}`;
  return text;
}

function fitsWord(
  wanted: QueryWord,
  record: ProviderRecord,
  words: readonly FieldWords[],
  isNear: boolean,
): boolean {
  return (
    words.some(({ field, words: own, mayBeNear }) =>
      own.some(
        (one) =>
          wanted.terms.some((term) => fitsTerm(term, one, field)) ||
          (isNear && wanted.nearTerms.some((term) => fitsTerm(term, one, field))) ||
          (isNear && mayBeNear && isNearly(wanted, one)),
      ),
    ) || fitsNumber(wanted, record)
  );
}

function fitsTerm({ text, isWhole, fields: only }: WordTerm, one: string, field: WordField): boolean {
  return (only === undefined || only.includes(field)) && (isWhole ? one === text : one.startsWith(text));
}

function fitsNumber({ text, isNumber }: QueryWord, { npi, zip, phone }: ProviderRecord): boolean {
  if (!isNumber || text.length < 3) return false;
  const plain = text.replace(/^1/, '');
  const digits = phone.replace(/[^0-9]/g, '').replace(/^1/, '');
  return npi.startsWith(text) || zip.replaceAll('-', '').startsWith(text) || digits.startsWith(plain);
}

function isNearly({ text, edits, isLast }: QueryWord, other: string): boolean {
  if (edits === 0) return false;
  const [a, b] = [Buffer.from(text), Buffer.from(other)];
  if (edits > 1 && a[0] !== b[0]) return false;
  // Of two words the longer one has at least five letters.
  if (text.length < 5) return other.length >= 5 && distance(a, b) <= edits;
  if (!isLast) return distance(a, b) <= edits;
  return Array.from(b, (_, at) => b.subarray(0, at + 1)).some((begin) => distance(a, begin) <= edits);
}

/** Optimal string alignment. */
function distance(a: Uint8Array, b: Uint8Array): number {
  const table = Array.from({ length: a.length + 1 }, (_, i) =>
    Array.from({ length: b.length + 1 }, (_2, j) => i || j),
  );
  for (let i = 1; i <= a.length; i++)
    for (let j = 1; j <= b.length; j++) {
      const at = (x: number, y: number): number => table[x]?.[y] ?? Infinity;
      let best = Math.min(
        at(i - 1, j) + 1,
        at(i, j - 1) + 1,
        at(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1),
      );
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        best = Math.min(best, at(i - 2, j - 2) + 1);
      (table[i] as number[])[j] = best;
    }
  return table[a.length]?.[b.length] ?? Infinity;
}

function meetsConditions(
  record: ProviderRecord,
  words: readonly FieldWords[],
  { filters, specialty, kind, isTrustedOnly }: SuggestionQuery,
  isTrusted: (record: ProviderRecord) => boolean,
): boolean {
  return (
    filters.every(({ field, value }) => foldText(record[field]) === foldText(value)) &&
    specialty.every((one) => fitsWord(one, record, words, false)) &&
    (kind === undefined || (kind === 'person') === (record.lastName !== '')) &&
    (isTrustedOnly !== true || isTrusted(record))
  );
}

export interface PlainSuggestions {
  readonly records: readonly ProviderRecord[];
  readonly isNear: boolean;
}

/** The records that fit, in no order. */
export function suggestPlainly(
  records: readonly ProviderRecord[],
  query: SuggestionQuery,
  isTrusted: (record: ProviderRecord) => boolean = () => false,
): PlainSuggestions {
  const find = (isNear: boolean): ProviderRecord[] =>
    records.filter((record) => {
      const words = wordsOfRecord(record);
      return (
        meetsConditions(record, words, query, isTrusted) &&
        query.words.every((one) => fitsWord(one, record, words, isNear))
      );
    });
  const exact = find(false);
  if (exact.length >= 5 || query.words.every(({ edits, nearTerms }) => edits === 0 && nearTerms.length === 0))
    return { records: exact, isNear: false };
  const near = find(true);
  return near.length > exact.length ? { records: near, isNear: true } : { records: exact, isNear: false };
}
