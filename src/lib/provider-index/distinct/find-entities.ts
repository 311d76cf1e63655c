import { createTaskThreads, threadScript } from '../../../core/threads/index.ts';
import type { EntitySeed, ProviderIndex, SharedEntities } from '../types.ts';
import type { EntityTask } from './entity-thread.ts';

let lastVersion = 0;

/** Finds the organizations and places of an index in a thread. Throws the thread's error, or THREAD_LOST. */
export async function findEntities(
  { bytes, times }: Pick<ProviderIndex, 'bytes' | 'times'>,
  seed: EntitySeed,
): Promise<SharedEntities> {
  const threads = createTaskThreads<EntityTask, SharedEntities>(
    threadScript('entity-thread', import.meta.url),
  );
  try {
    return await threads.run({ bytes, seed, version: ++lastVersion, ownChange: times.ownChange });
  } finally {
    await threads.close();
  }
}
