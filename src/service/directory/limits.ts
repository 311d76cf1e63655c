/** The numbers of the directory, each with its source. */

/** Directory spec: Limits. */
export const defaultPageSize = 10;
/** Directory spec: Limits; larger values are clamped (Decision 0002). */
export const maxPageSize = 1000;
/** Directory spec: Limits; also the size when the radius is empty (Decision 0004). */
export const maxRadiusMiles = 1000;
/** Longest filter value accepted, in UTF-16 units; no stored value is longer (Decision 0002). */
export const maxValueLength = 500;

/** Suggestions in an answer, if nothing is asked for, and at most. */
export const defaultSuggestions = 10;
export const maxSuggestions = 50;
/** Longest text that suggestions are asked for with, in characters. */
export const maxQueryLength = 200;
/** Direct addresses of a suggestion that are shown. */
export const maxSuggestedAddresses = 10;
/** Entries of one facet. */
export const maxFacetEntries = 20;

/** Interval at which a running server checks for a directory that another process has activated. */
export const defaultPollIntervalMs = 1000;

/** Longest text kept in one field of a record; longer ones refuse the row. */
export const maxFieldLength = 500;
/** Longest row of an input file, in bytes; NPPES rows have 330 columns and about 1,500 characters. */
export const maxRowBytes = 256 * 1024;
/**
 * Longest line of a release of the national directory; an organization with ten thousand endpoints has one
 * megabyte.
 */
export const maxResourceBytes = 20 * 1024 * 1024;
/**
 * Direct addresses, links, practitioners, organizations or places kept of one release: thirty times as many
 * as in 2026, in about a gigabyte each.
 */
export const maxStagedItems = 30_000_000;
/** Records in one stored block: about one megabyte before compression. */
export const blockRecordCount = 4096;
/** From so many records on, a second thread helps to index them, and garbage is worth a collection. */
export const manyRecords = 200_000;
/** Entries handled in one turn of the event loop, about 5 ms: loads run in a process that also serves. */
export const entriesPerTurn = 512;
/** Line numbers kept for each reason in a quality report; the counts continue. */
export const maxReportedLines = 100;
/** Largest file that an upload accepts; the compressed NPPES file has one gigabyte. */
export const maxUploadBytes = 8_000_000_000;
/** Uploads that are received, wait or are loaded at the same time. */
export const maxPendingUploads = 4;
/** Generations that stay for `rollback` next to the active one. */
export const keptGenerations = 2;
/**
 * Increments after which the next one copies the whole directory, so that chains stay short. That one takes
 * minutes to be found at millions of records; hourly increments meet it every fourth day.
 */
export const maxChainLength = 100;
/**
 * Keys that may differ from the index before a new one is built in the background. So many add a few
 * milliseconds to a query that concerns all of them, and nothing to one that concerns none; a larger
 * increment is worth its own index.
 */
export const changesBeforeRebuild = 4096;
/**
 * While a rebuild runs, which takes minutes at ten million records, up to 4 × `changesBeforeRebuild` changes
 * are served, for example 5,000 addresses from a script. Further changes wait for the new index.
 */
export const servedChangesFactor = 4;
/**
 * Tombstones of removed hosted addresses that are kept, newest first; an index older than those is rebuilt.
 */
export const keptRemovals = 10_000;
