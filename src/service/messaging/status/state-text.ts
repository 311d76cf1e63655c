import { isFailedState } from '../../../lib/recipient-states/index.ts';
import {
  failureReasons,
  isFailureReason,
  stateTexts,
  statusCodeFor,
  type FailureReason,
} from '../reasons.ts';
import type { RecipientEvent, RecipientState } from './states.ts';

/** What a client reads about a state. */
export interface StateText {
  /** A {@link FailureReason}, or empty. */
  readonly reason: string;
  /** Enhanced status code (RFC 3463). */
  readonly statusCode: string;
  readonly text: string;
}

/** Reason, code and text of a state; `reason` counts for the two failing states only. */
export function textOfState(state: RecipientState, reason: FailureReason, remoteCode?: string): StateText {
  if (!isFailedState(state)) return { reason: '', ...stateTexts[state] };
  return { reason, statusCode: statusCodeFor(reason, remoteCode), text: failureReasons[reason].text };
}

/** The reason for a recipient's failure, from the event and its data. */
export function findReason(
  state: RecipientState,
  recorded: { readonly event: RecipientEvent; readonly reason?: string | undefined },
): FailureReason {
  if (recorded.event === 'window-closed')
    return state === 'processed' ? 'no-dispatched-mdn' : 'no-processed-mdn';
  if (recorded.reason !== undefined && isFailureReason(recorded.reason)) return recorded.reason;
  return recorded.event === 'failure-reported' ? 'remote-failed' : 'internal';
}
