/** Sorting by small whole numbers, stable and linear. */

/** Start of every group's run: `starts[g]` up to `starts[g + 1]` will hold the members of group `g`. */
export function groupStarts(codes: ArrayLike<number>, groupCount: number, starts: Uint32Array): void {
  starts.fill(0);
  for (let row = 0; row < codes.length; row++) {
    const next = (codes[row] as number) + 1;
    starts[next] = (starts[next] as number) + 1;
  }
  for (let group = 0; group < groupCount; group++)
    starts[group + 1] = (starts[group + 1] as number) + (starts[group] as number);
}

/** Fills `target` with the members of each group, in the order in which `sequence` names them. */
export function fillGroups(
  codes: ArrayLike<number>,
  starts: Uint32Array,
  sequence: Uint32Array,
  target: Uint32Array,
): void {
  const cursors = starts.slice();
  for (let index = 0; index < sequence.length; index++) {
    const row = sequence[index] as number;
    const code = codes[row] as number;
    const at = cursors[code] as number;
    target[at] = row;
    cursors[code] = at + 1;
  }
}

/** Positions 0 to n-1 in ascending order of `keys`, equal keys in order of position. */
export function orderOf(keys: Float64Array): Uint32Array {
  const order = new Uint32Array(keys.length);
  for (let index = 0; index < order.length; index++) order[index] = index;
  let isAscending = true;
  for (let index = 1; index < keys.length && isAscending; index++)
    isAscending = (keys[index - 1] as number) <= (keys[index] as number);
  if (isAscending) return order;
  return sortByDigits(keys, order);
}

// Least significant digit first, 16 bits at a time, for whole numbers below 2^53.
function sortByDigits(keys: Float64Array, order: Uint32Array): Uint32Array {
  let largest = 0;
  for (let index = 0; index < keys.length; index++) largest = Math.max(largest, keys[index] as number);
  const digits = new Uint16Array(keys.length);
  const starts = new Uint32Array(0x10001);
  let current = order;
  for (let scale = 1; scale <= largest; scale *= 0x10000) {
    for (let index = 0; index < keys.length; index++)
      digits[index] = Math.floor((keys[index] as number) / scale) % 0x10000;
    groupStarts(digits, 0x10000, starts);
    const next = new Uint32Array(keys.length);
    fillGroups(digits, starts, current, next);
    current = next;
  }
  return current;
}
