import type { Clock } from '../../core/index.ts';
import type { Storage } from '../../platform/index.ts';
import { countDeadLetters } from '../../service/messaging/index.ts';
import type { Trust } from '../../service/trust/index.ts';
import type { DegradedComponent } from '../http/index.ts';

export interface UpkeepWatch {
  run(): Promise<void>;
  /** Findings of the last run, for the readiness details. */
  degraded(): readonly DegradedComponent[];
}

const dayMs = 86_400_000;
/** Bundles are fetched once per day unless configured otherwise. */
const oldBundleMs = 3 * dayMs;

/** Notifies operators of trust bundles that are not refreshed, and of inbound mail that waits for them. */
export function createUpkeepWatch({
  storage,
  trust,
  clock,
}: {
  readonly storage: Storage;
  readonly trust: Pick<Trust, 'listBundles'>;
  readonly clock: Clock;
}): UpkeepWatch {
  let resources: readonly DegradedComponent[] = [];
  return {
    async run() {
      const now = clock.now().getTime();
      const stale = (await trust.listBundles()).filter(
        ({ refreshedAt, lastError }) =>
          lastError !== '' || (refreshedAt !== undefined && now - refreshedAt.getTime() > oldBundleMs),
      );
      const mail = await countDeadLetters(storage);
      resources = [
        ...stale.map(({ domain, refreshedAt }) => ({
          part: 'bundles',
          detail: `A trust bundle of ${domain} is not refreshed; last: ${refreshedAt?.toISOString() ?? 'never'}.`,
        })),
        ...(mail === 0 ? [] : [{ part: 'mail', detail: `${mail} inbound messages are dead letters.` }]),
      ];
    },
    degraded: () => resources,
  };
}
