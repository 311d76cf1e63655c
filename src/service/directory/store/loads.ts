import type { Clock } from '../../../core/index.ts';
import type { Storage } from '../../../platform/index.ts';
import type { Audit } from '../../audit/index.ts';
import { DirectoryError } from '../errors.ts';
import type { Block } from '../records/block.ts';
import { removeBlocks } from './clear-loads.ts';
import { clearDeadLoads } from './load-lock.ts';
import {
  findLoad,
  findPreviousLoad,
  loadState,
  lockState,
  readChain,
  updateState,
  type DirectoryDb,
} from './state.ts';
import type { DirectoryTables, LoadKind, LoadRow } from './tables.ts';

/** What a load is begun with. */
export interface LoadStart {
  readonly kind: LoadKind;
  readonly format: string;
  readonly source: string;
}

/** What is stored of a load's report: these for ourselves, the rest as it is. */
interface StoredReport extends LoadStart {
  readonly recordCount: number;
}

/** A load that has been begun: its number and what it builds upon. */
export interface BegunLoad {
  readonly id: number;
  /** The active generation at the beginning, newest load first; empty if there is none. */
  readonly chain: readonly LoadRow[];
  readonly revision: number;
  readonly secret: Uint8Array;
}

/** Begins a load; only under the lock of `loadAlone`. */
export async function beginLoad(storage: Storage, clock: Clock, start: LoadStart): Promise<BegunLoad> {
  await loadState(storage);
  await clearDeadLoads(storage, clock);
  return storage.transaction(async (tx: DirectoryDb) => {
    const state = await lockState(storage, tx);
    await refuseWhileLoading(tx);
    const now = clock.now().getTime();
    const id = state.next_load_id;
    await updateState(tx, { next_load_id: id + 1 });
    await tx
      .insertInto('directory_load')
      .values({
        ...start,
        id,
        parent_id: start.kind === 'incremental' ? state.active_load_id : null,
        previous_id: state.active_load_id,
        state: 'loading',
        record_count: 0,
        block_count: 0,
        report: '{}',
        started_at: now,
        heartbeat_at: now,
        finished_at: null,
      })
      .execute();
    const chain = state.active_load_id === null ? [] : await readChain(tx, state.active_load_id);
    return { id, chain, revision: state.revision, secret: state.secret };
  });
}

// A node that has lost the lock of the load without knowing may still be at work on one.
async function refuseWhileLoading(tx: DirectoryDb): Promise<void> {
  const running = await tx
    .selectFrom('directory_load')
    .select('id')
    .where('state', '=', 'loading')
    .executeTakeFirst();
  if (running === undefined) return;
  throw new DirectoryError('DIRECTORY_LOAD_RUNNING', `Load ${running.id} is running`);
}

/** Stores blocks durably. */
export async function storeBlocks(
  storage: Storage,
  clock: Clock,
  loadId: number,
  firstSequence: number,
  blocks: readonly Block[],
): Promise<void> {
  await storage.transaction(async (tx: DirectoryDb) => {
    await showLife(tx, clock, loadId);
    for (const [index, { keys, records, recordCount }] of blocks.entries()) {
      const place = { load_id: loadId, sequence: firstSequence + index };
      await tx
        .insertInto('directory_block')
        .values({ ...place, record_count: recordCount, keys, records })
        .execute();
    }
  });
}

/** Throws DIRECTORY_LOAD_UNKNOWN if the load was cleared away in the meantime, as when its node lost the lock. */
async function showLife(tx: DirectoryDb, clock: Clock, loadId: number): Promise<void> {
  const result = await tx
    .updateTable('directory_load')
    .set({ heartbeat_at: clock.now().getTime() })
    .where('id', '=', loadId)
    .where('state', '=', 'loading')
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

/** What a change of the active generation needs: the row, and its place in the audit chain. */
export interface ActivationContext {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly audit: Pick<Audit, 'recordIn'>;
}

export interface Activation {
  readonly load: BegunLoad;
  readonly parentId: number | null;
  readonly blockCount: number;
  readonly report: StoredReport;
  /** Reserved ids that were not used: `[first, end)`. */
  readonly unusedIds: { readonly first: number; readonly end: number };
}

/** Makes a load the active generation, in one transaction. Throws DIRECTORY_LOAD_RUNNING if another one got there first. */
export async function activateLoad(
  { storage, clock, audit }: ActivationContext,
  activation: Activation,
): Promise<void> {
  const { load, report, unusedIds } = activation;
  await storage.transaction(async (tx: DirectoryDb) => {
    const state = await lockState(storage, tx);
    await showLife(tx, clock, load.id);
    const expected = load.chain[0]?.id ?? null;
    if (state.active_load_id !== expected) {
      throw new DirectoryError(
        'DIRECTORY_LOAD_RUNNING',
        'The active directory was changed while this load ran',
      );
    }
    await tx
      .updateTable('directory_load')
      .set({
        state: 'ready',
        parent_id: activation.parentId,
        previous_id: expected,
        record_count: report.recordCount,
        block_count: activation.blockCount,
        report: JSON.stringify(report),
        finished_at: clock.now().getTime(),
      })
      .where('id', '=', load.id)
      .execute();
    await audit.recordIn(tx, {
      action: 'directory.load',
      actor: 'operator',
      outcome: 'ok',
      objects: {
        load: load.id,
        kind: report.kind,
        format: report.format,
        source: report.source,
        records: report.recordCount,
      },
    });
    // Ids at the end of the range go back if nobody has taken later ones.
    const nextId = state.next_record_id === unusedIds.end ? unusedIds.first : state.next_record_id;
    await updateState(tx, { active_load_id: load.id, revision: state.revision + 1, next_record_id: nextId });
  });
}

/** Gives a load up: its blocks go, its report stays. A load that has been activated after all is left alone. */
export async function failLoad(
  storage: Storage,
  clock: Clock,
  loadId: number,
  report: StoredReport,
): Promise<void> {
  const result = await storage
    .tables<DirectoryTables>()
    .updateTable('directory_load')
    .set({ state: 'failed', report: JSON.stringify(report), finished_at: clock.now().getTime() })
    .where('id', '=', loadId)
    .where('state', '=', 'loading')
    .executeTakeFirst();
  if (result.numUpdatedRows === 1n) await removeBlocks(storage, loadId);
}

/** Goes back to the generation before the active one. Throws DIRECTORY_NOTHING_TO_ROLL_BACK. */
export function rollBack({ storage, audit }: Omit<ActivationContext, 'clock'>): Promise<LoadRow> {
  return storage.transaction(async (tx: DirectoryDb) => {
    const state = await lockState(storage, tx);
    const active = state.active_load_id === null ? undefined : await findLoad(tx, state.active_load_id);
    const previous = await findPreviousLoad(tx, active);
    if (previous?.state !== 'ready') {
      throw new DirectoryError(
        'DIRECTORY_NOTHING_TO_ROLL_BACK',
        'There is no earlier directory to go back to',
      );
    }
    await updateState(tx, { active_load_id: previous.id, revision: state.revision + 1 });
    await audit.recordIn(tx, {
      action: 'directory.rollback',
      actor: 'operator',
      outcome: 'ok',
      objects: { from: active?.id ?? 0, to: previous.id },
    });
    return previous;
  });
}
