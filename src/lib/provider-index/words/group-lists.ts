/** Lists of ascending groups, one for each word: differences, seven bits a byte, the last byte below 0x80. */
export interface GroupLists {
  /** First byte of each list, and the end. */
  readonly starts: Uint32Array;
  readonly bytes: Uint8Array;
}

/** The groups of word `w` are `groups[starts[w]]` up to `groups[starts[w + 1]]`. */
export function formatGroupLists(starts: Uint32Array, groups: Uint32Array): GroupLists {
  const byteStarts = new Uint32Array(starts.length);
  // Measured first: room for the longest steps would be five times as much.
  const bytes = new Uint8Array(writeSteps(starts, groups, byteStarts, undefined));
  writeSteps(starts, groups, byteStarts, bytes);
  return { starts: byteStarts, bytes };
}

function writeSteps(
  starts: Uint32Array,
  groups: Uint32Array,
  byteStarts: Uint32Array,
  bytes: Uint8Array | undefined,
): number {
  let end = 0;
  for (let list = 0; list + 1 < starts.length; list++) {
    let last = -1;
    for (let at = starts[list] as number; at < (starts[list + 1] as number); at++) {
      const group = groups[at] as number;
      let step = group - last;
      for (; step >= 0x80; step >>>= 7, end++) if (bytes !== undefined) bytes[end] = (step & 0x7f) | 0x80;
      if (bytes !== undefined) bytes[end] = step;
      end++;
      last = group;
    }
    byteStarts[list + 1] = end;
  }
  return end;
}

/** The groups of the lists [first, end), list after list. */
export function readGroupLists({ starts, bytes }: GroupLists, first: number, end: number): Uint32Array {
  // Each group has one byte at least.
  const groups = new Uint32Array((starts[end] as number) - (starts[first] as number));
  let count = 0;
  for (let list = first; list < end; list++) {
    const stop = starts[list + 1] as number;
    let group = -1;
    for (let at = starts[list] as number; at < stop;) {
      let byte = bytes[at++] as number;
      let step = byte & 0x7f;
      for (let shift = 7; byte >= 0x80; shift += 7) {
        byte = bytes[at++] as number;
        step |= (byte & 0x7f) << shift;
      }
      group += step;
      groups[count++] = group;
    }
  }
  return groups.subarray(0, count);
}
