/** Runs in a worker thread: finds the organizations and places of an index. */
import { serveTasks } from '../../../core/threads/index.ts';
import type { EntitySeed, SharedEntities, SharedIndexBytes } from '../types.ts';
import { buildEntities } from './build-entities.ts';

export interface EntityTask {
  readonly bytes: SharedIndexBytes;
  readonly seed: EntitySeed;
  readonly version: number;
  /** Time of the changes of the load that the index is made of: seconds since 1970. */
  readonly ownChange: number;
}

serveTasks(
  ({ bytes, seed, version, ownChange }: EntityTask): SharedEntities =>
    buildEntities(bytes, seed, version, ownChange),
  () => [],
);
