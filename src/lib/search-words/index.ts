/**
 * The words of texts and of what people type: how a text is split, what is called the same, and when two
 * words fit (docs/suggestions.md). Used by lib/provider-index, which finds records by them.
 */
export {
  maxWordLength,
  maxWordsOfText,
  splitWords,
  startOfSpecialty,
  wordsOf,
  type WordRoom,
  type WordStyle,
} from './split-words.ts';
export {
  areShortForms,
  matchLevels,
  minMisspelt,
  parseWords,
  type MatchLevel,
  type QueryWord,
  type WordField,
  type WordTerm,
} from './parse-words.ts';
export { findDigits, findMatches, minNumberLength, type TextMatch } from './find-matches.ts';
