import { randomUUID } from 'node:crypto';
import type { Kysely } from 'kysely';
import { findReason, reportOf } from './report-map.ts';
import { cleanStatusText } from '../reasons.ts';
import type { MessagingParts } from '../ports.ts';
import {
  applyEvent,
  deadlineOf,
  type DeliveryMode,
  type RecipientEvent,
  type RecipientState,
} from './states.ts';
import type { MessageRow, MessagingTables, RecipientRow } from '../tables.ts';

/** One thing that happened to one recipient, with what the far side said about it. */
export interface RecordedEvent {
  readonly event: RecipientEvent;
  readonly at: Date;
  /** Why, for failures. */
  readonly reason?: string | undefined;
  /** The far side's enhanced status code. */
  readonly statusCode?: string | undefined;
  /** What the far side said; shown to the owner only, never pushed. */
  readonly diagnostic?: string | undefined;
}

/** The id of a recipient's row, or the id of its message's row and its address in lower case. */
export type RecipientName = string | { readonly messageId: string; readonly addressKey: string };

// A peer that repeats its notices endlessly must not fill the database.
const maxHistory = 100;

export type EventParts = Pick<MessagingParts, 'storage' | 'webhooks' | 'windows' | 'report'>;

/**
 * The one place where a recipient's state changes: the new state, its history row and the notifications of the client's
 * webhooks are stored in one transaction. A final state never changes; a late event is recorded in the history only
 * (Decision 0012).
 */
export async function recordEvent(
  tx: Kysely<MessagingTables>,
  parts: EventParts,
  which: RecipientName,
  recorded: RecordedEvent,
): Promise<RecipientState | undefined> {
  const found = await findForUpdate(tx, parts, which);
  if (found === undefined) return undefined;
  const { recipient, message } = found;
  const mode = modeOf(message);
  const applied = applyEvent(
    { state: recipient.state, mode, hasDispatchedNotice: recipient.has_dispatched_notice === 1 },
    recorded.event,
  );
  const report = reportOf(applied.state, findReason(recipient.state, recorded), recorded.statusCode);
  await appendHistory(tx, recipient, recorded, applied.state, report);
  const at = recorded.at.getTime();
  await tx
    .updateTable('message_recipient')
    .set({
      has_dispatched_notice: applied.hasDispatchedNotice ? 1 : 0,
      ...(applied.isChanged
        ? {
            state: applied.state,
            reason: report.reason,
            status_code: report.statusCode,
            status_at: at,
            deadline_at: deadlineOf(applied.state, mode, at, parts.windows),
          }
        : {}),
    })
    .where('id', '=', recipient.id)
    .execute();
  if (applied.isChanged)
    await notify(tx, parts, { message, recipient, state: applied.state, report, at: recorded.at });
  return applied.state;
}

export function modeOf(message: Pick<MessageRow, 'requests_final_delivery'>): DeliveryMode {
  return message.requests_final_delivery === 1 ? 'final-delivery' : 'general';
}

interface Found {
  readonly recipient: RecipientRow;
  readonly message: MessageRow;
}

async function findForUpdate(
  tx: Kysely<MessagingTables>,
  { storage }: EventParts,
  which: RecipientName,
): Promise<Found | undefined> {
  const all = tx.selectFrom('message_recipient').selectAll();
  const query =
    typeof which === 'string'
      ? all.where('id', '=', which)
      : all.where('message_id', '=', which.messageId).where('address_key', '=', which.addressKey);
  const recipient = await storage.forUpdate(query).executeTakeFirst();
  if (recipient === undefined) return undefined;
  const message = await tx
    .selectFrom('message')
    .selectAll()
    .where('id', '=', recipient.message_id)
    .executeTakeFirstOrThrow();
  return { recipient, message };
}

type Report = ReturnType<typeof reportOf>;

async function appendHistory(
  tx: Kysely<MessagingTables>,
  recipient: RecipientRow,
  recorded: RecordedEvent,
  toState: RecipientState,
  report: Report,
): Promise<void> {
  const { count } = await tx
    .selectFrom('recipient_event')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('recipient_id', '=', recipient.id)
    .executeTakeFirstOrThrow();
  if (Number(count) >= maxHistory && toState === recipient.state) return;
  await tx
    .insertInto('recipient_event')
    .values({
      id: randomUUID(),
      recipient_id: recipient.id,
      position: Number(count),
      event: recorded.event,
      from_state: recipient.state,
      to_state: toState,
      reason: recorded.reason ?? '',
      status_code: recorded.statusCode ?? report.statusCode,
      diagnostic: cleanStatusText(recorded.diagnostic ?? ''),
      at: recorded.at.getTime(),
    })
    .execute();
}

interface Change extends Found {
  readonly state: RecipientState;
  readonly report: Report;
  readonly at: Date;
}

async function notify(
  tx: Kysely<MessagingTables>,
  { webhooks, report }: EventParts,
  change: Change,
): Promise<void> {
  if (change.state === 'queued') return;
  report(
    'changed',
    { state: change.state, reason: change.report.reason },
    { messageId: change.message.wire_id },
  );
  await webhooks.notifyIn(tx, {
    clientId: change.message.client_id,
    eventType: `message.${change.state}`,
    at: change.at,
    messageId: `urn:uuid:${change.message.uuid}`,
    fromDirectAddress: change.message.sender,
    toDirectAddress: change.recipient.address,
    status: change.state,
    statusCode: change.report.statusCode,
    statusText: change.report.text,
  });
}
