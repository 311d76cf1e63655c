import { foldText } from '../../core/index.ts';

// The words that the post and map makers abbreviate differently: "St Louis" is "Saint Louis", "Shaker Hts" is
// "Shaker Heights".
const fullWords: ReadonlyMap<string, string> = new Map([
  ['st', 'saint'],
  ['ste', 'sainte'],
  ['ft', 'fort'],
  ['mt', 'mount'],
  ['hts', 'heights'],
  ['spgs', 'springs'],
  ['bch', 'beach'],
]);
// Only as first words, "N Las Vegas": the one letter of "Lee S Summit" is what a blank in the place of an
// apostrophe has left.
const fullFirstWords: ReadonlyMap<string, string> = new Map([
  ['n', 'north'],
  ['s', 'south'],
  ['e', 'east'],
  ['w', 'west'],
]);

/**
 * The words of a city's name: folded, abbreviations spelled out, only letters and digits. If the last word
 * may be unfinished, it stays as it is.
 */
export function placeWords(city: string, isUnfinished = false): string[] {
  const words =
    foldText(city)
      .replace(/['`.]/g, '')
      .match(/[\p{L}\p{N}]+/gu) ?? [];
  const last = words.length - 1;
  return words.map((word, at) => {
    if (at === last && isUnfinished) return word;
    const first = at === 0 && last > 0 ? fullFirstWords.get(word) : undefined;
    return first ?? fullWords.get(word) ?? word;
  });
}

/** The key under which a city's name is found. */
export function placeKey(city: string): string {
  return placeWords(city).join('');
}
