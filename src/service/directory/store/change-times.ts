import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { IndexTimes } from '../../../lib/provider-index/index.ts';
import { findLoad, type DirectoryDb } from './state.ts';
import type { LoadRow, StateRow } from './tables.ts';

/**
 * Times of the last changes of a block's records: seconds since 1970, 0 for those that changed with the load
 * itself, whose time is not known before it is activated. Stored as the version of this form in one byte,
 * then zstd-compressed little-endian numbers, one an entry; a block whose records all changed with its load
 * has none.
 */
const version = 1;

export function packTimes(times: Uint32Array): Uint8Array {
  return Buffer.concat([
    Buffer.of(version),
    zstdCompressSync(new Uint8Array(times.buffer, times.byteOffset, times.byteLength)),
  ]);
}

export function unpackTimes(packed: Uint8Array | null): Uint32Array | undefined {
  if (packed === null) return undefined;
  if (packed[0] !== version)
    throw new TypeError(`The times of a block have version ${packed[0]}, this program reads ${version}.`);
  return new Uint32Array(Uint8Array.from(zstdDecompressSync(packed.subarray(1))).buffer);
}

/** Time at which a load was activated; 0 before. */
export function timeOfLoad({ changed_at: at }: Pick<LoadRow, 'changed_at'>): number {
  return at ?? 0;
}

/** The times of entries, with that of their load for 0. */
export function completeTimes(times: Uint32Array | undefined, count: number, loadTime: number): Uint32Array {
  if (times === undefined) return new Uint32Array(count).fill(loadTime);
  return times.map((time) => (time === 0 ? loadTime : time));
}

/** The time of an activation: after every other change, even if the clock of this node is behind. */
export function nextLoadTime({ last_change_at: last }: Pick<StateRow, 'last_change_at'>, now: Date): number {
  return Math.max(Math.floor(now.getTime() / 1000), last + 1);
}

/** The time of a hosted record's change: not before any other one. */
export function hostedTime({ last_change_at: last }: Pick<StateRow, 'last_change_at'>, now: Date): number {
  return Math.max(Math.floor(now.getTime() / 1000), last);
}

/** Times that the blocks of a load do not contain. */
export async function readIndexTimes(
  db: DirectoryDb,
  loadId: number | null,
  state: StateRow,
): Promise<IndexTimes> {
  const load = loadId === null ? undefined : await findLoad(db, loadId);
  return {
    ownChange: load === undefined ? state.last_change_at : timeOfLoad(load),
    earliestChange: state.earliest_change_at,
  };
}
