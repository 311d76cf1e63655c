import type { ByteTexts } from './fold-values.ts';

// Below this many texts, sorting by insertion costs less than partitioning.
const insertionLimit = 12;

/**
 * Orders `items` (numbers of texts) by the bytes of their texts, which is code-point order for UTF-8.
 * Multikey quicksort that looks at four bytes at a time; equal texts end up side by side in no particular
 * order.
 */
export function sortTexts(items: Uint32Array, texts: ByteTexts): void {
  const { bytes, offsets } = texts;
  const words = new Float64Array(items.length);

  // Four bytes from `depth` on as one number; a text that ends is smaller than one that continues with a zero
  // byte.
  function wordAt(item: number, depth: number): number {
    const start = (offsets[item] as number) + depth;
    const left = (offsets[item + 1] as number) - start;
    if (left >= 4) {
      const high = ((bytes[start] as number) << 8) | (bytes[start + 1] as number);
      return (high * 0x10000 + (((bytes[start + 2] as number) << 8) | (bytes[start + 3] as number))) * 8 + 4;
    }
    let word = 0;
    for (let index = 0; index < 4; index++)
      word = word * 256 + (index < left ? (bytes[start + index] as number) : 0);
    return word * 8 + Math.max(0, left);
  }

  function load(low: number, high: number, depth: number): void {
    for (let index = low; index < high; index++) words[index] = wordAt(items[index] as number, depth);
  }

  function swap(a: number, b: number): void {
    const item = items[a] as number;
    items[a] = items[b] as number;
    items[b] = item;
    const word = words[a] as number;
    words[a] = words[b] as number;
    words[b] = word;
  }

  function compareFrom(a: number, b: number, depth: number): number {
    for (let at = depth; ; at += 4) {
      const left = wordAt(a, at);
      const right = wordAt(b, at);
      if (left !== right) return left < right ? -1 : 1;
      if (left % 8 !== 4) return 0;
    }
  }

  function insertionSort(low: number, high: number, depth: number): void {
    for (let index = low + 1; index < high; index++) {
      for (
        let at = index;
        at > low && compareFrom(items[at - 1] as number, items[at] as number, depth) > 0;
        at--
      ) {
        const item = items[at] as number;
        items[at] = items[at - 1] as number;
        items[at - 1] = item;
      }
    }
  }

  function pivotOf(low: number, high: number): number {
    const a = words[low] as number;
    const b = words[(low + high) >>> 1] as number;
    const c = words[high - 1] as number;
    return a < b ? (b < c ? b : Math.max(a, c)) : a < c ? a : Math.max(b, c);
  }

  // A stack of ranges [low, high, depth, isLoaded] instead of recursion: a column may hold millions of equal
  // starts.
  const stack: number[] = [0, items.length, 0, 0];
  while (stack.length > 0) {
    const isLoaded = stack.pop() as number;
    const depth = stack.pop() as number;
    const high = stack.pop() as number;
    const low = stack.pop() as number;
    if (high - low <= insertionLimit) {
      insertionSort(low, high, depth);
      continue;
    }
    if (isLoaded === 0) load(low, high, depth);
    const pivot = pivotOf(low, high);
    let less = low;
    let greater = high;
    for (let index = low; index < greater;) {
      const word = words[index] as number;
      if (word < pivot) swap(less++, index++);
      else if (word > pivot) swap(index, --greater);
      else index++;
    }
    stack.push(low, less, depth, 1, greater, high, depth, 1);
    if (pivot % 8 === 4) stack.push(less, greater, depth + 4, 0);
  }
}
