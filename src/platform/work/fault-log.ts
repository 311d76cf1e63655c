import { errorCode, type Log } from '../../core/index.ts';

/**
 * Says that a step of a worker fails, and when it works again: steps are tried several times per second, and
 * an outage may last for hours.
 */
export interface FaultLog {
  /**
   * Logs the first failure with the error, and then once per minute how many there were. `what` names the
   * step.
   */
  failed(what: string, error: unknown): void;
  /** Cheap while nothing fails. */
  worked(what: string): void;
}

const everyMs = 60_000;

interface Fault {
  loggedAt: number;
  count: number;
}

export function createFaultLog(
  name: string,
  log: Log,
  now: () => number = () => performance.now(),
): FaultLog {
  const faults = new Map<string, Fault>();
  return {
    failed(what, error) {
      const fault = faults.get(what);
      const fields = { worker: name, code: errorCode(error) };
      if (fault === undefined) {
        faults.set(what, { loggedAt: now(), count: 1 });
        log.error({ ...fields, error }, `a worker could not ${what}`);
        return;
      }
      fault.count++;
      if (now() - fault.loggedAt < everyMs) return;
      fault.loggedAt = now();
      log.error({ ...fields, count: fault.count }, `a worker still cannot ${what}`);
    },
    worked(what) {
      if (faults.size === 0) return;
      const fault = faults.get(what);
      if (fault === undefined) return;
      faults.delete(what);
      log.info({ worker: name, count: fault.count }, `a worker can ${what} again`);
    },
  };
}
