import { randomUUID } from 'node:crypto';
import type { Kysely } from 'kysely';
import {
  addressKey,
  createMessageUrn,
  domainOf,
  uuidOf,
  type MessageUrn,
} from '../../../lib/values/index.ts';
import type { DeliveryRequest } from '../../delivery/index.ts';
import { canSendAs, type ClientIdentity } from '../../oauth/index.ts';
import { MessagingError } from '../errors.ts';
import { findWarnings } from './find-warnings.ts';
import type { SendRequest } from './read-send-request.ts';
import { stateTexts } from '../reasons.ts';
import type { MessagingParts, RequestOrigin } from '../ports.ts';
import type { MessageRow, MessagingTables } from '../tables.ts';

/** The answer of send as JSON text; a replay is the first answer byte for byte (Decision 0009: M2). */
export interface SendAnswer {
  readonly json: string;
  readonly messageId: string;
  readonly isReplay: boolean;
}

/**
 * Accepts one message for all its recipients: read, authorize the sender, compose, store durably with its delivery, answer
 * (Messaging spec: Send message). When the promise is fulfilled the message will go out even if the machine stops.
 */
export async function sendMessage(
  parts: MessagingParts,
  client: ClientIdentity,
  body: unknown,
  origin: RequestOrigin,
): Promise<SendAnswer> {
  const { request, requestHash } = await parts.workshop.readSend(body, {
    clientId: client.clientId,
    options: { limits: parts.limits, now: parts.clock.now(), ...deniedTypes(parts) },
  });
  await authorizeSender(parts, client, request, origin);
  const replay = await findReplay(parts.storage.tables(), client, request, requestHash);
  if (replay !== undefined) return replay;
  const draft = draftMessage(client, request, requestHash);
  const message = await parts.workshop.compose({
    request,
    identity: parts.identity,
    at: parts.clock.now(),
    ...draft,
  });
  const delivery = await parts.delivery.prepare({
    deliveryId: draft.id,
    messageId: draft.wireId,
    kind: 'message',
    from: request.from,
    recipients: request.to,
    message,
  });
  const answer = await storeOnce(parts, client, { draft, request, delivery, origin });
  if (!answer.isReplay) parts.report('accepted', {}, { messageId: draft.wireId });
  return answer;
}

function deniedTypes(parts: MessagingParts): { deniedMediaTypes?: ReadonlySet<string> } {
  return parts.deniedMediaTypes === undefined ? {} : { deniedMediaTypes: parts.deniedMediaTypes };
}

async function authorizeSender(
  parts: MessagingParts,
  client: ClientIdentity,
  { from }: SendRequest,
  origin: RequestOrigin,
): Promise<void> {
  const isOwned = canSendAs(client, from);
  const hosted = isOwned ? await parts.trust.findAddress(from) : undefined;
  if (hosted?.status === 'active') return;
  const code = isOwned ? 'MESSAGING_SENDER_NOT_HOSTED' : 'MESSAGING_SENDER_NOT_OWNED';
  await parts.audit.record({
    action: 'message.refuse',
    actor: client.clientId,
    outcome: 'refused',
    objects: { from, reason: code },
    ...origin,
  });
  const detail = isOwned
    ? 'The address is not an active address of this service.'
    : 'The address does not belong to this client.';
  throw new MessagingError(code, `client ${client.clientId} may not send as ${from}`, {
    problems: [{ field: 'fromDirectAddress', reason: 'forbidden', detail }],
  });
}

async function findReplay(
  db: Kysely<MessagingTables>,
  client: ClientIdentity,
  request: SendRequest,
  requestHash: string,
): Promise<SendAnswer | undefined> {
  if (request.messageId === undefined) return undefined;
  const uuid = uuidOf(request.messageId);
  const row = await db
    .selectFrom('message')
    .select(['client_id', 'request_hash', 'response'])
    // The name on the wire must be unique too, also when two clients share a domain.
    .where((eb) =>
      eb.or([eb('wire_id', '=', wireIdOf(uuid, request)), eb.and({ client_id: client.clientId, uuid })]),
    )
    .executeTakeFirst();
  if (row === undefined) return undefined;
  if (row.client_id === client.clientId && row.request_hash === requestHash)
    return { json: row.response, messageId: request.messageId, isReplay: true };
  throw new MessagingError('MESSAGING_ID_REUSED', 'the message id names another message', {
    problems: [
      {
        field: 'messageId',
        reason: 'reused',
        detail: 'This messageId was already used for another message.',
      },
    ],
  });
}

function wireIdOf(uuid: string, { from }: SendRequest): string {
  return `<${uuid}@${domainOf(from)}>`;
}

interface Draft {
  readonly id: string;
  readonly clientId: string;
  readonly messageId: MessageUrn;
  readonly wireId: string;
  readonly requestHash: string;
  readonly requestsFinalDelivery: boolean;
  /** What the request said beside its contents, as JSON; after composing, the contents are gone. */
  readonly details: string;
}

function draftMessage(client: ClientIdentity, request: SendRequest, requestHash: string): Draft {
  const messageId = request.messageId ?? createMessageUrn();
  return {
    id: randomUUID(),
    clientId: client.clientId,
    messageId,
    wireId: wireIdOf(uuidOf(messageId), request),
    requestHash,
    requestsFinalDelivery: request.flags.requestFinalDelivery ?? client.requestFinalDelivery,
    details: JSON.stringify(detailsOf(request)),
  };
}

// Two equal requests may come at once: the second finds what the first stored, before its own insert or, where
// transactions run side by side, after the database has refused it.
async function storeOnce(
  parts: MessagingParts,
  client: ClientIdentity,
  accepted: Accepted,
): Promise<SendAnswer> {
  const find = (db: Kysely<MessagingTables>) =>
    findReplay(db, client, accepted.request, accepted.draft.requestHash);
  try {
    return await parts.storage.transaction(
      async (tx: Kysely<MessagingTables>) => (await find(tx)) ?? (await storeMessage(tx, parts, accepted)),
    );
  } catch (error) {
    const earlier = await find(parts.storage.tables());
    if (earlier === undefined) throw error;
    return earlier;
  }
}

interface Accepted {
  readonly draft: Draft;
  readonly request: SendRequest;
  readonly delivery: DeliveryRequest;
  readonly origin: RequestOrigin;
}

// Message, recipients, history, delivery and audit row are stored together or not at all.
async function storeMessage(
  tx: Kysely<MessagingTables>,
  parts: MessagingParts,
  accepted: Accepted,
): Promise<SendAnswer> {
  const { draft, request } = accepted;
  const at = parts.clock.now();
  const json = formatAnswer(draft, request, at);
  await tx
    .insertInto('message')
    .values(messageRow(parts, accepted, json, at))
    .execute();
  await insertRecipients(tx, draft.id, request, at);
  await parts.delivery.enqueue(tx, accepted.delivery);
  await parts.audit.recordIn(tx, {
    action: 'message.accept',
    actor: draft.clientId,
    outcome: 'ok',
    objects: {
      messageId: draft.wireId,
      from: request.from,
      to: request.to.join(' '),
      bytes: accepted.delivery.message.length,
    },
    ...accepted.origin,
  });
  return { json, messageId: draft.messageId, isReplay: false };
}

function messageRow(parts: MessagingParts, { draft, request }: Accepted, json: string, at: Date): MessageRow {
  return {
    id: draft.id,
    client_id: draft.clientId,
    uuid: uuidOf(draft.messageId),
    wire_id: draft.wireId,
    sender: request.from,
    sender_key: addressKey(request.from),
    request_hash: draft.requestHash,
    response: json,
    is_xdm: request.flags.xdm === true ? 1 : 0,
    is_asm_enabled: request.flags.asmEnabled === true ? 1 : 0,
    requests_final_delivery: draft.requestsFinalDelivery ? 1 : 0,
    sealed_details: parts.vault.seal(Buffer.from(draft.details), `message:${draft.id}`),
    created_at: at.getTime(),
  };
}

// The contents themselves lie in the delivery until it is done; here is what the request said beside them.
function detailsOf({ texts, attachments }: SendRequest): object {
  const given = Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== ''));
  return {
    ...given,
    attachments: attachments.map(({ mediaType, title, fileName, content }) => ({
      mediaType,
      title,
      fileName,
      sizeBytes: content.length,
    })),
  };
}

async function insertRecipients(
  tx: Kysely<MessagingTables>,
  messageId: string,
  request: SendRequest,
  at: Date,
): Promise<void> {
  const nowMs = at.getTime();
  const rows = request.to.map((address, position) => ({
    id: randomUUID(),
    message_id: messageId,
    position,
    address,
    address_key: addressKey(address),
    state: 'queued' as const,
    has_dispatched_notice: 0,
    reason: '',
    status_code: stateTexts.queued.statusCode,
    status_at: nowMs,
    deadline_at: null,
  }));
  await tx.insertInto('message_recipient').values(rows).execute();
  const first = {
    position: 0,
    event: 'accepted',
    from_state: '',
    to_state: 'queued',
    reason: '',
    diagnostic: '',
    at: nowMs,
  } as const;
  await tx
    .insertInto('recipient_event')
    .values(
      rows.map((row) => ({ ...first, id: randomUUID(), recipient_id: row.id, status_code: row.status_code })),
    )
    .execute();
}

function formatAnswer(draft: Draft, request: SendRequest, at: Date): string {
  const warnings = findWarnings(request);
  return JSON.stringify({
    status: 'OK',
    messageId: draft.messageId,
    result: request.to.map((toDirectAddress) => ({
      toDirectAddress,
      status: 'queued',
      statusTime: at.toISOString(),
    })),
    ...(warnings.length === 0 ? {} : { warnings }),
  });
}
