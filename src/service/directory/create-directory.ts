import { errorCode, toHex, type Closable, type Clock, type Log, type Taken } from '../../core/index.ts';
import type { Gazetteer } from '../../lib/geo/index.ts';
import type { Nodes, Storage } from '../../platform/index.ts';
import type { Audit } from '../audit/index.ts';
import { DirectoryError, invalidQuery } from './errors.ts';
import { auditQuery } from './guard/audit-search.ts';
import {
  createClientGuard,
  rateLimited,
  type DirectoryCaller,
  type DirectoryLimits,
} from './guard/guard-client.ts';
import {
  changesBeforeRebuild,
  defaultDailyRecordQuota,
  defaultPollIntervalMs,
  defaultRequestBurst,
  defaultRequestsPerSecond,
} from './limits.ts';
import { importDirectory, type ImportRequest } from './load/import-directory.ts';
import type { LoadReport } from './load/quality-report.ts';
import { parseQuery } from './parse-query.ts';
import { listHostedAddress, unlistHostedAddress, type HostedRecord } from './provision.ts';
import { followDirectory } from './serve/current-index.ts';
import { settleDeadLoads } from './store/load-lock.ts';
import { loadState } from './store/state.ts';
import { readStatus, type DirectoryStatus } from './status.ts';
import { writeAnswer } from './write-answer.ts';

/** One answered query, ready to be sent. */
export interface DirectoryAnswer {
  /** UTF-8 JSON text (Directory spec: Response envelope). */
  readonly json: Uint8Array;
}

/** An answer with what quota and audit count. */
interface WrittenAnswer extends DirectoryAnswer {
  readonly totalCount: number;
  /** Records shown. */
  readonly count: number;
}

export interface Directory extends Closable {
  /**
   * Directory spec: Search providers. `parameters` as sent, decoded. Throws DirectoryError; each call leaves an audit
   * row. `onLimits` hears the state of the caller's rate limit, also when the query is refused.
   */
  search(
    parameters: readonly (readonly [string, string])[],
    caller: DirectoryCaller,
    onLimits?: (state: Taken) => void,
  ): Promise<DirectoryAnswer>;
  /** Directory spec: Get providers by NPI. Throws DIRECTORY_NPI_NOT_FOUND if there is no record (D17). */
  findByNpi(
    npi: string,
    caller: DirectoryCaller,
    onLimits?: (state: Taken) => void,
  ): Promise<DirectoryAnswer>;
  /** Whether there is a record of this Direct address; undefined before the index is there. */
  isListed(directAddress: string): Promise<boolean | undefined>;
  /** Loads from files and serves the result. */
  importFiles(request: ImportRequest): Promise<LoadReport>;
  /** Lists (or changes) an address that this operator hosts; it can be found within seconds to a minute. */
  provision(record: HostedRecord): Promise<void>;
  /** Takes a hosted address out again. True if it was listed. */
  unprovision(directAddress: string): Promise<boolean>;
  status(): Promise<DirectoryStatus>;
  /** Serves the newest activated generation now instead of at the next look. */
  refresh(): Promise<void>;
  isReady(): boolean;
}

export interface DirectoryOptions {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly log: Log;
  readonly audit: Audit;
  readonly gazetteer: Gazetteer;
  /** Folder of the index snapshots. */
  readonly snapshotDir: string;
  /** Threads for heavy searches; 0 answers everything on the calling thread. */
  readonly searchThreads?: number;
  readonly limits?: Partial<DirectoryLimits>;
  /** This node among the others; without it there are none. */
  readonly nodes?: Pick<Nodes, 'id' | 'liveCount'>;
  readonly pollIntervalMs?: number;
  /** Changes from which on a new index is built in the background, and increments from which on at once; tests lower it. */
  readonly changesBeforeRebuild?: number;
}

const defaultLimits: DirectoryLimits = {
  requestsPerSecond: defaultRequestsPerSecond,
  requestsBurst: defaultRequestBurst,
  recordsPerDay: defaultDailyRecordQuota,
};

/** Starts the directory. The index is loaded in the background; `isReady` and `refresh` tell when it is there. */
export async function createDirectory(options: DirectoryOptions): Promise<Directory> {
  const { storage, clock, log, audit, gazetteer, snapshotDir } = options;
  const auditSecret = toHex((await loadState(storage)).secret);
  const pollIntervalMs = options.pollIntervalMs ?? defaultPollIntervalMs;
  const guard = createClientGuard({
    storage,
    clock,
    limits: { ...defaultLimits, ...options.limits },
    flushMs: 1000,
    liveNodes: () => options.nodes?.liveCount ?? 1,
  });
  const current = followDirectory({
    storage,
    log,
    nodeId: options.nodes?.id,
    snapshotDir,
    searchThreads: options.searchThreads ?? 1,
    pollIntervalMs,
    changesBeforeRebuild: options.changesBeforeRebuild ?? changesBeforeRebuild,
  });
  current
    .refresh()
    .catch((error: unknown) =>
      log.error({ code: errorCode(error) }, 'the directory index could not be loaded'),
    );

  /** Limits, admission, query, booking and audit, the same for both endpoints. */
  async function answer(
    caller: DirectoryCaller,
    parameters: readonly (readonly [string, string])[],
    onLimits: ((state: Taken) => void) | undefined,
    query: () => Promise<WrittenAnswer> | WrittenAnswer,
  ): Promise<DirectoryAnswer> {
    try {
      const limits = guard.take(caller);
      onLimits?.(limits);
      if (!limits.allowed) throw rateLimited(caller, limits.retryAfterSeconds);
      await guard.admit(caller);
      if (current.served === undefined)
        throw new DirectoryError('DIRECTORY_NOT_READY', 'The index is being loaded', {
          retryAfterSeconds: 5,
        });
      const { totalCount, count, json } = await query();
      guard.book(caller, count);
      await auditQuery(audit, auditSecret, caller, parameters, { outcome: 'ok', shown: count, totalCount });
      return { json };
    } catch (error) {
      await auditQuery(audit, auditSecret, caller, parameters, {
        outcome: outcomeOf(error),
        code: errorCode(error),
      });
      throw error;
    }
  }

  return {
    search: (parameters, caller, onLimits) =>
      answer(caller, parameters, onLimits, async () => {
        const { index, totalCount, ...page } = await current.pool.search(parseQuery(parameters, gazetteer));
        return { totalCount, count: page.rows.length, json: writeAnswer(index, page, totalCount) };
      }),
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
    async importFiles(request) {
      const report = await importDirectory(options, request);
      await current.refresh();
      return report;
    },
    async provision(record) {
      await listHostedAddress(options, record, gazetteer);
    },
    unprovision: async (directAddress) => unlistHostedAddress(options, directAddress),
    async status() {
      await settleDeadLoads(options);
      return readStatus(storage, current.pool.current);
    },
    refresh: () => current.refresh(),
    isReady: () => current.served !== undefined,
    async close() {
      await guard.close();
      await current.close();
    },
  };
}

function outcomeOf(error: unknown): 'refused' | 'failed' {
  const isOurs = error instanceof DirectoryError && error.code !== 'DIRECTORY_NOT_READY';
  return isOurs ? 'refused' : 'failed';
}
