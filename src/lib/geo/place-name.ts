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
 * The key under which a city's name is found: folded, abbreviations spelled out, only letters and digits
 * kept.
 */
export function placeKey(city: string): string {
  const [first = '', ...others] =
    foldText(city)
      .replace(/['’`.]/g, '')
      .match(/[\p{L}\p{N}]+/gu) ?? [];
  const begin = others.length === 0 ? first : (fullFirstWords.get(first) ?? first);
  return [begin, ...others].map((word) => fullWords.get(word) ?? word).join('');
}
