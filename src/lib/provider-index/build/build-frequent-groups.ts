import type { ArrayStore } from '../arrays.ts';
import { wordCount } from '../bits.ts';
import { addGroups } from '../selector.ts';
import type { BuiltColumn } from './build-column.ts';

// A group with at least this share of all rows gets the set of those rows.
const frequentShare = 0.01;

/** Keeps the sets of rows of the groups that hold many, for filters on whole values that most searches carry. */
export function buildFrequentGroups(column: BuiltColumn, frequentRows: number, store: ArrayStore): void {
  const { name, starts, postings, groupCount, codes } = column;
  const minRows = Math.max(1, frequentRows, Math.ceil(codes.length * frequentShare));
  const words = wordCount(codes.length);
  const frequent = Uint32Array.from({ length: groupCount }, (_, group) => group).filter(
    (group) => (starts[group + 1] as number) - (starts[group] as number) >= minRows,
  );
  store.allocate(`${name}.frequentGroups.groups`, 'u32', frequent.length).set(frequent);
  const bits = store.allocate(`${name}.frequentGroups.bits`, 'u32', frequent.length * words);
  for (const [index, group] of frequent.entries()) {
    const set = bits.subarray(index * words, (index + 1) * words) as Uint32Array;
    addGroups({ starts, postings }, Uint32Array.of(group, group + 1), set);
  }
}
