import type { Storage } from '../../../platform/index.ts';

/** Places and limits for building and storing indexes. */
export interface IndexContext {
  readonly storage: Storage;
  /** The node's folder for snapshots of the index. */
  readonly snapshotDir: string;
  /** Increments of more entries are indexed before they are activated; tests lower it. */
  readonly changesBeforeRebuild?: number;
}
