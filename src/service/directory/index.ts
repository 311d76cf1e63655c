/**
 * The provider directory: search parameters, loads of data with their quality reports, hosted records, and
 * the limits of each client (Directory spec; DIR-01 to DIR-05, DIR-07; Decisions 0002 to 0005, 0007, 0008).
 *
 * The database holds every generation in blocks and says which is active; each node answers from an index in
 * memory that it builds from them and from the changes since (lib/provider-index). Queries are refused,
 * counted and audited here. Not here: the wire envelope and statuses (app/http), how searching works
 * (lib/provider-index). Called by app/http, app/server, app/dev and app/cli.
 */
import type { Directory, DirectoryOptions } from './create-directory.ts';
import type { findDirectoryFaults as Faults } from './find-faults.ts';
import type { scheduleSource as Schedule } from './jobs/schedule.ts';
import type { importDirectory as Import } from './load/import-directory.ts';
import type { listLoads as Loads } from './operator/operator.ts';

export type { Directory, DirectoryName, ListedAddresses } from './create-directory.ts';
export type { DirectoryAnswer } from './answer.ts';
export type { BulkExport, FhirDirectory, FhirRequest } from './fhir/create-fhir.ts';
export { parseExport } from './fhir/parse-export.ts';
export { resourceTypes, type ResourceType } from './fhir/vocabulary.ts';
export { formatState, type AddressState, type AddressStates } from './verification/address-states.ts';
export { isRefusedLoss } from './errors.ts';
export type { DirectoryCaller, DirectoryLimits } from './guard/guard-client.ts';
export { maxPageSize, maxQueryLength, maxRadiusMiles, maxSuggestions, maxValueLength } from './limits.ts';
export { directoryParameters, type DirectoryParameter, type FilterParameter } from './parameters.ts';
export { parseQuery } from './parse-query.ts';
export { suggestionParameters } from './suggest/parse-suggestion.ts';
export type { Suggestion, SuggestionAnswer } from './suggest/write-suggestions.ts';
export { shownFields as recordFields, type WireName } from '../../lib/provider-record/index.ts';
export {
  createHostedEntries,
  findHostedRecords,
  listHostedAddress,
  prepareUnlisting,
  unlistHostedAddress,
  type HostedEntries,
  type HostedRecord,
  type PreparedEntry,
} from './provision.ts';
export { listOptOuts, readContribution, setOptOut, type ContributedRecord } from './contribution.ts';
export { patientPolicy } from './load/formats/patient.ts';
export type { CsvRow } from './load/csv-reader.ts';
export { isUnnamedEnd } from './load/formats/format.ts';
export { findRowFault, openTable, type OpenTable } from './load/read-rows.ts';
export type { ImportRequest } from './load/import-directory.ts';
export { orRefuse, shownSource } from './load/refused-load.ts';
export { nationalSource } from './store/sources.ts';
export { listServedGenerations } from './store/list-served.ts';
export { openInput, openStream, type InputFile } from './load/open-input.ts';
export { openRelease, readReleaseDigest, type OpenReleaseOptions } from './load/npd/download-release.ts';
export { createProcessJobs } from './jobs/process-jobs.ts';
export { serveJobs } from './jobs/serve-jobs.ts';
export type { ReleaseOpener } from './jobs/run-jobs.ts';
export { isUrl, type Release } from './load/npd/open-release.ts';
export { readTaxonomy, type TaxonomyNames } from './load/formats/taxonomy.ts';
export { formatReport, listFindings, type LoadReport } from './load/quality-report.ts';
export type { ImportProgress } from './load/progress.ts';
export type { FoundRecord } from './operator/found-records.ts';
export type { DirectoryOperator, ReportedLoad } from './operator/operator.ts';
export type { UploadProgress } from './operator/uploads.ts';
export { readAhead, type ReadAhead } from './serve/read-ahead.ts';
export { failAbandonedLoads } from './store/load-lock.ts';
export { continueAfterRestore } from './store/after-restore.ts';
export {
  oldDirectoryDays,
  readLoadProgress,
  readReport,
  readSources,
  readStatus,
  type DirectoryStatus,
  type LoadSummary,
  type SourceStatus,
} from './status.ts';
export { orderSources, removeSource, rollBack, setExportRight } from './sources/change-sources.ts';
export { readOpenRecords } from './sources/open-records.ts';
export { readSourceAddresses } from './sources/source-addresses.ts';
export { showRecords, type RecordName, type ShownRecord } from './sources/show-records.ts';
export { readUsedToday } from './guard/quota-ledger.ts';

// What works on an index or loads one is loaded by the call: most commands read rows alone.
export const createDirectory = async (options: DirectoryOptions): Promise<Directory> =>
  (await import('./create-directory.ts')).createDirectory(options);
export const importDirectory: typeof Import = async (...given) =>
  (await import('./load/import-directory.ts')).importDirectory(...given);
export const findDirectoryFaults: typeof Faults = async (...given) =>
  (await import('./find-faults.ts')).findDirectoryFaults(...given);
export const listLoads: typeof Loads = async (...given) =>
  (await import('./operator/operator.ts')).listLoads(...given);
export const scheduleSource: typeof Schedule = async (...given) =>
  (await import('./jobs/schedule.ts')).scheduleSource(...given);
