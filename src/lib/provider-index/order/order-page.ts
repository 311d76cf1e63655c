import { pageOfBits } from '../bits.ts';
import type { Matches } from '../intersect.ts';
import type { Circle } from '../points.ts';
import { gatherRows, writeBits } from '../selector.ts';
import { narrowRows } from './narrow-rows.ts';
import { idKey, rowKeyOf, type OrderContext, type OrderStep, type RowKey } from './row-key.ts';
import { selectWindow } from './select-window.ts';
import { isLongWalk, walkColumn } from './walk-column.ts';
import { walkRings } from './walk-rings.ts';

/** Everything that decides which rows are on the page. */
export interface PageRequest {
  readonly matches: Matches;
  readonly steps: readonly OrderStep[];
  readonly circle: Circle | undefined;
  /** Groups of the first step's column outside which nothing matches. */
  readonly groupRange: readonly [first: number, end: number] | undefined;
  /** Places [from, to) of the order, inside the result. */
  readonly from: number;
  readonly to: number;
}

// Looking at a row of the walk costs about half as much as putting a row of the result in order.
const walkAllowance = 1.5;
const walkMinimum = 50_000;

export function orderPage(request: PageRequest, context: OrderContext): Uint32Array {
  const { matches, steps, from, to } = request;
  if (from >= to) return new Uint32Array(0);
  if (isRowOrder(steps)) return pageInRowOrder(matches, from, to);
  if (matches.rows !== undefined) return orderRows(matches.rows.slice(), request, context);
  const [first] = steps;
  if (first?.kind === 'distance' && request.circle !== undefined)
    return pageByDistance(request, request.circle, context);
  if (first?.kind !== 'text') return orderRows(allRows(matches, context), request, context);
  return walk(request, first, context) ?? orderByCounting(request, first, context);
}

function orderByCounting(
  request: PageRequest,
  first: OrderStep & { kind: 'text' },
  context: OrderContext,
): Uint32Array {
  const { matches, from, to } = request;
  // Without a set all rows match, and a walk through those always comes to its end.
  if (matches.bits === undefined) return orderRows(allRows(matches, context), request, context);
  const { rows, before } = narrowRows(matches.bits, first, from, to);
  return orderRows(rows, { ...request, from: from - before, to: to - before }, context);
}

/** Rows lie in NPI order with ties by id. */
export function isRowOrder(steps: readonly OrderStep[]): boolean {
  const [first] = steps;
  return (
    steps.length === 1 && first?.kind === 'text' && first.column.postings === undefined && !first.isDescending
  );
}

function pageInRowOrder({ rows, bits }: Matches, from: number, to: number): Uint32Array {
  if (rows !== undefined) return rows.toSorted().subarray(from, to);
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
  return orderPage({ ...rest, matches: { count: rows.length, bits } }, context);
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
