import type { Clock, Log } from '../../core/index.ts';
import type { LabelledValue, Metrics } from '../../platform/index.ts';
import {
  describeKeyWarning,
  type DomainKeyDates,
  type KeyWarning,
  type Trust,
} from '../../service/trust/index.ts';
import { createDailyWatch, type Warning, type Watch } from './daily-warnings.ts';

export interface KeyWatchOptions {
  readonly trust: Pick<Trust, 'findKeyDates'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** Notifies operators of keys that expire within 30 days, have expired, or are missing, before mail fails. */
export function createKeyWatch({ trust, clock, log, metrics }: KeyWatchOptions): Watch {
  // Read when the metrics are, so that a domain whose keys were all retired keeps no old value.
  metrics.measuredBy(
    {
      name: 'openhisp_key_expiry_days',
      help: 'Days until a hosted domain has no valid key for a use it has one for; negative after that. Domains without active addresses are absent if they have disabled ones.',
      labels: ['domain'],
    },
    async () => daysLeft,
  );
  const warned = metrics.gauge({
    name: 'openhisp_key_warnings',
    help: 'Keys of hosted domains that are missing, expired, not yet valid or expire within 30 days.',
    labels: ['problem'],
  });
  let daysLeft: readonly LabelledValue[] = [];

  return createDailyWatch({
    clock,
    log,
    part: 'keys',
    what: 'keys',
    level: 'error',
    async find() {
      const dates: readonly DomainKeyDates[] = await trust.findKeyDates();
      const warnings = dates.flatMap((one) => one.warnings);
      daysLeft = dates.flatMap(({ domain, daysLeft: value }) =>
        value === undefined ? [] : [{ labels: { domain }, value }],
      );
      for (const problem of ['missing', 'expired', 'not-yet-valid', 'expires-soon'] as const)
        warned.set(warnings.filter((warning) => warning.problem === problem).length, { problem });
      return warnings.map(toWarning);
    },
  });
}

function toWarning(warning: KeyWarning): Warning {
  const { owner, problem, keyPair, uses, notAfter } = warning;
  return {
    part: 'keys',
    detail: describeKeyWarning(warning),
    name: `${owner} ${problem} ${keyPair}`,
    level: problem === 'expires-soon' ? 'warn' : 'error',
    fields: { owner, problem, keyPair, uses, notAfter: notAfter?.toISOString() },
  };
}
