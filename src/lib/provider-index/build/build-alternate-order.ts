import type { ArrayStore } from '../arrays.ts';
import { alternateKeys, type ColumnName } from '../columns.ts';
import type { BuiltColumn } from './build-column.ts';
import { sortTexts } from './sort-texts.ts';

/** For ZIP codes and telephone numbers: the groups in the order of their texts without punctuation, unless that is the same. */
export function buildAlternateOrder(column: BuiltColumn, store: ArrayStore): void {
  const isKept = alternateKeys[column.name as ColumnName];
  if (isKept === undefined) return;
  const { bytes, offsets, count } = column.folded;
  const kept = new Uint8Array(bytes.length);
  const keptOffsets = new Uint32Array(count + 1);
  let position = 0;
  for (let group = 0; group < count; group++) {
    for (let at = offsets[group] as number; at < (offsets[group + 1] as number); at++) {
      if (isKept(bytes[at] as number)) kept[position++] = bytes[at] as number;
    }
    keptOffsets[group + 1] = position;
  }
  // The blank group stays last and takes no part.
  const order = Uint32Array.from({ length: count - 1 }, (_, group) => group);
  sortTexts(order, { bytes: kept, offsets: keptOffsets, count });
  if (order.some((group, index) => group !== index)) store.allocate(`${column.name}.alternate`, 'u32', order.length).set(order);
}
