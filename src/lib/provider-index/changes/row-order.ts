import { stepsOf } from '../open-index.ts';
import type { IndexContext } from '../index-context.ts';
import type { TextColumn } from '../text-column.ts';
import type { ProviderQuery, SearchResult } from '../types.ts';

/** Rows of one index in the order of a query. */
export interface OrderedRows {
  readonly context: IndexContext;
  readonly result: SearchResult;
}

/**
 * Below zero if a row of the left result comes before one of the right result; both are places in the
 * results.
 */
export type ComparePlaces = (left: number, right: number) => number;

/**
 * Compares rows of two indexes. Inside one index group numbers are compared; across two, the folded texts
 * behind them, which gives the same order.
 */
export function comparePlaces(query: ProviderQuery, left: OrderedRows, right: OrderedRows): ComparePlaces {
  const criteria = criteriaOf(query, left, right);
  return (leftPlace, rightPlace) => {
    for (const compare of criteria) {
      const order = compare(leftPlace, rightPlace);
      if (order !== 0) return order;
    }
    const leftRow = left.result.rows[leftPlace] as number;
    const rightRow = right.result.rows[rightPlace] as number;
    return left.context.idOf(leftRow) - right.context.idOf(rightRow);
  };
}

function criteriaOf(query: ProviderQuery, left: OrderedRows, right: OrderedRows): ComparePlaces[] {
  const rightSteps = stepsOf(query, right.context);
  return stepsOf(query, left.context).map((step, index) => {
    const other = rightSteps[index];
    if (step.kind === 'text' && other?.kind === 'text') {
      const isBlankFirst = step.blank === 'first' && !step.isDescending;
      const compare = compareTexts(step.column, other.column, step.isDescending, isBlankFirst);
      return (leftPlace, rightPlace) =>
        compare(left.result.rows[leftPlace] as number, right.result.rows[rightPlace] as number);
    }
    const sign = step.isDescending ? -1 : 1;
    return (leftPlace, rightPlace) =>
      sign * (distanceAt(left.result, leftPlace) - distanceAt(right.result, rightPlace));
  });
}

function distanceAt({ distances }: SearchResult, place: number): number {
  return distances?.[place] ?? 0;
}

function compareTexts(
  left: TextColumn,
  right: TextColumn,
  isDescending: boolean,
  isBlankFirst: boolean,
): (leftRow: number, rightRow: number) => number {
  return (leftRow, rightRow) => {
    const leftGroup = left.codes[leftRow] as number;
    const rightGroup = right.codes[rightRow] as number;
    const isLeftBlank = leftGroup === left.blankGroup;
    const isRightBlank = rightGroup === right.blankGroup;
    if (isLeftBlank && isRightBlank) return 0;
    if (isLeftBlank || isRightBlank) return isLeftBlank === isBlankFirst ? -1 : 1;
    const order = compareScratch(left, left.loadFolded(leftGroup), right, right.loadFolded(rightGroup));
    return isDescending ? -order : order;
  };
}

// UTF-8 bytes compare as code points do.
function compareScratch(left: TextColumn, leftEnd: number, right: TextColumn, rightEnd: number): number {
  const end = Math.min(leftEnd, rightEnd);
  for (let at = 0; at < end; at++) {
    const difference = (left.scratch[at] as number) - (right.scratch[at] as number);
    if (difference !== 0) return difference;
  }
  return leftEnd - rightEnd;
}
