import { countOf } from '../../core/index.ts';
import type { OperatedWebhook } from './operator.ts';

const disabledTexts: Readonly<Record<string, readonly [text: string, advice: string]>> = {
  client: ['Disabled by its client or an operator.', ''],
  gone: [
    'Disabled: its target answered 410 (Gone).',
    'Ask the client for the new address; the client must register or enable the webhook again.',
  ],
  failing: [
    'Disabled after days of failures.',
    'Ask the client to repair its target and to enable the webhook again; held events are then sent.',
  ],
};

/** Whether a webhook needs an operator, the sentence that says so, and advice. */
export function healthOfWebhook({ isEnabled, disabledReason, failingSince, counts }: OperatedWebhook): {
  /** `none`: its client or an operator has disabled it. */
  readonly level: 'ok' | 'none' | 'warning' | 'failed';
  readonly text: string;
  readonly whatToDo: string;
} {
  if (!isEnabled) {
    const [text = 'Disabled.', whatToDo = ''] = disabledTexts[disabledReason] ?? [];
    return { level: disabledReason === 'client' ? 'none' : 'failed', text, whatToDo };
  }
  if (failingSince !== undefined)
    return {
      level: 'failed',
      text: 'Its target fails; events are retried automatically.',
      whatToDo: 'Read the last attempts, send a test event, and contact the client.',
    };
  if (counts.dead > 0)
    return {
      level: 'warning',
      text: `Its target responds; ${countOf(counts.dead, 'dead letter')} of earlier failures.`,
      whatToDo: 'Replay them if the client wants them.',
    };
  return { level: 'ok', text: 'Its target responds.', whatToDo: '' };
}
