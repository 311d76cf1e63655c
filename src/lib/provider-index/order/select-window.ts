import type { RowKey } from './row-key.ts';

const insertionLimit = 12;
const sampleFrom = 2048;
const sampleSize = 128;

/**
 * Moves the rows that belong to the places `from` to `to` of the full order there, in order, and leaves the
 * rest of the array in no particular order: a multikey quicksort that follows only the parts which touch the
 * window. The last key must differ for all rows.
 */
export function selectWindow(rows: Uint32Array, keys: readonly RowKey[], from: number, to: number): void {
  const values = new Float64Array(rows.length);

  function load(low: number, high: number, depth: number): void {
    const key = keys[depth] as RowKey;
    for (let index = low; index < high; index++) values[index] = key(rows[index] as number);
  }

  function swap(a: number, b: number): void {
    const row = rows[a] as number;
    rows[a] = rows[b] as number;
    rows[b] = row;
    const value = values[a] as number;
    values[a] = values[b] as number;
    values[b] = value;
  }

  function insertionSort(low: number, high: number, depth: number): void {
    for (let index = low + 1; index < high; index++) {
      const row = rows[index] as number;
      const value = values[index] as number;
      let at = index;
      for (; at > low && isAfter(values[at - 1] as number, rows[at - 1] as number, value, row, depth); at--) {
        rows[at] = rows[at - 1] as number;
        values[at] = values[at - 1] as number;
      }
      rows[at] = row;
      values[at] = value;
    }
  }

  function isAfter(value: number, row: number, otherValue: number, other: number, depth: number): boolean {
    if (value !== otherValue) return value > otherValue;
    for (let next = depth + 1; next < keys.length; next++) {
      const key = keys[next] as RowKey;
      const difference = key(row) - key(other);
      if (difference !== 0) return difference > 0;
    }
    return false;
  }

  // Of a large range that reaches beyond the window, most should fall away at once: the pivot is a sample's
  // value a little after the window, or before it if the window lies at the end.
  function pivotFor(low: number, high: number): number {
    const size = high - low;
    if (size < sampleFrom)
      return median(values[low] as number, values[(low + high) >>> 1] as number, values[high - 1] as number);
    const sample = new Float64Array(sampleSize);
    for (let index = 0; index < sampleSize; index++)
      sample[index] = values[low + Math.floor(((index + 0.5) * size) / sampleSize)] as number;
    sample.sort();
    const startShare = (Math.max(from, low) - low) / size;
    const endShare = (Math.min(to, high) - low) / size;
    const rank = 1 - endShare > startShare ? endShare * sampleSize + 2 : startShare * sampleSize - 3;
    return sample[Math.max(0, Math.min(sampleSize - 1, Math.ceil(rank)))] as number;
  }

  // Ranges as [low, high, depth, isLoaded].
  const stack: number[] = [0, rows.length, 0, 0];
  while (stack.length > 0) {
    const isLoaded = stack.pop() as number;
    const depth = stack.pop() as number;
    const high = stack.pop() as number;
    const low = stack.pop() as number;
    if (high - low <= 1 || high <= from || low >= to || depth >= keys.length) continue;
    if (isLoaded === 0) load(low, high, depth);
    if (high - low <= insertionLimit) {
      insertionSort(low, high, depth);
      continue;
    }
    const pivot = pivotFor(low, high);
    let less = low;
    let greater = high;
    for (let index = low; index < greater;) {
      const value = values[index] as number;
      if (value < pivot) swap(less++, index++);
      else if (value > pivot) swap(index, --greater);
      else index++;
    }
    stack.push(low, less, depth, 1, greater, high, depth, 1, less, greater, depth + 1, 0);
  }
}

function median(a: number, b: number, c: number): number {
  return a < b ? (b < c ? b : Math.max(a, c)) : a < c ? a : Math.max(b, c);
}
