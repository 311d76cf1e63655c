import type { IndexContext } from './index-context.ts';
import { LRUCache } from 'lru-cache';
import { createArrayReader } from './arrays.ts';
import { wordCount } from './bits.ts';
import type { TextField } from '../provider-record/index.ts';
import { columnNames, columnsOf, type ColumnName } from './columns.ts';
import {
  lastChangeOf,
  selectChangedEntities,
  selectChangedPersons,
  selectChangedRows,
} from './change-times.ts';
import { compileOnce } from './compile-filter.ts';
import { ProviderIndexError } from './errors.ts';
import { estimateCost } from './estimate-cost.ts';
import { groupsEqualTo } from './find-groups.ts';
import { openTrigramIndex, type TrigramIndex } from './trigrams.ts';
import { createBitsPool, intersect, type Matches } from './intersect.ts';
import { listAddresses } from './list-addresses.ts';
import { isFoundBySections, isRowOrder, orderPage } from './order/order-page.ts';
import { countByLeaf, nearRows } from './order/near-rows.ts';
import { orderSteps, type OrderStep } from './order/row-key.ts';
import { openPackedRows, type PackedField } from './packed-rows.ts';
import { circleOf, milesToRows, openPointMap, type Circle } from './points.ts';
import { firstRowOf } from './distinct/build-entities.ts';
import { findById } from './distinct/find-by-id.ts';
import { onePerPerson } from './distinct/one-per-person.ts';
import { either } from './find-address.ts';
import { createRecordWriter } from './write-records.ts';
import { readDigits } from './read-record.ts';
import type { Selector } from './selector.ts';
import { openSpelledTexts, type SpelledTexts } from './spelled-texts.ts';
import { openTextColumn, type TextColumn } from './text-column.ts';
import { wordColumns, type WordColumnName } from './word-columns.ts';
import { createKnownWords } from './words/known-words.ts';
import { suggest } from './words/suggest.ts';
import { openWordColumn } from './words/word-column.ts';
import type {
  Alternative,
  ArraySize,
  IndexTimes,
  ProviderIndex,
  ProviderQuery,
  SearchResult,
  SharedIndexBytes,
  SortKey,
} from './types.ts';

/** An index opened in this thread, with its internals. */
export interface SubIndex {
  readonly index: ProviderIndex;
  readonly context: IndexContext;
  /**
   * A search among the rows that further conditions select; distinct organizations and places are such a
   * condition.
   */
  searchAmong(query: ProviderQuery, selectors: readonly Selector[]): SearchResult;
}

export interface OpenIndexOptions {
  /** Results of up to this many rows are lists, longer ones sets; tests lower it. */
  readonly shortResult?: number;
  /** Without them every record counts as changed in 1970. */
  readonly times?: IndexTimes;
}

const noTimes: IndexTimes = { ownChange: 0, earliestChange: 0 };

/** Makes an index usable in this thread. Cheap: nothing is copied or computed. */
export function openIndex(bytes: SharedIndexBytes, options?: OpenIndexOptions): ProviderIndex {
  return openSubIndex(bytes, options).index;
}

/** The internals by which rows of several indexes are compared and found. */
export function openSubIndex(
  bytes: SharedIndexBytes,
  { shortResult = 4096, times = noTimes }: OpenIndexOptions = {},
): SubIndex {
  const context = openContext(bytes, shortResult, times);
  const searchAmong: SubIndex['searchAmong'] = (query, selectors) => {
    try {
      return search(query, selectors, context);
    } finally {
      endQuery(context);
    }
  };
  const index: ProviderIndex = {
    recordCount: context.rowCount,
    bytes,
    search: (query) => searchAmong(query, firstRows(query, context)),
    suggest: (query) => suggest(query, [{ context, removed: undefined, firstRow: 0 }]),
    findByNpi: (npi) => findByNpi(npi, context),
    findById: (id) => findById(id, context),
    findEntity(kind, hash, { [kind]: arrays }) {
      return firstRowOf(arrays, hash);
    },
    idOf: context.idOf,
    npiOf: (row) => readDigits(context.columns.get('npi') as TextColumn, row),
    ...createRecordWriter(context),
    rowsOfPerson: (row) => rowsOfPerson(row, context),
    haveSameTexts: (rows, fields) => haveSameTexts(rows, fields, context),
    changedAt: (row, distinct) => lastChangeOf(row, distinct, context),
    times,
    estimateCost(query) {
      endQuery(context);
      return estimateCost(query, context);
    },
    memory: () => memoryOf(bytes),
    addresses: listAddresses(context),
  };
  return { index, context, searchAmong };
}

function firstRows({ distinct, changed }: ProviderQuery, { times }: IndexContext): Selector[] {
  if (distinct === undefined || distinct.kind === 'person') return [];
  const arrays = distinct.entities[distinct.kind];
  if (changed !== undefined) return [selectChangedEntities(arrays, changed, times)];
  const name = `${distinct.kind} ${distinct.entities.version}`;
  return [{ kind: 'bits', bits: arrays.bits, count: arrays.rows.length, name }];
}

function endQuery({ compiled, pool }: IndexContext): void {
  compiled.clear();
  pool.releaseAll();
}

function openContext(bytes: SharedIndexBytes, shortResult: number, times: IndexTimes): IndexContext {
  const arrays = createArrayReader(bytes);
  const rowCount = bytes.layout.recordCount;
  const packed = openPackedRows(arrays);
  const pool = createBitsPool(wordCount(rowCount));
  const [lowIds, highIds] = [packed.get('id') as PackedField, packed.get('idHigh') as PackedField];
  const columns = new Map(columnNames.map((name) => [name, openTextColumn(name, arrays, packed)]));
  const trigrams = new Map<ColumnName, TrigramIndex>();
  const spellings = new Map<ColumnName, SpelledTexts>();
  for (const [name, column] of columns) {
    const index = openTrigramIndex(column, arrays, rowCount, pool);
    if (index !== undefined) trigrams.set(name, index);
    const spelled = openSpelledTexts(column, arrays);
    if (spelled !== undefined) spellings.set(name, spelled);
  }
  const points = openPointMap(arrays);
  return {
    rowCount,
    shortResult,
    columns,
    trigrams,
    spellings,
    compiled: new Map(),
    points,
    packed,
    words: new Map(
      (Object.keys(wordColumns) as WordColumnName[]).map((name) => [
        name,
        openWordColumn(name, columns.get(name) as TextColumn, arrays, rowCount, pool),
      ]),
    ),
    idOf: (row) => lowIds.at(row) + highIds.at(row) * 2 ** 32,
    address: {
      local: columns.get('addressLocal') as TextColumn,
      domain: columns.get('addressDomain') as TextColumn,
    },
    pool,
    changedAt: arrays.find('changedAt', 'u32'),
    times,
    sums: new LRUCache({ max: maxSums }),
    knownWords: createKnownWords(rowCount, pool),
  };
}

function search(query: ProviderQuery, selectors: readonly Selector[], context: IndexContext): SearchResult {
  checkQuery(query);
  const steps = stepsOf(query, context);
  const circle = query.radius === undefined ? undefined : circleOf(context.points, query.radius);
  const filters = [...compileSelectors(query, context), ...selectors];
  const matches =
    query.distinct?.kind === 'person'
      ? onePerPerson(filters, context)
      : find(filters, steps, circle, context);
  const totalCount = matches.count;
  const [from, to] = windowOf(query, totalCount);
  const rows = orderPage({ matches, steps, circle, from, to }, context);
  if (circle === undefined) return { totalCount, rows };
  const milesTo = milesToRows(context.points, circle);
  const distances = new Float64Array(rows.length);
  for (let at = 0; at < rows.length; at++) distances[at] = milesTo(rows[at] as number);
  return { totalCount, rows, distances };
}

function find(
  filters: readonly Selector[],
  steps: readonly OrderStep[],
  circle: Circle | undefined,
  context: IndexContext,
): Matches {
  if (circle === undefined) {
    const [only] = filters;
    if (only !== undefined && filters.length === 1 && isFoundBySections(only, steps, context))
      return { count: only.count, inside: only };
    return intersect(filters, context, isRowOrder(steps));
  }
  if (steps[0]?.kind === 'distance') return findByDistance(filters, circle, context);
  const { inside } = circle;
  if (filters.length === 0 && isFoundBySections(inside, steps, context))
    return { count: inside.count, inside };
  return intersect([...filters, inside], context, isRowOrder(steps));
}

// An order by distance also counts by distance, so a bitset of the rows in the circle is not needed.
function findByDistance(filters: readonly Selector[], circle: Circle, context: IndexContext): Matches {
  const { points, shortResult } = context;
  const { inside } = circle;
  const [only, ...others] = filters;
  if (only === undefined) return nearMatches(circle, { count: inside.count }, context);
  if (only.kind === 'bits' && only.name !== undefined && others.length === 0) {
    const near = nearRows(points, circle, only, sumsOf(only.name, only, context));
    return { count: near.count, bits: only.bits, near };
  }
  const rarest = Math.min(...filters.map(({ count }) => count));
  // A set that is there is counted in the circle as it is.
  const isFewInside =
    inside.count <= rarest && (inside.count <= shortResult || filters.some(({ kind }) => kind !== 'bits'));
  const found = intersect(isFewInside || rarest <= shortResult ? [...filters, inside] : filters, context);
  const { count, rows } = found;
  if (rows === undefined) return nearMatches(circle, found, context);
  return isFewInside || rarest <= shortResult
    ? found
    : intersect([{ kind: 'rows', rows, count }, inside], context);
}

function nearMatches(circle: Circle, matches: Matches, { points }: IndexContext): Matches {
  const near = nearRows(points, circle, matches);
  return { count: near.count, ...(matches.bits && { bits: matches.bits }), near };
}

// Organizations and places of the index, and of its changes.
const maxSums = 4;

function sumsOf(
  name: string,
  { bits, count }: Selector & { kind: 'bits' },
  { points, sums }: IndexContext,
): Uint32Array {
  const known = sums.get(name);
  if (known !== undefined) return known;
  const found = countByLeaf(points, bits, count);
  sums.set(name, found);
  return found;
}

function windowOf({ offset, limit }: ProviderQuery, count: number): [from: number, to: number] {
  return [Math.min(offset, count), Math.min(offset + limit, count)];
}

function checkQuery({ offset, limit, radius, distinct }: ProviderQuery): void {
  const isPage = Number.isSafeInteger(offset) && offset >= 0 && Number.isSafeInteger(limit) && limit >= 0;
  const isCircle =
    radius === undefined ||
    (Math.abs(radius.latitude) <= 90 && Math.abs(radius.longitude) <= 180 && radius.miles >= 0);
  if (!isPage || !isCircle)
    throw new ProviderIndexError('INDEX_QUERY_INVALID', 'The page or the radius of a query is faulty.');
  if (distinct?.kind === 'person' && radius !== undefined)
    throw new ProviderIndexError('INDEX_QUERY_INVALID', 'Persons are not looked for in a radius.');
}

function compileSelectors(query: ProviderQuery, context: IndexContext): Selector[] {
  const { filters, alternatives, ids, changed, distinct } = query;
  const selectors = filters.map((filter) => compileOnce(filter, context));
  for (const group of alternatives ?? []) selectors.push(selectAny(group, context));
  if (ids !== undefined) selectors.push(selectIds(ids, context));
  // Those of organizations and places are among the conditions on first rows.
  if (changed !== undefined && distinct?.kind === 'person')
    selectors.push(selectChangedPersons(changed, context));
  else if (changed !== undefined && distinct === undefined)
    selectors.push(selectChangedRows(changed, context));
  return selectors.filter(
    (selector): selector is Selector => selector !== undefined && selector.count < context.rowCount,
  );
}

// Undefined if one of the alternatives fits every row.
function selectAny(group: readonly Alternative[], context: IndexContext): Selector | undefined {
  const selectors = group.map((filters) => selectAll(filters, context));
  const known = selectors.filter((selector) => selector !== undefined);
  return known.length < selectors.length ? undefined : either(known, context);
}

function selectAll(filters: Alternative, context: IndexContext): Selector | undefined {
  const selectors = filters
    .map((filter) => compileOnce(filter, context))
    .filter((selector) => selector !== undefined);
  if (selectors.length < 2) return selectors[0];
  const { count, rows, bits } = intersect(selectors, context);
  if (rows !== undefined) return { kind: 'rows', rows, count };
  return bits && { kind: 'bits', bits, count };
}

function selectIds(ids: readonly number[], context: IndexContext): Selector {
  const found = [...new Set(ids)].map((id) => findById(id, context)).filter((row) => row !== undefined);
  return { kind: 'rows', rows: Uint32Array.from(found), count: found.length };
}

/** The criteria of a query's order; the id comes after them. */
export function stepsOf(query: ProviderQuery, context: IndexContext): OrderStep[] {
  const steps = orderSteps(sortOf(query), context);
  return query.radius === undefined ? steps.filter((step) => step.kind === 'text') : steps;
}

function sortOf({ sort, radius }: ProviderQuery): readonly SortKey[] {
  return sort.length > 0 ? sort : [{ field: radius === undefined ? 'npi' : 'distance', isDescending: false }];
}

// Rows are in NPI order with ties by id.
function rowsOfPerson(row: number, { columns }: IndexContext): Uint32Array {
  const { codes, starts, blankGroup } = columns.get('npi') as TextColumn;
  const group = codes[row] as number;
  if (group === blankGroup) return Uint32Array.of(row);
  const start = starts.at(group);
  const rows = new Uint32Array(starts.at(group + 1) - start);
  for (let index = 0; index < rows.length; index++) rows[index] = start + index;
  return rows;
}

function haveSameTexts(rows: Uint32Array, fields: readonly TextField[], { columns }: IndexContext): boolean {
  const [first = 0] = rows;
  for (const field of fields)
    for (const name of columnsOf(field)) {
      const column = columns.get(name) as TextColumn;
      for (let index = 1; index < rows.length; index++)
        if (!column.isSameText(first, rows[index] as number)) return false;
    }
  return true;
}

function findByNpi(npi: string, { columns }: IndexContext): Uint32Array {
  const column = columns.get('npi') as TextColumn;
  const [first, end] = npi === '' ? [0, 0] : groupsEqualTo(column, Buffer.from(npi));
  const start = column.starts.at(first);
  return Uint32Array.from({ length: column.starts.at(end) - start }, (_, index) => start + index);
}

function memoryOf({ layout, buffers }: SharedIndexBytes): ArraySize[] {
  const sizes = new Map<string, number>();
  for (const [index, { name }] of layout.arrays.entries()) {
    sizes.set(name, (sizes.get(name) ?? 0) + (buffers[index]?.byteLength ?? 0));
  }
  return [...sizes].map(([part, bytes]) => ({ part, bytes }));
}
