/**
 * The order of a result: finds the rows of one page without sorting all rows that match.
 * Used by `lib/provider-index` only.
 * Begin with `orderPage` here.
 */
import { intersectBits, pageOfBits } from '../bits.ts';
import { intersect, type Matches } from '../intersect.ts';
import type { Circle } from '../points.ts';
import { filterRows, gatherRows, selectRanges, writeBits, type Selector } from '../selector.ts';
import type { TextColumn } from '../text-column.ts';
import { findBuckets, takePlaces, type BucketRange, type ColumnPage } from './find-buckets.ts';
import { findSections, rowsOfSections, type SectionedRows } from './find-sections.ts';
import { idKey, rowKeyOf, type OrderContext, type OrderStep, type RowKey } from './row-key.ts';
import { rowsAtPoints } from './rows-at-points.ts';
import { rowsOfGroups } from './rows-of-groups.ts';
import { selectWindow } from './select-window.ts';
import { nearRows, pointsAround, rowsOfRun, runsOfPoints } from './near-rows.ts';

/** A result and the places [from, to) of its order that are on the page; both lie inside the result. */
export interface PageRequest {
  readonly matches: Matches;
  readonly steps: readonly OrderStep[];
  readonly circle: Circle | undefined;
  readonly from: number;
  readonly to: number;
}

// Up to so many rows for each row of a short result, ordering a set as a list costs less than a walk.
const listFactor = 4;

/** The rows on the page, in order. */
export function orderPage(request: PageRequest, context: OrderContext): Uint32Array {
  const { matches, steps, circle, from, to } = request;
  if (from >= to) return new Uint32Array(0);
  if (isRowOrder(steps)) return pageInRowOrder(matches, from, to);
  if (matches.rows !== undefined) return orderRows(matches.rows.slice(), request, context);
  const [first] = steps;
  if (matches.inside !== undefined) return pageBySections(request, matches.inside, context);
  if (first?.kind === 'distance' && circle !== undefined) return pageByDistance(request, circle, context);
  if (first?.kind !== 'text' || isShort(matches, context))
    return orderRows(allRows(matches, context), request, context);
  return pageByText(request, first, context);
}

function isShort({ bits, count }: Matches, { shortResult }: OrderContext): boolean {
  return bits !== undefined && count <= shortResult * listFactor;
}

/** Rows are in NPI order with ties by id. */
export function isRowOrder(steps: readonly OrderStep[]): boolean {
  const [first] = steps;
  return (
    steps.length === 1 && first?.kind === 'text' && first.column.postings === undefined && !first.isDescending
  );
}

function pageInRowOrder({ rows, bits, sums }: Matches, from: number, to: number): Uint32Array {
  if (rows !== undefined) {
    const own = rows.slice();
    selectWindow(own, [(row) => row], from, to);
    return own.subarray(from, to);
  }
  if (bits !== undefined) return pageOfBits(bits, from, to - from, sums);
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

function pageByText(
  request: PageRequest,
  { column, isDescending }: OrderStep & { kind: 'text' },
  context: OrderContext,
  known?: BucketRange,
): Uint32Array {
  const { matches, steps, from, to } = request;
  const page = { column, isDescending, bits: matches.bits, count: matches.count, from, to };
  const { groups, count, before } = known ?? findBuckets(page, context.shortResult);
  const low = from - before;
  const high = to - before;
  const [[first, end] = [0, 0]] = groups;
  const isOneRun = groups.length === 1 && (end === first + 1 || !isDescending);
  if (isPostingOrder(steps) && isOneRun) {
    const run = { start: column.starts.at(first), end: column.starts.at(end), count };
    return takePlaces(page, run, low, high);
  }
  if (groups.length === 1 && end === first + 1 && count > context.shortResult && isIndependent(steps[1])) {
    // A large group is a result in the order of the remaining criteria.
    const rest = { ...request, steps: steps.slice(1), from: low, to: high };
    const inside = selectRanges(column, Uint32Array.of(first, end));
    if (matches.bits === undefined && isFoundBySections(inside, rest.steps, context))
      return pageBySections(rest, inside, context);
    return orderPage({ ...rest, matches: { count, bits: groupBits(page, first, context) } }, context);
  }
  const lists = groups.map(([start, stop]) => gatherMatching(page, start, stop));
  const rows = concatRows(lists, count);
  const place = { ...request, from: low, to: high };
  return groups.length === 1 && end > first + 1
    ? pageOfGroups(rows, place, { column, isDescending }, context)
    : orderRows(rows, place, context);
}

// Among domains of one local part blanks come first, unlike in the domains' column.
function isIndependent(step: OrderStep | undefined): boolean {
  return step !== undefined && (step.kind === 'distance' || step.blank === 'last');
}

// Rows of a circle, and of groups, for which counting them by cells or sections costs less than a bitset, in
// relation to a short result.
const circleFactor = 64;
const groupsFactor = 12;
// A list of more rows costs more than a bitset of those that match.
const maxListedShare = 0.25;

/**
 * True if the order begins with a column whose rows are counted by cells and by the sections of other
 * columns, and the condition is a large circle or a run of groups with many rows.
 */
export function isFoundBySections(
  selector: Selector,
  [first]: readonly OrderStep[],
  context: OrderContext,
): boolean {
  if (first?.kind !== 'text' || first.column.sections === undefined || selector.kind !== 'groups')
    return false;
  const { column, ranges, count } = selector;
  if (column === context.points) return count > context.shortResult * circleFactor;
  return (
    count > context.shortResult * groupsFactor &&
    ranges.length === 2 &&
    columnOf(selector, context)?.sections !== undefined
  );
}

function columnOf(
  { column }: Selector & { kind: 'groups' },
  { columns }: OrderContext,
): TextColumn | undefined {
  for (const one of columns.values()) if (one === column) return one;
  return undefined;
}

function sectionedRows(selector: Selector & { kind: 'groups' }, context: OrderContext): SectionedRows {
  const { column, ranges } = selector;
  if (column === context.points) return rowsAtPoints(ranges, context.points);
  const [first = 0, end = 0] = ranges;
  return rowsOfGroups(columnOf(selector, context) as TextColumn, first, end);
}

function pageBySections(request: PageRequest, inside: Selector, context: OrderContext): Uint32Array {
  const { steps, circle, from, to } = request;
  const { points, rowCount, shortResult } = context;
  const [first, second] = steps;
  if (inside.kind !== 'groups' || first?.kind !== 'text' || first.column.sections === undefined)
    throw new TypeError('Only orders by a column with sections are found by sections.');
  const { column, isDescending } = first;
  const own = sectionedRows(inside, context);
  const counts = own.countBySection(column, first.column.sections);
  const found = findSections({ isDescending, from, to }, counts, first.column.sections);
  const { groups, count, before } = found;
  const listed = groups.reduce((sum, [start, end]) => sum + countOfGroups(column, start, end), 0);
  if (listed > Math.min(rowCount * maxListedShare, inside.count))
    return pageByText({ ...request, matches: intersect([inside], context) }, first, context, found);
  const place = { ...request, from: from - before, to: to - before };
  const [[group, next] = [0, 0]] = groups;
  const isOneGroup = groups.length === 1 && next === group + 1;
  if (isOneGroup && count > shortResult && second?.kind === 'distance' && circle !== undefined) {
    const bits = context.pool.take();
    writeBits(selectRanges(column, Uint32Array.of(group, next)), bits, rowCount);
    const near = nearRows(points, circle, { bits, count: countOfGroups(column, group, next) });
    return orderPage({ ...place, steps: steps.slice(1), matches: { count, near } }, context);
  }
  const rows = rowsOfSections(own, column, groups, count);
  return groups.length === 1 ? pageOfGroups(rows, place, first, context) : orderRows(rows, place, context);
}

function countOfGroups({ starts }: TextColumn, first: number, end: number): number {
  return starts.at(end) - starts.at(first);
}

/** Of rows by group, those of one group in the order of its postings. */
function pageOfGroups(
  rows: Uint32Array,
  request: PageRequest,
  { column, isDescending }: Pick<OrderStep & { kind: 'text' }, 'column' | 'isDescending'>,
  context: OrderContext,
): Uint32Array {
  const { steps, from, to } = request;
  if (!isDescending && isPostingOrder(steps)) return rows.slice(from, to);
  // Only the groups that the page is in are put in order.
  const groupAt = (place: number): number =>
    column.codes[rows[isDescending ? rows.length - 1 - place : place] as number] as number;
  const [one, other] = [groupAt(from), groupAt(to - 1)];
  const low = firstOfGroup(rows, column, Math.min(one, other));
  const high = firstOfGroup(rows, column, Math.max(one, other) + 1);
  const before = isDescending ? rows.length - high : low;
  const own = { ...request, from: from - before, to: to - before };
  const count = high - low;
  const found = rows.subarray(low, high);
  if (one === other && isPostingOrder(steps)) return found.slice(own.from, own.to);
  if (one !== other || count <= context.shortResult || !isIndependent(steps[1]))
    return orderRows(found, own, context);
  const bits = context.pool.take();
  writeBits({ kind: 'rows', rows: found, count }, bits, context.rowCount);
  return orderPage({ ...own, steps: steps.slice(1), matches: { count, bits } }, context);
}

// The first place of a group, or of the next one, among rows by group.
function firstOfGroup(rows: Uint32Array, { codes }: TextColumn, group: number): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((codes[rows[middle] as number] as number) < group) low = middle + 1;
    else high = middle;
  }
  return low;
}

function groupBits(
  { column, bits: matching }: ColumnPage,
  group: number,
  { pool, rowCount }: OrderContext,
): Uint32Array {
  const bits = pool.take();
  writeBits(selectRanges(column, Uint32Array.of(group, group + 1)), bits, rowCount);
  if (matching !== undefined) intersectBits(bits, matching);
  return bits;
}

function gatherMatching({ column, bits }: ColumnPage, first: number, end: number): Uint32Array {
  const rows = gatherRows(selectRanges(column, Uint32Array.of(first, end)));
  if (bits === undefined) return rows;
  const matching = { kind: 'bits', bits, count: 0 } as const;
  return rows.subarray(0, filterRows(matching, rows, rows.length, 0));
}

function concatRows(lists: readonly Uint32Array[], count: number): Uint32Array {
  const [only] = lists;
  if (only !== undefined && lists.length === 1) return only;
  const rows = new Uint32Array(count);
  let position = 0;
  for (const list of lists) {
    rows.set(list, position);
    position += list.length;
  }
  return rows;
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

// Of points rather than rows: where many rows are at one point, only those on the page are read.
function pageByDistance(request: PageRequest, circle: Circle, context: OrderContext): Uint32Array {
  const { matches, steps, from, to } = request;
  const isDescending = steps[0]?.isDescending === true;
  const { count } = matches;
  const near = matches.near ?? nearRows(context.points, circle, matches);
  const found = pointsAround(near, isDescending ? count - to : from, isDescending ? count - from : to);
  const collected = found.rows.reduce((sum, rows) => sum + rows, 0);
  const skipped = isDescending ? count - found.nearer - collected : found.nearer;
  const page = new Uint32Array(to - from);
  for (const run of runsOfPoints(near, found, isDescending, from - skipped, to - skipped)) {
    const before = skipped + run.before;
    const own = { from: Math.max(0, from - before), to: Math.min(run.count, to - before) };
    const rows = rowsOfRun(near, run);
    const ordered =
      steps.length === 1 && run.points.length === 1
        ? rows.subarray(own.from, own.to)
        : orderRows(rows, { ...request, ...own, steps: steps.slice(1) }, context);
    page.set(ordered, before + own.from - from);
  }
  return page;
}
