import type { ArrayStore } from '../arrays.ts';
import { containsColumns, spellingStyleOf } from '../columns.ts';
import { spellingArrays } from '../spelled-texts.ts';
import { isInsideCharacter } from '../trigram-list.ts';
import { spellingsOfCity, type HyphenAs } from '../spellings.ts';
import type { BuiltColumn } from './build-column.ts';
import { buildTrigrams } from './build-trigrams.ts';
import { createTextCollector, type TextCollector } from './collect-texts.ts';
import { sortTexts } from './sort-texts.ts';

/**
 * The other spellings of a column's texts, each with its group, for those that have any: in code-point order,
 * or with the runs of three bytes that are only in the spelling, if texts are found by their inside.
 */
export function buildSpellings(column: BuiltColumn, store: ArrayStore): void {
  const style = spellingStyleOf(column.name);
  if (style === undefined) return;
  const isInside = containsColumns.has(column.name);
  const found: Spellings = {
    texts: createTextCollector(),
    spans: isInside ? createTextCollector() : undefined,
    groups: [],
  };
  if (style === 'city') addCities(column, found);
  else addWithoutMarks(column, found);
  if (found.groups.length === 0) return;
  const texts = found.texts.finish();
  const order = Uint32Array.from({ length: texts.count }, (_, index) => index);
  if (!isInside) sortTexts(order, texts);
  const arrays = spellingArrays(column.name);
  const bytes = store.allocate(arrays.bytes, 'u8', texts.offsets[texts.count] as number);
  const offsets = store.allocate(arrays.offsets, 'u32', texts.count + 1);
  const groups = store.allocate(arrays.groups, 'u32', texts.count);
  for (const [rank, text] of order.entries()) {
    const [start, end] = [texts.offsets[text] as number, texts.offsets[text + 1] as number];
    bytes.set(texts.bytes.subarray(start, end), offsets[rank]);
    offsets[rank + 1] = (offsets[rank] as number) + end - start;
    groups[rank] = found.groups[text] as number;
  }
  if (found.spans !== undefined) buildTrigrams({ name: arrays.spans, folded: found.spans.finish() }, store);
}

interface Spellings {
  readonly texts: TextCollector;
  readonly spans: TextCollector | undefined;
  /** One per text. */
  readonly groups: number[];
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
const [apostrophe, backtick, hyphen, blank] = [0x27, 0x60, 0x2d, 0x20];

// The blank group is the last one.
function addCities({ folded, groupCount }: BuiltColumn, { texts, groups }: Spellings): void {
  for (let group = 0; group + 1 < groupCount; group++) {
    const city = decoder.decode(folded.bytes.subarray(folded.offsets[group], folded.offsets[group + 1]));
    for (const spelling of spellingsOfCity(city)) {
      texts.add(Buffer.from(spelling));
      groups.push(group);
    }
  }
}

function addWithoutMarks({ folded, groupCount }: BuiltColumn, { texts, spans, groups }: Spellings): void {
  const { bytes, offsets } = folded;
  for (let group = 0; group + 1 < groupCount; group++) {
    const [start, end] = [offsets[group] as number, offsets[group + 1] as number];
    let hasMark = false;
    let hasHyphen = false;
    for (let at = start; at < end; at++) {
      const byte = bytes[at] as number;
      if (byte === hyphen) hasHyphen = true;
      else if (byte === apostrophe || byte === backtick) hasMark = true;
    }
    if (!hasMark && !hasHyphen) continue;
    for (const hyphenAs of hasHyphen ? (['nothing', 'blank'] as const) : (['nothing'] as const)) {
      const { spelling, changed } = leaveOut(bytes.subarray(start, end), hyphenAs);
      if (spelling.length === 0) continue;
      texts.add(spelling);
      groups.push(group);
      spans?.add(spansOf(spelling, changed));
    }
  }
}

interface LeftOut {
  readonly spelling: Uint8Array;
  /** Where it differs from the text: [first, end) of each blank, empty where something is left out. */
  readonly changed: readonly (readonly [number, number])[];
}

function leaveOut(text: Uint8Array, hyphenAs: HyphenAs): LeftOut {
  const spelling = new Uint8Array(text.length);
  const changed: [number, number][] = [];
  let length = 0;
  for (const byte of text) {
    if (byte !== hyphen && byte !== apostrophe && byte !== backtick) spelling[length++] = byte;
    else if (byte === hyphen && hyphenAs === 'blank') {
      spelling[length++] = blank;
      changed.push([length - 1, length]);
    } else changed.push([length, length]);
  }
  return { spelling: spelling.subarray(0, length), changed };
}

// Two bytes before and behind each change, from the first byte of a character on, zero bytes between them.
function spansOf(spelling: Uint8Array, changed: LeftOut['changed']): Uint8Array {
  return Uint8Array.from(
    changed.flatMap(([first, end]) => {
      let from = Math.max(0, first - 2);
      while (isInsideCharacter(spelling[from] as number)) from--;
      return [...spelling.subarray(from, end + 2), 0];
    }),
  );
}
