import type { Ascending } from '../ascending.ts';
import { putNumber, putRun } from '../trigram-list.ts';

/** Lists of ascending groups, one for each word, written as the lists of trigrams are. */
export interface GroupLists {
  /** First byte of each list, and the end. */
  readonly starts: Uint32Array;
  readonly bytes: Uint8Array;
}

/** The groups of word `w` are `groups[starts[w]]` up to `groups[starts[w + 1]]`. */
export function formatGroupLists(starts: Uint32Array, groups: Uint32Array): GroupLists {
  const byteStarts = new Uint32Array(starts.length);
  let bytes = new Uint8Array(groups.length + spareBytes);
  let end = 0;
  for (let list = 0; list + 1 < starts.length; list++) {
    let last = -1;
    let run = 0;
    for (let at = starts[list] as number; at < (starts[list + 1] as number); at++) {
      const group = groups[at] as number;
      if (group === last + 1) run++;
      else {
        if (end + spareBytes > bytes.length) bytes = withRoom(bytes);
        end = putNumber(group - last, bytes, putRun(run, bytes, end));
        run = 0;
      }
      last = group;
    }
    if (end + spareBytes > bytes.length) bytes = withRoom(bytes);
    byteStarts[list + 1] = end = putRun(run, bytes, end);
  }
  return { starts: byteStarts, bytes: bytes.subarray(0, end) };
}

// For a run and a number behind it, and the run at the end.
const spareBytes = 32;

function withRoom(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(Math.ceil(bytes.length * 1.5));
  larger.set(bytes);
  return larger;
}

/** The groups of the lists [first, end), list after list. */
export function readGroupLists(
  { starts, bytes }: { readonly starts: Pick<Ascending, 'at'>; readonly bytes: Uint8Array },
  first: number,
  end: number,
): Uint32Array {
  const lastByte = starts.at(end);
  // Each byte is one group at most, except for runs.
  let groups = new Uint32Array(lastByte - starts.at(first));
  let count = 0;
  for (let list = first; list < end; list++) {
    const stop = starts.at(list + 1);
    let group = -1;
    for (let at = starts.at(list); at < stop;) {
      let byte = bytes[at++] as number;
      const isRun = byte === 0;
      if (isRun) byte = bytes[at++] as number;
      let step = byte & 0x7f;
      for (let shift = 7; byte >= 0x80; shift += 7) {
        byte = bytes[at++] as number;
        step |= (byte & 0x7f) << shift;
      }
      if (isRun) {
        groups = withPlaces(groups, count, count + step + lastByte - at);
        for (const runEnd = count + step; count < runEnd; count++) groups[count] = ++group;
      } else {
        group += step;
        groups[count++] = group;
      }
    }
  }
  return groups.subarray(0, count);
}

function withPlaces(groups: Uint32Array, count: number, places: number): Uint32Array<ArrayBuffer> {
  if (places <= groups.length) return groups as Uint32Array<ArrayBuffer>;
  const larger = new Uint32Array(Math.max(places, Math.ceil(groups.length * 1.5)));
  larger.set(groups.subarray(0, count));
  return larger;
}
