import type { ImportProgress } from '../load/progress.ts';
import type { LoadSummary } from '../status.ts';
import { runInProcess } from '../../../core/threads/index.ts';
import type { DirectoryJobs, JobListeners, LoadDone, LoadJob, RollbackJob } from './job.ts';

/** A job for a separate process, with what that process needs to open the installation. */
export interface ProcessJob<Settings> {
  readonly settings: Settings;
  readonly job: ({ readonly do: 'load' } & LoadJob) | ({ readonly do: 'roll back' } & RollbackJob);
}

export type ProcessJobDone = LoadDone | LoadSummary;

/**
 * Does each job in a separate process: the memory of a load, up to a gigabyte, is freed with it, and mail
 * does not wait for it. `script` is a module that calls `serveJobs`.
 */
export function createProcessJobs<Settings>(script: URL, settings: Settings): DirectoryJobs {
  const run = <Done extends ProcessJobDone>(
    job: ProcessJob<Settings>['job'],
    { onProgress, signal }: JobListeners = {},
  ): Promise<Done> =>
    runInProcess<ProcessJob<Settings>, Done, ImportProgress>(
      script,
      { settings, job },
      { ...(onProgress && { onNote: onProgress }), ...(signal && { signal }) },
    );
  return {
    load: (job, listeners) => run<LoadDone>({ do: 'load', ...job }, listeners),
    rollBack: (job) => run<LoadSummary>({ do: 'roll back', ...job }),
  };
}
