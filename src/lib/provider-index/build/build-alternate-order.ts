import type { ArrayStore } from '../arrays.ts';
import { alternateKeyOf } from '../columns.ts';
import type { BuiltColumn } from './build-column.ts';
import { sortTexts } from './sort-texts.ts';

/**
 * For ZIP codes and telephone numbers: the groups in the order of their texts without punctuation, unless
 * that is the same.
 */
export function buildAlternateOrder(column: BuiltColumn, store: ArrayStore): void {
  const putKey = alternateKeyOf(column.name);
  if (putKey === undefined) return;
  const { bytes, offsets, count } = column.folded;
  const kept = new Uint8Array(bytes.length);
  const keptOffsets = new Uint32Array(count + 1);
  let position = 0;
  for (let group = 0; group < count; group++) {
    position = putKey(bytes, offsets[group] as number, offsets[group + 1] as number, kept, position);
    keptOffsets[group + 1] = position;
  }
  const order = new Uint32Array(count);
  for (let group = 0; group < count; group++) order[group] = group;
  // The blank group stays last.
  sortTexts(order.subarray(0, count - 1), { bytes: kept, offsets: keptOffsets, count });
  if (order.some((group, index) => group !== index)) writeOrder(column, order, store);
}

// In addition to the order: the rows in that order, the start of each group's rows, and the position of each
// group.
function writeOrder({ name, starts, postings }: BuiltColumn, order: Uint32Array, store: ArrayStore): void {
  store.allocate(`${name}.alternate.order`, 'u32', order.length).set(order);
  const ranks = store.allocate(`${name}.alternate.ranks`, 'u32', order.length);
  const newStarts = store.allocate(`${name}.alternate.starts`, 'u32', order.length + 1);
  const rows = store.allocate(`${name}.alternate.postings`, 'u32', postings?.length ?? 0);
  let position = 0;
  for (let rank = 0; rank < order.length; rank++) {
    const group = order[rank] as number;
    ranks[group] = rank;
    const end = starts[group + 1] as number;
    for (let index = starts[group] as number; index < end; index++)
      rows[position++] = (postings as Uint32Array)[index] as number;
    newStarts[rank + 1] = position;
  }
}
