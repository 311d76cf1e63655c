import { readJsonObject } from '../../core/index.ts';
import type { ProviderIndex } from '../../lib/provider-index/index.ts';
import type { Storage } from '../../platform/index.ts';
import { DirectoryError } from './errors.ts';
import { ReportBuilder, storedReport, type LoadReport } from './load/quality-report.ts';
import type { LoadProgress } from './store/loads.ts';
import { listSources } from './store/sources.ts';
import { findLoad, findPreviousLoad, loadState, type DirectoryDb } from './store/state.ts';
import type {
  DirectoryTables,
  ExportRight,
  LoadKind,
  LoadRow,
  LoadState,
  SourceRow,
} from './store/tables.ts';

export interface LoadSummary {
  readonly id: number;
  /** A merge contains the merged records of several sources (Decision 0025). */
  readonly kind: LoadKind | 'merged';
  readonly format: string;
  /** The input's name; of a merge the names of its sources. */
  readonly source: string;
  /** The source that the load belongs to; empty for a merge. */
  readonly sourceName: string;
  readonly state: LoadState;
  readonly recordCount: number;
  /** ISO 8601, UTC. */
  readonly startedAt: string;
  readonly finishedAt?: string;
  /** The actor of its audit row, such as `operator:alice` or `system`; empty if unknown. */
  readonly startedBy: string;
  /** The node that does the work; absent for a command. */
  readonly nodeId?: string;
  /** How far a running load is. */
  readonly progress?: LoadProgress;
}

export interface ListedLoad extends LoadSummary {
  /** Why it failed. */
  readonly failure?: string;
}

/** A source and its own generations. */
export interface SourceStatus {
  readonly name: string;
  readonly exportRight: ExportRight;
  readonly active?: LoadSummary;
  /** The generation that a rollback of the source would activate. */
  readonly previous?: LoadSummary;
  readonly schedule?: {
    readonly path: string;
    readonly everyMs: number;
    /** ISO 8601, UTC; absent before the first look at the file. */
    readonly checkedAt?: string;
    /** Why the last scheduled load failed. */
    readonly failure?: string;
    /** ISO 8601, UTC: the first failure since the last success. */
    readonly failedSince?: string;
  };
}

export interface DirectoryStatus {
  /** The served data: a source's generation, or a merge of several. */
  readonly active?: LoadSummary;
  /** The generation that a rollback would activate; absent if the source must be named. */
  readonly previous?: LoadSummary;
  /** In order of precedence. */
  readonly sources: readonly SourceStatus[];
  /** A load that is running. */
  readonly running?: LoadSummary;
  /** Hosted addresses listed by the operator. */
  readonly provisionedCount: number;
  /** The data served by this process; absent in a process that serves none. */
  readonly served?: { readonly recordCount: number; readonly memoryBytes: number };
  /** The newest loads, failed ones included. */
  readonly loads: readonly ListedLoad[];
}

const listedLoads = 10;

/** A source is old after this many days: aggregated directories and NPPES appear monthly. */
export const oldDirectoryDays = 45;

export async function readStatus(storage: Storage, index?: ProviderIndex): Promise<DirectoryStatus> {
  const db = storage.tables<DirectoryTables>();
  const state = await loadState(storage);
  const loads = await db
    .selectFrom('directory_load')
    .selectAll()
    .orderBy('id', 'desc')
    .limit(listedLoads)
    .execute();
  const active = state.active_load_id === null ? undefined : await findLoad(db, state.active_load_id);
  const sources = await readSources(storage);
  const loaded = sources.filter((source) => source.active !== undefined);
  const previous = loaded.length === 1 ? loaded[0]?.previous : undefined;
  const running = loads.find((load) => load.state === 'loading' || load.state === 'merging');
  const { count } = await db
    .selectFrom('directory_provisioned')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('record', '!=', '')
    .executeTakeFirstOrThrow();
  return {
    ...(active === undefined ? {} : { active: summarize(active) }),
    ...(previous === undefined ? {} : { previous }),
    sources,
    ...(running === undefined ? {} : { running: summarize(running) }),
    provisionedCount: Number(count),
    ...(index === undefined
      ? {}
      : { served: { recordCount: index.recordCount, memoryBytes: bytesOf(index) } }),
    loads: loads.map(listLoad),
  };
}

function listLoad(load: LoadRow): ListedLoad {
  const failure = reportOf(load)?.failure;
  return { ...summarize(load), ...(failure !== undefined && { failure }) };
}

/** The sources in order of precedence. */
export async function readSources(storage: Storage): Promise<SourceStatus[]> {
  const db = storage.tables<DirectoryTables>();
  const rows = await listSources(db);
  return Promise.all(rows.map((row) => readSource(db, row)));
}

async function readSource(db: DirectoryDb, row: SourceRow): Promise<SourceStatus> {
  const active = row.active_load_id === null ? undefined : await findLoad(db, row.active_load_id);
  const previous = await findPreviousLoad(db, active);
  const { schedule_path: path, schedule_every_ms: everyMs, schedule_checked_at: checkedAt } = row;
  const failedAt = row.schedule_failed_at;
  return {
    name: row.name,
    exportRight: row.export_right,
    ...(active === undefined ? {} : { active: summarize(active) }),
    ...(previous?.state === 'ready' ? { previous: summarize(previous) } : {}),
    ...(path === null || everyMs === null
      ? {}
      : {
          schedule: {
            path,
            everyMs,
            ...(checkedAt === 0 ? {} : { checkedAt: new Date(checkedAt).toISOString() }),
            ...(row.schedule_failure === '' ? {} : { failure: row.schedule_failure }),
            ...(failedAt === null ? {} : { failedSince: new Date(failedAt).toISOString() }),
          },
        }),
  };
}

/**
 * The quality report of a load; without an id, of the newest one that has ended and is no merge. Throws
 * DIRECTORY_LOAD_UNKNOWN.
 */
export async function readReport(storage: Storage, loadId?: number): Promise<LoadReport> {
  const rows = storage
    .tables<DirectoryTables>()
    .selectFrom('directory_load')
    .selectAll()
    .where('kind', '!=', 'merged')
    .where('state', '!=', 'loading');
  const row = await (
    loadId === undefined ? rows.orderBy('id', 'desc').limit(1) : rows.where('id', '=', loadId)
  ).executeTakeFirst();
  const report = row === undefined ? undefined : reportOf(row);
  if (report === undefined)
    throw new DirectoryError('DIRECTORY_LOAD_UNKNOWN', 'Load not found, or it has no report');
  return report;
}

/** The report of a load that has ended. One whose process ended could not write its report. */
export function reportOf(load: LoadRow): LoadReport | undefined {
  const report = storedReport(load);
  if (report !== undefined) return report;
  if (load.kind === 'merged' || load.state !== 'failed') return undefined;
  return new ReportBuilder().build({
    format: load.format,
    kind: load.kind,
    source: load.source,
    sourceName: load.source_name,
    recordCount: 0,
    seconds: ((load.finished_at ?? load.started_at) - load.started_at) / 1000,
    failure:
      'It was interrupted, and could store no report: its process or the database ended. Nothing of it is served.',
  });
}

/** Changes with the progress of the running loads of all nodes; empty while none runs. */
export async function readLoadProgress(storage: Storage): Promise<string> {
  const rows = await storage
    .tables<DirectoryTables>()
    .selectFrom('directory_load')
    .select(['id', 'progress'])
    .where('state', 'in', ['loading', 'merging'])
    .orderBy('id')
    .execute();
  return rows.map(({ id, progress }) => `${id} ${progress}`).join('\n');
}

export function summarize(load: LoadRow): LoadSummary {
  const progress = readJsonObject(load.progress);
  const isProgress = typeof progress?.['phase'] === 'string';
  return {
    id: load.id,
    kind: load.kind,
    format: load.format,
    source: load.source,
    sourceName: load.source_name,
    state: load.state,
    recordCount: load.record_count,
    startedAt: new Date(load.started_at).toISOString(),
    ...(load.finished_at === null ? {} : { finishedAt: new Date(load.finished_at).toISOString() }),
    startedBy: load.started_by,
    ...(load.node_id !== null && { nodeId: load.node_id }),
    ...(isProgress && { progress: progress as unknown as LoadProgress }),
  };
}

function bytesOf(index: ProviderIndex): number {
  return index.memory().reduce((sum, part) => sum + part.bytes, 0);
}
