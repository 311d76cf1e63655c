import type { Closable } from '../../../core/index.ts';
import { serveProcess } from '../../../core/threads/index.ts';
import type { ImportProgress, ProgressListener } from '../load/progress.ts';
import type { ProcessJob, ProcessJobDone } from './process-jobs.ts';
import type { JobContext } from './run-jobs.ts';

/** Least time between two messages of progress; a new phase is sent at once. */
const progressMs = 200;

/**
 * Does the one job for which this process was started. `open` opens the installation; it is closed before the
 * answer.
 */
export function serveJobs<Settings>(open: (settings: Settings) => Promise<JobContext & Closable>): void {
  serveProcess<ProcessJob<Settings>, ProcessJobDone, ImportProgress>(async ({ settings, job }, tell) => {
    const { createJobs } = await import('./run-jobs.ts');
    const context = await open(settings);
    try {
      const jobs = createJobs(context);
      if (job.do === 'load') return await jobs.load(job, { onProgress: spaced(tell) });
      return await jobs.rollBack(job);
    } finally {
      await context.close();
    }
  });
}

function spaced(tell: ProgressListener): ProgressListener {
  let [phase, atMs] = ['', 0];
  return (progress) => {
    const nowMs = performance.now();
    if (progress.phase === phase && nowMs - atMs < progressMs) return;
    [phase, atMs] = [progress.phase, nowMs];
    tell(progress);
  };
}
