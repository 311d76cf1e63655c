import { createTimedUuid } from '../../../core/index.ts';
import { prepareInsert, type AnyTransaction } from '../../../platform/index.ts';
import { perStorage } from '../per-storage.ts';
import type { MessagingDependencies } from '../ports.ts';
import { cleanStatusText } from '../reasons.ts';
import type { MessageRow, MessagingTables, RecipientRow } from '../tables.ts';
import type { FoundRecipient } from './find-recipient.ts';
import { findReason, textOfState, type StateText } from './state-text.ts';
import {
  applyEvent,
  deadlineOf,
  type DeliveryMode,
  type RecipientEvent,
  type RecipientState,
} from './states.ts';

/** One thing that happened to one recipient, with the far side's text about it. */
export interface RecordedEvent {
  readonly event: RecipientEvent;
  readonly at: Date;
  /** Why, for failures. */
  readonly reason?: string | undefined;
  /** The far side's enhanced status code. */
  readonly statusCode?: string | undefined;
  /** The other server's text; shown to the owner only, never pushed. */
  readonly diagnostic?: string | undefined;
}

/**
 * A peer that repeats its MDNs endlessly must not fill the database. With the acceptance, a history has one
 * entry more.
 */
const maxHistory = 99;

export interface EventDependencies extends Pick<MessagingDependencies, 'storage' | 'settings' | 'emit'> {
  readonly webhooks: Pick<MessagingDependencies['webhooks'], 'notifyIn'>;
}

type Progress = Pick<
  RecipientRow,
  | 'id'
  | 'state'
  | 'has_dispatched_notice'
  | 'reason'
  | 'status_code'
  | 'status_at'
  | 'deadline_at'
  | 'event_count'
>;

const queriesOf = perStorage((storage) => ({
  insertEvent: prepareInsert<MessagingTables, 'recipient_event'>(storage, 'recipient_event'),
  updateRecipient: storage.prepare<MessagingTables, Progress>((db, row) =>
    db
      .updateTable('message_recipient')
      .set({
        state: row.state,
        has_dispatched_notice: row.has_dispatched_notice,
        reason: row.reason,
        status_code: row.status_code,
        status_at: row.status_at,
        deadline_at: row.deadline_at,
        event_count: row.event_count,
      })
      .where('id', '=', row.id),
  ),
}));

/**
 * The one place where a recipient's state changes: the new state, its history row and the notifications of
 * the client's webhooks are stored in one transaction, which has locked the recipient (`find-recipient.ts`).
 * A final state never changes; a late event is recorded in the history only (Decision 0012).
 */
export async function recordEvent(
  tx: AnyTransaction,
  deps: EventDependencies,
  recipient: FoundRecipient,
  recorded: RecordedEvent,
): Promise<RecipientState> {
  const mode = modeOf(recipient);
  const applied = applyEvent(
    { state: recipient.state, mode, hasDispatchedMdn: recipient.has_dispatched_notice === 1 },
    recorded.event,
  );
  const text = textOfState(applied.state, findReason(recipient.state, recorded), recorded.statusCode);
  if (recipient.event_count >= maxHistory && !applied.isChanged) return applied.state;
  const { insertEvent, updateRecipient } = queriesOf(deps.storage);
  const at = recorded.at.getTime();
  insertEvent.queue(tx, [
    {
      id: createTimedUuid(recorded.at),
      recipient_id: recipient.id,
      position: recipient.event_count,
      event: recorded.event,
      from_state: recipient.state,
      to_state: applied.state,
      reason: recorded.reason ?? '',
      status_code: recorded.statusCode ?? text.statusCode,
      diagnostic: cleanStatusText(recorded.diagnostic ?? ''),
      at,
    },
  ]);
  updateRecipient.queue(tx, {
    ...recipient,
    has_dispatched_notice: applied.hasDispatchedMdn ? 1 : 0,
    event_count: recipient.event_count + 1,
    ...(applied.isChanged && {
      state: applied.state,
      reason: text.reason,
      status_code: text.statusCode,
      status_at: at,
      // By the clock that does not jump: an hour that the machine's clock skips ends no wait.
      deadline_at: deadlineOf(applied.state, mode, deps.storage.clock.now().getTime(), deps.settings) ?? null,
    }),
  });
  if (applied.isChanged) await notify(tx, deps, { recipient, state: applied.state, text, at: recorded.at });
  return applied.state;
}

export function modeOf(message: Pick<MessageRow, 'requests_final_delivery'>): DeliveryMode {
  return message.requests_final_delivery === 1 ? 'final-delivery' : 'general';
}

interface Change {
  readonly recipient: FoundRecipient;
  readonly state: RecipientState;
  readonly text: StateText;
  readonly at: Date;
}

async function notify(
  tx: AnyTransaction,
  { storage, webhooks, emit }: EventDependencies,
  { recipient, state, text, at }: Change,
): Promise<void> {
  if (state === 'queued') return;
  storage.afterCommit(tx, () =>
    emit(
      'changed',
      { state, reason: text.reason },
      { messageId: recipient.wire_id, seconds: (at.getTime() - Number(recipient.created_at)) / 1000 },
    ),
  );
  await webhooks.notifyIn(tx, {
    clientId: recipient.client_id,
    eventType: `message.${state}`,
    at,
    messageId: `urn:uuid:${recipient.uuid}`,
    fromDirectAddress: recipient.sender,
    toDirectAddress: recipient.address,
    status: state,
    statusCode: text.statusCode,
    statusText: text.text,
    sentByEdge:
      recipient.edge_account === null
        ? undefined
        : { account: recipient.edge_account, wireId: recipient.wire_id },
  });
}
