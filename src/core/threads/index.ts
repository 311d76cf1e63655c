/**
 * Runs tasks in worker threads, the one way of the whole program: `createTaskThreads` on this side, `serveTasks` in the
 * thread's script. Threads share nothing but what a task passes on.
 */
export { listMoved, serveTasks, threadScript, type CodedFailure } from './serve-tasks.ts';
export { createTaskThreads, type TaskThreads, type TaskThreadsOptions } from './task-threads.ts';
