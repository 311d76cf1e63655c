/**
 * Acceptance of a message, one way for all edges: owner, repetition, limits, one transaction.
 * Used by `service/messaging`; edges by its `index.ts`.
 * Begin with this file; `send-message.ts` and `submit-message.ts` are the readers above it.
 */
import { sql, type Kysely } from 'kysely';
import { createTimedUuid, errorCode, type FieldProblem } from '../../../core/index.ts';
import {
  addressKey,
  createMessageUrn,
  domainOf,
  parseMessageUrn,
  uuidOf,
  type DirectAddress,
  type MessageUrn,
} from '../../../lib/values/index.ts';
import { prepareInsert, type Vault } from '../../../platform/index.ts';
import type { DeliveryRequest } from '../../delivery/index.ts';
import type { DayLimit } from '../../organizations/index.ts';
import { canSendAs, type ClientIdentity } from '../../oauth/index.ts';
import { matchesAddress } from '../domain-of.ts';
import { MessagingError } from '../errors.ts';
import { stateTexts } from '../reasons.ts';
import type { MessagingDependencies, RequestOrigin } from '../ports.ts';
import { perStorage } from '../per-storage.ts';
import { sentContext, type MessageRow, type MessagingTables } from '../tables.ts';

/** A message of a client and its recipients, checked by the reader of an edge. */
export interface Submission {
  readonly from: DirectAddress;
  /** At least one, each once. */
  readonly to: readonly DirectAddress[];
  /** The name of the message in the API. */
  readonly messageId: MessageUrn;
  /** The client chose that name; else it may be another one, if a message of the client has it. */
  readonly isNamed: boolean;
  /** The Message-ID field that the composed message has, by which MDNs name it. */
  readonly wireId: string;
  /**
   * By which a repetition is told from another message of that id; empty if the id was made here, so that
   * nothing can repeat it.
   */
  readonly requestHash: string;
  readonly requestsFinalDelivery: boolean;
  readonly isXdm: boolean;
  readonly isAsmEnabled: boolean;
  /** The fields of the message without its contents, as JSON. Stored encrypted. */
  readonly details: string;
  readonly warnings: readonly FieldProblem[];
  /**
   * The plain RFC 5322 message. Called once, after the sender is authorized and the message is known to be
   * new.
   */
  compose(at: Date): Promise<Uint8Array>;
}

/** The answer of send as JSON text; a replay is the first answer byte for byte (Decision 0009: M2). */
export interface SendAnswer {
  readonly json: string;
  readonly messageId: MessageUrn;
  readonly isReplay: boolean;
}

/**
 * The way of every message into this service, from whichever edge: read, authorize the sender, compose, store
 * durably with its delivery, answer. When the promise is fulfilled the message will go out even if the
 * machine stops. Refusals are counted.
 */
export async function acceptMessage(
  deps: MessagingDependencies,
  client: ClientIdentity,
  origin: RequestOrigin,
  read: () => Promise<Submission>,
): Promise<SendAnswer> {
  try {
    return await acceptOnce(deps, { client, origin }, await read());
  } catch (error) {
    const { requestId = '' } = origin;
    deps.emit('refused', { code: errorCode(error) }, { requestId, clientId: client.clientId });
    throw error;
  }
}

interface Sender {
  readonly client: ClientIdentity;
  readonly origin: RequestOrigin;
}

async function acceptOnce(
  deps: MessagingDependencies,
  { client, origin }: Sender,
  submission: Submission,
): Promise<SendAnswer> {
  await authorizeSender(deps, client, submission.from, origin);
  const placed = await placeSubmission(deps.storage.tables(), deps, client, submission);
  if ('isReplay' in placed) return placed;
  const dayLimit = await deps.dayLimits.find(client.organizationId);
  const at = deps.clock.now();
  const id = createTimedUuid(at);
  const delivery = await deps.delivery.prepare({
    deliveryId: id,
    messageId: submission.wireId,
    kind: 'message',
    from: submission.from,
    recipients: placed.to,
    message: await submission.compose(at),
  });
  const { clientId, edgeAccount, edgeProtocol } = client;
  const kept =
    client.keepsSent === true ? await deps.contents.write(delivery.message, sentContext(id)) : undefined;
  return storeOnce(deps, client, {
    id,
    clientId,
    edgeAccount,
    edgeProtocol,
    kept,
    submission: placed,
    delivery,
    origin,
    dayLimit,
  });
}

/**
 * Throws MESSAGING_SENDER_NOT_OWNED, MESSAGING_SENDER_NOT_HOSTED. An edge asks as soon as it knows the
 * sender.
 */
export async function authorizeSender(
  deps: MessagingDependencies,
  client: ClientIdentity,
  from: DirectAddress,
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

interface Placed extends Submission {
  /** Of the messages under this Message-ID. */
  readonly wireNumber: number;
}

/**
 * The answer to what this message repeats, or how it is stored. The same message to other recipients is one
 * more, to those that lack it, since programs send to many in several transactions (RFC 5321 §4.5.3.1.10),
 * and repeat one whose answer was lost. Throws MESSAGING_ID_REUSED for other contents or another client.
 */
async function placeSubmission(
  db: Kysely<MessagingTables>,
  { vault }: Pick<MessagingDependencies, 'vault'>,
  client: ClientIdentity,
  submission: Submission,
): Promise<SendAnswer | Placed> {
  const { from, to, messageId, wireId, requestHash } = submission;
  if (requestHash === '') return { ...submission, wireNumber: 0 };
  const found = await db
    .selectFrom('message')
    .select(['id', 'client_id', 'uuid', 'wire_number', 'request_hash', 'response', 'sender_key'])
    // The name on the wire must be unique in a domain, also when two clients share it. What another domain
    // sent under it neither hinders this message nor is told of: MDNs come to the sender that they report to.
    .where((eb) =>
      eb.or([
        eb.and([eb('wire_id', '=', wireId), matchesAddress(sql.ref('sender_key'), `@${domainOf(from)}`)]),
        eb.and({ client_id: client.clientId, uuid: uuidOf(messageId) }),
      ]),
    )
    .execute();
  if (found.length === 0) return { ...submission, wireNumber: 0 };
  // A Message-ID is unique in a domain, and the client may send for several.
  const rows = submission.isNamed
    ? found
    : found.filter(({ sender_key }) => domainOf(sender_key as DirectAddress) === domainOf(from));
  if (rows.length === 0) return { ...submission, messageId: createMessageUrn(), wireNumber: 0 };
  const isSame = rows.every(
    ({ client_id, uuid, request_hash }) =>
      client_id === client.clientId && isHashOf(vault, request_hash, { uuid, requestHash }),
  );
  const ids = rows.map(({ id }) => id);
  const earlier = isSame
    ? await db
        .selectFrom('message_recipient')
        .select(['message_id', 'address_key'])
        .where('message_id', 'in', ids)
        .execute()
    : [];
  const messageOf = new Map(earlier.map((one) => [one.address_key, one.message_id]));
  const lacking = to.filter((address) => !messageOf.has(addressKey(address)));
  if (isSame && lacking.length > 0)
    return {
      ...submission,
      to: lacking,
      messageId: createMessageUrn(),
      wireNumber: Math.max(...rows.map(({ wire_number }) => wire_number)) + 1,
    };
  const [first] = to;
  const replayed = rows.find(({ id }) => first !== undefined && id === messageOf.get(addressKey(first)));
  if (isSame && replayed !== undefined)
    return {
      json: replayed.response,
      messageId: parseMessageUrn(`urn:uuid:${replayed.uuid}`),
      isReplay: true,
    };
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
 * The hash of a request as it is stored: keyed, since a plain one would confirm a guess of a patient's data
 * to whoever has the database, also long after the content is deleted.
 */
function keyedHashOf(vault: Vault, { uuid, requestHash }: NamedHash): string {
  if (requestHash === '') return '';
  return Buffer.from(vault.mac(Buffer.from(requestHash), `request:${uuid}`)).toString('hex');
}

function isHashOf(vault: Vault, stored: string, { uuid, requestHash }: NamedHash): boolean {
  try {
    vault.requireMac(Buffer.from(stored, 'hex'), Buffer.from(requestHash), `request:${uuid}`);
    return true;
  } catch (error) {
    if (errorCode(error) === 'PLATFORM_MAC_INVALID') return false;
    throw error;
  }
}

// Two equal requests may come at once: the database refuses the second, which then finds the row of the
// first. The Message-ID may also belong to another client.
async function storeOnce(
  deps: MessagingDependencies,
  client: ClientIdentity,
  accepted: Accepted,
): Promise<SendAnswer> {
  try {
    return await deps.storage.transaction((tx: Kysely<MessagingTables>) => storeMessage(tx, deps, accepted), {
      // The row that counts a limited organization's sends is locked until the commit: alone, it makes no
      // other send wait, and two of them are never taken in different orders.
      shareBy: accepted.dayLimit === undefined ? accepted.submission.wireId : undefined,
    });
  } catch (error) {
    if (errorCode(error) !== 'PLATFORM_STORAGE_DUPLICATE') throw error;
    // In a transaction: the first one's commit may be shared with this one, and is not to be seen outside
    // yet.
    const placed = await deps.storage.transaction((tx: Kysely<MessagingTables>) =>
      placeSubmission(tx, deps, client, accepted.submission),
    );
    if ('isReplay' in placed) return placed;
    const { wireNumber, messageId } = accepted.submission;
    if (placed.wireNumber <= wireNumber && placed.messageId === messageId) throw error;
    const delivery = { ...accepted.delivery, recipients: placed.to };
    return storeOnce(deps, client, { ...accepted, submission: placed, delivery });
  }
}

interface Accepted {
  /** Of the message and of its delivery. */
  readonly id: string;
  readonly clientId: string;
  readonly edgeAccount: string | undefined;
  readonly edgeProtocol: string | undefined;
  /** The message once more, encrypted, for the account that keeps what it sent. */
  readonly kept: Uint8Array | undefined;
  readonly submission: Placed;
  readonly delivery: DeliveryRequest;
  readonly origin: RequestOrigin;
  readonly dayLimit: DayLimit | undefined;
}

// Message, recipients, delivery and audit row are stored together or not at all.
async function storeMessage(
  tx: Kysely<MessagingTables>,
  deps: MessagingDependencies,
  accepted: Accepted,
): Promise<SendAnswer> {
  const { submission } = accepted;
  const at = deps.clock.now();
  const json = formatAnswer(submission, at);
  if (accepted.dayLimit !== undefined)
    await deps.dayLimits.countIn(tx, accepted.dayLimit, accepted.delivery.message.length);
  insertsOf(deps.storage).message.queue(tx, [messageRow(deps, accepted, json, at)]);
  await insertRecipients(tx, deps, accepted, at);
  await keepSent(tx, deps, accepted, at);
  await deps.delivery.enqueue(tx, accepted.delivery);
  await deps.audit.recordIn(tx, {
    action: 'message.accept',
    actor: accepted.clientId,
    outcome: 'ok',
    objects: {
      deliveryId: accepted.id,
      messageId: submission.wireId,
      from: submission.from,
      to: submission.to.join(' '),
      bytes: accepted.delivery.message.length,
    },
    ...accepted.origin,
  });
  deps.storage.afterCommit(tx, () => deps.emit('accepted', {}, { messageId: submission.wireId }));
  return { json, messageId: submission.messageId, isReplay: false };
}

function messageRow(
  deps: MessagingDependencies,
  { id, clientId, submission, delivery }: Accepted,
  json: string,
  at: Date,
): MessageRow {
  const uuid = uuidOf(submission.messageId);
  return {
    id,
    client_id: clientId,
    uuid,
    wire_id: submission.wireId,
    wire_number: submission.wireNumber,
    sender: submission.from,
    sender_key: addressKey(submission.from),
    request_hash: keyedHashOf(deps.vault, { uuid, requestHash: submission.requestHash }),
    response: json,
    is_xdm: submission.isXdm ? 1 : 0,
    is_asm_enabled: submission.isAsmEnabled ? 1 : 0,
    requests_final_delivery: submission.requestsFinalDelivery ? 1 : 0,
    sealed_details: deps.vault.encrypt(Buffer.from(submission.details), `message:${id}`),
    size_bytes: delivery.message.length,
    created_at: at.getTime(),
  };
}

async function insertRecipients(
  tx: Kysely<MessagingTables>,
  { storage }: MessagingDependencies,
  { id: messageId, clientId, edgeAccount, edgeProtocol, submission }: Accepted,
  at: Date,
): Promise<void> {
  const rows = submission.to.map((address, position) => ({
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
    sender_key: addressKey(submission.from),
    client_id: clientId,
    edge_account: edgeAccount ?? null,
    edge_protocol: edgeProtocol ?? null,
    edge_told_at: null,
  }));
  const [only, ...others] = rows;
  if (only === undefined) return;
  if (others.length === 0) insertsOf(storage).recipient.queue(tx, [only]);
  else await tx.insertInto('message_recipient').values(rows).execute();
}

async function keepSent(
  tx: Kysely<MessagingTables>,
  deps: MessagingDependencies,
  { id, edgeAccount, kept, delivery }: Accepted,
  at: Date,
): Promise<void> {
  if (kept === undefined || edgeAccount === undefined) return;
  const sizeBytes = delivery.message.length;
  await deps.contents.keepIn(tx, kept);
  await tx
    .insertInto('sent_message')
    .values({
      message_id: id,
      edge_account: edgeAccount,
      sealed_message: kept,
      size_bytes: sizeBytes,
      created_at: at.getTime(),
    })
    .execute();
  await deps.onKept?.(tx, { edgeAccount, sentId: id, sentAt: at, sizeBytes });
}

const insertsOf = perStorage((storage) => ({
  message: prepareInsert<MessagingTables, 'message'>(storage, 'message'),
  recipient: prepareInsert<MessagingTables, 'message_recipient'>(storage, 'message_recipient'),
}));

function formatAnswer({ messageId, to, warnings }: Submission, at: Date): string {
  return JSON.stringify({
    status: 'OK',
    messageId,
    result: to.map((toDirectAddress) => ({
      toDirectAddress,
      status: 'queued',
      statusTime: at.toISOString(),
    })),
    ...(warnings.length === 0 ? {} : { warnings }),
  });
}
