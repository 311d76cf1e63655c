import type { Clock, Log } from '../../core/index.ts';
import type { LabelledValue, Metrics } from '../../platform/index.ts';
import {
  describeKeyWarning,
  type DomainKeyDates,
  type KeyWarning,
  type Trust,
} from '../../service/trust/index.ts';
import type { DegradedComponent } from '../http/index.ts';

export interface KeyWatch {
  /** Reads the dates of all active keys, sets the gauges, and logs warnings once per day. */
  run(): Promise<void>;
  /** Findings of the last run, for the readiness details. */
  degraded(): readonly DegradedComponent[];
}

export interface KeyWatchOptions {
  readonly trust: Pick<Trust, 'findKeyDates'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

const dayMs = 86_400_000;
/** Warnings that are listed one by one; a lost CA would otherwise flood the log and the readiness details. */
const maxListed = 20;

/** Notifies operators of keys that expire within 30 days, have expired, or are missing, before mail fails. */
export function createKeyWatch({ trust, clock, log, metrics }: KeyWatchOptions): KeyWatch {
  // Read when the metrics are, so that a domain whose keys were all retired keeps no old value.
  metrics.measuredBy(
    {
      name: 'openhisp_key_expiry_days',
      help: 'Days until a hosted domain has no valid key for a use it has one for; negative after that.',
      labels: ['domain'],
    },
    async () => daysLeft,
  );
  const warned = metrics.gauge({
    name: 'openhisp_key_warnings',
    help: 'Keys of hosted domains that are missing, expired, not yet valid or expire within 30 days.',
    labels: ['problem'],
  });
  let warnings: readonly KeyWarning[] = [];
  let daysLeft: readonly LabelledValue[] = [];
  let loggedAt = new Map<string, number>();

  function logNew(now: number): void {
    const stillLogged = new Map<string, number>();
    let dueCount = 0;
    for (const warning of warnings) {
      const { owner, problem, keyPair, uses, notAfter } = warning;
      const name = `${owner} ${problem} ${keyPair}`;
      const before = loggedAt.get(name);
      const isDue = before === undefined || now - before >= dayMs;
      stillLogged.set(name, isDue ? now : before);
      if (!isDue) continue;
      dueCount++;
      if (dueCount > maxListed) continue;
      const level = problem === 'expires-soon' ? 'warn' : 'error';
      log[level](
        { owner, problem, keyPair, uses, notAfter: notAfter?.toISOString() },
        describeKeyWarning(warning),
      );
    }
    if (dueCount > maxListed)
      log.error(
        { count: dueCount - maxListed },
        `${dueCount - maxListed} more keys need attention: openhisp doctor`,
      );
    loggedAt = stillLogged;
  }

  return {
    async run() {
      const dates: readonly DomainKeyDates[] = await trust.findKeyDates();
      warnings = dates.flatMap((one) => one.warnings);
      daysLeft = dates.flatMap(({ domain, daysLeft: value }) =>
        value === undefined ? [] : [{ labels: { domain }, value }],
      );
      for (const problem of ['missing', 'expired', 'not-yet-valid', 'expires-soon'] as const)
        warned.set(warnings.filter((warning) => warning.problem === problem).length, { problem });
      logNew(clock.now().getTime());
    },
    degraded() {
      const details = warnings.slice(0, maxListed).map(describeKeyWarning);
      if (warnings.length > maxListed)
        details.push(`${warnings.length - maxListed} more keys need attention.`);
      return details.map((detail) => ({ part: 'keys', detail }));
    },
  };
}
