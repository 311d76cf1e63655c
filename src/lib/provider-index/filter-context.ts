import type { ColumnName } from './columns.ts';
import { keepContaining, type TrigramIndex } from './trigrams.ts';
import type { IntersectContext } from './intersect.ts';
import { selectGroups, type Selector } from './selector.ts';
import type { SpelledTexts } from './spelled-texts.ts';
import type { TextColumn } from './text-column.ts';
import type { ProviderFilter } from './types.ts';
import type { WordColumnName } from './word-columns.ts';
import type { WordColumn } from './words/word-column.ts';

/** The index data that filters are compiled against. */
export interface FilterContext extends IntersectContext {
  readonly columns: ReadonlyMap<ColumnName, TextColumn>;
  readonly trigrams: ReadonlyMap<ColumnName, TrigramIndex>;
  readonly spellings: ReadonlyMap<ColumnName, SpelledTexts>;
  readonly words: ReadonlyMap<WordColumnName, WordColumn>;
  readonly address: AddressColumns;
  /** The filters of the running query that are compiled already. */
  readonly compiled: Map<ProviderFilter, Selector | undefined>;
}

export interface AddressColumns {
  readonly local: TextColumn;
  readonly domain: TextColumn;
}

/**
 * Rows whose text in the column holds `wanted`, by trigrams or, in a column without them, by reading every
 * text.
 */
export function selectContaining(
  column: TextColumn,
  wanted: Uint8Array,
  trigrams: TrigramIndex | undefined,
): Selector {
  if (trigrams !== undefined) return trigrams.find(wanted);
  return selectGroups(column, keepContaining(column, allGroups(column), wanted));
}

/** Every group of a column. */
export function allGroups(column: TextColumn): Uint32Array {
  return Uint32Array.from({ length: column.groupCount }, (_, group) => group);
}
