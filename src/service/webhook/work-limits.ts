import type { FairLimits } from '../../platform/index.ts';
import type { WebhookKind } from './tables.ts';

/**
 * Sharing of slots: a webhook gets at most a quarter of them, all webhooks of one client at most half. Slow
 * and failing webhooks use other slots, two of them each at most, and those of one client at most a quarter
 * (Decision 0023). Pushes of whole messages get an eighth of the slots, because each holds up to a whole
 * message in memory, and begin as long as half of `maxContentBytes` holds them, a sixth for slow webhooks.
 */
export function limitsFor(kind: WebhookKind, concurrency: number, maxContentBytes = Infinity): FairLimits {
  const slots = kind === 'inbound' ? Math.max(2, Math.ceil(concurrency / 8)) : concurrency;
  const slowSlots = Math.max(1, Math.ceil(slots / 2));
  return {
    slots,
    share: Math.ceil(slots / 4),
    groupShare: Math.ceil(slots / 2),
    slowSlots,
    slowShare: Math.min(2, slowSlots),
    slowGroupShare: Math.ceil(slowSlots / 4),
    slowAfterMs: 2000,
    waiting: 16 * slots,
    maxBytes: maxContentBytes / 2,
    slowMaxBytes: maxContentBytes / 6,
    failuresBeforeBackOff: 5,
    backOffMs: 10_000,
    maxBackOffMs: 600_000,
  };
}
