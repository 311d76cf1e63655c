import type { Clock, Log } from '../../core/index.ts';
import type { Storage } from '../../platform/index.ts';
import { findFailingHooks, type FailingHook } from '../../service/webhook/index.ts';
import { createDailyWatch, type Warning, type Watch } from './daily-warnings.ts';

/** A webhook that fails for less time is left to the retries. */
const alarmAfterMs = 600_000;

/**
 * Notifies operators of webhooks that fail, were disabled by the service, or have undelivered notifications.
 */
export function createWebhookWatch(options: {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly log: Log;
}): Watch {
  const { storage, clock, log } = options;
  return createDailyWatch({
    clock,
    log,
    part: 'webhooks',
    what: 'webhooks',
    command: 'openhisp webhook list --failing',
    async find() {
      const now = clock.now().getTime();
      const failing = (await findFailingHooks(storage)).filter(
        ({ failingSince, disabledReason, deadLetterCount: deadCount }) =>
          disabledReason !== '' ||
          deadCount > 0 ||
          (failingSince !== undefined && now - failingSince.getTime() >= alarmAfterMs),
      );
      return failing.map(toWarning);
    },
  });
}

function toWarning(hook: FailingHook): Warning {
  const { id, clientId, disabledReason, deadLetterCount: deadCount } = hook;
  return {
    part: 'webhooks',
    detail: describeFailingHook(hook),
    name: id,
    level: 'warn',
    fields: { webhookId: id, clientId, disabledReason, deadCount },
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
