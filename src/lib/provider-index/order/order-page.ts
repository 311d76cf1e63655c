import { pageOfBits } from '../bits.ts';
import type { Matches } from '../intersect.ts';
import type { FoundResult } from '../kept-results.ts';
import type { Circle } from '../points.ts';
import { gatherRows, writeBits } from '../selector.ts';
import { arrangeRows, stretchesAt } from './arrange-rows.ts';
import { idKey, rowKeyOf, type OrderContext, type OrderStep, type RowKey } from './row-key.ts';
import { selectWindow } from './select-window.ts';
import { isLongWalk, walkColumn } from './walk-column.ts';
import { walkRings } from './walk-rings.ts';

/** A result and the places [from, to) of its order, inside the result, that are on the page. */
interface PageRequest {
  readonly matches: Matches;
  readonly steps: readonly OrderStep[];
  readonly circle: Circle | undefined;
  readonly groupRange: FoundResult['groupRange'];
  readonly from: number;
  readonly to: number;
}

// Looking at a row of the walk costs about half as much as putting a row of the result in order.
const walkAllowance = 1.5;
const walkMinimum = 50_000;
// Four bytes a row are kept.
const maxArranged = 1_000_000;

/** Places [from, to) of a result in its order; both lie inside the result. */
export function orderPage(found: FoundResult, from: number, to: number, context: OrderContext): Uint32Array {
  const { matches, steps } = found;
  const request: PageRequest = { ...found, from, to };
  if (from >= to) return new Uint32Array(0);
  if (isRowOrder(steps)) return pageInRowOrder(matches, from, to);
  if (matches.rows !== undefined) return orderRows(matches.rows.slice(), request, context);
  const [first] = steps;
  if (first?.kind === 'distance' && found.circle !== undefined)
    return pageByDistance(request, found.circle, context);
  if (first?.kind !== 'text') return orderRows(allRows(matches, context), request, context);
  return pageByText(found, request, first, context);
}

function pageByText(
  found: FoundResult,
  request: PageRequest,
  first: OrderStep & { kind: 'text' },
  context: OrderContext,
): Uint32Array {
  const { bits, count } = found.matches;
  // Who asks for another page of a result may ask for more of them: then it is put in order for all.
  const isAskedAgain = bits !== undefined && found.pagesAsked > 1 && count <= maxArranged;
  const walked = found.arranged === undefined && !isAskedAgain ? walk(request, first, context) : undefined;
  if (walked !== undefined) return walked;
  if (bits === undefined) throw new TypeError('A walk over whole groups comes to its end.');
  return pageOfArranged(found, request, first, bits, context);
}

function pageOfArranged(
  found: FoundResult,
  request: PageRequest,
  { column, isDescending }: OrderStep & { kind: 'text' },
  bits: Uint32Array,
  context: OrderContext,
): Uint32Array {
  const { from, to, matches } = request;
  const arranged = found.arranged ?? arrangeRows({ bits, count: matches.count, column, isDescending });
  if (matches.count <= maxArranged) found.arranged = arranged;
  const { rows, start } = stretchesAt(arranged, from, to);
  return orderRows(rows, { ...request, from: from - start, to: to - start }, context);
}

/** Rows lie in NPI order with ties by id. */
export function isRowOrder(steps: readonly OrderStep[]): boolean {
  const [first] = steps;
  return (
    steps.length === 1 && first?.kind === 'text' && first.column.postings === undefined && !first.isDescending
  );
}

function pageInRowOrder({ rows, bits }: Matches, from: number, to: number): Uint32Array {
  if (rows !== undefined) {
    const own = rows.slice();
    selectWindow(own, [(row) => row], from, to);
    return own.subarray(from, to);
  }
  if (bits !== undefined) return pageOfBits(bits, from, to - from);
  return Uint32Array.from({ length: to - from }, (_, index) => from + index);
}

function keysOf(steps: readonly OrderStep[], circle: Circle | undefined, context: OrderContext): RowKey[] {
  return [...steps.map((step) => rowKeyOf(step, circle, context)), idKey(context)];
}

function orderRows(
  rows: Uint32Array,
  { steps, circle, from, to }: PageRequest,
  context: OrderContext,
): Uint32Array {
  selectWindow(rows, keysOf(steps, circle, context), from, to);
  return rows.slice(from, to);
}

function allRows({ bits, count }: Matches, { rowCount }: OrderContext): Uint32Array {
  return bits === undefined
    ? Uint32Array.from({ length: rowCount }, (_, row) => row)
    : gatherRows({ kind: 'bits', bits, count });
}

function walk(
  request: PageRequest,
  first: OrderStep & { kind: 'text' },
  context: OrderContext,
): Uint32Array | undefined {
  const { matches, steps, groupRange, from, to } = request;
  const way = {
    column: first.column,
    isDescending: first.isDescending,
    first: groupRange?.[0] ?? 0,
    end: groupRange?.[1] ?? first.column.groupCount,
    bits: matches.bits,
    count: matches.count,
    from,
    to,
    maxSteps: matches.bits === undefined ? Infinity : walkMinimum + matches.count * walkAllowance,
  };
  if (isLongWalk(way)) return undefined;
  return walkColumn({
    ...way,
    orderGroup: isPostingOrder(steps)
      ? undefined
      : (rows, low, high) => orderGroup(rows, low, high, request, context),
  });
}

// The rows of one group by the rest of the criteria: a large group is a result of its own.
function orderGroup(
  rows: Uint32Array,
  low: number,
  high: number,
  request: PageRequest,
  context: OrderContext,
): Uint32Array {
  const steps = request.steps.slice(1);
  const rest: PageRequest = {
    ...request,
    steps,
    groupRange: undefined,
    from: low,
    to: high,
    matches: { count: rows.length },
  };
  const [next] = steps;
  const isPlain = next !== undefined && (next.kind === 'distance' || next.blank === 'last');
  if (rows.length <= context.shortResult || !isPlain) return orderRows(rows, rest, context);
  const bits = context.pool.take();
  writeBits({ kind: 'rows', rows, count: rows.length }, bits, context.rowCount);
  const found = { ...rest, matches: { count: rows.length, bits }, pagesAsked: 1 };
  return orderPage(found, low, high, context);
}

// Postings of a group are by id; those of a local part are by domain first, ascending.
function isPostingOrder([first, second, ...more]: readonly OrderStep[]): boolean {
  if (second === undefined) return true;
  const isAddress =
    second.kind === 'text' &&
    second.blank === 'first' &&
    first?.kind === 'text' &&
    first.column.name === 'addressLocal';
  return isAddress && more.length === 0 && !second.isDescending;
}

function pageByDistance(request: PageRequest, circle: Circle, context: OrderContext): Uint32Array {
  const { matches, steps, from, to } = request;
  const isDescending = steps[0]?.isDescending === true;
  const { count, bits } = matches;
  const walk = { map: context.points, circle, bits, count };
  const { rows, nearer } = walkRings({
    ...walk,
    from: isDescending ? count - to : from,
    to: isDescending ? count - from : to,
  });
  const skipped = isDescending ? count - nearer - rows.length : nearer;
  return orderRows(rows, { ...request, from: from - skipped, to: to - skipped }, context);
}
