/**
 * The states of a recipient: their table of transitions, and everything that writes or reads them.
 * Used by `service/messaging`.
 * Begin with this table, then `record-event.ts`.
 */
import { recipientStates, type RecipientState } from '../../../lib/recipient-states/index.ts';
import type { Config } from '../../../platform/index.ts';
import { MessagingError } from '../errors.ts';

export { recipientStates, type RecipientState };

/**
 * The events of one recipient. `sent` and `refused` come from delivery, the others from MDNs and the timer.
 */
export const recipientEvents = [
  'sent',
  'refused',
  'processed',
  'dispatched',
  'failure-reported',
  'window-closed',
] as const;
export type RecipientEvent = (typeof recipientEvents)[number];

/**
 * `final-delivery` if the sender requested a confirmation that the message reached its final destination
 * (MDN-09).
 */
export const deliveryModes = ['general', 'final-delivery'] as const;
export type DeliveryMode = (typeof deliveryModes)[number];

/**
 * The next state; `same` when the event is only recorded in the history; `noted` when a dispatched MDN came
 * before the processed one and is remembered until that arrives; `impossible` when no code path can cause it.
 */
export type Outcome = RecipientState | 'same' | 'noted' | 'impossible';

/** The settings of how long MDNs are waited for (MDN-25). */
type WindowSetting = 'processedWindowMinutes' | 'dispatchedWindowMinutes';

interface Row {
  readonly outcomes: Readonly<Record<RecipientEvent, Outcome>>;
  /** The wait for an MDN that begins with this state (MDN-25). */
  readonly window: WindowSetting | 'none';
  readonly source: `${string}${'Decision 0012' | 'MDN-'}${string}`;
}

const recordedOnly = {
  sent: 'same',
  refused: 'same',
  processed: 'same',
  dispatched: 'same',
  'failure-reported': 'same',
  'window-closed': 'same',
} as const satisfies Row['outcomes'];

function finalRows(source: Row['source']): Readonly<Record<DeliveryMode, Row>> {
  const row = { outcomes: recordedOnly, window: 'none', source } as const;
  return { general: row, 'final-delivery': row };
}

/** The whole lifecycle: for each state, by mode, the next state for every event. */
const transitions: Readonly<Record<RecipientState, Readonly<Record<DeliveryMode, Row>>>> = {
  queued: {
    general: {
      // An MDN can overtake the SMTP reply: the far side answers before its 250 has been stored here.
      outcomes: {
        sent: 'sent',
        refused: 'failed',
        processed: 'processed',
        dispatched: 'processed',
        'failure-reported': 'failed',
        'window-closed': 'impossible',
      },
      window: 'none',
      source: 'Decision 0012; MDN-24 (general: processed or failure, in any order); MDN-27',
    },
    'final-delivery': {
      outcomes: {
        sent: 'sent',
        refused: 'failed',
        processed: 'processed',
        dispatched: 'noted',
        'failure-reported': 'failed',
        'window-closed': 'impossible',
      },
      window: 'none',
      source: 'Decision 0012; MDN-24 (dispatched may come first); MDN-27',
    },
  },
  sent: {
    general: {
      outcomes: {
        sent: 'same',
        refused: 'same',
        processed: 'processed',
        dispatched: 'processed',
        'failure-reported': 'failed',
        'window-closed': 'expired',
      },
      window: 'processedWindowMinutes',
      source: 'Decision 0012; MDN-24; MDN-25; MDN-28',
    },
    'final-delivery': {
      outcomes: {
        sent: 'same',
        refused: 'same',
        processed: 'processed',
        dispatched: 'noted',
        'failure-reported': 'failed',
        'window-closed': 'expired',
      },
      window: 'processedWindowMinutes',
      source: 'Decision 0012; MDN-24; MDN-25; MDN-28',
    },
  },
  processed: {
    general: {
      outcomes: recordedOnly,
      window: 'none',
      source: 'Decision 0012: processed is final unless final delivery was asked for',
    },
    'final-delivery': {
      outcomes: {
        sent: 'same',
        refused: 'same',
        processed: 'same',
        dispatched: 'dispatched',
        'failure-reported': 'failed',
        'window-closed': 'expired',
      },
      window: 'dispatchedWindowMinutes',
      source: 'MDN-24 (processed and dispatched, or failure); MDN-25',
    },
  },
  dispatched: finalRows('Decision 0012: final'),
  failed: finalRows('MDN-26; Decision 0012: final'),
  expired: finalRows('MDN-26; Decision 0012: final'),
};

/** The input of {@link applyEvent}. */
export interface RecipientSnapshot {
  readonly state: RecipientState;
  readonly mode: DeliveryMode;
  /** A dispatched MDN was verified before the processed one. */
  readonly hasDispatchedMdn: boolean;
}

export interface AppliedEvent {
  readonly state: RecipientState;
  readonly isChanged: boolean;
  readonly hasDispatchedMdn: boolean;
}

/** The next state. Pure. Throws MESSAGING_TRANSITION_IMPOSSIBLE for a pair that no code path can cause. */
export function applyEvent(snapshot: RecipientSnapshot, event: RecipientEvent): AppliedEvent {
  const outcome = outcomeOf(snapshot.state, snapshot.mode, event);
  const { state, hasDispatchedMdn } = snapshot;
  switch (outcome) {
    case 'impossible':
      throw new MessagingError('MESSAGING_TRANSITION_IMPOSSIBLE', `${event} cannot happen to ${state}`);
    case 'same':
      return { state, isChanged: false, hasDispatchedMdn };
    case 'noted':
      return { state, isChanged: false, hasDispatchedMdn: true };
    default:
      return { state: completed(outcome, hasDispatchedMdn), isChanged: true, hasDispatchedMdn };
  }
}

// A processed MDN completes a dispatched one that came first (MDN-24).
function completed(state: RecipientState, hasDispatchedMdn: boolean): RecipientState {
  return state === 'processed' && hasDispatchedMdn ? 'dispatched' : state;
}

/** The table's entry, found by state, mode and event. */
export function outcomeOf(state: RecipientState, mode: DeliveryMode, event: RecipientEvent): Outcome {
  return transitions[state][mode].outcomes[event];
}

/** True if nothing can change this recipient any more. */
export function isFinal(state: RecipientState, mode: DeliveryMode): boolean {
  return recipientEvents.every((event) => outcomeOf(state, mode, event) === 'same');
}

/**
 * End of the wait that starts with entering `state`, by the clock of `enteredMs`, or null if nothing is
 * awaited.
 */
export function deadlineOf(
  state: RecipientState,
  mode: DeliveryMode,
  enteredMs: number,
  settings: Pick<Config['messaging'], WindowSetting>,
): number | null {
  const { window } = transitions[state][mode];
  return window === 'none' ? null : enteredMs + settings[window] * 60_000;
}
