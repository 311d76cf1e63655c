import type { Readable } from 'node:stream';
import type { Gazetteer } from '../../../lib/geo/index.ts';
import type { Storage } from '../../../platform/index.ts';
import type { Audit } from '../../audit/index.ts';
import { DirectoryError } from '../errors.ts';
import type { DirectoryJobs } from '../jobs/job.ts';
import type { LoadReport } from '../load/quality-report.ts';
import { listHostedAddress, unlistHostedAddress, type HostedRecord } from '../provision.ts';
import { rollBackAlone, type SourceContext } from '../sources/change-sources.ts';
import { showRecord, type RecordPair, type ShownRecord } from '../sources/show-records.ts';
import { reportOf, summarize, type LoadSummary } from '../status.ts';
import type { DirectoryTables } from '../store/tables.ts';
import type { AddressState, AddressStates } from '../verification/address-states.ts';
import type { SuggestionAnswer } from '../suggest/write-suggestions.ts';
import type { FoundRecords } from './found-records.ts';
import type { ReceivedUpload, UploadRequest, Uploads } from './uploads.ts';

/** Origin of an operator's request, for its audit row. */
export interface OperatorOrigin {
  readonly requestId?: string | undefined;
  readonly remoteAddress?: string | undefined;
}

export type OperatorSearch = (
  parameters: readonly (readonly [string, string])[],
  origin: OperatorOrigin,
) => Promise<FoundRecords>;

export type OperatorSuggest = (
  parameters: readonly (readonly [string, string])[],
  origin: OperatorOrigin,
) => Promise<SuggestionAnswer>;

/**
 * The directory for one named operator: counts against no quota; each search, view and change leaves a row in
 * their name.
 */
export interface DirectoryOperator {
  /** Takes the parameters of the native search, as sent. Throws DirectoryError. */
  readonly search: OperatorSearch;
  /** Takes the parameters of suggestions, as sent. Throws DirectoryError. */
  readonly suggest: OperatorSuggest;
  /** Throws DIRECTORY_RECORD_UNKNOWN. */
  show(id: number, origin: OperatorOrigin): Promise<ShownRecord & { readonly state?: AddressState }>;
  /**
   * Goes back to a source's generation before its active one, which must be `activeId` if that is given.
   * Throws DIRECTORY_SOURCE_UNKNOWN, DIRECTORY_NOTHING_TO_ROLL_BACK, DIRECTORY_SOURCE_CHANGED.
   */
  rollBack(sourceName: string, activeId?: number): Promise<LoadSummary>;
  /** Takes a file in, and loads it in the background. */
  upload(stream: Readable, request: UploadRequest): Promise<ReceivedUpload>;
  /**
   * Lists a hosted address or replaces its record. Resolves with warnings. Throws DIRECTORY_RECORD_INVALID.
   */
  list(record: HostedRecord): Promise<readonly string[]>;
  /** True if it was listed. */
  unlist(directAddress: string): Promise<boolean>;
}

export interface OperatorParts extends Omit<SourceContext, 'audit'> {
  readonly audit: Audit;
  readonly gazetteer: Gazetteer;
  readonly states: AddressStates | undefined;
  readonly uploads: Uploads;
  readonly jobs: DirectoryJobs;
  search(actor: string): OperatorSearch;
  suggest(actor: string): OperatorSuggest;
  /** Address and NPI of the record with an id, if the served index has it. */
  findIndexed(id: number): RecordPair | undefined;
  refresh(): Promise<void>;
}

export function createDirectoryOperator(parts: OperatorParts, actor: string): DirectoryOperator {
  const { storage, states, uploads } = parts;
  const audit = parts.audit.as(actor);
  return {
    search: parts.search(actor),
    suggest: parts.suggest(actor),
    async show(id, origin) {
      const found = await showRecord(storage, id, parts.findIndexed(id));
      await audit.record({
        action: 'directory.show',
        actor,
        outcome: found === undefined ? 'refused' : 'ok',
        objects: { record: id },
        ...origin,
      });
      if (found === undefined)
        throw new DirectoryError('DIRECTORY_RECORD_UNKNOWN', `No record has the id ${id}`);
      if (states === undefined) return found;
      await states.refresh();
      const address = found.values.serv_direct_addr?.value.toLowerCase() ?? '';
      return { ...found, state: states.read(states.slotOf(address)) };
    },
    async rollBack(sourceName, activeId) {
      const load = await rollBackAlone({ ...parts, audit }, sourceName, activeId);
      const summary =
        load === undefined ? await parts.jobs.rollBack({ sourceName, activeId, actor }) : summarize(load);
      await parts.refresh();
      return summary;
    },
    upload: (stream, request) => uploads.receive(stream, request, { audit, actor }),
    list: (record) => listHostedAddress({ ...parts, audit }, record, parts.gazetteer),
    unlist: (directAddress) => unlistHostedAddress({ ...parts, audit }, directAddress),
  };
}

/** A load with its quality report; without one while it runs, and for a merge. */
export interface ReportedLoad extends LoadSummary {
  readonly report?: LoadReport;
}

/**
 * The newest loads, those of one source if it is named; `before` is the id after which the page before ended.
 */
export async function listLoads(
  storage: Storage,
  {
    sourceName,
    before,
    limit,
  }: { sourceName?: string | undefined; before?: number | undefined; limit: number },
): Promise<{ readonly loads: readonly ReportedLoad[]; readonly next: number | undefined }> {
  let query = storage
    .tables<DirectoryTables>()
    .selectFrom('directory_load')
    .selectAll()
    .orderBy('id', 'desc')
    .limit(limit + 1);
  if (sourceName !== undefined) query = query.where('source_name', '=', sourceName);
  if (before !== undefined) query = query.where('id', '<', before);
  const rows = await query.execute();
  const loads = rows.slice(0, limit).map((row): ReportedLoad => {
    const report = reportOf(row);
    return report === undefined ? summarize(row) : { ...summarize(row), report };
  });
  return { loads, next: rows.length > limit ? loads.at(-1)?.id : undefined };
}
