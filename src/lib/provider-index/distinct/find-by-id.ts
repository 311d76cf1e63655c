import type { IndexContext } from '../index-context.ts';
import type { TextColumn } from '../text-column.ts';

/**
 * The row with that id. The rows of one text are sorted by id, so that a column of few texts is a few dozen
 * sorted lists: about a thousand comparisons, and no further memory.
 */
export function findById(id: number, { columns, idOf }: IndexContext): number | undefined {
  const { groupCount, starts, postings } = columns.get('state') as TextColumn;
  const rowAt = (place: number): number => (postings === undefined ? place : (postings[place] as number));
  for (let group = 0; group < groupCount; group++) {
    let first = starts.at(group);
    let end = starts.at(group + 1);
    while (first < end) {
      const middle = (first + end) >>> 1;
      if (idOf(rowAt(middle)) < id) first = middle + 1;
      else end = middle;
    }
    if (first < starts.at(group + 1) && idOf(rowAt(first)) === id) return rowAt(first);
  }
  return undefined;
}
