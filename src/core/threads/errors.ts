import { codedError, type ErrorTable } from '../index.ts';

export const threadErrors = {
  /** A worker thread ended before its answer, or its pool is closed. */
  THREAD_LOST: { kind: 'unavailable' },
  /** A process ended before its answer, for example because the machine had no memory left. */
  THREAD_PROCESS_LOST: { kind: 'unavailable' },
} as const satisfies ErrorTable;

export class ThreadError extends codedError(threadErrors) {}
