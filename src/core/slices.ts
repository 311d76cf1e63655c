/** Work on large bytes in slices, so that the event loop gets its turn in between. */
import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { viewAsBuffer } from './bytes.ts';

/**
 * Bytes processed in one turn of the event loop: copying, encrypting or hashing them takes about one
 * millisecond.
 */
export const sliceBytes = 1024 * 1024;

/** The bytes as views of at most `size`, in order. */
export function* slicesOf(bytes: Uint8Array, size = sliceBytes): Generator<Buffer> {
  const buffer = viewAsBuffer(bytes);
  for (let start = 0; start < buffer.length; start += size) yield buffer.subarray(start, start + size);
}

/** SHA-256 as lower-case hex. */
export async function hashInSlices(bytes: Uint8Array): Promise<string> {
  const hash = createHash('sha256');
  for (const slice of slicesOf(bytes)) {
    hash.update(slice);
    if (slice.length === sliceBytes) await nextTurn();
  }
  return hash.digest('hex');
}

/** Items sorted, merged or copied in one turn of the event loop: about a millisecond. */
const itemsPerTurn = 2000;

/** As `[...texts].sort()`, by UTF-16 units. */
export async function sortInSlices<Text extends string>(texts: Iterable<Text>): Promise<Text[]> {
  const all = [...texts];
  let runs: Text[][] = [];
  for (let start = 0; start < all.length; start += itemsPerTurn) {
    runs.push(all.slice(start, start + itemsPerTurn).sort());
    await nextTurn();
  }
  while (runs.length > 1) {
    const longer: Text[][] = [];
    for (let at = 0; at < runs.length; at += 2)
      longer.push(await mergeRuns(runs[at] as Text[], runs[at + 1] ?? []));
    runs = longer;
  }
  return runs[0] ?? [];
}

async function mergeRuns<Text extends string>(
  left: readonly Text[],
  right: readonly Text[],
): Promise<Text[]> {
  const merged: Text[] = [];
  let [atLeft, atRight] = [0, 0];
  while (atLeft < left.length || atRight < right.length) {
    const [one, other] = [left[atLeft], right[atRight]];
    const isLeft = other === undefined || (one !== undefined && one <= other);
    merged.push((isLeft ? one : other) as Text);
    if (isLeft) atLeft++;
    else atRight++;
    if (merged.length % itemsPerTurn === 0) await nextTurn();
  }
  return merged;
}
