/**
 * The sources of the directory: their order, their rights, and the records of each.
 * Used by `service/directory`, its `jobs`, `fhir` and `operator`.
 * Begin with this file.
 */
import { DirectoryError } from '../errors.ts';
import { indexServed } from '../load/index-served.ts';
import { abortMerge, mergeSources, type MergeContext } from '../merge/merge-sources.ts';
import { retireGenerations } from '../store/clear-loads.ts';
import { nextLoadTime } from '../store/change-times.ts';
import { clearAbandonedLoads, loadAlone } from '../store/load-lock.ts';
import { activateMerge, refuseIfChanged, type ActivationContext } from '../store/loads.ts';
import {
  getSource,
  listSources,
  readChains,
  serve,
  setActive,
  storeSources,
  type SourceChain,
} from '../store/sources.ts';
import {
  findLoad,
  findPreviousLoad,
  loadState,
  lockState,
  readChain,
  updateState,
  type DirectoryDb,
} from '../store/state.ts';
import type { DirectoryTables, ExportRight, LoadRow, SourceRow } from '../store/tables.ts';
import type { AuditEvent } from '../../audit/index.ts';

/** Dependencies of a change of the sources. */
export interface SourceContext extends ActivationContext, MergeContext {
  /** The node's folder for snapshots of the index. */
  readonly snapshotDir: string;
  readonly changesBeforeRebuild?: number;
}

/**
 * Goes back to a source's generation before its active one; without a name, of the only source. `activeId` is
 * the load that is active as far as the caller knows: another load, or another rollback, may have come in
 * between. Throws DIRECTORY_NOTHING_TO_ROLL_BACK, DIRECTORY_SOURCE_CHANGED.
 */
export async function rollBack(context: SourceContext, name?: string, activeId?: number): Promise<LoadRow> {
  const done = await rollBackAlone(context, name, activeId);
  if (done !== undefined) return done;
  let target: LoadRow | undefined;
  await changeSources(context, async (db, sources) => {
    const { source } = chainOfSource(sources, name);
    refuseOtherActive(source, activeId);
    target = await findTarget(db, source);
    const chain = await readChain(db, target.id);
    return {
      after: sources.map((one) => (one.source.name === source.name ? { source, chain } : one)),
      event: rolledBack(source, target),
    };
  });
  return target as LoadRow;
}

/**
 * Goes back if no other source has records: there is nothing to merge then, and a rollback is one
 * transaction, even while a load runs. Undefined if there are others. Throws DIRECTORY_NOTHING_TO_ROLL_BACK,
 * DIRECTORY_SOURCE_CHANGED.
 */
export async function rollBackAlone(
  { storage, clock, audit }: ActivationContext,
  name: string | undefined,
  activeId: number | undefined,
): Promise<LoadRow | undefined> {
  await loadState(storage);
  return storage.transaction(async (tx: DirectoryDb) => {
    const state = await lockState(storage, tx);
    const sources = await listSources(tx);
    const [only, ...others] = sources.filter((source) => source.active_load_id !== null);
    if (others.length > 0) return undefined;
    const source = name === undefined ? only : getSource(sources, name);
    if (source === undefined) throw nothingToRollBack();
    refuseOtherActive(source, activeId);
    const previous = await findTarget(tx, source);
    await setActive(tx, source.name, previous.id);
    // The records are not compared with those served meanwhile: all count as changed.
    const changedAt = nextLoadTime(state, clock.now());
    await serve(tx, state, previous.id, {
      last_change_at: changedAt,
      earliest_change_at: changedAt,
      earliest_open_change_at: changedAt,
    });
    await audit.recordIn(tx, rolledBack(source, previous));
    return previous;
  });
}

async function findTarget(db: DirectoryDb, source: SourceRow): Promise<LoadRow> {
  const active = source.active_load_id === null ? undefined : await findLoad(db, source.active_load_id);
  const previous = await findPreviousLoad(db, active);
  if (previous?.state === 'ready') return previous;
  throw nothingToRollBack();
}

function refuseOtherActive(source: SourceRow, activeId: number | undefined): void {
  if (activeId === undefined || source.active_load_id === activeId) return;
  throw new DirectoryError(
    'DIRECTORY_SOURCE_CHANGED',
    `Load ${activeId} of ${source.name} is no longer the active one`,
  );
}

function nothingToRollBack(): DirectoryError {
  return new DirectoryError('DIRECTORY_NOTHING_TO_ROLL_BACK', 'No earlier generation to roll back to');
}

function rolledBack(source: SourceRow, to: LoadRow): AuditEvent {
  const objects = { sourceName: source.name, from: source.active_load_id ?? 0, to: to.id };
  return { action: 'directory.rollback', actor: 'operator', outcome: 'ok', objects };
}

/**
 * Removes a source with all its generations; records that it had overridden are served again. Throws
 * DIRECTORY_SOURCE_UNKNOWN.
 */
export async function removeSource(context: SourceContext, name: string): Promise<void> {
  await changeSources(context, async (_, sources) => {
    const { source } = chainOfSource(sources, name);
    return {
      after: sources.filter((one) => one.source.name !== source.name),
      event: changed('remove', { sourceName: name }),
    };
  });
}

/**
 * The named sources take precedence in this order, the others after them as before. Throws
 * DIRECTORY_SOURCE_UNKNOWN.
 */
export async function orderSources(context: SourceContext, names: readonly string[]): Promise<void> {
  await changeSources(context, async (_, sources) => {
    const first = [...new Set(names)].map((name) => chainOfSource(sources, name));
    const others = sources.filter(({ source }) => !names.includes(source.name));
    const after = [...first, ...others];
    const order = after.map(({ source }) => source.name).join(' ');
    return { after, event: changed('order', { order }) };
  });
}

/** Opens or closes a source to exports; nothing is merged for it. Throws DIRECTORY_SOURCE_UNKNOWN. */
export async function setExportRight(
  { storage, clock, audit }: ActivationContext,
  name: string,
  right: ExportRight,
): Promise<void> {
  await loadState(storage);
  await storage.transaction(async (tx: DirectoryDb) => {
    const state = await lockState(storage, tx);
    getSource(await listSources(tx), name);
    const changedAt = nextLoadTime(state, clock.now());
    await updateState(tx, { last_change_at: changedAt, earliest_open_change_at: changedAt });
    await tx.updateTable('directory_source').set({ export_right: right }).where('name', '=', name).execute();
    await audit.recordIn(tx, changed('export', { sourceName: name, right }));
  });
}

/** The audit event of a change of a source. */
export function changed(what: string, objects: AuditEvent['objects']): AuditEvent {
  return {
    action: `directory.source-${what}`,
    actor: 'operator',
    outcome: 'ok',
    ...(objects && { objects }),
  };
}

function chainOfSource(sources: readonly SourceChain[], name: string | undefined): SourceChain {
  const rows = sources.map(({ source }) => source);
  if (name === undefined) {
    const names = rows.map((row) => row.name).join(', ');
    throw new DirectoryError('DIRECTORY_SOURCE_INVALID', `Name the source: ${names}`);
  }
  const { name: found } = getSource(rows, name);
  return sources.find(({ source }) => source.name === found) as SourceChain;
}

interface PlannedChange {
  /** The sources as they will be, in order of precedence. */
  readonly after: readonly SourceChain[];
  readonly event: AuditEvent;
}

type ChangePlan = (db: DirectoryDb, sources: readonly SourceChain[]) => Promise<PlannedChange>;

/**
 * Changes the sources and the served data in one transaction, while no load runs. Throws
 * DIRECTORY_LOAD_RUNNING.
 */
async function changeSources(context: SourceContext, plan: ChangePlan): Promise<void> {
  const { storage, clock } = context;
  await loadState(storage);
  await loadAlone(context, async () => {
    await clearAbandonedLoads(storage, clock);
    const before = await storage.transaction(async (tx: DirectoryDb) => {
      const state = await lockState(storage, tx);
      const sources = await readChains(tx, await listSources(tx));
      const served = state.active_load_id === null ? [] : await readChain(tx, state.active_load_id);
      return { sources, served, revision: state.revision, secret: state.secret };
    });
    const { after, event } = await plan(storage.tables<DirectoryTables>(), before.sources);
    const toServe = await mergeSources(context, before, after);
    try {
      if (toServe.merge !== undefined) await indexServed(context, toServe, before);
      await activate(context, before.served, after, toServe, event);
    } catch (error) {
      if (toServe.merge !== undefined) await abortMerge(storage, toServe.merge.id);
      throw error;
    }
  });
  await retireGenerations(storage);
}

async function activate(
  { storage, clock, audit }: SourceContext,
  served: readonly LoadRow[],
  after: readonly SourceChain[],
  toServe: Awaited<ReturnType<typeof mergeSources>>,
  event: AuditEvent,
): Promise<void> {
  await storage.transaction(async (tx: DirectoryDb) => {
    const state = await lockState(storage, tx);
    refuseIfChanged(state, served);
    // Rights and schedules may have changed meanwhile; generations and order have not.
    const rows = new Map((await listSources(tx)).map((row) => [row.name, row]));
    await storeSources(
      tx,
      after.map(({ source, chain }) => ({
        ...(rows.get(source.name) ?? source),
        active_load_id: chain[0]?.id ?? null,
      })),
    );
    const changedAt = nextLoadTime(state, clock.now());
    await activateMerge(tx, clock, toServe.merge, changedAt);
    const servedId = toServe.chain[0]?.id ?? null;
    const isCompared = toServe.merge !== undefined || servedId === state.active_load_id;
    await serve(tx, state, servedId, {
      last_change_at: changedAt,
      earliest_open_change_at: changedAt,
      ...(!isCompared && { earliest_change_at: changedAt }),
    });
    await audit.recordIn(tx, event);
  });
}
