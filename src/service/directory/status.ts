import type { ProviderIndex } from '../../lib/provider-index/index.ts';
import type { Storage } from '../../platform/index.ts';
import { DirectoryError } from './errors.ts';
import type { LoadReport } from './load/quality-report.ts';
import { findLoad, findPreviousLoad, loadState } from './store/state.ts';
import type { DirectoryTables, LoadKind, LoadRow, LoadState } from './store/tables.ts';

export interface LoadSummary {
  readonly id: number;
  readonly kind: LoadKind;
  readonly format: string;
  readonly source: string;
  readonly state: LoadState;
  readonly recordCount: number;
  /** ISO 8601, UTC. */
  readonly startedAt: string;
  readonly finishedAt?: string;
}

export interface DirectoryStatus {
  /** The generation that the database says is active. */
  readonly active?: LoadSummary;
  /** Where a rollback would go. */
  readonly previous?: LoadSummary;
  /** A load that is running. */
  readonly running?: LoadSummary;
  /** Hosted addresses listed by the operator. */
  readonly provisionedCount: number;
  /** What this process serves; absent in a process that serves nothing. */
  readonly served?: { readonly recordCount: number; readonly memoryBytes: number };
  /** The newest loads, failed ones included. */
  readonly loads: readonly LoadSummary[];
}

const listedLoads = 10;

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
  const previous = await findPreviousLoad(db, active);
  const running = loads.find((load) => load.state === 'loading');
  const { count } = await db
    .selectFrom('directory_provisioned')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('record', '!=', '')
    .executeTakeFirstOrThrow();
  return {
    ...(active === undefined ? {} : { active: summarize(active) }),
    ...(previous?.state === 'ready' ? { previous: summarize(previous) } : {}),
    ...(running === undefined ? {} : { running: summarize(running) }),
    provisionedCount: Number(count),
    ...(index === undefined
      ? {}
      : { served: { recordCount: index.recordCount, memoryBytes: bytesOf(index) } }),
    loads: loads.map(summarize),
  };
}

/** The quality report of a load, of the newest one without an id. Throws DIRECTORY_LOAD_UNKNOWN. */
export async function readReport(storage: Storage, loadId?: number): Promise<LoadReport> {
  const rows = storage
    .tables<DirectoryTables>()
    .selectFrom('directory_load')
    .select('report')
    .where('report', '!=', '{}');
  const row = await (
    loadId === undefined ? rows.orderBy('id', 'desc').limit(1) : rows.where('id', '=', loadId)
  ).executeTakeFirst();
  if (row === undefined)
    throw new DirectoryError('DIRECTORY_LOAD_UNKNOWN', 'There is no report of such a load');
  return JSON.parse(row.report) as LoadReport;
}

function summarize(load: LoadRow): LoadSummary {
  return {
    id: load.id,
    kind: load.kind,
    format: load.format,
    source: load.source,
    state: load.state,
    recordCount: load.record_count,
    startedAt: new Date(load.started_at).toISOString(),
    ...(load.finished_at === null ? {} : { finishedAt: new Date(load.finished_at).toISOString() }),
  };
}

function bytesOf(index: ProviderIndex): number {
  return index.memory().reduce((sum, part) => sum + part.bytes, 0);
}
