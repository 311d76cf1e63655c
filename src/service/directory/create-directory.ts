import path from 'node:path';
import {
  errorCode,
  toHex,
  type Closable,
  type Clock,
  type Log,
  type RateLimitResult,
} from '../../core/index.ts';
import type { Gazetteer } from '../../lib/geo/index.ts';
import type { ProviderRecord } from '../../lib/provider-record/index.ts';
import type { AddressList } from '../../lib/provider-index/index.ts';
import { defaultSettings, type Nodes, type Storage } from '../../platform/index.ts';
import type { Audit } from '../audit/index.ts';
import type { DirectoryAnswer, WrittenAnswer } from './answer.ts';
import { DirectoryError, invalidQuery } from './errors.ts';
import { createFhir, type FhirDirectory } from './fhir/create-fhir.ts';
import { auditQuery, type QueryOrigin } from './guard/audit-search.ts';
import {
  createClientGuard,
  rateLimited,
  type DirectoryCaller,
  type DirectoryLimits,
} from './guard/guard-client.ts';
import { changesBeforeRebuild, defaultPollIntervalMs } from './limits.ts';
import type { DirectoryJobs } from './jobs/job.ts';
import { createJobs } from './jobs/run-jobs.ts';
import { importDirectory, type ImportRequest } from './load/import-directory.ts';
import type { LoadReport } from './load/quality-report.ts';
import { readFoundPage, type FoundRecords } from './operator/found-records.ts';
import { createDirectoryOperator, type DirectoryOperator } from './operator/operator.ts';
import { createUploads, type UploadOptions } from './operator/uploads.ts';
import { parseQuery } from './parse-query.ts';
import { findHostedRecord, listHostedAddress, unlistHostedAddress, type HostedRecord } from './provision.ts';
import { followDirectory } from './serve/current-index.ts';
import type { ReadAhead } from './serve/read-ahead.ts';
import { failAbandonedLoads } from './store/load-lock.ts';
import { followSchedules } from './jobs/schedule.ts';
import { seedOf } from './store/provisioned.ts';
import { releaseExportClaims } from './store/claim-generation.ts';
import { loadState } from './store/state.ts';
import { readStatus, type DirectoryStatus } from './status.ts';
import { findSuggestions, type FoundAnswer } from './suggest/find-suggestions.ts';
import { parseSuggestion } from './suggest/parse-suggestion.ts';
import type { SuggestionAnswer } from './suggest/write-suggestions.ts';
import type { AddressStates } from './verification/address-states.ts';
import { createVerifiedSearch } from './verification/apply-verification.ts';
import { splitVerification } from './verification/parameter.ts';
import { writeAnswer, writeVerifiedAnswer } from './write-answer.ts';

/** The Direct addresses of the served directory. */
export interface ListedAddresses {
  /** Increases with each change of the served data. */
  readonly revision: number;
  readonly list: AddressList;
}

export interface Directory extends Closable {
  /**
   * Directory spec: Search providers. `parameters` as sent, decoded. Throws DirectoryError; each call leaves
   * an audit row. `onLimits` gets the state of the caller's rate limit, also when the query is refused.
   */
  search(
    parameters: readonly (readonly [string, string])[],
    caller: DirectoryCaller,
    onLimits?: (state: RateLimitResult) => void,
  ): Promise<DirectoryAnswer>;
  /** Directory spec: Get providers by NPI. Throws DIRECTORY_NPI_NOT_FOUND if there is no record (D17). */
  findByNpi(
    npi: string,
    caller: DirectoryCaller,
    onLimits?: (state: RateLimitResult) => void,
  ): Promise<DirectoryAnswer>;
  /**
   * People and organizations for what somebody types into one box (docs/suggestions.md). Throws
   * DirectoryError; counted, limited and audited as a search. DIRECTORY_ABANDONED if `signal` is aborted
   * before the index has been asked.
   */
  suggest(
    parameters: readonly (readonly [string, string])[],
    caller: DirectoryCaller,
    onLimits?: (state: RateLimitResult) => void,
    signal?: AbortSignal,
  ): Promise<DirectoryAnswer>;
  /** The same records as FHIR resources. */
  readonly fhir: FhirDirectory;
  /** True if there is a record of this Direct address; undefined before the index is loaded. */
  isListed(directAddress: string): Promise<boolean | undefined>;
  /** The names that records with this NPI have; none before the index is there. */
  findNames(npi: string): readonly DirectoryName[];
  /** Undefined before the index is there. */
  listAddresses(): ListedAddresses | undefined;
  /** Loads from files in this process, and serves the result. */
  importFiles(request: ImportRequest): Promise<LoadReport>;
  /** Lists (or changes) an address that this operator hosts; it can be found within seconds to a minute. */
  provision(record: HostedRecord): Promise<void>;
  /** The record of a hosted address; undefined if it is not listed. */
  findProvisioned(directAddress: string): Promise<HostedRecord | undefined>;
  /** Takes a hosted address out again. True if it was listed. */
  unprovision(directAddress: string): Promise<boolean>;
  /** The directory for one operator, such as `operator:alice`, whom the audit trail names. */
  as(actor: string): DirectoryOperator;
  status(): Promise<DirectoryStatus>;
  /** Serves the newest activated generation now instead of at the next look. */
  refresh(): Promise<void>;
  isReady(): boolean;
}

/** Whose an NPI is, as a record has it. */
export type DirectoryName = Pick<ProviderRecord, 'directAddress' | 'firstName' | 'lastName' | 'organization'>;

export interface DirectoryOptions {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly log: Log;
  readonly audit: Audit;
  readonly gazetteer: Gazetteer;
  /** Folder of the index snapshots. */
  readonly snapshotDir: string;
  /** A snapshot that is being read already; closed with the first view. */
  readonly ahead?: ReadAhead | undefined;
  /** Threads for heavy searches; 0 answers everything on the calling thread. */
  readonly searchThreads?: number;
  readonly limits?: Partial<DirectoryLimits>;
  /** This node among the others; without it there are none. */
  readonly nodes?: Pick<Nodes, 'id' | 'liveCount'>;
  readonly pollIntervalMs?: number;
  /**
   * Changes from which on a new index is built in the background, and increments from which on at once; tests
   * lower it.
   */
  readonly changesBeforeRebuild?: number;
  /** Verification states of addresses, for searches that request them; without it none can. */
  readonly states?: AddressStates | undefined;
  /** Folder for uploads of operators; the folder of snapshots if absent. */
  readonly uploads?: UploadOptions;
  /** Makes uploads, scheduled loads and rollbacks; in this process if absent. */
  readonly jobs?: DirectoryJobs | undefined;
  /** Interval of checks for scheduled loads of sources; never if absent. */
  readonly scheduleLookMs?: number;
  /** Pairs that a merge of sources looks at one by one; above, it merges everything again. Tests lower it. */
  readonly pairsMergedSingly?: number;
}

/**
 * Starts the directory. The index is loaded in the background; `isReady` and `refresh` report when it is
 * loaded.
 */
export async function createDirectory(options: DirectoryOptions): Promise<Directory> {
  const { storage, clock, log, audit, gazetteer, snapshotDir } = options;
  const { secret } = await loadState(storage);
  const auditSecret = toHex(secret);
  await releaseExportClaims(storage, options.nodes?.id);
  const pollIntervalMs = options.pollIntervalMs ?? defaultPollIntervalMs;
  const guard = createClientGuard({
    storage,
    clock,
    limits: { ...defaultSettings.directory, ...options.limits },
    flushMs: 1000,
    log,
    liveNodes: () => options.nodes?.liveCount ?? 1,
  });
  const current = followDirectory({
    storage,
    log,
    nodeId: options.nodes?.id,
    snapshotDir,
    ahead: options.ahead,
    searchThreads: options.searchThreads ?? 1,
    pollIntervalMs,
    changesBeforeRebuild: options.changesBeforeRebuild ?? changesBeforeRebuild,
    async prepare(index) {
      await Promise.all([verified?.prepare(index.bytes), fhir.prepare(index)]);
    },
  });
  const { states } = options;
  const verified = states === undefined ? undefined : createVerifiedSearch(current.pool, states, clock);
  let isClosing = false;
  current.refresh().catch((error: unknown) => {
    // A start that fails elsewhere ends the load; this line would be taken for the reason.
    if (!isClosing) log.error({ code: errorCode(error) }, 'the directory index could not be loaded');
  });

  const jobs = options.jobs ?? createJobs(options);

  const schedules =
    options.scheduleLookMs === undefined
      ? undefined
      : followSchedules(
          { ...options, jobs },
          options.scheduleLookMs,
          () => void current.refresh().catch(() => {}),
        );

  const uploads = createUploads({
    folder: path.join(snapshotDir, 'uploads'),
    minFreeBytes: 0,
    ...options.uploads,
    log,
    async load(job, listeners) {
      const done = await jobs.load({ ...job, nodeId: options.nodes?.id }, listeners);
      await current.refresh();
      return done;
    },
  });

  /** One page, and the verification options of the search. Throws DirectoryError. */
  async function findPage(parameters: readonly (readonly [string, string])[]) {
    const { rest, asked } =
      states === undefined
        ? { rest: parameters, asked: undefined }
        : splitVerification(parameters, states.names);
    const query = parseQuery(rest, gazetteer);
    const isPlain = verified === undefined || asked === undefined;
    const page = isPlain ? await current.pool.search(query) : await verified.search(query, asked);
    return { query, asked, page };
  }

  async function suggestFor(
    parameters: readonly (readonly [string, string])[],
    signal?: AbortSignal,
  ): Promise<FoundAnswer> {
    const request = parseSuggestion(parameters, gazetteer);
    await states?.refresh();
    try {
      return await findSuggestions(request, current.pool, states, verified, signal);
    } catch (error) {
      if (signal?.aborted !== true) throw error;
      throw new DirectoryError('DIRECTORY_ABANDONED', 'The client has closed its connection', {
        cause: error,
      });
    }
  }

  function requireServed(): void {
    if (current.served !== undefined) return;
    throw new DirectoryError('DIRECTORY_NOT_READY', 'The index is being loaded', { retryAfterSeconds: 5 });
  }

  /** Nothing is booked: an operator answers for the directory as a whole. */
  async function searchFor(
    origin: QueryOrigin,
    parameters: readonly (readonly [string, string])[],
  ): Promise<FoundRecords> {
    try {
      requireServed();
      const { query, page } = await findPage(parameters);
      const found = await readFoundPage(query, page, states);
      const { totalCount, records } = found;
      const result = { outcome: 'ok', shown: records.length, totalCount } as const;
      await auditQuery(audit, auditSecret, origin, parameters, result);
      return found;
    } catch (error) {
      const result = { outcome: outcomeOf(error), code: errorCode(error) };
      await auditQuery(audit, auditSecret, origin, parameters, result);
      throw error;
    }
  }

  async function suggestTo(
    origin: QueryOrigin,
    parameters: readonly (readonly [string, string])[],
  ): Promise<SuggestionAnswer> {
    const resource = 'suggestions';
    try {
      requireServed();
      const { answer: suggestions, shown, totalCount } = await suggestFor(parameters);
      const result = { outcome: 'ok', resource, shown, totalCount } as const;
      await auditQuery(audit, auditSecret, origin, parameters, result);
      return suggestions;
    } catch (error) {
      const result = { outcome: outcomeOf(error), resource, code: errorCode(error) };
      await auditQuery(audit, auditSecret, origin, parameters, result);
      throw error;
    }
  }

  /** Limits, admission, query, booking and audit, the same for both endpoints. */
  async function answer(
    caller: DirectoryCaller,
    parameters: readonly (readonly [string, string])[],
    onLimits: ((state: RateLimitResult) => void) | undefined,
    query: () => Promise<WrittenAnswer> | WrittenAnswer,
    resource?: string,
  ): Promise<DirectoryAnswer> {
    const origin = { ...caller, actor: caller.client.clientId };
    try {
      const limits = guard.take(caller);
      onLimits?.(limits);
      if (!limits.allowed) throw rateLimited(caller, limits.retryAfterSeconds);
      await guard.admit(caller);
      requireServed();
      const { totalCount, count, json } = await query();
      await guard.book(caller, count);
      await auditQuery(audit, auditSecret, origin, parameters, {
        outcome: 'ok',
        resource,
        shown: count,
        totalCount,
      });
      return { json };
    } catch (error) {
      await auditQuery(audit, auditSecret, origin, parameters, {
        outcome: outcomeOf(error),
        resource,
        code: errorCode(error),
      });
      throw error;
    }
  }

  /** An export is open data: it does not count as records shown, but is audited with client and files. */
  async function admitExport(caller: DirectoryCaller, resource: string): Promise<void> {
    let code: string | undefined;
    try {
      const limits = guard.take(caller);
      if (!limits.allowed) throw rateLimited(caller, limits.retryAfterSeconds);
      guard.admitUse(caller);
    } catch (error) {
      code = errorCode(error);
      throw error;
    } finally {
      await audit.record({
        action: 'directory.export',
        actor: caller.client.clientId,
        outcome: code === undefined ? 'ok' : 'refused',
        objects: { resource, ...(code !== undefined && { code }) },
        requestId: caller.requestId,
        remoteAddress: caller.remoteAddress,
      });
    }
  }

  const fhir = createFhir({
    storage,
    nodeId: options.nodes?.id,
    log,
    pool: current.pool,
    seed: seedOf(secret),
    gazetteer,
    clock,
    states,
    verified,
    answer,
    admitExport,
  });

  return {
    fhir,
    search: (parameters, caller, onLimits) =>
      answer(caller, parameters, onLimits, async () => {
        const { asked, page: found } = await findPage(parameters);
        const { index, totalCount, ...page } = found;
        if (states === undefined || asked === undefined)
          return { totalCount, count: page.rows.length, json: writeAnswer(index, page, totalCount) };
        return {
          totalCount,
          count: page.rows.length,
          json: writeVerifiedAnswer(index, page, totalCount, states),
        };
      }),
    suggest: (parameters, caller, onLimits, signal) =>
      answer(
        caller,
        parameters,
        onLimits,
        async () => {
          const found = await suggestFor(parameters, signal);
          const json = Buffer.from(JSON.stringify(found.answer));
          return { totalCount: found.totalCount, count: found.shown, json };
        },
        'suggestions',
      ),
    findByNpi: (npi, caller, onLimits) =>
      answer(caller, [['prov_npi', npi]], onLimits, () => {
        if (!/^[0-9]{10}$/.test(npi)) {
          throw invalidQuery([
            { field: 'prov_npi', reason: 'invalid', detail: 'An NPI has exactly 10 digits.' },
          ]);
        }
        const index = current.pool.current;
        const rows = index?.findByNpi(npi) ?? new Uint32Array(0);
        if (index === undefined || rows.length === 0)
          throw new DirectoryError('DIRECTORY_NPI_NOT_FOUND', 'No record with this NPI');
        return { totalCount: rows.length, count: rows.length, json: writeAnswer(index, { rows }) };
      }),
    async isListed(directAddress) {
      if (current.served === undefined) return undefined;
      const filters = [{ field: 'directAddress', match: 'exact', value: directAddress }] as const;
      const { totalCount } = await current.pool.search({ filters, sort: [], offset: 0, limit: 0 });
      return totalCount > 0;
    },
    findNames(npi) {
      const index = current.pool.current;
      return [...(index?.findByNpi(npi) ?? [])].flatMap((row) => index?.record(row) ?? []);
    },
    listAddresses() {
      const { served, pool } = current;
      if (served === undefined || pool.current === undefined) return undefined;
      return { revision: served.revision, list: pool.current.addresses };
    },
    async importFiles(request) {
      const report = await importDirectory(options, request);
      await current.refresh();
      return report;
    },
    async provision(record) {
      await listHostedAddress(options, record, gazetteer);
    },
    findProvisioned: (directAddress) => findHostedRecord(storage, directAddress),
    unprovision: async (directAddress) => unlistHostedAddress(options, directAddress),
    as: (actor) =>
      createDirectoryOperator(
        {
          ...options,
          states,
          uploads,
          jobs,
          search: (asked) => (parameters, origin) => searchFor({ ...origin, actor: asked }, parameters),
          suggest: (asked) => (parameters, origin) => suggestTo({ ...origin, actor: asked }, parameters),
          findIndexed(id) {
            const index = current.pool.current;
            const row = index?.findById(id);
            return row === undefined ? undefined : index?.record(row);
          },
          refresh: () => current.refresh(),
        },
        actor,
      ),
    async status() {
      await failAbandonedLoads(options);
      return readStatus(storage, current.pool.current);
    },
    refresh: () => current.refresh(),
    isReady: () => current.served !== undefined,
    async close() {
      isClosing = true;
      await schedules?.close();
      await uploads.close();
      await guard.close();
      await current.close();
    },
  };
}

function outcomeOf(error: unknown): 'refused' | 'failed' {
  const isOurs = error instanceof DirectoryError && error.code !== 'DIRECTORY_NOT_READY';
  return isOurs ? 'refused' : 'failed';
}
