import type { Storage } from '../../platform/index.ts';
import { readSources } from '../../service/directory/index.ts';
import { countDeadLetters } from '../../service/messaging/index.ts';
import { needsOperator, type Trust } from '../../service/trust/index.ts';
import type { DegradedComponent } from '../http/index.ts';
import type { Watch } from './daily-warnings.ts';

/**
 * Notifies operators of trust bundles and directory sources that are not refreshed, and of inbound mail that
 * waits for them.
 */
export function createUpkeepWatch({
  storage,
  trust,
}: {
  readonly storage: Storage;
  readonly trust: Pick<Trust, 'listBundles'>;
}): Watch {
  let resources: readonly DegradedComponent[] = [];
  return {
    async run() {
      const stale = (await trust.listBundles()).filter(({ health }) => needsOperator(health));
      const sources = await readSources(storage);
      const mail = await countDeadLetters(storage);
      resources = [
        ...stale.map(({ domain, refreshedAt }) => ({
          part: 'bundles',
          detail: `A trust bundle of ${domain} is not refreshed; last: ${refreshedAt?.toISOString() ?? 'never'}.`,
        })),
        ...sources.flatMap(({ name, schedule, active }) =>
          schedule?.failure === undefined
            ? []
            : [
                {
                  part: 'directory',
                  detail: `The scheduled load of ${name} failed; ${active?.recordCount ?? 0} records stay: ${schedule.failure}`,
                },
              ],
        ),
        ...(mail === 0 ? [] : [{ part: 'mail', detail: `${mail} inbound messages are dead letters.` }]),
      ];
    },
    degraded: () => resources,
  };
}
