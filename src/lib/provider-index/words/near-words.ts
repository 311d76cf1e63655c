import type { WordColumn } from './word-column.ts';

/** Runs [first, end) of words of a column. */
export type WordRange = readonly [first: number, end: number];

/**
 * The words of at least `minLength` UTF-16 units that differ from `wanted` by at most `edits`: bytes left
 * out, added, changed, or two neighbors swapped (optimal string alignment); with `isBegun` those of which a
 * beginning does. With two edits the first byte must be right. Walks the words as a tree, and leaves a branch
 * as soon as all of it differs by more.
 */
export function findNear(
  { bytes, offsets, wordCount }: Pick<WordColumn, 'bytes' | 'offsets' | 'wordCount'>,
  wanted: Uint8Array,
  edits: number,
  isBegun: boolean,
  minLength: number,
): WordRange[] {
  const found: WordRange[] = [];
  const width = wanted.length + 1;
  const deepest = wanted.length + edits;
  // Row `d` holds the distances of the first `d` bytes of a word to each beginning of the wanted one.
  const rows = new Uint8Array(width * (deepest + 2));
  for (let at = 0; at < width; at++) rows[at] = at;

  // Returns the smallest distance of the row.
  function fill(start: number, depth: number): number {
    const byte = bytes[start + depth - 1] as number;
    const [row, above, twoAbove] = [depth * width, (depth - 1) * width, (depth - 2) * width];
    let least = (rows[row] = depth);
    for (let at = 1; at < width; at++) {
      const other = wanted[at - 1] as number;
      let distance = Math.min(
        (rows[above + at] as number) + 1,
        (rows[row + at - 1] as number) + 1,
        (rows[above + at - 1] as number) + (byte === other ? 0 : 1),
      );
      if (depth > 1 && at > 1 && byte === wanted[at - 2] && bytes[start + depth - 2] === other)
        distance = Math.min(distance, (rows[twoAbove + at - 2] as number) + 1);
      rows[row + at] = distance;
      least = Math.min(least, distance);
    }
    return least;
  }

  // The end of the words from `word` on that share its first `depth` bytes.
  function endOf(word: number, depth: number): number {
    const start = offsets.at(word);
    const shares = (other: number): boolean => {
      const from = offsets.at(other);
      if (offsets.at(other + 1) - from < depth) return false;
      for (let at = depth - 1; at >= 0; at--) if (bytes[from + at] !== bytes[start + at]) return false;
      return true;
    };
    let step = 1;
    let low = word;
    while (low + step < wordCount && shares(low + step)) {
      low += step;
      step *= 2;
    }
    let high = Math.min(wordCount, low + step);
    while (high - low > 1) {
      const middle = (low + high) >>> 1;
      if (shares(middle)) low = middle;
      else high = middle;
    }
    return high;
  }

  let filled = 0;
  let previous = 0;
  for (let word = 0; word < wordCount;) {
    const start = offsets.at(word);
    const length = offsets.at(word + 1) - start;
    let depth = 0;
    while (depth < filled && depth < length && bytes[previous + depth] === bytes[start + depth]) depth++;
    previous = start;
    let end = 0;
    while (depth < length && end === 0) {
      depth++;
      const least = fill(start, depth);
      const distance = rows[depth * width + width - 1] as number;
      if (isBegun && distance <= edits && isAllowed(start)) {
        end = endOf(word, depth);
        found.push([word, end]);
      } else if (least > edits || depth > deepest || (edits > 1 && depth === 1 && !isAllowed(start))) {
        end = endOf(word, depth);
      }
    }
    const isNear = end === 0 && !isBegun && (rows[depth * width + width - 1] as number) <= edits;
    if (isNear && unitsOf(start, length) >= minLength) found.push([word, word + 1]);
    filled = depth;
    word = end === 0 ? word + 1 : end;
  }
  return found;

  // As a query's word is measured: a letter beyond ASCII has two to four bytes.
  function unitsOf(start: number, length: number): number {
    let units = 0;
    for (let at = start; at < start + length; at++) {
      const byte = bytes[at] as number;
      if (byte < 0x80 || byte >= 0xc0) units += byte >= 0xf0 ? 2 : 1;
    }
    return units;
  }

  function isAllowed(start: number): boolean {
    return edits < 2 || bytes[start] === wanted[0];
  }
}
