import { createArrayReader } from './arrays.ts';
import { wordCount } from './bits.ts';
import { columnNames, type ColumnName } from './columns.ts';
import { compileOnce } from './compile-filter.ts';
import type { FilterContext } from './filter-context.ts';
import { ProviderIndexError } from './errors.ts';
import { estimateCost } from './estimate-cost.ts';
import { groupsEqualTo } from './find-groups.ts';
import { openGramIndex, type GramIndex } from './grams.ts';
import { createBitsPool, intersect, type Matches } from './intersect.ts';
import { createKeptResults, type FoundResult, type KeptResults } from './kept-results.ts';
import { isRowOrder, orderPage } from './order/order-page.ts';
import { scanRows } from './order/scan-rows.ts';
import { createDistanceNotes, orderSteps, type OrderContext, type OrderStep } from './order/row-key.ts';
import { createPageWriter } from './page-json.ts';
import { circleOf, milesToPoint, openPointMap, selectCircle, type Circle } from './points.ts';
import { readRecord } from './read-record.ts';
import type { Selector } from './selector.ts';
import { openTextColumn, type TextColumn } from './text-column.ts';
import type {
  PartSize,
  ProviderIndex,
  ProviderQuery,
  SearchResult,
  SharedIndexBytes,
  SortKey,
} from './types.ts';

/** An index opened in this thread, with what lies beneath it. */
export interface IndexPart {
  readonly index: ProviderIndex;
  readonly context: IndexContext;
}

export type IndexContext = FilterContext & OrderContext;

export interface OpenIndexOptions {
  /** Results of up to so many rows are kept as lists, longer ones as sets; tests lower it. */
  readonly shortResult?: number;
  /** Memory for results that are kept for their next pages; 32 MiB if left out, 0 keeps none. */
  readonly keptResultBytes?: number;
}

// A set over three million rows is 375 kB.
const defaultKeptResultBytes = 32 * 1024 * 1024;

/** Makes an index usable in this thread. Cheap: nothing is copied or computed. */
export function openIndex(bytes: SharedIndexBytes, options?: OpenIndexOptions): ProviderIndex {
  return openPart(bytes, options).index;
}

/** For who combines several indexes: their rows are compared and found by what lies beneath. */
export function openPart(
  bytes: SharedIndexBytes,
  { shortResult = 4096, keptResultBytes = defaultKeptResultBytes }: OpenIndexOptions = {},
): IndexPart {
  const context = openContext(bytes, shortResult);
  const writePageJson = createPageWriter(context);
  const results = createKeptResults(keptResultBytes, context.pool);
  const index: ProviderIndex = {
    recordCount: context.rowCount,
    bytes,
    search(query) {
      try {
        return search(query, context, results);
      } finally {
        endQuery(context);
      }
    },
    findByNpi: (npi) => findByNpi(npi, context),
    record: (row) => readRecord(row, context),
    writePageJson,
    estimateCost(query) {
      endQuery(context);
      return estimateCost(query, context);
    },
    memory: () => memoryOf(bytes),
  };
  return { index, context };
}

function endQuery({ compiled, pool }: IndexContext): void {
  compiled.clear();
  pool.releaseAll();
}

function openContext(bytes: SharedIndexBytes, shortResult: number): IndexContext {
  const arrays = createArrayReader(bytes);
  const rowCount = bytes.layout.recordCount;
  const columns = new Map(columnNames.map((name) => [name, openTextColumn(name, arrays)]));
  const grams = new Map<ColumnName, GramIndex>();
  for (const [name, column] of columns) {
    const index = openGramIndex(column, arrays, wordCount(rowCount));
    if (index !== undefined) grams.set(name, index);
  }
  const points = openPointMap(arrays);
  return {
    rowCount,
    shortResult,
    columns,
    grams,
    compiled: new Map(),
    points,
    takeDistanceNotes: createDistanceNotes(points.count),
    ids:
      arrays.find(
        'ids',
        bytes.layout.arrays.find((spec) => spec.name === 'ids')?.type === 'f64' ? 'f64' : 'u32',
      ) ?? [],
    address: {
      local: columns.get('addressLocal') as TextColumn,
      domain: columns.get('addressDomain') as TextColumn,
    },
    pool: createBitsPool(wordCount(rowCount)),
  };
}

function search(query: ProviderQuery, context: IndexContext, results: KeptResults): SearchResult {
  checkQuery(query);
  const steps = stepsOf(query, context);
  // One condition or none, in row order: looking for its page costs no more than finding a kept result.
  return query.filters.length <= 1 && query.radius === undefined && isRowOrder(steps)
    ? searchSimply(query, steps, context)
    : pageOf(
        query,
        results.obtain(query, () => find(query, steps, context)),
        context,
      );
}

function searchSimply(
  query: ProviderQuery,
  steps: readonly OrderStep[],
  context: IndexContext,
): SearchResult {
  const selectors = compileSelectors(query, undefined, context);
  return (
    scanForPage(query, selectors, context) ??
    pageOf(
      query,
      { ...matchesFor(selectors, steps, context), steps, circle: undefined, pagesAsked: 1 },
      context,
    )
  );
}

// A single condition says how many rows it has, and nothing more than the page is needed.
function scanForPage(
  query: ProviderQuery,
  [only]: readonly Selector[],
  { shortResult }: IndexContext,
): SearchResult | undefined {
  if (only?.kind !== 'groups' || only.count <= shortResult) return undefined;
  const rows = scanRows(only, ...windowOf(query, only.count));
  return rows && { totalCount: only.count, rows };
}

function find(query: ProviderQuery, steps: readonly OrderStep[], context: IndexContext): FoundResult {
  const circle = query.radius === undefined ? undefined : circleOf(query.radius);
  const selectors = compileSelectors(query, circle, context);
  return { ...matchesFor(selectors, steps, context), steps, circle, pagesAsked: 0 };
}

function pageOf(query: ProviderQuery, found: FoundResult, context: IndexContext): SearchResult {
  const { matches, circle } = found;
  const totalCount = matches.count;
  const rows = orderPage(found, ...windowOf(query, totalCount), context);
  if (circle === undefined) return { totalCount, rows };
  const { points } = context;
  const distances = Float64Array.from(rows, (row) =>
    milesToPoint(points, circle, points.codes[row] as number),
  );
  return { totalCount, rows, distances };
}

function windowOf({ offset, limit }: ProviderQuery, count: number): [from: number, to: number] {
  return [Math.min(offset, count), Math.min(offset + limit, count)];
}

function checkQuery({ offset, limit, radius }: ProviderQuery): void {
  const isPage = Number.isSafeInteger(offset) && offset >= 0 && Number.isSafeInteger(limit) && limit >= 0;
  const isCircle =
    radius === undefined ||
    (Math.abs(radius.latitude) <= 90 && Math.abs(radius.longitude) <= 180 && radius.miles >= 0);
  if (!isPage || !isCircle)
    throw new ProviderIndexError('INDEX_QUERY_INVALID', 'The page or the radius of a query is faulty.');
}

function compileSelectors(
  query: ProviderQuery,
  circle: Circle | undefined,
  context: IndexContext,
): Selector[] {
  const selectors = query.filters.map((filter) => compileOnce(filter, context));
  if (circle !== undefined) selectors.push(selectCircle(context.points, circle));
  return selectors.filter(
    (selector): selector is Selector => selector !== undefined && selector.count < context.rowCount,
  );
}

/** The criteria of a query's order; the id comes after them. */
export function stepsOf(query: ProviderQuery, context: IndexContext): OrderStep[] {
  const steps = orderSteps(sortOf(query), context);
  return query.radius === undefined ? steps.filter((step) => step.kind === 'text') : steps;
}

function sortOf({ sort, radius }: ProviderQuery): readonly SortKey[] {
  return sort.length > 0 ? sort : [{ field: radius === undefined ? 'npi' : 'distance', isDescending: false }];
}

// Where the order is walked over the very column that the only condition is about, no set of rows is needed at all.
function matchesFor(
  selectors: readonly Selector[],
  steps: readonly OrderStep[],
  context: IndexContext,
): { matches: Matches; groupRange: readonly [number, number] | undefined } {
  const [first] = steps;
  const groupRange = first?.kind === 'text' ? rangeOn(first.column, selectors) : undefined;
  const [only] = selectors;
  const isWalked =
    (first?.kind === 'distance' && only?.kind === 'groups' && only.column === context.points) ||
    (groupRange !== undefined && only !== undefined && only.count > context.shortResult);
  if (only !== undefined && selectors.length === 1 && isWalked)
    return { matches: { count: only.count }, groupRange };
  return { matches: intersect(selectors, context, isRowOrder(steps)), groupRange };
}

// The groups of a column to which a condition confines the result, if they lie side by side.
function rangeOn(column: TextColumn, selectors: readonly Selector[]): readonly [number, number] | undefined {
  for (const selector of selectors) {
    if (selector.kind !== 'groups' || selector.column !== column || selector.ranges.length !== 2) continue;
    return [selector.ranges[0] as number, selector.ranges[1] as number];
  }
  return undefined;
}

function findByNpi(npi: string, { columns }: IndexContext): Uint32Array {
  const column = columns.get('npi') as TextColumn;
  const [first, end] = npi === '' ? [0, 0] : groupsEqualTo(column, Buffer.from(npi));
  const start = column.starts[first] as number;
  return Uint32Array.from({ length: (column.starts[end] as number) - start }, (_, index) => start + index);
}

function memoryOf({ layout, parts }: SharedIndexBytes): PartSize[] {
  const sizes = new Map<string, number>();
  for (const [index, { name }] of layout.arrays.entries()) {
    sizes.set(name, (sizes.get(name) ?? 0) + (parts[index]?.byteLength ?? 0));
  }
  return [...sizes].map(([part, bytes]) => ({ part, bytes }));
}
