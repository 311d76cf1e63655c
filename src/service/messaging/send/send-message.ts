import type { Kysely } from 'kysely';
import { createTimedUuid, errorCode } from '../../../core/index.ts';
import {
  addressKey,
  createMessageUrn,
  domainOf,
  uuidOf,
  type MessageUrn,
} from '../../../lib/values/index.ts';
import type { Vault } from '../../../platform/index.ts';
import type { DeliveryRequest } from '../../delivery/index.ts';
import { canSendAs, type ClientIdentity } from '../../oauth/index.ts';
import { MessagingError } from '../errors.ts';
import { findWarnings } from '../request/find-warnings.ts';
import type { SendRequest } from '../request/read-send-request.ts';
import { stateTexts } from '../reasons.ts';
import type { MessagingDependencies, RequestOrigin } from '../ports.ts';
import { perStorage } from '../per-storage.ts';
import type { MessageRow, MessagingTables, RecipientRow } from '../tables.ts';

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
  deps: MessagingDependencies,
  client: ClientIdentity,
  body: unknown,
  origin: RequestOrigin,
): Promise<SendAnswer> {
  try {
    return await acceptSend(deps, client, body, origin);
  } catch (error) {
    const { requestId = '' } = origin;
    deps.report('refused', { code: errorCode(error) }, { requestId, clientId: client.clientId });
    throw error;
  }
}

async function acceptSend(
  deps: MessagingDependencies,
  client: ClientIdentity,
  body: unknown,
  origin: RequestOrigin,
): Promise<SendAnswer> {
  const { request, requestHash } = await deps.workerPool.readSend(body, {
    clientId: client.clientId,
    options: { limits: deps.limits, now: deps.clock.now(), ...deniedTypes(deps) },
  });
  await authorizeSender(deps, client, request, origin);
  const replay = await findReplay(deps.storage.tables(), deps, client, { request, requestHash });
  if (replay !== undefined) return replay;
  const at = deps.clock.now();
  const draft = draftMessage(client, request, requestHash, at);
  const message = await deps.workerPool.compose({
    request,
    identity: deps.identity,
    at,
    ...draft,
  });
  const delivery = await deps.delivery.prepare({
    deliveryId: draft.id,
    messageId: draft.wireId,
    kind: 'message',
    from: request.from,
    recipients: request.to,
    message,
  });
  return storeOnce(deps, client, { draft, request, delivery, origin });
}

function deniedTypes(deps: MessagingDependencies): { deniedMediaTypes?: ReadonlySet<string> } {
  return deps.deniedMediaTypes === undefined ? {} : { deniedMediaTypes: deps.deniedMediaTypes };
}

async function authorizeSender(
  deps: MessagingDependencies,
  client: ClientIdentity,
  { from }: SendRequest,
  origin: RequestOrigin,
): Promise<void> {
  const isOwned = canSendAs(client, from);
  const hosted = isOwned ? await deps.trust.findAddress(from) : undefined;
  if (hosted?.status === 'active') return;
  const code = isOwned ? 'MESSAGING_SENDER_NOT_HOSTED' : 'MESSAGING_SENDER_NOT_OWNED';
  await deps.audit.record({
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
  { vault }: Pick<MessagingDependencies, 'vault'>,
  client: ClientIdentity,
  { request, requestHash }: { readonly request: SendRequest; readonly requestHash: string },
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
  if (row.client_id === client.clientId && isHashOf(vault, row.request_hash, { uuid, requestHash }))
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

interface NamedHash {
  readonly uuid: string;
  /** Empty for a request without an id, which cannot be repeated. */
  readonly requestHash: string;
}

/**
 * The hash of a request as it is stored: keyed, since a plain one would confirm a guess of a patient's data to whoever has the database,
 * also long after the content is deleted.
 */
function keyedHashOf(vault: Vault, { uuid, requestHash }: NamedHash): string {
  if (requestHash === '') return '';
  return Buffer.from(vault.mac(Buffer.from(requestHash), `request:${uuid}`)).toString('hex');
}

function isHashOf(vault: Vault, stored: string, { uuid, requestHash }: NamedHash): boolean {
  // As stored before hashes were keyed.
  if (stored.length <= plainHashLength) return stored === requestHash;
  try {
    vault.requireMac(Buffer.from(stored, 'hex'), Buffer.from(requestHash), `request:${uuid}`);
    return true;
  } catch (error) {
    if (errorCode(error) === 'PLATFORM_MAC_INVALID') return false;
    throw error;
  }
}

const plainHashLength = 64;

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
  /** The request without its contents, as JSON; the contents are released after composing. */
  readonly details: string;
}

function draftMessage(client: ClientIdentity, request: SendRequest, requestHash: string, at: Date): Draft {
  const messageId = request.messageId ?? createMessageUrn();
  return {
    id: createTimedUuid(at),
    clientId: client.clientId,
    messageId,
    wireId: wireIdOf(uuidOf(messageId), request),
    requestHash,
    requestsFinalDelivery: request.flags.requestFinalDelivery ?? client.requestFinalDelivery,
    details: JSON.stringify(detailsOf(request)),
  };
}

// Two equal requests may come at once: the database refuses the second, which then finds the row of the first. The
// Message-ID may also belong to another client.
async function storeOnce(
  deps: MessagingDependencies,
  client: ClientIdentity,
  accepted: Accepted,
): Promise<SendAnswer> {
  try {
    return await deps.storage.transaction((tx: Kysely<MessagingTables>) => storeMessage(tx, deps, accepted), {
      shareBy: accepted.draft.wireId,
    });
  } catch (error) {
    if (errorCode(error) !== 'PLATFORM_STORAGE_DUPLICATE') throw error;
    const { request, draft } = accepted;
    // In a transaction: the first one's commit may be shared with this one, and is not to be seen outside yet.
    const earlier = await deps.storage.transaction((tx: Kysely<MessagingTables>) =>
      findReplay(tx, deps, client, { request, requestHash: draft.requestHash }),
    );
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

// Message, recipients, delivery and audit row are stored together or not at all.
async function storeMessage(
  tx: Kysely<MessagingTables>,
  deps: MessagingDependencies,
  accepted: Accepted,
): Promise<SendAnswer> {
  const { draft, request } = accepted;
  const at = deps.clock.now();
  const json = formatAnswer(draft, request, at);
  insertsOf(deps.storage).message.queue(tx, messageRow(deps, accepted, json, at));
  await insertRecipients(tx, deps, draft, request, at);
  await deps.delivery.enqueue(tx, accepted.delivery);
  await deps.audit.recordIn(tx, {
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
  deps.storage.afterCommit(tx, () => deps.report('accepted', {}, { messageId: draft.wireId }));
  return { json, messageId: draft.messageId, isReplay: false };
}

function messageRow(
  deps: MessagingDependencies,
  { draft, request }: Accepted,
  json: string,
  at: Date,
): MessageRow {
  return {
    id: draft.id,
    client_id: draft.clientId,
    uuid: uuidOf(draft.messageId),
    wire_id: draft.wireId,
    sender: request.from,
    sender_key: addressKey(request.from),
    request_hash: keyedHashOf(deps.vault, {
      uuid: uuidOf(draft.messageId),
      requestHash: draft.requestHash,
    }),
    response: json,
    is_xdm: request.flags.xdm === true ? 1 : 0,
    is_asm_enabled: request.flags.asmEnabled === true ? 1 : 0,
    requests_final_delivery: draft.requestsFinalDelivery ? 1 : 0,
    sealed_details: deps.vault.encrypt(Buffer.from(draft.details), `message:${draft.id}`),
    created_at: at.getTime(),
  };
}

// The contents themselves are in the delivery until it is done; these are the other fields of the request.
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
  { storage }: MessagingDependencies,
  { id: messageId, clientId }: Pick<Draft, 'id' | 'clientId'>,
  request: SendRequest,
  at: Date,
): Promise<void> {
  const rows = request.to.map((address, position) => ({
    id: createTimedUuid(at),
    message_id: messageId,
    position,
    address,
    address_key: addressKey(address),
    state: 'queued' as const,
    has_dispatched_notice: 0,
    reason: '',
    status_code: stateTexts.queued.statusCode,
    status_at: at.getTime(),
    deadline_at: null,
    event_count: 0,
    created_at: at.getTime(),
    sender_key: addressKey(request.from),
    client_id: clientId,
  }));
  const [only, ...others] = rows;
  if (only === undefined) return;
  if (others.length === 0) insertsOf(storage).recipient.queue(tx, only);
  else await tx.insertInto('message_recipient').values(rows).execute();
}

const insertsOf = perStorage((storage) => ({
  message: storage.prepare<MessagingTables, MessageRow>((db, row) =>
    db.insertInto('message').values({
      id: row.id,
      client_id: row.client_id,
      uuid: row.uuid,
      wire_id: row.wire_id,
      sender: row.sender,
      sender_key: row.sender_key,
      request_hash: row.request_hash,
      response: row.response,
      is_xdm: row.is_xdm,
      is_asm_enabled: row.is_asm_enabled,
      requests_final_delivery: row.requests_final_delivery,
      sealed_details: row.sealed_details,
      created_at: row.created_at,
    }),
  ),
  recipient: storage.prepare<MessagingTables, RecipientRow>((db, row) =>
    db.insertInto('message_recipient').values({
      id: row.id,
      message_id: row.message_id,
      position: row.position,
      address: row.address,
      address_key: row.address_key,
      state: row.state,
      has_dispatched_notice: row.has_dispatched_notice,
      reason: row.reason,
      status_code: row.status_code,
      status_at: row.status_at,
      deadline_at: row.deadline_at,
      event_count: row.event_count,
      created_at: row.created_at,
      sender_key: row.sender_key,
      client_id: row.client_id,
    }),
  ),
}));

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
