import type { Clock, Log } from '../../core/index.ts';
import type { Storage } from '../../platform/index.ts';
import { findFailingHooks, type FailingHook } from '../../service/webhook/index.ts';
import type { DegradedComponent } from '../http/index.ts';

export interface WebhookWatch {
  /** Finds webhooks that need attention, and logs each once per day. */
  run(): Promise<void>;
  /** Findings of the last run, for the readiness details. */
  degraded(): readonly DegradedComponent[];
}

const dayMs = 86_400_000;
/** A webhook that fails for less time is left to the retries. */
const reportAfterMs = 600_000;
/** Webhooks that are listed one by one. */
const maxListed = 20;

/** Notifies operators of webhooks that fail, were disabled by the service, or have undelivered notifications. */
export function createWebhookWatch(options: {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly log: Log;
}): WebhookWatch {
  const { storage, clock, log } = options;
  let failing: readonly FailingHook[] = [];
  let loggedAt = new Map<string, number>();

  function logDue(now: number): void {
    const due = failing.filter(({ id }) => now - (loggedAt.get(id) ?? -Infinity) >= dayMs);
    for (const hook of due.slice(0, maxListed)) {
      const { id, clientId, disabledReason, deadLetterCount: deadCount } = hook;
      log.warn({ webhookId: id, clientId, disabledReason, deadCount }, describeFailingHook(hook));
    }
    if (due.length > maxListed)
      log.warn(
        { count: due.length - maxListed },
        'more webhooks need attention: openhisp webhook list --failing',
      );
    const dueIds = new Set(due.map(({ id }) => id));
    loggedAt = new Map(failing.map(({ id }) => [id, dueIds.has(id) ? now : (loggedAt.get(id) ?? now)]));
  }

  return {
    async run() {
      const now = clock.now().getTime();
      failing = (await findFailingHooks(storage)).filter(
        ({ failingSince, disabledReason, deadLetterCount: deadCount }) =>
          disabledReason !== '' ||
          deadCount > 0 ||
          (failingSince !== undefined && now - failingSince.getTime() >= reportAfterMs),
      );
      logDue(now);
    },
    degraded() {
      const details = failing.slice(0, maxListed).map(describeFailingHook);
      if (failing.length > maxListed)
        details.push(`${failing.length - maxListed} more webhooks need attention.`);
      return details.map((detail) => ({ part: 'webhooks', detail }));
    },
  };
}

/** One sentence for operators, without the address of the receiver. */
function describeFailingHook({
  id,
  clientId,
  failingSince,
  disabledReason,
  deadLetterCount: deadCount,
}: FailingHook): string {
  const state =
    disabledReason !== ''
      ? `was disabled (${disabledReason})`
      : failingSince === undefined
        ? 'works again'
        : `has failed since ${failingSince.toISOString()}`;
  return `Webhook ${id} of client ${clientId} ${state}; ${deadCount} dead letters.`;
}
