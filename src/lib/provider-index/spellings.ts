/**
 * The other spellings under which a text is found: without apostrophes and hyphens (Decision 0003), and of a
 * city those of a radius center (Decision 0004). The texts here are folded.
 */
import { placeWords } from '../geo/index.ts';
import type { SpellingStyle } from './columns.ts';

/** A hyphen is left out, or a blank in its place. */
export type HyphenAs = 'nothing' | 'blank';

const apostrophes = /['`]/g;
const marks = /['`-]/;
const outerMarks = /^['`-]|['`-]$/;

/** A text with its apostrophes left out, and its hyphens or not. */
export function withoutMarks(text: string, hyphenAs: HyphenAs): string {
  return text.replace(apostrophes, '').replaceAll('-', hyphenAs === 'blank' ? ' ' : '');
}

/** Those of a city, other than the text itself. */
export function spellingsOfCity(city: string): string[] {
  const words = placeWords(city);
  return [...new Set([words.join(' '), words.join('')])].filter((text) => text !== '' && text !== city);
}

export interface WantedSpelling {
  readonly text: string;
  /** The whole text, not its beginning. */
  readonly isWhole: boolean;
}

/**
 * How a value is looked for among texts and their other spellings. With a mark at one of its ends it counts
 * as written.
 */
export function wantedSpellings(value: string, style: SpellingStyle): WantedSpelling[] {
  if (style === 'text') {
    if (outerMarks.test(value)) return [];
    const texts = marks.test(value)
      ? [withoutMarks(value, 'blank'), withoutMarks(value, 'nothing')]
      : [value];
    return [...new Set(texts)].map((text) => ({ text, isWhole: false }));
  }
  const found = new Map<string, WantedSpelling>();
  for (const isUnfinished of [true, false]) {
    const words = placeWords(value, isUnfinished);
    if (words.length === 0) continue;
    found.set(words.join(' '), { text: words.join(' '), isWhole: false });
    // "De Kalb" is "DeKalb", but the beginning "San T" is not that of "Santa Fe".
    if (words.length > 1) found.set(words.join(''), { text: words.join(''), isWhole: true });
  }
  return [...found.values()];
}
