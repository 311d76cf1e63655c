import type { ArrayReader } from './arrays.ts';

/** Other spellings of some of a column's texts, in code-point order, each with the group of its text. */
export interface Spellings {
  /** Groups of which another spelling begins with the text, in no order, perhaps repeated. */
  find(text: Uint8Array): number[];
}

export function spellingArrays(name: string) {
  return {
    bytes: `${name}.spellings.bytes`,
    offsets: `${name}.spellings.offsets`,
    groups: `${name}.spellings.groups`,
  };
}

export function openSpellings(name: string, arrays: ArrayReader): Spellings {
  const named = spellingArrays(name);
  const bytes = arrays.find(named.bytes, 'u8');
  const offsets = arrays.find(named.offsets, 'u32');
  const groups = arrays.find(named.groups, 'u32');
  if (bytes === undefined || offsets === undefined || groups === undefined) return { find: () => [] };
  const compare = (place: number, text: Uint8Array): number => {
    const start = offsets[place] as number;
    const length = (offsets[place + 1] as number) - start;
    for (let at = 0; at < text.length; at++) {
      if (at === length) return -1;
      const difference = (bytes[start + at] as number) - (text[at] as number);
      if (difference !== 0) return difference;
    }
    return 0;
  };
  return {
    find(text) {
      let [low, high] = [0, groups.length];
      while (low < high) {
        const middle = (low + high) >>> 1;
        if (compare(middle, text) < 0) low = middle + 1;
        else high = middle;
      }
      const found: number[] = [];
      for (; low < groups.length && compare(low, text) === 0; low++) found.push(groups[low] as number);
      return found;
    },
  };
}
