import { createHash, randomUUID } from 'node:crypto';
import type { Kysely } from 'kysely';
import { collectParts, findBodyText, readMessageIds, type MimeEntity } from '../../../lib/mime/index.ts';
import { isReport, requestsFinalDelivery } from '../../../lib/mdn/index.ts';
import { addressKey, domainOf, type DirectAddress } from '../../../lib/values/index.ts';
import { enqueueMdn, type Original } from './send-notice.ts';
import type { MessagingParts, OpenedMail } from '../ports.ts';
import type { InboxCopyRow, MessagingTables } from '../tables.ts';

/** A verified message for some of our addresses. */
export interface Received {
  /** Of the row that the copies share. */
  readonly messageId: string;
  /** The inner message as the content store wrote it. */
  readonly stored: Uint8Array;
  readonly opened: OpenedMail;
  readonly entity: MimeEntity;
  readonly attachmentCount: number;
  /** SHA-256 of the inner message. */
  readonly contentHash: string;
  /** The active local addresses that it is for. */
  readonly recipients: readonly DirectAddress[];
  readonly receivedAt: Date;
  /** Clients with webhooks for received messages, and whether an address is theirs. */
  readonly receivers: readonly { readonly clientId: string; owns(address: DirectAddress): boolean }[];
}

/**
 * Stores a copy for each local recipient, answers each with a processed notice, and queues the webhooks' notifications,
 * all in one transaction (MDN-01, Decision 0014). A message that was stored before is not stored again, but its processed
 * notice is: the sender may not have got the first (AS-82).
 */
export async function storeReceived(
  tx: Kysely<MessagingTables>,
  parts: MessagingParts,
  received: Received,
): Promise<readonly string[]> {
  const original = originalOf(received);
  const fresh: InboxCopyRow[] = [];
  const { messageId, stored } = received;
  for (const recipient of received.recipients) {
    const duplicateKey = hashDuplicate(original, recipient, received.contentHash);
    const earlier = await tx
      .selectFrom('inbox_copy')
      .selectAll()
      .where('duplicate_key', '=', duplicateKey)
      .executeTakeFirst();
    if (earlier === undefined) fresh.push(newCopy(messageId, recipient, duplicateKey, received.receivedAt));
    await answer(tx, parts, received, { recipient, original, earlier });
  }
  if (fresh.length === 0) {
    await parts.contents.releaseIn(tx, stored);
    return [];
  }
  await insertMessage(tx, parts, received, original);
  await tx.insertInto('inbox_copy').values(fresh).execute();
  for (const copy of fresh) await tell(tx, parts, received, copy);
  return fresh.map((copy) => copy.id);
}

/** Parts other than the one that is the text. Throws MimeError for a message that cannot be read. */
export function countAttachments(entity: MimeEntity): number {
  const leaves = collectParts(entity);
  return leaves.length - (findBodyText(leaves) === undefined ? 0 : 1);
}

function originalOf({ opened, entity }: Received): Original {
  const [wireId] = readMessageIds(entity.header('message-id') ?? '');
  return { sender: opened.sender, wireId };
}

// A sender that reuses a Message-ID for another content must not make us lose the second message, so the content counts.
function hashDuplicate(
  { sender, wireId = '' }: Original,
  recipient: DirectAddress,
  contentHash: string,
): string {
  const key = JSON.stringify([addressKey(sender), wireId, addressKey(recipient), contentHash]);
  return createHash('sha256').update(key).digest('hex');
}

function newCopy(
  messageId: string,
  recipient: DirectAddress,
  duplicateKey: string,
  receivedAt: Date,
): InboxCopyRow {
  return {
    id: randomUUID(),
    message_id: messageId,
    address: recipient,
    address_key: addressKey(recipient),
    domain: domainOf(recipient),
    duplicate_key: duplicateKey,
    acknowledged_at: null,
    warned_at: null,
    received_at: receivedAt.getTime(),
  };
}

interface Answer {
  readonly recipient: DirectAddress;
  readonly original: Original;
  readonly earlier: InboxCopyRow | undefined;
}

async function answer(
  tx: Kysely<MessagingTables>,
  parts: MessagingParts,
  { entity }: Received,
  { recipient, original, earlier }: Answer,
): Promise<void> {
  // A report of whatever kind is never answered (MDN-02).
  if (isReport(entity)) return;
  await enqueueMdn(tx, parts, recipient, original, 'processed');
  const isAcknowledged = earlier !== undefined && earlier.acknowledged_at !== null;
  if (isAcknowledged && requestsFinalDelivery(entity))
    await enqueueMdn(tx, parts, recipient, original, 'dispatched');
}

async function insertMessage(
  tx: Kysely<MessagingTables>,
  parts: MessagingParts,
  received: Received,
  original: Original,
): Promise<void> {
  const { opened, entity, messageId, stored } = received;
  await parts.contents.keepIn(tx, stored);
  await tx
    .insertInto('inbox_message')
    .values({
      id: messageId,
      sender: opened.sender,
      wire_id: original.wireId ?? '',
      sealed_message: stored,
      requests_final_delivery: requestsFinalDelivery(entity) && !isReport(entity) ? 1 : 0,
      attachment_count: received.attachmentCount,
      size_bytes: opened.inner.length,
      received_at: received.receivedAt.getTime(),
    })
    .execute();
}

async function tell(
  tx: Kysely<MessagingTables>,
  parts: MessagingParts,
  { opened, receivers, receivedAt }: Received,
  copy: InboxCopyRow,
): Promise<void> {
  parts.report('received', {}, { copyId: copy.id });
  await parts.audit.recordIn(tx, {
    action: 'message.receive',
    actor: 'system',
    outcome: 'ok',
    objects: { copyId: copy.id, from: opened.sender, to: copy.address },
  });
  for (const { clientId } of receivers.filter((receiver) => receiver.owns(copy.address as DirectAddress))) {
    await parts.webhooks.notifyIn(tx, {
      clientId,
      eventType: 'message.received',
      at: receivedAt,
      messageId: `urn:uuid:${copy.id}`,
      fromDirectAddress: opened.sender,
      toDirectAddress: copy.address,
      status: 'received',
      statusCode: '2.0.0',
      statusText: 'A message was received.',
    });
    await parts.webhooks.notifyInboundIn(tx, clientId, copy.id);
  }
}
