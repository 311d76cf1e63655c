/**
 * Runs tasks elsewhere, the one way of the whole program: in worker threads (`createTaskThreads` on this
 * side, `serveTasks` in the thread's script), or one long task in a separate process (`runInProcess`,
 * `serveProcess`). Nothing is shared but what a task passes on.
 */
export { listMoved, serveTasks, threadScript, type CodedFailure } from './serve-tasks.ts';
export { runInProcess } from './run-process.ts';
export { serveProcess } from './serve-process.ts';
export { createTaskThreads, type TaskThreads } from './task-threads.ts';
