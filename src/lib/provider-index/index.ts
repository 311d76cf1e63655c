/**
 * The provider directory in memory: filters, sorting, radius and paging over millions of records.
 *
 * Answers are exact (counts, order, ties) by Directory spec: Query parameters and Decisions 0002 to 0004; the
 * structure is described in docs/provider-index.md. An index is immutable and is in shared buffers: build a
 * new one, or two small ones of the changes, then swap. Knows no parameter names, no gazetteer and no
 * storage; service/directory turns requests into queries.
 */
export type {
  AddressList,
  Alternative,
  ConstantText,
  Distinct,
  EntityHash,
  EntityKind,
  EntitySeed,
  Envelope,
  IndexBuilder,
  IndexChanges,
  IndexLayout,
  IndexTimes,
  ArraySize,
  ProviderFilter,
  ProviderIndex,
  ProviderQuery,
  RecordFormat,
  RecordField,
  RecordPen,
  RadiusFilter,
  SearchResult,
  SharedEntities,
  SuggestionQuery,
  SuggestionResult,
  SharedIndexBytes,
  SortKey,
  TimeRange,
} from './types.ts';
export { ProviderIndexError, providerIndexErrors } from './errors.ts';
export { createIndexBuilder, type IndexBuilderOptions } from './build/index-builder.ts';
export { createAddressSlots, type AddressSlots } from './address-slots.ts';
export { keepText } from './json-output.ts';
export { openIndex, type OpenIndexOptions } from './open-index.ts';
export { hashOfEntity, filtersOfEntity } from './distinct/entity-hash.ts';
export { firstRowOf, isFirstRow, ownedRows } from './distinct/build-entities.ts';
export { findEntities } from './distinct/find-entities.ts';
export { findRecords } from './changes/find-records.ts';
export { openChangedIndex } from './changes/open-changed-index.ts';
export { readSnapshot, isOtherSnapshotVersion, checkSnapshot, writeSnapshot } from './snapshot.ts';
export {
  createSearchPool,
  type FoundPage,
  type FoundSuggestions,
  type SearchPool,
  type SearchPoolOptions,
} from './search-pool.ts';
