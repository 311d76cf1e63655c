import type { ColumnName } from '../columns.ts';
import type { BitsPool } from '../intersect.ts';
import { milesToRows, type PointMap } from '../points.ts';
import type { TextColumn } from '../text-column.ts';
import type { RadiusFilter, SortKey } from '../types.ts';

/** A number for each row, smaller first. */
export type RowKey = (row: number) => number;

/** One criterion of an order. */
export type OrderStep =
  | {
      readonly kind: 'text';
      readonly column: TextColumn;
      readonly isDescending: boolean;
      readonly blank: 'last' | 'first';
    }
  | { readonly kind: 'distance'; readonly isDescending: boolean };

export interface OrderContext {
  readonly columns: ReadonlyMap<ColumnName, TextColumn>;
  readonly points: PointMap;
  idOf(row: number): number;
  readonly rowCount: number;
  /** Up to so many rows are put in order one by one. */
  readonly shortResult: number;
  readonly pool: BitsPool;
}

/** The criteria of a query without the last one, the id; repeated fields count once. */
export function orderSteps(sort: readonly SortKey[], context: OrderContext): OrderStep[] {
  const seen = new Set<string>();
  return sort.flatMap(({ field, isDescending }): OrderStep[] => {
    if (seen.has(field)) return [];
    seen.add(field);
    if (field === 'distance') return [{ kind: 'distance', isDescending }];
    if (field !== 'directAddress') return [textStep(field, isDescending, context)];
    // `a@` comes before `a@x`: only a blank address sorts last, an empty domain sorts first.
    const domain = { ...textStep('addressDomain', isDescending, context), blank: 'first' as const };
    return [textStep('addressLocal', isDescending, context), domain];
  });
}

type TextStep = OrderStep & { readonly kind: 'text' };

function textStep(name: ColumnName, isDescending: boolean, { columns }: OrderContext): TextStep {
  return { kind: 'text', column: columns.get(name) as TextColumn, isDescending, blank: 'last' };
}

export function rowKeyOf(
  step: OrderStep,
  radius: RadiusFilter | undefined,
  { points }: OrderContext,
): RowKey {
  if (step.kind === 'text') return textKey(step);
  if (radius === undefined) return () => 0;
  const milesTo = milesToRows(points, radius);
  return step.isDescending ? (row) => -milesTo(row) : milesTo;
}

export function idKey({ idOf }: OrderContext): RowKey {
  return idOf;
}

function textKey({ column, isDescending, blank }: TextStep): RowKey {
  const { codes, blankGroup } = column;
  if (blank === 'first') {
    const sign = isDescending ? -1 : 1;
    return (row) => (codes[row] === blankGroup ? -sign : sign * (codes[row] as number));
  }
  if (!isDescending) return (row) => codes[row] as number;
  return (row) => (codes[row] === blankGroup ? blankGroup : blankGroup - 1 - (codes[row] as number));
}
