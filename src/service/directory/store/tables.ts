/**
 * The rows of the directory: loads, blocks, generations, the one state row.
 * Used by any folder of `service/directory`.
 * Begin with these tables, then `state.ts` and `generation.ts`.
 */

/** The directory's tables (`platform/storage/baseline/directory.ts`). Times are milliseconds since 1970. */
export interface DirectoryTables {
  directory_source: SourceRow;
  directory_load: LoadRow;
  directory_block: BlockRow;
  directory_lookup: LookupRow;
  directory_state: StateRow;
  directory_provisioned: ProvisionedRow;
  directory_opt_out: { address_key: string; created_at: number };
  directory_quota: QuotaRow;
  directory_node: DirectoryNodeRow;
}

/** The data that a node serves, or is about to serve. */
export interface DirectoryNodeRow {
  node_id: string;
  load_id: number | null;
  revision: number;
  seen_at: number;
}

export type LoadKind = 'full' | 'incremental';

/**
 * `loading` until activated, `merging` for a merge; `failed` and `retired` keep the report of a load, without
 * its blocks.
 */
export type LoadState = 'loading' | 'merging' | 'ready' | 'failed' | 'retired';

/** The export right of a source: free, or only as the data-use rule allows. */
export type ExportRight = 'open' | 'closed';

/** A source of directory data with its own generations (Decision 0025). */
export interface SourceRow {
  name: string;
  /** Its place in the masks of merged blocks, 0 to 31. */
  bit: number;
  /** Order of precedence, lowest first. */
  rank: number;
  export_right: ExportRight;
  /** The source's own generation; null while it has none. */
  active_load_id: number | null;
  created_at: number;
  schedule_path: string | null;
  schedule_every_ms: number | null;
  schedule_checked_at: number;
  /** Size and time of the file that the schedule loaded last. */
  schedule_seen: string;
  /** Why the last scheduled load failed; empty if it did not. */
  schedule_failure: string;
  /** The first of the failures since the last success; null if there is none. */
  schedule_failed_at: number | null;
}

export interface LoadRow {
  id: number;
  /** The generation that this one changes; null if it holds every record itself. */
  parent_id: number | null;
  /** The generation of the same source that was active before this one; `rollback` goes there. */
  previous_id: number | null;
  /** A merge contains the merged records of several sources. */
  kind: LoadKind | 'merged';
  format: string;
  /** The input's file name without its folder, or `standard input`. */
  source: string;
  state: LoadState;
  /** Records of the whole generation. */
  record_count: number;
  /** Blocks of this load alone. */
  block_count: number;
  /** JSON of a LoadReport. */
  report: string;
  started_at: number;
  heartbeat_at: number;
  finished_at: number | null;
  /** The source that the load belongs to; empty for a merge. */
  source_name: string;
  /**
   * 0 if no record of its blocks is known by a key of its file, so that each key is the hash of address and
   * NPI.
   */
  file_keys: number;
  /** Time of activation, in seconds since 1970; null before. */
  changed_at: number | null;
  /** The actor of its audit row; empty if unknown. */
  started_by: string;
  /** The node that does the work; null for a command. */
  node_id: string | null;
  /** JSON of a LoadProgress while it runs; else empty. */
  progress: string;
}

export interface BlockRow {
  load_id: number;
  sequence: number;
  record_count: number;
  keys: Uint8Array;
  records: Uint8Array;
  /**
   * Of a merge: which sources each record shows (source-masks.ts). Null if all are of the load's own source.
   */
  sources: Uint8Array | null;
  /**
   * Times of the last changes of its records (change-times.ts). Null if all of them changed with the load.
   */
  changed: Uint8Array | null;
}

/** Where the entries of a load with several blocks are (block-lookup.ts). */
export interface LookupRow {
  load_id: number;
  bucket: number;
  places: Uint8Array;
}

/** One row, id 1. */
export interface StateRow {
  id: number;
  active_load_id: number | null;
  /** Counts every change of the served data: a load, a rollback, a hosted record. */
  revision: number;
  next_load_id: number;
  next_record_id: number;
  /** 32 random bytes: seeds key hashes and keys the hashes of audited values. */
  secret: Uint8Array;
  /** Changes of provisioned records after this revision are known by row; those before are not. */
  recorded_since: number;
  /** The latest change of a record, in seconds since 1970. */
  last_change_at: number;
  /** No record counts as changed before: when another generation was served without comparing its records. */
  earliest_change_at: number;
  /** The same for the data of an export. */
  earliest_open_change_at: number;
}

export interface ProvisionedRow {
  address_key: string;
  record_id: number;
  /**
   * A record line as in a block with the mark of its version (record-line.ts); empty for a removed address,
   * so that older indexes can apply the removal.
   */
  record: string;
  /** Time of the record's last change. */
  updated_at: number;
  /** When the address was last taken out of the directory, or let into contributions again. */
  listing_changed_at: number | null;
  /** NPIs that the address had, with the times of their end: part of its key where it was contributed. */
  former_npis: string | null;
  /** The directory's revision since which the row is as it is. */
  revision: number;
}

export interface QuotaRow {
  client_id: string;
  /** UTC, `2026-11-21`. */
  day: string;
  record_count: number;
}
