import { errorText, type Log } from '../../../core/index.ts';
import type { SharedIndexBytes } from '../../../lib/provider-index/index.ts';
import type { IndexThread } from '../index-thread/start-index-thread.ts';
import type { ReadAhead } from './read-ahead.ts';
import type { SnapshotFiles, SnapshotName } from '../store/snapshot-files.ts';
import type { LoadRow, StateRow } from '../store/tables.ts';

/** A whole index; later changes are kept next to it. */
export interface BaseIndex {
  readonly name: SnapshotName;
  readonly bytes: SharedIndexBytes;
}

/** The candidates for a base. */
export interface BaseChoice {
  readonly state: StateRow;
  /** The active generation, newest load first. */
  readonly chain: readonly LoadRow[];
  /** Indexes that this process has in memory. */
  readonly inMemory: readonly BaseIndex[];
  readonly files: SnapshotFiles;
  /** Snapshots that could not be read; they are not tried again. */
  readonly unreadable: Set<string>;
  readonly thread: IndexThread;
  readonly ahead: ReadAhead | undefined;
  readonly log: Log;
}

/** The index from which the active generation is the fewest changes away, in memory or in a snapshot. */
export async function chooseBase(choice: BaseChoice): Promise<BaseIndex | undefined> {
  const { state, chain, inMemory, files } = choice;
  const held = inMemory.filter(({ name }) => isUsable(name, state, chain));
  const stored = files.list().filter((name) => isUsable(name, state, chain));
  const names = [...held.map(({ name }) => name), ...stored].toSorted(
    (a, b) => depthOf(a, chain) - depthOf(b, chain) || b.revision - a.revision,
  );
  for (const name of names) {
    const base = held.find((one) => isSame(one.name, name)) ?? (await readBase(choice, name));
    if (base !== undefined) return base;
  }
  return undefined;
}

/** True if the changes since then can be determined. */
function isUsable({ loadId, revision }: SnapshotName, state: StateRow, chain: readonly LoadRow[]): boolean {
  const isInChain =
    loadId === null ? state.active_load_id === null : chain.some((load) => load.id === loadId);
  return isInChain && revision <= state.revision && revision >= state.recorded_since;
}

function depthOf({ loadId }: SnapshotName, chain: readonly LoadRow[]): number {
  return chain.findIndex((load) => load.id === loadId);
}

export function isSame(a: SnapshotName, b: SnapshotName): boolean {
  return a.loadId === b.loadId && a.revision === b.revision;
}

async function readBase(
  { files, unreadable, thread, ahead, log }: BaseChoice,
  name: SnapshotName,
): Promise<BaseIndex | undefined> {
  const path = files.pathOf(name);
  if (unreadable.has(path)) return undefined;
  try {
    return { name, bytes: await (ahead?.take(path) ?? thread.load(path)) };
  } catch (error) {
    unreadable.add(path);
    log.warn(
      { reason: errorText(error) },
      'a snapshot of the directory index is not usable, so it is built again',
    );
    return undefined;
  }
}
