import { clearBit, countBits, setBit, wordCount } from '../bits.ts';
import { createIndexBuilder } from '../build/index-builder.ts';
import { isIn, selectChangedEntities, timeOf } from '../change-times.ts';
import { placeOfHash, rankOf } from '../distinct/build-entities.ts';
import { markView } from '../distinct/one-per-person.ts';
import { filtersOfEntity, hashOfEntity } from '../distinct/entity-hash.ts';
import { groupsEqualTo } from '../find-groups.ts';
import { openSubIndex, type SubIndex } from '../open-index.ts';
import type { Selector } from '../selector.ts';
import type { TextColumn } from '../text-column.ts';
import type {
  Distinct,
  EntityHash,
  EntityKind,
  ProviderQuery,
  SearchResult,
  SharedEntities,
  TimeRange,
} from '../types.ts';
import { mergePage, type ChangedIndexes } from './merge-page.ts';

/** Persons, organizations and places of an index and its changes. */
export interface DistinctChanges {
  search(query: ProviderQuery, distinct: Distinct): SearchResult;
  findEntity(kind: EntityKind, hash: EntityHash, entities: SharedEntities): number | undefined;
  changedAt(row: number, distinct: Distinct): number;
}

/** Two sets of rows that share no person, organization or place, so that their results are only merged. */
interface DisjointIndexes {
  readonly base: SubIndex;
  readonly baseRows: (query: ProviderQuery) => Selector;
  readonly others: SubIndex;
  readonly otherRows: (query: ProviderQuery) => readonly Selector[];
  /** From a row of `others` to its number in the changed index. */
  rowOf(other: number): number;
  changedAt(row: number): number;
}

interface ChangedEntities extends DisjointIndexes {
  readonly version: number;
  find(hash: EntityHash): number | undefined;
}

/** Computed at the first query that needs it. */
export function createDistinctChanges(indexes: ChangedIndexes): DistinctChanges {
  let gone: ReadonlySet<number> | undefined;
  let persons: DisjointIndexes | undefined;
  const entitiesByKind = new Map<EntityKind, ChangedEntities>();

  function goneRows(): ReadonlySet<number> {
    return (gone ??= findGoneRows(indexes));
  }

  function entitiesOf(kind: EntityKind, entities: SharedEntities): ChangedEntities {
    let found = entitiesByKind.get(kind);
    if (found?.version !== entities.version) {
      found = changeEntities(kind, entities, indexes, goneRows());
      entitiesByKind.set(kind, found);
    }
    return found;
  }

  return {
    search(query, distinct) {
      if (distinct.kind !== 'person')
        return searchDisjoint(query, entitiesOf(distinct.kind, distinct.entities));
      persons ??= changePersons(indexes, goneRows());
      return searchDisjoint(query, persons);
    },
    changedAt(row, distinct) {
      if (distinct.kind !== 'person') return entitiesOf(distinct.kind, distinct.entities).changedAt(row);
      persons ??= changePersons(indexes, goneRows());
      return persons.changedAt(row);
    },
    findEntity: (kind, hash, entities) => entitiesOf(kind, entities).find(hash),
  };
}

function searchDisjoint(
  query: ProviderQuery,
  { base, baseRows, others, otherRows, rowOf }: DisjointIndexes,
): SearchResult {
  const { rowCount } = base.context;
  const [baseSelectors, otherSelectors] = [[baseRows(query)], otherRows(query)];
  const counts = {
    added: others.searchAmong({ ...query, offset: 0, limit: 0 }, otherSelectors).totalCount,
    removed: 0,
  };
  if (counts.added === 0) return base.searchAmong(query, baseSelectors);
  const page = mergePage(query, counts, {
    base: among(base, baseSelectors),
    added: among(others, otherSelectors),
    removed: among(others, [nothing]),
    removedIds: new Set(),
  });
  return { ...page, rows: page.rows.map((row) => (row < rowCount ? row : rowOf(row - rowCount))) };
}

const nothing: Selector = { kind: 'rows', rows: new Uint32Array(0), count: 0 };

function among(subIndex: SubIndex, selectors: readonly Selector[]): SubIndex {
  return {
    ...subIndex,
    index: { ...subIndex.index, search: (query) => subIndex.searchAmong(query, selectors) },
  };
}

/** The rows of the base whose records are no longer valid. */
function findGoneRows({ base, removed }: ChangedIndexes): ReadonlySet<number> {
  const rows = new Set<number>();
  for (let row = 0; row < removed.index.recordCount; row++) {
    const { npi, id } = removed.index.record(row);
    const found = findRow(base, npi, id);
    if (found !== undefined) rows.add(found);
  }
  return rows;
}

// Rows of one NPI are sorted by id.
function findRow({ context }: SubIndex, npi: string, id: number): number | undefined {
  let [first, end] = rowsOfNpi(context.columns.get('npi') as TextColumn, npi);
  while (first < end) {
    const middle = (first + end) >>> 1;
    const found = context.idOf(middle);
    if (found === id) return middle;
    if (found < id) first = middle + 1;
    else end = middle;
  }
  return undefined;
}

function rowsOfNpi(column: TextColumn, npi: string): [first: number, end: number] {
  const [first, end] = groupsEqualTo(column, Buffer.from(npi));
  return [column.starts.at(first), column.starts.at(end)];
}

/** Persons with a changed record are looked for in their own index. */
function changePersons(indexes: ChangedIndexes, gone: ReadonlySet<number>): DisjointIndexes {
  const { base, added, removed } = indexes;
  const { rowCount, columns } = base.context;
  const bits = allRows(rowCount);
  const builder = createIndexBuilder();
  const rowOfId = new Map<number, number>();
  const keep = (subIndex: SubIndex, row: number, number: number): void => {
    const record = subIndex.index.record(row);
    builder.add(record);
    rowOfId.set(record.id, number);
  };
  for (const npi of new Set([...npisOf(added), ...npisOf(removed)])) {
    const [first, end] = rowsOfNpi(columns.get('npi') as TextColumn, npi);
    for (let row = first; row < end; row++) {
      clearBit(bits, row);
      if (!gone.has(row)) keep(base, row, row);
    }
  }
  for (const row of gone) clearBit(bits, row);
  for (let row = 0; row < added.index.recordCount; row++) keep(added, row, row + rowCount);
  const { times } = base.index;
  const others = openSubIndex(builder.finish(), { times });
  const { context } = others;
  const numberAt = (row: number): number => rowOfId.get(context.idOf(row)) as number;
  const numbers = Uint32Array.from({ length: context.rowCount }, (_, row) => numberAt(row));
  const places = new Map(Array.from(numbers, (number, other) => [number, other]));
  const view = markView({ kind: 'bits', bits, count: countBits(bits) });
  return {
    base,
    baseRows: () => view,
    others,
    otherRows: () => [],
    rowOf: (other) => numbers[other] as number,
    changedAt(row) {
      const other = places.get(row);
      return other === undefined ? base.index.changedAt(row, person) : others.index.changedAt(other, person);
    },
  };
}

const person: Distinct = { kind: 'person' };

function npisOf({ index }: SubIndex): string[] {
  return Array.from({ length: index.recordCount }, (_, row) => index.record(row).npi).filter(
    (npi) => npi !== '',
  );
}

function allRows(rowCount: number): Uint32Array {
  const bits = new Uint32Array(wordCount(rowCount)).fill(0xffffffff);
  if ((rowCount & 31) !== 0) bits[bits.length - 1] = (1 << (rowCount & 31)) - 1;
  return bits;
}

/**
 * An entity whose first row was removed is shown by its next row, or by its first added one. It keeps the
 * time of a change of a removed record until the index is rebuilt: whether another record changed as late is
 * not looked for.
 */
function changeEntities(
  kind: EntityKind,
  entities: SharedEntities,
  { base, added }: ChangedIndexes,
  gone: ReadonlySet<number>,
): ChangedEntities {
  const { [kind]: arrays, seed, version } = entities;
  const { rowCount } = base.context;
  const { times } = base.index;
  const bits = arrays.bits.slice();
  /** By place of the entity: its row now, or none. */
  const moved = new Map<number, number | undefined>();
  /** From the row that represents an entity now to the one in the arrays. */
  const firstOf = new Map<number, number>();
  for (const row of gone) {
    const record = base.index.record(row);
    const hash = hashOfEntity(record, kind, seed);
    const place = hash === undefined ? -1 : placeOfHash(arrays, hash);
    if (place < 0 || arrays.rows[place] !== row) continue;
    clearBit(bits, row);
    const query = { filters: filtersOfEntity(record, kind), sort: [], offset: 0, limit: gone.size + 1 };
    const next = base.index.search(query).rows.find((other) => !gone.has(other));
    moved.set(place, next);
    if (next === undefined) continue;
    setBit(bits, next);
    firstOf.set(next, row);
  }
  const find = (hash: EntityHash): number | undefined => {
    const place = placeOfHash(arrays, hash);
    if (place < 0) return undefined;
    return moved.has(place) ? moved.get(place) : arrays.rows[place];
  };
  const fresh = new Map<string, number>();
  /** Times of the last changes of entities with added records, by the row that represents them. */
  const changes = new Map<number, number>();
  const inBase = (row: number | undefined): number =>
    row === undefined ? 0 : timeOf(arrays.changed[rankOf(arrays, firstOf.get(row) ?? row)] as number, times);
  const changedAt = (row: number): number => changes.get(row) ?? inBase(row);
  const addedBits = new Uint32Array(wordCount(added.index.recordCount));
  for (let row = 0; row < added.index.recordCount; row++) {
    const hash = hashOfEntity(added.index.record(row), kind, seed);
    if (hash === undefined) continue;
    const found = find(hash);
    const standing = found ?? fresh.get(keyOf(hash)) ?? row + rowCount;
    changes.set(standing, Math.max(added.index.changedAt(row), changes.get(standing) ?? inBase(found)));
    if (standing !== row + rowCount) continue;
    fresh.set(keyOf(hash), row + rowCount);
    setBit(addedBits, row);
  }
  const name = `${kind} ${version} changed ${++lastChanged}`;
  const shown = { kind: 'bits', bits, count: countBits(bits), name } as const;
  const selectChanged = (ranges: readonly TimeRange[]): Selector => {
    const selected = selectChangedEntities(arrays, ranges, times);
    const put = (row: number, isWanted: boolean): void =>
      isWanted ? setBit(selected.bits, row) : clearBit(selected.bits, row);
    for (const [place] of moved) put(arrays.rows[place] as number, false);
    for (const [row] of firstOf) put(row, isIn(changedAt(row), ranges));
    for (const [row, time] of changes) if (row < rowCount) put(row, isIn(time, ranges));
    return { kind: 'bits', bits: selected.bits, count: countBits(selected.bits) };
  };
  return {
    version,
    base,
    baseRows: ({ changed }) => (changed === undefined ? shown : selectChanged(changed)),
    others: added,
    otherRows({ changed }) {
      if (changed === undefined) return [{ kind: 'bits', bits: addedBits, count: fresh.size }];
      const rows = [...fresh.values()].filter((row) => isIn(changedAt(row), changed));
      return [{ kind: 'rows', rows: Uint32Array.from(rows, (row) => row - rowCount), count: rows.length }];
    },
    changedAt,
    rowOf: (other) => other + rowCount,
    find: (hash) => find(hash) ?? fresh.get(keyOf(hash)),
  };
}

let lastChanged = 0;

function keyOf({ low, high }: EntityHash): string {
  return `${high}-${low}`;
}
