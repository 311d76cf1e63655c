import { availableParallelism, loadavg } from 'node:os';

const mostScale = 10;

/**
 * The factor by which limits of time are longer than on an idle machine: by the load at this moment, or as
 * OPENHISP_TEST_TIME_SCALE says.
 */
export function timeScale(): number {
  const given = Number(process.env['OPENHISP_TEST_TIME_SCALE'] ?? '');
  if (given > 0) return given;
  const waitingPerCore = (loadavg()[0] ?? 0) / availableParallelism();
  return Math.min(mostScale, Math.max(1, waitingPerCore));
}

/** A deadline that moves while the machine is busy. */
export function createDeadline(limitMs: number): { isOver(): boolean } {
  const startedAt = performance.now();
  let scale = 1;
  return {
    isOver() {
      scale = Math.max(scale, timeScale());
      return performance.now() - startedAt > limitMs * scale;
    },
  };
}
