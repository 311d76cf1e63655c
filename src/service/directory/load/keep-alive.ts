import type { Closable } from '../../../core/index.ts';
import { errorCode } from '../../../core/index.ts';
import { loadLeaseMs } from '../limits.ts';
import { showLife } from '../store/loads.ts';
import type { DirectoryDb } from '../store/state.ts';
import type { ImportContext } from './context.ts';

/** Renews a load's lease while nothing is stored, for example while its index is completed. */
export function keepAlive({ storage, clock, log }: ImportContext, loadId: number): Closable {
  let underWay: Promise<void> = Promise.resolve();
  const timer = setInterval(() => {
    underWay = storage
      .transaction((tx: DirectoryDb) => showLife(tx, clock, loadId))
      .catch((error: unknown) =>
        log.warn({ code: errorCode(error), loadId }, 'the lease of a directory load was not renewed'),
      );
  }, loadLeaseMs / 4);
  timer.unref();
  return {
    async close() {
      clearInterval(timer);
      await underWay;
    },
  };
}
