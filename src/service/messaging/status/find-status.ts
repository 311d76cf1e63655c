import { isFailedState } from '../../../lib/recipient-states/index.ts';
import { parseMessageUrn, uuidOf, ValueError } from '../../../lib/values/index.ts';
import type { Storage } from '../../../platform/index.ts';
import type { Delivery, QueuedDestination } from '../../delivery/index.ts';
import type { ClientIdentity } from '../../oauth/index.ts';
import { MessagingError } from '../errors.ts';
import { maxStatusIds } from '../limits.ts';
import { createProblems, isRecord } from '../problems.ts';
import { failureReasons, isFailureReason, stateTexts, waitingText } from '../reasons.ts';
import { modeOf } from './record-event.ts';
import { textOfState } from './state-text.ts';
import { isFinal, recipientStates, type DeliveryMode, type RecipientState } from './states.ts';
import type { MessageRow, MessagingTables, RecipientEventRow, RecipientRow } from '../tables.ts';

/** `partial`: all is decided, some recipients have the message and some do not. */
export type MessageStatus = RecipientState | 'partial';

export interface HistoryEntry {
  readonly event: string;
  readonly time: Date;
  readonly status: RecipientState;
  /** True if the event came after the state was final and changed nothing. */
  readonly isLate: boolean;
  readonly reason: string;
  readonly statusCode: string;
  readonly diagnostic: string;
}

export interface RecipientStatus {
  readonly address: string;
  readonly state: RecipientState;
  readonly at: Date;
  readonly isFinal: boolean;
  readonly reason: string;
  readonly statusCode: string;
  readonly text: string;
  /** Attempts made so far; 0 once it is decided. */
  readonly attempts: number;
  /** Time of the next attempt; undefined if it does not wait, or is on hold. */
  readonly nextAttemptAt?: Date;
  readonly history: readonly HistoryEntry[];
}

/** The status of one sent message. */
export interface SentMessageStatus {
  /** `urn:uuid:…` */
  readonly messageId: string;
  readonly status: MessageStatus;
  readonly sender: string;
  readonly acceptedAt: Date;
  readonly isXdm: boolean;
  readonly isAsmEnabled: boolean;
  readonly requestsFinalDelivery: boolean;
  readonly recipients: readonly RecipientStatus[];
}

/** The sources of a status. */
export interface StatusDependencies {
  readonly storage: Pick<Storage, 'tables'>;
  readonly delivery: Pick<Delivery, 'findWaiting'>;
}

/**
 * The status of a message of this client. Throws MESSAGING_MESSAGE_NOT_FOUND, also for another client's
 * message.
 */
export async function getStatus(
  deps: StatusDependencies,
  client: ClientIdentity,
  messageId: string,
): Promise<SentMessageStatus> {
  const uuid = findUuid(messageId);
  const [status] = uuid === undefined ? [] : await findStatuses(deps, client, [uuid]);
  if (status === undefined)
    throw new MessagingError('MESSAGING_MESSAGE_NOT_FOUND', 'no message of this client has that id');
  return status;
}

/** The status of messages (`{ messageIds: […] }`), and the ids that are not messages of this client. */
export async function listStatus(
  deps: StatusDependencies,
  client: ClientIdentity,
  body: unknown,
): Promise<{ readonly found: readonly SentMessageStatus[]; readonly unknown: readonly string[] }> {
  const ids = readIds(body);
  const uuids = ids.flatMap((id) => findUuid(id) ?? []);
  const found = await findStatuses(deps, client, uuids);
  const known = new Set(found.map(({ messageId }) => messageId));
  return { found, unknown: ids.filter((id) => !known.has(`urn:uuid:${findUuid(id)}`)) };
}

function readIds(body: unknown): readonly string[] {
  const problems = createProblems();
  const value = isRecord(body) ? body['messageIds'] : undefined;
  const ids: readonly unknown[] = Array.isArray(value) ? value : [];
  const isOther = value !== undefined && value !== null && !Array.isArray(value);
  if (ids.length === 0)
    problems.add('messageIds', isOther ? 'invalid' : 'required', 'Must be a list of message ids.');
  if (ids.length > maxStatusIds)
    problems.add('messageIds', 'too_many', `At most ${maxStatusIds} ids are allowed.`);
  for (const field of isRecord(body) ? Object.keys(body) : []) {
    if (field !== 'messageIds') problems.add(field.slice(0, 100), 'unknown', 'Unknown field.');
  }
  for (const [index, id] of ids.slice(0, maxStatusIds).entries()) {
    if (typeof id !== 'string' || findUuid(id) === undefined)
      problems.add(`messageIds[${index}]`, 'invalid', 'A message id has the form urn:uuid:<uuid>.');
  }
  problems.refuseIfAny();
  return ids as readonly string[];
}

/** The UUID of a name in either form, `urn:uuid:<uuid>` or bare; undefined if it is neither. */
export function findUuid(messageId: string): string | undefined {
  const urn = messageId.toLowerCase().startsWith('urn:') ? messageId : `urn:uuid:${messageId}`;
  try {
    return uuidOf(parseMessageUrn(urn));
  } catch (error) {
    if (error instanceof ValueError) return undefined;
    throw error;
  }
}

/** The row of a message of this client. Throws MESSAGING_MESSAGE_NOT_FOUND. */
export async function getMessage(
  { storage }: Pick<StatusDependencies, 'storage'>,
  client: ClientIdentity,
  messageId: string,
): Promise<MessageRow> {
  const uuid = findUuid(messageId);
  const row =
    uuid === undefined
      ? undefined
      : await storage
          .tables<MessagingTables>()
          .selectFrom('message')
          .selectAll()
          .where('client_id', '=', client.clientId)
          .where('uuid', '=', uuid)
          .executeTakeFirst();
  if (row === undefined)
    throw new MessagingError('MESSAGING_MESSAGE_NOT_FOUND', 'no message of this client has that id');
  return row;
}

async function findStatuses(
  { storage, delivery }: StatusDependencies,
  client: ClientIdentity,
  uuids: readonly string[],
): Promise<readonly SentMessageStatus[]> {
  if (uuids.length === 0) return [];
  const messages = await storage
    .tables<MessagingTables>()
    .selectFrom('message')
    .selectAll()
    .where('client_id', '=', client.clientId)
    .where('uuid', 'in', uuids)
    .execute();
  const order = new Map(uuids.map((uuid, index) => [uuid, index]));
  return describeMessages(
    { storage, delivery },
    messages.toSorted((left, right) => (order.get(left.uuid) ?? 0) - (order.get(right.uuid) ?? 0)),
  );
}

/** Statuses of these messages, in the same order. */
export async function describeMessages(
  { storage, delivery }: StatusDependencies,
  messages: readonly MessageRow[],
): Promise<readonly SentMessageStatus[]> {
  const ids = messages.map((message) => message.id);
  if (ids.length === 0) return [];
  const db = storage.tables<MessagingTables>();
  // Waiting deliveries are read first, so that a recipient decided in between is shown as decided.
  const waiting = Map.groupBy(await delivery.findWaiting(ids), ({ deliveryId }) => deliveryId);
  const recipients = await db
    .selectFrom('message_recipient')
    .selectAll()
    .where('message_id', 'in', ids)
    .orderBy('position')
    .execute();
  const events = await db
    .selectFrom('recipient_event as e')
    .innerJoin('message_recipient as r', 'r.id', 'e.recipient_id')
    .where('r.message_id', 'in', ids)
    .selectAll('e')
    .orderBy('e.position')
    .execute();
  const byMessage = Map.groupBy(recipients, (row) => row.message_id);
  const byRecipient = Map.groupBy(events, (row) => row.recipient_id);
  return messages.map((message) =>
    toStatus(message, byMessage.get(message.id) ?? [], byRecipient, waiting.get(message.id) ?? []),
  );
}

function toStatus(
  message: MessageRow,
  rows: readonly RecipientRow[],
  events: ReadonlyMap<string, readonly RecipientEventRow[]>,
  waiting: readonly QueuedDestination[],
): SentMessageStatus {
  const mode = modeOf(message);
  const recipients = rows.map((row) => ({
    ...toRecipientStatus(row, message, events.get(row.id) ?? []),
    ...(row.state === 'queued' && describeWait(row, waiting)),
  }));
  return {
    messageId: `urn:uuid:${message.uuid}`,
    status: rollUp(
      rows.map((row) => row.state),
      mode,
    ),
    sender: message.sender,
    acceptedAt: new Date(message.created_at),
    isXdm: message.is_xdm === 1,
    isAsmEnabled: message.is_asm_enabled === 1,
    requestsFinalDelivery: message.requests_final_delivery === 1,
    recipients,
  };
}

function toRecipientStatus(
  row: RecipientRow,
  message: MessageRow,
  events: readonly RecipientEventRow[],
): RecipientStatus {
  const mode = modeOf(message);
  const { text } = textOfState(row.state, isFailureReason(row.reason) ? row.reason : 'internal');
  return {
    address: row.address,
    state: row.state,
    at: new Date(row.status_at),
    isFinal: isFinal(row.state, mode),
    reason: row.reason,
    statusCode: row.status_code,
    text,
    attempts: 0,
    history: [toFirstEntry(message), ...events.map((event) => toHistoryEntry(event, mode))],
  };
}

/** Why a recipient still waits, and until when. */
export type DescribedWait = Partial<
  Pick<RecipientStatus, 'attempts' | 'text' | 'reason' | 'statusCode' | 'nextAttemptAt'>
>;

/** Empty for a recipient that does not wait. */
export function describeWait(
  { address }: Pick<RecipientRow, 'address'>,
  waiting: readonly QueuedDestination[],
): DescribedWait {
  const found = waiting.find(({ recipients }) => recipients.some((one) => one === address));
  if (found === undefined) return {};
  const { attempts, lastReason, lastStatusCode, isOnHold, isRunning, nextAttemptAt } = found;
  return {
    attempts,
    text: waitingText(found),
    ...(lastReason !== undefined && {
      reason: lastReason,
      statusCode: laterCode(lastStatusCode ?? failureReasons[lastReason].statusCode),
    }),
    ...(!isOnHold && !isRunning && { nextAttemptAt }),
  };
}

// A failure that is retried is temporary (RFC 3463 §2: class 4).
function laterCode(statusCode: string): string {
  return statusCode.replace(/^5/, '4');
}

// The first entry of every recipient is the same; it is the message's own row.
function toFirstEntry({ created_at }: MessageRow): HistoryEntry {
  return {
    event: 'accepted',
    time: new Date(created_at),
    status: 'queued',
    isLate: false,
    reason: '',
    statusCode: stateTexts.queued.statusCode,
    diagnostic: '',
  };
}

function toHistoryEntry(row: RecipientEventRow, mode: DeliveryMode): HistoryEntry {
  return {
    event: row.event,
    time: new Date(row.at),
    status: row.to_state,
    isLate: recipientStates.some((state) => state === row.from_state && isFinal(state, mode)),
    reason: row.reason,
    statusCode: row.status_code,
    diagnostic: row.diagnostic,
  };
}

/**
 * One word for a whole message (Decision 0012): while anything is open, the state of the recipient that is
 * least far; when all is decided, the common state, `failed` if nobody has it, else `partial`.
 */
export function rollUp(states: readonly RecipientState[], mode: DeliveryMode): MessageStatus {
  const open = recipientStates.find((state) => states.includes(state) && !isFinal(state, mode));
  if (open !== undefined) return open;
  const [first = 'queued', ...others] = new Set(states);
  if (others.length === 0) return first;
  return states.every(isFailedState) ? 'failed' : 'partial';
}
