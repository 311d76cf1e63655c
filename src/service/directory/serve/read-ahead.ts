import { readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import type { Closable } from '../../../core/index.ts';
import type { SharedIndexBytes } from '../../../lib/provider-index/index.ts';
import { startIndexThread } from '../index-thread/start-index-thread.ts';

/** The snapshot that is read while the rest of a server starts: reading takes as long as all of that. */
export interface ReadAhead extends Closable {
  /** True if its index will be searched by threads. */
  readonly isLarge: boolean;
  /** The index of this file, once; undefined if another was read. Rejects as an index thread's `load`. */
  take(snapshotPath: string): Promise<SharedIndexBytes> | undefined;
}

const manyBytes = 10_000_000;

/** Of several snapshots it is not known which will be served, so none is read. */
export function readAhead(folder: string): ReadAhead {
  const [only, ...others] = listSnapshots(folder);
  const file = others.length === 0 ? only : undefined;
  const thread = startIndexThread();
  let reading = file && thread.load(file.path);
  // Whoever takes it learns of a failure.
  reading?.catch(() => {});
  return {
    isLarge: file !== undefined && file.bytes > manyBytes,
    take(snapshotPath) {
      if (snapshotPath !== file?.path) return undefined;
      const taken = reading;
      reading = undefined;
      return taken;
    },
    async close() {
      reading = undefined;
      await thread.close();
    },
  };
}

function listSnapshots(folder: string) {
  try {
    const names = readdirSync(folder).filter((name) => name.endsWith('.idx'));
    return names.map((name) => {
      const file = path.join(folder, name);
      return { path: file, bytes: statSync(file).size };
    });
  } catch {
    // The folder is made, and its faults are told, by whoever reads it next.
    return [];
  }
}
