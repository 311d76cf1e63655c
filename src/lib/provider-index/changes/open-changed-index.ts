/**
 * A large index and the two small ones of its changes, searched as one.
 * Used by `lib/provider-index`; others by its `index.ts`.
 * Begin with `openChangedIndex` here.
 */
import { setBit, wordCount } from '../bits.ts';
import { openSubIndex, type SubIndex } from '../open-index.ts';
import type { AddressList, IndexChanges, ArraySize, ProviderIndex, ProviderQuery } from '../types.ts';
import { suggest } from '../words/suggest.ts';
import { createDistinctChanges } from './distinct-changes.ts';
import { mergePage, type ChangedIndexes } from './merge-page.ts';
import { createRecordWriter } from '../write-records.ts';

/**
 * An index and its changes since it was built, searched as one: counts, order and text are those of an index
 * built again. A query that no change affects costs two additional searches in the small indexes.
 */
export function openChangedIndex(base: SubIndex, changes: IndexChanges): ProviderIndex {
  const { times } = base.index;
  const added = openSubIndex(changes.added, { times });
  const removed = openSubIndex(changes.removed, { times });
  const indexes: ChangedIndexes = {
    base,
    added,
    removed,
    removedIds: new Set(
      Array.from({ length: removed.context.rowCount }, (_, row) => removed.context.idOf(row)),
    ),
  };
  const { rowCount } = base.context;
  const countIn = (subIndex: SubIndex, query: ProviderQuery): number =>
    subIndex.index.recordCount === 0
      ? 0
      : subIndex.index.search({ ...query, offset: 0, limit: 0 }).totalCount;
  const removedRows = bitsOfIds(indexes.removedIds, base);
  const distinct = createDistinctChanges(indexes);
  const idOf = (row: number): number =>
    row < rowCount ? base.context.idOf(row) : added.context.idOf(row - rowCount);
  const writer = createRecordWriter(base.context, added.context);
  return {
    recordCount: rowCount - removed.index.recordCount + added.index.recordCount,
    bytes: base.index.bytes,
    search(query) {
      if (query.distinct !== undefined) return distinct.search(query, query.distinct);
      const counts = { added: countIn(added, query), removed: countIn(removed, query) };
      return counts.added === 0 && counts.removed === 0
        ? base.index.search(query)
        : mergePage(query, counts, indexes);
    },
    suggest: (query) =>
      suggest(query, [
        { context: base.context, removed: removedRows, firstRow: 0 },
        { context: added.context, removed: undefined, firstRow: rowCount },
      ]),
    findByNpi: (npi) => findByNpi(npi, indexes),
    findById: (id) => findById(id, indexes),
    findEntity: (kind, hash, entities) => distinct.findEntity(kind, hash, entities),
    idOf,
    npiOf: (row) =>
      row >= rowCount
        ? added.index.npiOf(row - rowCount)
        : indexes.removedIds.has(idOf(row))
          ? ''
          : base.index.npiOf(row),
    ...writer,
    rowsOfPerson(row) {
      const { npi } = writer.record(row);
      return npi === '' ? Uint32Array.of(row) : findByNpi(npi, indexes);
    },
    // Texts of several indexes are not compared.
    haveSameTexts: (rows, fields) =>
      rows.every((row) => row < rowCount) && base.index.haveSameTexts(rows, fields),
    changedAt(row, about) {
      if (about !== undefined) return distinct.changedAt(row, about);
      return row < rowCount ? base.index.changedAt(row) : added.index.changedAt(row - rowCount);
    },
    times,
    estimateCost: (query) => estimateCost(query, indexes),
    addresses: listChangedAddresses(indexes),
    memory: () => [...base.index.memory(), ...sizesOf(added), ...sizesOf(removed)],
  };
}

function bitsOfIds(ids: ReadonlySet<number>, { index, context }: SubIndex): Uint32Array {
  const bits = new Uint32Array(wordCount(context.rowCount));
  for (const id of ids) {
    const row = index.findById(id);
    if (row !== undefined) setBit(bits, row);
  }
  return bits;
}

function findByNpi(npi: string, { base, added, removedIds }: ChangedIndexes): Uint32Array {
  const { rowCount } = base.context;
  const staying = base.index.findByNpi(npi).filter((row) => !removedIds.has(base.context.idOf(row)));
  const newcomers = added.index.findByNpi(npi);
  if (newcomers.length === 0) return staying;
  const idOf = (row: number): number =>
    row < rowCount ? base.context.idOf(row) : added.context.idOf(row - rowCount);
  return Uint32Array.from([...staying, ...newcomers.map((row) => row + rowCount)]).sort(
    (a, b) => idOf(a) - idOf(b),
  );
}

function findById(id: number, { base, added, removedIds }: ChangedIndexes): number | undefined {
  const newcomer = added.index.findById(id);
  if (newcomer !== undefined) return newcomer + base.context.rowCount;
  return removedIds.has(id) ? undefined : base.index.findById(id);
}

// The page is written once, wherever its rows come from.
function estimateCost(query: ProviderQuery, { base, added, removed }: ChangedIndexes): number {
  const counting = { ...query, offset: 0, limit: 0 };
  return (
    base.index.estimateCost(query) + added.index.estimateCost(counting) + removed.index.estimateCost(counting)
  );
}

function sizesOf({ index }: SubIndex): ArraySize[] {
  return index.memory().map(({ part, bytes }) => ({ part: `changes.${part}`, bytes }));
}

function listChangedAddresses({ base, added, removedIds }: ChangedIndexes): AddressList {
  const { rowCount } = base.context;
  const [before, newcomers] = [base.index.addresses, added.index.addresses];
  return {
    rowLimit: rowCount + newcomers.rowLimit,
    stableRows: rowCount,
    // A domain whose last record was removed has no rows.
    domains: () => [...new Set([...before.domains(), ...newcomers.domains()])],
    rowsOf(domain) {
      const staying = before.rowsOf(domain).filter((row) => !removedIds.has(base.context.idOf(row)));
      return Uint32Array.from([...staying, ...newcomers.rowsOf(domain).map((row) => row + rowCount)]);
    },
    addressOf: (row) => (row < rowCount ? before.addressOf(row) : newcomers.addressOf(row - rowCount)),
    putHashes(from, seed, hashes) {
      const own = Math.min(Math.max(rowCount - from, 0) * 2, hashes.length);
      before.putHashes(from, seed, hashes.subarray(0, own));
      newcomers.putHashes(Math.max(from - rowCount, 0), seed, hashes.subarray(own));
    },
  };
}
