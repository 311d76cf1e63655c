import { DirectoryError } from '../errors.ts';
import { readChain, updateState, type DirectoryDb } from './state.ts';
import type { ExportRight, LoadRow, SourceRow, StateRow } from './tables.ts';

/** The source of loads that name none. */
export const defaultSource = 'default';

/** The source of releases of the national directory. */
export const nationalSource = 'npd';

/**
 * The order in which sources of these names take precedence; others follow by age, until the operator orders
 * them.
 */
const usualOrder: readonly string[] = ['directtrust', defaultSource, nationalSource, 'nppes'];

/** Sources that the federal government publishes as open data. */
const openByName: ReadonlySet<string> = new Set([nationalSource, 'nppes']);

/** Places in the masks of merged blocks. */
const maxSources = 32;

/** A source and its own generation, newest load first; empty if it has none. */
export interface SourceChain {
  readonly source: SourceRow;
  readonly chain: readonly LoadRow[];
}

/** The data to serve after a change of the sources. */
export interface ToServe {
  /** Newest load first; empty if no source has a generation. */
  readonly chain: readonly LoadRow[];
  /** Entries of the newest load. */
  readonly entryCount: number;
  /** The newest load, if it is a merge that was made for this and is to be activated with it. */
  readonly merge?: LoadRow;
}

/** Throws DIRECTORY_SOURCE_INVALID. */
export function checkSourceName(name: string): void {
  if (/^[a-z0-9][a-z0-9-]{0,31}$/.test(name) && name !== 'hosted') return;
  throw new DirectoryError(
    'DIRECTORY_SOURCE_INVALID',
    'A source is named by up to 32 lower-case letters, digits and hyphens; "hosted" is reserved',
  );
}

/** The sources in order of precedence. */
export function listSources(db: DirectoryDb): Promise<SourceRow[]> {
  return db.selectFrom('directory_source').selectAll().orderBy('rank').orderBy('created_at').execute();
}

export function getSource(sources: readonly SourceRow[], name: string): SourceRow {
  const found = sources.find((source) => source.name === name);
  if (found !== undefined) return found;
  const known = sources.map((source) => source.name).join(', ');
  throw new DirectoryError(
    'DIRECTORY_SOURCE_UNKNOWN',
    `There is no source ${name}; there ${known === '' ? 'are none' : `are: ${known}`}`,
  );
}

export function readChains(db: DirectoryDb, sources: readonly SourceRow[]): Promise<SourceChain[]> {
  return Promise.all(
    sources.map(async (source) => ({
      source,
      chain: source.active_load_id === null ? [] : await readChain(db, source.active_load_id),
    })),
  );
}

/** A source that is not there yet. Throws DIRECTORY_SOURCE_INVALID. */
export function planSource(sources: readonly SourceRow[], name: string, createdAt: number): SourceRow {
  checkSourceName(name);
  const bits = new Set(sources.map(({ bit }) => bit));
  const bit = Array.from({ length: maxSources }, (_, at) => at).find((at) => !bits.has(at));
  if (bit === undefined)
    throw new DirectoryError(
      'DIRECTORY_SOURCE_INVALID',
      `There are ${maxSources} sources; no more can be added`,
    );
  return {
    name,
    bit,
    rank: 0,
    export_right: openByName.has(name) ? 'open' : 'closed',
    active_load_id: null,
    created_at: createdAt,
    schedule_path: null,
    schedule_every_ms: null,
    schedule_checked_at: 0,
    schedule_seen: '',
    schedule_failure: '',
    schedule_failed_at: null,
  };
}

/** The sources in order of precedence with a new one at its usual place, or with a known one changed. */
export function insertSource(sources: readonly SourceRow[], row: SourceRow): SourceRow[] {
  const at = sources.findIndex(({ name }) => name === row.name);
  if (at >= 0) return sources.with(at, row);
  const place = placeOf(row.name);
  const next = sources.findIndex(({ name }) => placeOf(name) > place);
  return sources.toSpliced(next < 0 ? sources.length : next, 0, row);
}

function placeOf(name: string): number {
  const place = usualOrder.indexOf(name);
  return place < 0 ? usualOrder.length : place;
}

/** Stores the sources in the order given. Those that are missing are removed. */
export async function storeSources(tx: DirectoryDb, sources: readonly SourceRow[]): Promise<void> {
  const names = sources.map(({ name }) => name);
  await tx
    .deleteFrom('directory_source')
    .$if(names.length > 0, (query) => query.where('name', 'not in', names))
    .execute();
  for (const [rank, source] of sources.entries()) {
    const row = { ...source, rank };
    await tx
      .insertInto('directory_source')
      .values(row)
      .onConflict((conflict) => conflict.column('name').doUpdateSet(row))
      .execute();
  }
}

/** The source's own generation becomes another one. */
export async function setActive(tx: DirectoryDb, name: string, loadId: number | null): Promise<void> {
  await tx.updateTable('directory_source').set({ active_load_id: loadId }).where('name', '=', name).execute();
}

export function isOpen(right: ExportRight): boolean {
  return right === 'open';
}

/** Changes the served data. */
export async function serve(
  tx: DirectoryDb,
  state: StateRow,
  loadId: number | null,
  change: Partial<Omit<StateRow, 'id'>> = {},
): Promise<void> {
  const revision = state.active_load_id === loadId ? state.revision : state.revision + 1;
  await updateState(tx, { ...change, active_load_id: loadId, revision });
}
