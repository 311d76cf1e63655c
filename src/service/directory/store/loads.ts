import type { Clock } from '../../../core/index.ts';
import type { Storage } from '../../../platform/index.ts';
import type { Audit } from '../../audit/index.ts';
import { DirectoryError } from '../errors.ts';
import type { Block } from '../records/block.ts';
import { removeBlocks } from './clear-loads.ts';
import { nextLoadTime, packTimes } from './change-times.ts';
import { clearAbandonedLoads } from './load-lock.ts';
import {
  checkSourceName,
  insertSource,
  isOpen,
  listSources,
  planSource,
  readChains,
  serve,
  storeSources,
  type SourceChain,
} from './sources.ts';
import { loadState, lockState, readChain, updateState, type DirectoryDb } from './state.ts';
import type { DirectoryTables, ExportRight, LoadKind, LoadRow, SourceRow, StateRow } from './tables.ts';

/** Data for starting a load. */
export interface LoadStart {
  readonly kind: LoadKind;
  readonly format: string;
  /** The input's name. */
  readonly source: string;
  /** The source that the load belongs to, made if it is not there. */
  readonly sourceName: string;
}

/** Who begins a load, and where. */
export interface LoadOrigin {
  /** The actor of its audit row. */
  readonly startedBy: string;
  /** Absent in a command. */
  readonly nodeId?: string | undefined;
}

/** The stored report of a load: the fields that the program reads; the others are stored unchanged. */
interface StoredReport extends LoadStart {
  readonly recordCount: number;
}

/** A started load: its number and its parent. */
export interface BegunLoad {
  readonly id: number;
  /** The source as it will be. */
  readonly source: SourceRow;
  /** The source's own generation at the beginning, newest load first; empty if there is none. */
  readonly chain: readonly LoadRow[];
  /** All sources at the beginning, in order of precedence. */
  readonly sources: readonly SourceChain[];
  /** The served loads at the start, newest first; empty if there were none. */
  readonly served: readonly LoadRow[];
  readonly revision: number;
  readonly secret: Uint8Array;
}

/** Begins a load; only under the lock of `loadAlone`. Throws DIRECTORY_SOURCE_INVALID. */
export async function beginLoad(
  storage: Storage,
  clock: Clock,
  start: LoadStart,
  origin: LoadOrigin,
  right?: ExportRight,
): Promise<BegunLoad> {
  checkSourceName(start.sourceName);
  await loadState(storage);
  await clearAbandonedLoads(storage, clock);
  return storage.transaction(async (tx: DirectoryDb) => {
    const state = await lockState(storage, tx);
    await refuseWhileLoading(tx);
    const now = clock.now().getTime();
    const id = state.next_load_id;
    await updateState(tx, { next_load_id: id + 1 });
    const rows = await listSources(tx);
    const source = findOrPlan(rows, start, now, right);
    await tx
      .insertInto('directory_load')
      .values({
        ...newLoadRow({ id, ...columnsOf(start, origin) }, now),
        parent_id: start.kind === 'incremental' ? source.active_load_id : null,
        previous_id: source.active_load_id,
      })
      .execute();
    const sources = await readChains(tx, rows);
    const served = state.active_load_id === null ? [] : await readChain(tx, state.active_load_id);
    const chain = sources.find((one) => one.source.name === source.name)?.chain ?? [];
    return { id, source, chain, sources, served, revision: state.revision, secret: state.secret };
  });
}

type OwnColumns = Pick<LoadRow, 'id' | 'kind' | 'format' | 'source' | 'source_name'> & Partial<LoadRow>;

/** The row of a load that begins at `nowMs`. */
export function newLoadRow(own: OwnColumns, nowMs: number): LoadRow {
  return {
    parent_id: null,
    previous_id: null,
    state: 'loading',
    record_count: 0,
    block_count: 0,
    report: '{}',
    started_at: nowMs,
    heartbeat_at: nowMs,
    finished_at: null,
    file_keys: 0,
    changed_at: null,
    started_by: '',
    node_id: null,
    progress: '',
    ...own,
  };
}

function columnsOf(start: LoadStart, { startedBy, nodeId }: LoadOrigin) {
  return {
    kind: start.kind,
    format: start.format,
    source: start.source,
    source_name: start.sourceName,
    started_by: startedBy,
    node_id: nodeId ?? null,
  };
}

/** Stores a load that was refused before it began, so that it is listed with its reason. */
export async function storeRefusedLoad(
  { storage, clock, audit }: ActivationContext,
  report: StoredReport,
  origin: LoadOrigin,
  code: string,
): Promise<void> {
  await loadState(storage);
  const now = clock.now().getTime();
  await storage.transaction(async (tx: DirectoryDb) => {
    const { next_load_id: id } = await lockState(storage, tx);
    await updateState(tx, { next_load_id: id + 1 });
    await tx
      .insertInto('directory_load')
      .values({
        ...newLoadRow({ id, ...columnsOf(report, origin) }, now),
        state: 'failed',
        report: JSON.stringify(report),
        finished_at: now,
      })
      .execute();
    await audit.recordIn(tx, {
      action: 'directory.load',
      actor: 'operator',
      outcome: 'refused',
      objects: { load: id, source: report.source, sourceName: report.sourceName, code },
    });
  });
}

/** How far a load is. */
export interface LoadProgress {
  readonly phase: string;
  readonly rowsRead: number;
  readonly bytesRead: number;
  readonly totalBytes?: number;
}

/** Stores how far a running load is, for the other nodes; it is also a heartbeat. */
export async function storeProgress(
  storage: Storage,
  clock: Clock,
  loadId: number,
  progress: LoadProgress,
): Promise<void> {
  await storage
    .tables<DirectoryTables>()
    .updateTable('directory_load')
    .set({ progress: JSON.stringify(progress), heartbeat_at: clock.now().getTime() })
    .where('id', '=', loadId)
    .where('state', '=', 'loading')
    .execute();
}

/**
 * A trust organization gives its directory to its members only: under the name of an open source it is
 * refused, unless the operator has said in so many words that it is open.
 */
function findOrPlan(
  sources: readonly SourceRow[],
  { sourceName, format }: LoadStart,
  now: number,
  right: ExportRight | undefined,
): SourceRow {
  const known = sources.find(({ name }) => name === sourceName) ?? planSource(sources, sourceName, now);
  if (format === 'directtrust' && right === undefined && isOpen(known.export_right)) {
    throw new DirectoryError(
      'DIRECTORY_SOURCE_INVALID',
      `The source ${sourceName} is open to export, and this is the directory of a trust organization: name another source`,
    );
  }
  return right === undefined ? known : { ...known, export_right: right };
}

// A node that has lost the lock of the load without knowing may still be at work on one.
async function refuseWhileLoading(tx: DirectoryDb): Promise<void> {
  const running = await tx
    .selectFrom('directory_load')
    .select('id')
    .where('state', 'in', ['loading', 'merging'])
    .executeTakeFirst();
  if (running === undefined) return;
  throw new DirectoryError('DIRECTORY_LOAD_RUNNING', `Load ${running.id} is running`);
}

/** A block with the sources of its records, which those of one source alone do not need. */
export interface StoredBlock extends Block {
  readonly sources?: Uint8Array;
}

/** Stores blocks durably. */
export async function storeBlocks(
  storage: Storage,
  clock: Clock,
  loadId: number,
  firstSequence: number,
  blocks: readonly StoredBlock[],
): Promise<void> {
  await storage.transaction(async (tx: DirectoryDb) => {
    await writeHeartbeat(tx, clock, loadId);
    for (const [index, { keys, records, recordCount, sources = null, changed }] of blocks.entries()) {
      const place = { load_id: loadId, sequence: firstSequence + index };
      await tx
        .insertInto('directory_block')
        .values({
          ...place,
          record_count: recordCount,
          keys,
          records,
          sources,
          changed: changed === undefined ? null : packTimes(changed),
        })
        .execute();
    }
  });
}

/**
 * Throws DIRECTORY_LOAD_UNKNOWN if the load was cleared away in the meantime, as when its node lost the lock.
 */
export async function writeHeartbeat(tx: DirectoryDb, clock: Clock, loadId: number): Promise<void> {
  const result = await tx
    .updateTable('directory_load')
    .set({ heartbeat_at: clock.now().getTime() })
    .where('id', '=', loadId)
    .where('state', 'in', ['loading', 'merging'])
    .executeTakeFirst();
  if (result.numUpdatedRows === 1n) return;
  throw new DirectoryError('DIRECTORY_LOAD_UNKNOWN', `Load ${loadId} was cleared away while it ran`);
}

/** Takes a range of record ids that nobody else will get. Returns the first. */
export function reserveIds(storage: Storage, count: number): Promise<number> {
  return storage.transaction(async (tx: DirectoryDb) => {
    const { next_record_id: first } = await lockState(storage, tx);
    await updateState(tx, { next_record_id: first + count });
    return first;
  });
}

/** Dependencies for changing the active generation: its row, and its place in the audit chain. */
export interface ActivationContext {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly audit: Pick<Audit, 'recordIn'>;
}

export interface Activation {
  readonly load: BegunLoad;
  readonly parentId: number | null;
  readonly blockCount: number;
  readonly hasFileKeys: boolean;
  readonly report: StoredReport;
  /** The load that is to be served then, and the merge that it is, if it is one. */
  readonly servedId: number | null;
  readonly merge?: LoadRow | undefined;
  /** True if it removes records that another source has, which then change in an export. */
  readonly uncovers: boolean;
  /** Reserved ids that were not used: `[first, end)`. */
  readonly unusedIds: { readonly first: number; readonly end: number };
}

/**
 * Makes a load the active generation of its source, and the merge that contains it the served generation, in
 * one transaction. Throws DIRECTORY_LOAD_RUNNING if another one got there first.
 */
export async function activateLoad(
  { storage, clock, audit }: ActivationContext,
  activation: Activation,
): Promise<void> {
  const { load, report, unusedIds } = activation;
  await storage.transaction(async (tx: DirectoryDb) => {
    const state = await lockState(storage, tx);
    await writeHeartbeat(tx, clock, load.id);
    refuseIfChanged(state, load.served);
    const changedAt = nextLoadTime(state, clock.now());
    const sources = await listSources(tx);
    const source = sources.find(({ name }) => name === load.source.name) ?? load.source;
    const changed = { ...source, active_load_id: load.id, export_right: load.source.export_right };
    await storeSources(tx, insertSource(sources, changed));
    await tx
      .updateTable('directory_load')
      .set({
        state: 'ready',
        parent_id: activation.parentId,
        previous_id: load.chain[0]?.id ?? null,
        record_count: report.recordCount,
        block_count: activation.blockCount,
        file_keys: activation.hasFileKeys ? 1 : 0,
        progress: '',
        report: JSON.stringify(report),
        finished_at: clock.now().getTime(),
        changed_at: changedAt,
      })
      .where('id', '=', load.id)
      .execute();
    await activateMerge(tx, clock, activation.merge, changedAt);
    await audit.recordIn(tx, {
      action: 'directory.load',
      actor: 'operator',
      outcome: 'ok',
      objects: {
        load: load.id,
        kind: report.kind,
        format: report.format,
        source: report.source,
        sourceName: report.sourceName,
        records: report.recordCount,
      },
    });
    // Ids at the end of the range are released if no later ones are reserved.
    const nextId = state.next_record_id === unusedIds.end ? unusedIds.first : state.next_record_id;
    await serve(tx, state, activation.servedId, {
      next_record_id: nextId,
      last_change_at: changedAt,
      ...(!isCompared(activation) && { earliest_change_at: changedAt }),
      ...((activation.uncovers || source.export_right !== load.source.export_right) && {
        earliest_open_change_at: changedAt,
      }),
    });
  });
}

/**
 * True if the times of change follow from a comparison with the records served so far: for a merge, for the
 * same generation as before, and for a source that was served alone before. A source that was part of a merge
 * was compared only with its own records.
 */
function isCompared({ load, merge, servedId }: Activation): boolean {
  const before = load.served[0]?.id ?? null;
  if (merge !== undefined || servedId === before) return true;
  return servedId === load.id && before === (load.chain[0]?.id ?? null);
}

/** Throws DIRECTORY_LOAD_RUNNING if another generation is served than when the work began. */
export function refuseIfChanged(state: StateRow, served: readonly LoadRow[]): void {
  if (state.active_load_id === (served[0]?.id ?? null)) return;
  throw new DirectoryError('DIRECTORY_LOAD_RUNNING', 'The active directory was changed while this load ran');
}

/** Throws DIRECTORY_LOAD_UNKNOWN if the merge was cleared away in the meantime. */
export async function activateMerge(
  tx: DirectoryDb,
  clock: Clock,
  merge: LoadRow | undefined,
  changedAt: number,
): Promise<void> {
  if (merge === undefined) return;
  await writeHeartbeat(tx, clock, merge.id);
  const { id, ...row } = merge;
  const finished: Partial<LoadRow> = {
    ...row,
    state: 'ready',
    finished_at: clock.now().getTime(),
    changed_at: changedAt,
  };
  await tx.updateTable('directory_load').set(finished).where('id', '=', id).execute();
}

/**
 * Gives a load up: its blocks go, its report stays. A load that has been activated after all is left alone.
 */
export async function failLoad(
  storage: Storage,
  clock: Clock,
  loadId: number,
  report: StoredReport,
): Promise<void> {
  const result = await storage
    .tables<DirectoryTables>()
    .updateTable('directory_load')
    .set({
      state: 'failed',
      report: JSON.stringify(report),
      finished_at: clock.now().getTime(),
      progress: '',
    })
    .where('id', '=', loadId)
    .where('state', '=', 'loading')
    .executeTakeFirst();
  if (result.numUpdatedRows === 1n) await removeBlocks(storage, loadId);
}
