import type { ColumnName } from '../columns.ts';
import type { TextColumn } from '../text-column.ts';
import type { IndexPart } from './context.ts';
import type { RankedRow } from './rank-rows.ts';

/** A row of one of several indexes. */
export interface NamedRow extends RankedRow {
  readonly part: IndexPart;
}

const namedBy: readonly ColumnName[] = ['lastName', 'firstName', 'organization'];

/** The order of {@link RankedRow}s across indexes, whose numbers of texts differ. */
export function compareNames(a: NamedRow, b: NamedRow): number {
  return (
    a.slips - b.slips ||
    b.points - a.points ||
    a.tier - b.tier ||
    (a.miles === b.miles ? 0 : a.miles - b.miles) ||
    compareTexts(a, b)
  );
}

function compareTexts(a: NamedRow, b: NamedRow): number {
  for (const name of namedBy) {
    const [left, right] = [textOf(name, a), textOf(name, b)];
    // Blank last.
    if (left.length === 0 || right.length === 0) {
      if (left.length !== right.length) return left.length === 0 ? 1 : -1;
      continue;
    }
    const order = Buffer.compare(left, right);
    if (order !== 0) return order;
  }
  return a.part.context.idOf(a.row) - b.part.context.idOf(b.row);
}

function textOf(name: ColumnName, { row, part }: NamedRow): Uint8Array {
  const column = part.context.columns.get(name) as TextColumn;
  const length = column.loadFolded(column.codes[row] as number);
  return column.scratch.slice(0, length);
}
