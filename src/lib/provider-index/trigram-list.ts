/** A list of ascending numbers as differences, seven bits a byte, the last byte of each below 0x80. */
export interface TrigramList {
  readonly lists: Uint8Array;
  /** First byte. */
  readonly start: number;
  /** Numbers in the list: groups of a column, or rows. */
  readonly count: number;
}

export function formatTrigramList(ascending: Uint32Array): Uint8Array {
  const bytes = new Uint8Array(ascending.length * 5);
  let end = 0;
  let last = -1;
  for (let index = 0; index < ascending.length; index++) {
    const value = ascending[index] as number;
    let step = value - last;
    for (; step >= 0x80; step >>>= 7) bytes[end++] = (step & 0x7f) | 0x80;
    bytes[end++] = step;
    last = value;
  }
  return bytes.slice(0, end);
}

export function readTrigramList({ lists, start, count }: TrigramList): Uint32Array {
  const groups = new Uint32Array(count);
  let group = -1;
  let at = start;
  for (let index = 0; index < count; index++) {
    let byte = lists[at++] as number;
    let step = byte & 0x7f;
    for (let shift = 7; byte >= 0x80; shift += 7) {
      byte = lists[at++] as number;
      step |= (byte & 0x7f) << shift;
    }
    group += step;
    groups[index] = group;
  }
  return groups;
}

/** The members of `groups`, ascending, that are in the list too; written over the front of `groups`. */
export function intersectTrigramList(groups: Uint32Array, { lists, start, count }: TrigramList): Uint32Array {
  let kept = 0;
  let index = 0;
  let group = -1;
  let at = start;
  for (let left = count; left > 0 && index < groups.length; left--) {
    let byte = lists[at++] as number;
    let step = byte & 0x7f;
    for (let shift = 7; byte >= 0x80; shift += 7) {
      byte = lists[at++] as number;
      step |= (byte & 0x7f) << shift;
    }
    group += step;
    while (index < groups.length && (groups[index] as number) < group) index++;
    if (groups[index] === group) groups[kept++] = groups[index++] as number;
  }
  return groups.subarray(0, kept);
}
