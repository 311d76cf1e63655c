import type { QueryWord } from '../search-words/index.ts';
import type { FilterMatch, ProviderRecord, SearchField, TextField } from '../provider-record/index.ts';

export interface ProviderFilter {
  /** A first or last name is also found among a person's other names. */
  readonly field: SearchField;
  readonly match: FilterMatch;
  /**
   * As the client wrote it. The empty text matches every record with 'prefix' and 'contains', the blank ones
   * with 'exact'.
   */
  readonly value: string;
}

/** A circle on the earth: records with coordinates at most `miles` from the center (Decision 0004). */
export interface RadiusFilter {
  readonly latitude: number;
  readonly longitude: number;
  readonly miles: number;
}

export interface SortKey {
  readonly field: SearchField | 'distance';
  readonly isDescending: boolean;
}

/** Filters that must all match. */
export type Alternative = readonly ProviderFilter[];

/** The kinds of entity that several records can describe. */
export type EntityKind = 'organization' | 'place';

/**
 * One record for each person, organization or place among the records that match (docs/provider-index.md).
 */
export type Distinct =
  | { readonly kind: 'person' }
  | { readonly kind: EntityKind; readonly entities: SharedEntities };

/** Prevents authors of records from choosing colliding entity hashes. */
export interface EntitySeed {
  readonly low: number;
  readonly high: number;
}

/** 64 bits in two unsigned halves. */
export interface EntityHash {
  readonly low: number;
  readonly high: number;
}

/** The organizations and places of an index, in shared memory. */
export interface SharedEntities {
  /** Another one for each index. */
  readonly version: number;
  readonly seed: EntitySeed;
  readonly organization: EntityArrays;
  readonly place: EntityArrays;
}

export interface EntityArrays {
  /** In the order of their hashes: the first row of each entity, and the halves of the hash. */
  readonly rows: Uint32Array;
  readonly low: Uint32Array;
  readonly high: Uint32Array;
  /** The first rows as a set. */
  readonly bits: Uint32Array;
  /** In the order of the first rows: when the last record of the entity changed. */
  readonly changed: Uint32Array;
  /** For each word of the set how many first rows are in the words before it. */
  readonly ranks: Uint32Array;
  /** Rows with an NPI and without a person's name, those of one organization together. */
  readonly owned: Uint32Array;
  /** In the order of the first rows: where the entity's own rows begin; one more for the end. */
  readonly ownedStarts: Uint32Array;
}

/** Seconds since 1970: from the first one up to, but not including, the second one. */
export type TimeRange = readonly [from: number, end: number];

/**
 * Times that are missing when an index is built, because its load has not been activated yet. Seconds since
 * 1970.
 */
export interface IndexTimes {
  /** Of records that changed with that load. */
  readonly ownChange: number;
  /** No record counts as changed earlier. */
  readonly earliestChange: number;
}

/**
 * All filters must match. An empty `sort` means by distance with a radius, else by NPI. The last tie-break is
 * the id, ascending.
 */
export interface ProviderQuery {
  readonly filters: readonly ProviderFilter[];
  /** In each group one alternative must match with all its filters. */
  readonly alternatives?: readonly (readonly Alternative[])[];
  /** Only records with one of these ids. */
  readonly ids?: readonly number[];
  /**
   * Only records whose last change is in one of these ranges. A person, organization or place changed when
   * the last one of its records did, whether or not that one meets the other conditions.
   */
  readonly changed?: readonly TimeRange[];
  /** Persons not together with a radius; organizations and places only by fields that make them one. */
  readonly distinct?: Distinct;
  readonly radius?: RadiusFilter;
  readonly sort: readonly SortKey[];
  readonly offset: number;
  readonly limit: number;
}

/**
 * One page: rows of the index in order; `distances` (unrounded miles, one per row) only when the query had a
 * radius.
 */
export interface SearchResult {
  readonly totalCount: number;
  readonly rows: Uint32Array;
  readonly distances?: Float64Array;
}

/**
 * What somebody types into one box, and conditions next to it (docs/suggestions.md). Each word must fit a
 * word of a record somewhere.
 */
export interface SuggestionQuery {
  readonly words: readonly QueryWord[];
  readonly filters: readonly ProviderFilter[];
  /** Words that must fit the specialty; their terms are for that field. */
  readonly specialty: readonly QueryWord[];
  /** Only records with a person's name, or only those without. */
  readonly kind?: 'person' | 'organization';
  readonly isTrustedOnly?: boolean;
  /** Rows whose address is trusted, and of these those that were confirmed lately; shared memory. */
  readonly trusted?: Uint32Array;
  readonly confirmed?: Uint32Array;
  /** Nearer records come first among those that fit equally. */
  readonly near?: Pick<RadiusFilter, 'latitude' | 'longitude'>;
  /** Rows in the result. */
  readonly limit: number;
}

/** The best records for a {@link SuggestionQuery}, in order, and counts over all that fit. */
export interface SuggestionResult {
  readonly totalCount: number;
  readonly rows: Uint32Array;
  /** Miles from the place for each row; infinite for rows without coordinates; absent without a place. */
  readonly distances?: Float64Array;
  /** Words may be misspelt, because too little was found otherwise. */
  readonly isNear: boolean;
  /** Folded texts with the number of records, most first. */
  readonly states: readonly (readonly [string, number])[];
  readonly specialties: readonly (readonly [string, number])[];
  readonly trustedCount: number;
  /** Other words that find something; only if these find nothing. */
  readonly nearlyMeant: readonly string[];
}

/** One array of the index; it fills the part of the same number. */
export interface ArraySpec {
  /** For example `lastName.postings`. */
  readonly name: string;
  readonly type: 'u8' | 'u16' | 'u32' | 'i32' | 'f32' | 'f64';
  /** Elements. */
  readonly length: number;
}

/** The text before and after the records of a page. */
export interface Envelope {
  readonly before: Uint8Array;
  readonly after: Uint8Array;
}

/** Text that is kept as bytes, so that writing it again is copying. */
export interface ConstantText {
  readonly text: string;
}

/** One field of the record that is written. Texts are as they stand between the quotes of JSON. */
export interface RecordField {
  readonly isBlank: boolean;
  readonly text: string;
  put(): void;
}

/** Where records are written to, one after the other. */
export interface RecordPen {
  readonly id: number;
  /** Undefined for a record without coordinates. */
  readonly latitude: number | undefined;
  readonly longitude: number | undefined;
  /** While a format is made ready: a field of each record. */
  field(field: TextField): RecordField;
  /**
   * The same: the hash of the entity of each record, as 16 digits of hexadecimal. It is known if one of its
   * required fields is not blank.
   */
  entity(kind: EntityKind, seed: EntitySeed): { put(): void };
  put(text: ConstantText): void;
  putText(text: string): void;
  /** As JavaScript writes numbers. */
  putNumber(value: number): void;
}

/**
 * The output format of a record: called once for an index, it returns what writes the current record of the
 * pen, which is number `at` of its page. The page has what the caller knows about the records.
 */
export type RecordFormat<Page> = (pen: RecordPen) => (at: number, page: Page) => void;

/** The data of an index: plain data that can be written to a file and shared with worker threads. */
export interface IndexLayout {
  readonly recordCount: number;
  readonly arrays: readonly ArraySpec[];
}

export interface SharedIndexBytes {
  readonly layout: IndexLayout;
  readonly buffers: readonly SharedArrayBuffer[];
}

/** The changes since an index was built, as two small indexes next to it. */
export interface IndexChanges {
  /** New records, and the new versions of changed ones. */
  readonly added: SharedIndexBytes;
  /** Records of the index that are no longer valid: deleted or changed. */
  readonly removed: SharedIndexBytes;
}

/** Bytes by part, for example `{ part: 'street', bytes: 104857600 }`. */
export interface ArraySize {
  readonly part: string;
  readonly bytes: number;
}

/** The Direct addresses of an index, case-folded, by domain. */
export interface AddressList {
  /** Every row number is below it; not every number below it is a row. */
  readonly rowLimit: number;
  /** Rows below it have the same address in every index of the same bytes, whatever its changes. */
  readonly stableRows: number;
  /** Each once, in lower case. */
  domains(): readonly string[];
  rowsOf(domain: string): Uint32Array;
  /** Empty for a row without an address. */
  addressOf(row: number): string;
  /**
   * The low and the high half of a hash of each row's address, from row `from` on, until `hashes` is full.
   */
  putHashes(from: number, seed: EntitySeed, hashes: Uint32Array): void;
}

/** A read-only view over {@link SharedIndexBytes}. Its working memory belongs to one thread. */
export interface ProviderIndex {
  readonly recordCount: number;
  readonly bytes: SharedIndexBytes;
  search(query: ProviderQuery): SearchResult;
  suggest(query: SuggestionQuery): SuggestionResult;
  /** Rows with that NPI, by id; empty when there is none. */
  findByNpi(npi: string): Uint32Array;
  /** The row of the record with that id. */
  findById(id: number): number | undefined;
  /** The row that represents an organization or a place. */
  findEntity(kind: EntityKind, hash: EntityHash, entities: SharedEntities): number | undefined;
  record(row: number): ProviderRecord;
  /** The id of a row's record, whether or not it was removed since. */
  idOf(row: number): number;
  /** The NPI of a row's record; empty without one, and for a row of before whose record was removed since. */
  npiOf(row: number): string;
  /** The same for several rows. */
  records(rows: Uint32Array): ProviderRecord[];
  /**
   * UTF-8 text of the records of some rows, with commas between them, in an envelope if there is one. A
   * format is made ready for each index once.
   */
  writeRecords<Page>(
    rows: Uint32Array,
    format: RecordFormat<Page>,
    page: Page,
    envelope?: Envelope,
  ): Uint8Array;
  /** For a row all rows of the same NPI, by id; itself alone without one. */
  rowsOfPerson(row: number): Uint32Array;
  /**
   * True if the texts of these rows are known to be the same in each of the fields; cheaper than reading
   * them.
   */
  haveSameTexts(rows: Uint32Array, fields: readonly TextField[]): boolean;
  /**
   * Time of the last change of a row's record, or of its person, organization or place: seconds since 1970.
   */
  changedAt(row: number, distinct?: Distinct): number;
  readonly times: IndexTimes;
  /** A rough number of record visits that the query costs; decides whether it runs in a worker. */
  estimateCost(query: ProviderQuery): number;
  memory(): readonly ArraySize[];
  readonly addresses: AddressList;
}

export interface IndexBuilder {
  add(record: ProviderRecord): void;
  /**
   * The same from UTF-8: the texts in the order of `textFields`, then latitude and longitude in decimal
   * digits, or blank. `spans` has the first and the end byte of each. `bytes` must not change until records
   * come from another array, or until `finish`. `changedAt` is that of the record
   * (`ProviderRecord.changedAt`), 0 if absent.
   */
  addBytes(id: number, bytes: Uint8Array, spans: Uint32Array, changedAt?: number): void;
  /** Ends the building; the builder is empty and unusable afterwards. */
  finish(): SharedIndexBytes;
  /** The same with a second thread: faster for large indexes. Throws the thread's error, or THREAD_LOST. */
  finishInThreads(): Promise<SharedIndexBytes>;
  /**
   * The same, into a snapshot: each column is written as soon as it is built, which takes half the memory.
   * Throws INDEX_SNAPSHOT_UNWRITABLE, too.
   */
  writeInThreads(path: string): Promise<void>;
}
