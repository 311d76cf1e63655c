import { providerFields } from '../../provider-record/index.ts';
import { spellCity } from '../../geo/index.ts';
import type { ArrayStore } from '../arrays.ts';
import { spellingArrays } from '../spellings.ts';
import type { BuiltColumn } from './build-column.ts';
import { sortTexts } from './sort-texts.ts';

/** Of one column; a directory of three million records has some ten thousand. */
const maxSpellings = 1_000_000;
/** Words of a city's name that are spelled out have no more letters. */
const longestAbbreviation = 4;

const apostrophe = 0x27;
const hyphen = 0x2d;
const blank = 0x20;

/**
 * The other spellings in which texts of a column are found by their beginning (Decision 0003); other columns
 * have none. Few texts have an apostrophe or a hyphen, and few cities an abbreviation.
 */
export function buildSpellings({ name, folded, groupCount }: BuiltColumn, store: ArrayStore): void {
  const match: string | undefined = providerFields.find(({ field }) => field === name)?.match;
  if (match !== 'name-prefix' && match !== 'city-prefix') return;
  const spell = match === 'city-prefix' ? spellingsOfCity : spellingsOfName;
  const texts: Buffer[] = [];
  const groups: number[] = [];
  for (let group = 0; group + 1 < groupCount && texts.length < maxSpellings; group++) {
    const bytes = folded.bytes.subarray(folded.offsets[group], folded.offsets[group + 1]);
    const isMarked = bytes.includes(apostrophe) || bytes.includes(hyphen);
    if (!isMarked && (match === 'name-prefix' || isPlainCity(bytes))) continue;
    for (const text of spell(Buffer.from(bytes).toString())) {
      texts.push(Buffer.from(text));
      groups.push(group);
    }
  }
  const offsets = new Uint32Array(texts.length + 1);
  for (const [at, { length }] of texts.entries()) offsets[at + 1] = (offsets[at] as number) + length;
  const bytes = Buffer.concat(texts);
  const order = Uint32Array.from(texts.keys());
  sortTexts(order, { bytes, offsets, count: texts.length });
  const named = spellingArrays(name);
  store.allocate(named.groups, 'u32', order.length).set(order.map((at) => groups[at] as number));
  const sorted = store.allocate(named.bytes, 'u8', bytes.length);
  const starts = store.allocate(named.offsets, 'u32', order.length + 1);
  for (const [place, at] of order.entries()) {
    sorted.set(texts[at] as Buffer, starts[place]);
    starts[place + 1] = (starts[place] as number) + (texts[at] as Buffer).length;
  }
}

// True if there is nothing to spell out: letters and blanks alone, and no short word.
function isPlainCity(bytes: Uint8Array): boolean {
  let start = 0;
  for (let at = 0; at <= bytes.length; at++) {
    const byte = at < bytes.length ? (bytes[at] as number) : blank;
    if (byte === blank) {
      if (at - start <= longestAbbreviation) return false;
      start = at + 1;
    } else if (byte < 0x61 || byte > 0x7a) return false;
  }
  return true;
}

/** Apostrophes left out or not; hyphens left out, as blanks, or not. */
function spellingsOfName(text: string): string[] {
  const spellings = [text, text.replaceAll("'", '')].flatMap((one) => [
    one,
    one.replaceAll('-', ' '),
    one.replaceAll('-', ''),
  ]);
  return [...new Set(spellings)].filter((one) => one !== text && one !== '');
}

/** The same, and with abbreviations spelled out, as a radius center is found. */
function spellingsOfCity(text: string): string[] {
  const spellings = [...spellingsOfName(text), spellCity(text).join(' ')];
  return [...new Set(spellings)].filter((one) => one !== text && one !== '');
}
