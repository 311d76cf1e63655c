import type { Clock, Log } from '../../core/index.ts';
import type { Metrics, Storage } from '../../platform/index.ts';
import { describeHold, listHolds } from '../../service/delivery/index.ts';
import { createDailyWatch, type Watch } from './daily-warnings.ts';

export interface HoldWatchOptions {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** Notifies operators of holds that were forgotten, and of mail that is about to fail because of one. */
export function createHoldWatch({ storage, clock, log, metrics }: HoldWatchOptions): Watch {
  const count = metrics.gauge({
    name: 'openhisp_queue_holds',
    help: 'Destinations that an operator has put on hold.',
  });
  const oldest = metrics.gauge({
    name: 'openhisp_queue_hold_oldest_seconds',
    help: 'Age of the oldest hold; 0 if there is none.',
  });
  const urgent = metrics.gauge({
    name: 'openhisp_queue_holds_urgent',
    help: 'Holds under which mail fails within an hour, or that are older than a day and have no end.',
  });
  return createDailyWatch({
    clock,
    log,
    part: 'holds',
    what: 'holds',
    async find() {
      const now = clock.now();
      const holds = await listHolds(storage, clock);
      const described = holds.map((hold) => ({ hold, ...describeHold(hold, now) }));
      const attention = described.filter(({ isUrgent }) => isUrgent);
      count.set(holds.length);
      oldest.set(Math.max(0, ...holds.map(({ since }) => (now.getTime() - since.getTime()) / 1000)));
      urgent.set(attention.length);
      return attention.map(({ hold: { domain, author, waiting, expiresAt }, text }) => ({
        part: 'holds',
        detail: text,
        // Once more when what waits becomes urgent.
        name: `${domain} ${expiresAt?.getTime() ?? 0}`,
        level: 'warn',
        fields: { domain, author, waiting, expiresAt: expiresAt?.toISOString() },
      }));
    },
  });
}
