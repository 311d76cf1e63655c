import type { SharedIndexBytes } from './types.ts';

/** Writes beside `path`, syncs, then renames, so that `path` is always a whole snapshot. Returns the bytes written. */
export declare function writeSnapshot(bytes: SharedIndexBytes, path: string): number;

/** Throws INDEX_SNAPSHOT_INVALID for anything that is not a whole snapshot of this version. */
export declare function readSnapshot(path: string): SharedIndexBytes;
