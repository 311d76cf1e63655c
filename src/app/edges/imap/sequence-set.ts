/** Ranges of `1:3,7,9:*` (RFC 9051 §9, sequence-set), in order and apart; undefined if it is none. */
export function parseSequenceSet(
  text: string,
  largest: number,
): readonly (readonly [from: number, to: number])[] | undefined {
  const ranges: [number, number][] = [];
  for (const part of text.split(',')) {
    const [, from, to] = /^(\d{1,10}|\*)(?::(\d{1,10}|\*))?$/.exec(part) ?? [];
    if (from === undefined || ranges.length >= maxRanges) return undefined;
    const [first, last] = [from, to ?? from].map((number) => (number === '*' ? largest : Number(number)));
    if (first === undefined || last === undefined || (first === 0 && from !== '*')) return undefined;
    ranges.push(first <= last ? [first, last] : [last, first]);
  }
  return merge(ranges);
}

/** Each message is looked for in them: a line full of numbers must cost no more than one range. */
function merge(ranges: [number, number][]): readonly (readonly [from: number, to: number])[] {
  const merged: [number, number][] = [];
  for (const [from, to] of ranges.toSorted(([left], [right]) => left - right)) {
    const last = merged.at(-1);
    if (last !== undefined && from <= last[1] + 1) last[1] = Math.max(last[1], to);
    else merged.push([from, to]);
  }
  return merged;
}

const maxRanges = 10_000;

/** Whether one of the ranges, in order and apart, has the number. */
export function isInRanges(ranges: readonly (readonly [number, number])[], number: number): boolean {
  let [low, high] = [0, ranges.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ranges[middle]?.[1] ?? 0) < number) low = middle + 1;
    else high = middle;
  }
  return number >= (ranges[low]?.[0] ?? Infinity);
}

/** Numbers in their order, runs of them as ranges. */
export function writeSet(numbers: readonly number[]): string {
  const runs: [from: number, to: number][] = [];
  for (const number of numbers) {
    const last = runs.at(-1);
    if (last?.[1] === number - 1) last[1] = number;
    else runs.push([number, number]);
  }
  return runs.map(([from, to]) => (from === to ? String(from) : `${from}:${to}`)).join(',');
}
