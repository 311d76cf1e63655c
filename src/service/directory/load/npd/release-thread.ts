/**
 * Runs in a worker thread: reads a release, whose pieces would make each garbage collection of the main
 * thread a long one.
 */
import { serveTasks } from '../../../../core/threads/index.ts';
import {
  createReleaseReader,
  type ReadReleaseOptions,
  type ReleasePortion,
  type ReleaseReader,
} from './read-release.ts';

/** The first task names the files to read; each task is answered with the next portion. */
export type ReleaseTask =
  | { readonly kind: 'begin'; readonly options: ReadReleaseOptions }
  | { readonly kind: 'next' };

let reader: ReleaseReader | undefined;

serveTasks<ReleaseTask, ReleasePortion>(
  async (task) => {
    if (task.kind === 'begin') reader = createReleaseReader(task.options);
    if (reader === undefined) throw new TypeError('Nothing has been begun');
    const portion = await reader.next();
    if (portion.report !== undefined) await reader.close();
    return portion;
  },
  () => [],
);
