import { foldText } from '../../core/index.ts';
import { isWithin } from './edit-distance.ts';
import {
  levelOf,
  matchLevels,
  minMisspelt,
  type MatchLevel,
  type QueryWord,
  type WordField,
} from './parse-words.ts';
import { wordsOf, type WordStyle } from './split-words.ts';

/** Where a text fits a word of the query: UTF-16 units of the text. */
export interface TextMatch {
  /** The place of the word in the query. */
  readonly word: number;
  readonly level: MatchLevel;
  readonly start: number;
  readonly end: number;
}

/** The places of a text that fit the words of a query; with `isNear` also those that fit misspelt. */
export function findMatches(
  text: string,
  style: WordStyle,
  field: WordField,
  words: readonly QueryWord[],
  isNear: boolean,
): TextMatch[] {
  const found: TextMatch[] = [];
  for (const { text: own, start, end } of wordsOf(text, style))
    for (const [word, query] of words.entries()) {
      const level = levelOf(query, own, field);
      if (level !== matchLevels.none)
        found.push({ word, level, start, end: endOf(text, start, end, own, query) });
      else if (isNear && isNearly(query, own, field))
        found.push({ word, level: matchLevels.near, start, end });
    }
  return withoutRepeated(found);
}

/** The same for ZIP codes, telephone numbers and NPIs: the digits of the text, whatever is between them. */
export function findDigits(text: string, words: readonly QueryWord[], isPhone: boolean): TextMatch[] {
  const places = [...text.matchAll(/[0-9]/g)].map(({ index }) => index);
  const digits = places.map((at) => text[at]).join('');
  const skipped = isPhone && digits.startsWith('1') ? 1 : 0;
  return words.flatMap(({ text: own, isNumber }, word): TextMatch[] => {
    if (!isNumber || own.length < minNumberLength) return [];
    const wanted = isPhone && own.startsWith('1') ? own.slice(1) : own;
    if (!digits.startsWith(wanted, skipped)) return [];
    const [first, last] = [places[skipped], places[skipped + wanted.length - 1]];
    if (first === undefined || last === undefined) return [];
    const isWhole = digits.length === skipped + wanted.length;
    return [{ word, level: isWhole ? matchLevels.exact : matchLevels.prefix, start: first, end: last + 1 }];
  });
}

/** Numbers of fewer digits are words of texts only. */
export const minNumberLength = 3;

// Of a word that only begins with the query's word as many letters as fit.
function endOf(text: string, start: number, end: number, own: string, { text: wanted }: QueryWord): number {
  if (own === wanted || !own.startsWith(wanted)) return end;
  let at = start;
  let folded = 0;
  for (const character of text.slice(start, end)) {
    if (folded >= wanted.length) break;
    folded += foldText(character).replace(/[^\p{L}\p{N}]/gu, '').length;
    at += character.length;
  }
  return at;
}

function isNearly(word: QueryWord, own: string, field: WordField): boolean {
  const { text, edits, nearTerms } = word;
  if (nearTerms.length > 0 && levelOf({ terms: nearTerms }, own, field) !== matchLevels.none) return true;
  if (edits === 0 || (edits > 1 && text[0] !== own[0])) return false;
  const isShort = text.length < minMisspelt;
  if (isShort && own.length < minMisspelt) return false;
  return isWithin(Buffer.from(text), Buffer.from(own), edits, word.isLast && !isShort);
}

// Of the matches of one word that lie in each other the longest one stays.
function withoutRepeated(found: readonly TextMatch[]): TextMatch[] {
  return found.filter(
    (one, at) =>
      !found.some(
        (other, place) =>
          place !== at &&
          other.word === one.word &&
          other.start <= one.start &&
          other.end >= one.end &&
          (other.end - other.start > one.end - one.start || place < at),
      ),
  );
}
