import { foldText } from '../../core/index.ts';

// The words that the post and map makers abbreviate differently: "St Louis" is "Saint Louis".
const fullWords: Readonly<Record<string, string>> = { st: 'saint', ste: 'sainte', ft: 'fort', mt: 'mount' };

/** The key under which a city's name is found: folded, abbreviations spelled out, only letters and digits kept. */
export function placeKey(city: string): string {
  const words = foldText(city)
    .replace(/['’`.]/g, '')
    .split(/[^\p{L}\p{N}]+/u);
  return words.map((word) => fullWords[word] ?? word).join('');
}
