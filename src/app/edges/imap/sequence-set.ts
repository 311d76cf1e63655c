/** Ranges of `1:3,7,9:*` (RFC 9051 §9, sequence-set); undefined if it is none. */
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
  return ranges;
}

const maxRanges = 10_000;

/** Whether one of the ranges has the number. */
export function isInRanges(ranges: readonly (readonly [number, number])[], number: number): boolean {
  return ranges.some(([from, to]) => number >= from && number <= to);
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
