/** Limits on untrusted packages; beyond them a package is refused. */
export interface XdmLimits {
  readonly maxEntries: number;
  /** Unpacked size of one entry. */
  readonly maxEntryBytes: number;
  /** Unpacked size of all entries that are read. */
  readonly maxTotalBytes: number;
  /** Unpacked to packed size of the whole package, if it unpacks to more than `freeTotalBytes`. */
  readonly maxTotalRatio: number;
  readonly freeTotalBytes: number;
  /**
   * Unpacked to packed size, for entries over a megabyte; deflate reaches about 1030, documents stay under
   * 100.
   */
  readonly maxRatio: number;
  /** Of the metadata of all subsets together. */
  readonly maxMetadataBytes: number;
}

/** A message holds 25 MB at most (Decision 0010), of which text unpacks to several times as much. */
export const defaultXdmLimits: XdmLimits = {
  maxEntries: 1000,
  maxEntryBytes: 67_108_864,
  maxTotalBytes: 67_108_864,
  maxTotalRatio: 100,
  freeTotalBytes: 33_554_432,
  maxRatio: 300,
  maxMetadataBytes: 4_194_304,
};
