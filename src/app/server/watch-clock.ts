import type { Clock, Log } from '../../core/index.ts';
import type { Config, Metrics, Storage } from '../../platform/index.ts';
import { createDailyWatch, type Watch } from './daily-warnings.ts';

/** Tokens, sessions and signatures of requests are dated by the node that makes them. */
export const clockToleranceMs = 10_000;

/**
 * Compares this node's clock with that of the database, which all nodes share: two nodes that differ from
 * each other differ from it. Logged once per day. SQLite has no clock of its own.
 */
export function createClockWatch({
  config,
  storage,
  clock,
  log,
  metrics,
}: {
  readonly config: Pick<Config, 'storage'>;
  readonly storage: Pick<Storage, 'clock'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}): Watch {
  const measureMs = (): number =>
    config.storage.url === undefined ? 0 : clock.now().getTime() - storage.clock.now().getTime();
  metrics.measured(
    {
      name: 'openhisp_clock_difference_seconds',
      help: "This node's clock minus that of the PostgreSQL that all nodes share; 0 on SQLite.",
    },
    () => measureMs() / 1000,
  );
  return createDailyWatch({
    clock,
    log,
    part: 'clock',
    what: 'clocks',
    async find() {
      const differenceMs = measureMs();
      if (Math.abs(differenceMs) <= clockToleranceMs) return [];
      const seconds = Math.round(Math.abs(differenceMs) / 1000);
      return [
        {
          name: 'clock',
          part: 'clock',
          level: 'error',
          fields: { differenceSeconds: Math.round(differenceMs / 1000) },
          detail: `This node's clock is ${seconds} s ${differenceMs > 0 ? 'ahead of' : 'behind'} the database's: tokens and sessions of one node end early or late on another. Synchronize both by NTP.`,
        },
      ];
    },
  });
}
