/**
 * The provider directory: search parameters, loads of data with their quality reports, hosted records, and
 * the limits of each client (Directory spec; DIR-01 to DIR-05, DIR-07; Decisions 0002 to 0005, 0007, 0008).
 *
 * The database holds every generation in blocks and says which is active; each node answers from an index in
 * memory that it builds from them and from the changes since (lib/provider-index). Queries are refused,
 * counted and audited here. Not here: the wire envelope and statuses (app/http), how searching works
 * (lib/provider-index). Called by app/http, app/server, app/dev and app/cli.
 */
export {
  createDirectory,
  type Directory,
  type DirectoryName,
  type ListedAddresses,
} from './create-directory.ts';
export type { DirectoryAnswer } from './answer.ts';
export { type BulkExport, type FhirDirectory, type FhirRequest } from './fhir/create-fhir.ts';
export { parseExport } from './fhir/parse-export.ts';
export { resourceTypes, type ResourceType } from './fhir/vocabulary.ts';
export type { AddressState, AddressStates } from './verification/address-states.ts';
export { formatState } from './write-answer.ts';
export { isRefusedLoss } from './errors.ts';
export { type DirectoryCaller, type DirectoryLimits } from './guard/guard-client.ts';
export { maxPageSize, maxQueryLength, maxRadiusMiles, maxSuggestions, maxValueLength } from './limits.ts';
export { directoryParameters, type DirectoryParameter, type FilterParameter } from './parameters.ts';
export { parseQuery } from './parse-query.ts';
export { suggestionParameters } from './suggest/parse-suggestion.ts';
export { type Suggestion, type SuggestionAnswer } from './suggest/write-suggestions.ts';
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
export { openTable } from './load/read-rows.ts';
export { importDirectory, type ImportRequest } from './load/import-directory.ts';
export { orRefuse, shownSource } from './load/refused-load.ts';
export { nationalSource } from './store/sources.ts';
export { listServedGenerations } from './store/list-served.ts';
export { openInput, openStream, type InputFile } from './load/open-input.ts';
export { openRelease, readReleaseDigest, type OpenReleaseOptions } from './load/npd/download-release.ts';
export { createProcessJobs } from './jobs/process-jobs.ts';
export { serveJobs } from './jobs/serve-jobs.ts';
export { type ReleaseOpener } from './jobs/run-jobs.ts';
export { isUrl, type Release } from './load/npd/open-release.ts';
export { readTaxonomy, type TaxonomyNames } from './load/formats/taxonomy.ts';
export { formatReport, listFindings, type LoadReport } from './load/quality-report.ts';
export type { ImportProgress } from './load/progress.ts';
export { type FoundRecord } from './operator/found-records.ts';
export { listLoads, type DirectoryOperator, type ReportedLoad } from './operator/operator.ts';
export { type UploadProgress } from './operator/uploads.ts';
export { failAbandonedLoads } from './store/load-lock.ts';
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
export { scheduleSource } from './jobs/schedule.ts';
export { showRecords, type RecordName, type ShownRecord } from './sources/show-records.ts';
export { findDirectoryFaults } from './find-faults.ts';
export { readUsedToday } from './guard/quota-ledger.ts';
