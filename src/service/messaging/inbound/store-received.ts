import { sql, type Kysely } from 'kysely';
import { createTimedUuid } from '../../../core/index.ts';
import type { MimeEntity } from '../../../lib/mime/index.ts';
import { findUnanswered, requestsFinalDelivery, type Unanswered } from '../../../lib/mdn/index.ts';
import { addressKey, domainOf, type DirectAddress } from '../../../lib/values/index.ts';
import { prepareInsert } from '../../../platform/index.ts';
import { readParts } from '../contents/read-parts.ts';
import { perStorage } from '../per-storage.ts';
import type { MessagingDependencies, OpenedMail, StoredCopy } from '../ports.ts';
import { inboxContext, type InboxCopyRow, type InboxMessageRow, type MessagingTables } from '../tables.ts';
import type { Route } from '../../trust/index.ts';
import { describeRoute, forwardMac } from './forward-copies.ts';
import type { MailEnvelope } from './mail.ts';
import { hashForRecipient, mayAnswerIn, registerIn, type Identity } from './register.ts';
import { enqueueMdn, toRemarks } from './send-mdn-or-dsn.ts';

/** A verified message for some of our addresses. */
export interface ReceivedMail {
  readonly mail: MailEnvelope;
  readonly opened: OpenedMail;
  readonly entity: MimeEntity;
  readonly identity: Identity;
  /** The active local addresses that it is for. */
  readonly recipients: readonly DirectAddress[];
  /** Where what comes for each of them ends. */
  readonly routes: ReadonlyMap<DirectAddress, Route>;
  /** Clients with webhooks for received messages, and whether an address is theirs. */
  readonly receivers: readonly { readonly clientId: string; owns(address: DirectAddress): boolean }[];
}

/** The same with its content stored ahead of the transaction. */
export interface Received extends ReceivedMail {
  /** The row that the copies share. */
  readonly row: InboxMessageRow;
  /** Why no MDN answers it. */
  readonly unanswered: Unanswered | undefined;
  /** What was not read as its sender may have meant it, for the audit trail; empty if there is nothing. */
  readonly warnings: string;
  /** The damage of packages, for the MDN. */
  readonly damage: readonly string[];
}

/** In an audit row. */
const maxWarnings = 20;

/** Throws MimeError for a message that cannot be read. */
export async function prepareReceived(
  deps: MessagingDependencies,
  received: ReceivedMail,
): Promise<Received> {
  const { opened, entity, identity, mail } = received;
  const { attachments, warnings } = readParts(entity);
  const damage = await deps.workerPool.findDamage(opened.inner, entity);
  const unanswered = findUnanswered(entity, mail.mailFrom);
  const id = createTimedUuid(mail.receivedAt);
  const row = {
    id,
    sender: opened.sender,
    wire_id: identity.wireId ?? '',
    sealed_message: await deps.contents.write(opened.inner, inboxContext(id)),
    requests_final_delivery: requestsFinalDelivery(entity) && unanswered === undefined ? 1 : 0,
    attachment_count: attachments.length,
    size_bytes: opened.inner.length,
    received_at: mail.receivedAt.getTime(),
  };
  const reasons = new Set([
    ...damage
      .slice(0, maxWarnings)
      .map(({ field, reason, subject }) => `${field} ${reason} of ${subject.replaceAll(',', '')}`),
    ...warnings.map(({ field, reason }) => `${field} ${reason}`),
  ]);
  return {
    ...received,
    row,
    unanswered,
    warnings: [...reasons].slice(0, maxWarnings).join(', '),
    damage: toRemarks(damage),
  };
}

const insertsOf = perStorage((storage) => ({
  message: prepareInsert<MessagingTables, 'inbox_message'>(storage, 'inbox_message'),
  copy: prepareInsert<MessagingTables, 'inbox_copy'>(storage, 'inbox_copy'),
}));

/**
 * Stores a copy for each local recipient, answers each with a processed MDN, and queues the webhooks'
 * notifications, all in one transaction (MDN-01, Decision 0014). A message that was received before is not
 * stored again, but its processed MDN is sent again, at most once an hour: the sender may not have got the
 * first (AS-82).
 */
export async function storeReceived(
  tx: Kysely<MessagingTables>,
  deps: MessagingDependencies,
  received: Received,
): Promise<void> {
  const { row, mail } = received;
  const fresh: DirectAddress[] = [];
  for (const { recipient, hash } of inLockOrder(received)) {
    const isNew = await registerIn(tx, deps, hash, mail.receivedAt);
    if (isNew) fresh.push(recipient);
    else if (await mayAnswerIn(tx, deps, hash)) await answerDuplicate(tx, deps, received, recipient);
  }
  if (fresh.length === 0) {
    await deps.contents.releaseIn(tx, row.sealed_message);
    return;
  }
  await deps.contents.keepIn(tx, row.sealed_message);
  insertsOf(deps.storage).message.queue(tx, [row]);
  const stored: StoredCopy[] = [];
  const note = (copyId: string, address: DirectAddress): void =>
    void stored.push({
      copyId,
      address,
      receivedAt: mail.receivedAt,
      sizeBytes: Number(row.size_bytes),
    });
  const forwarded = new Map<DirectAddress, DirectAddress[]>();
  // In the order of the envelope.
  for (const recipient of received.recipients.filter((address) => fresh.includes(address))) {
    const route = received.routes.get(recipient);
    const copyId = await storeCopy(tx, deps, received, recipient, route);
    if (route?.keepsCopy !== false) note(copyId, recipient);
    for (const target of route?.deliverTo ?? [])
      if (!fresh.some((one) => addressKey(one) === addressKey(target) && keepsCopyOf(received, one)))
        forwarded.set(target, [...(forwarded.get(target) ?? []), recipient]);
  }
  for (const [target, originals] of forwarded)
    note(await storeForwarded(tx, deps, received, { target, originals }), target);
  await deps.onStored?.(tx, stored);
}

const keepsCopyOf = ({ routes }: Received, address: DirectAddress): boolean =>
  routes.get(address)?.keepsCopy !== false;

/** A copy for an address that the mail was not sent to: the MDNs are of those that it was sent to. */
async function storeForwarded(
  tx: Kysely<MessagingTables>,
  deps: MessagingDependencies,
  received: Received,
  { target, originals }: { readonly target: DirectAddress; readonly originals: readonly DirectAddress[] },
): Promise<string> {
  const { row, identity, mail, opened } = received;
  const named = {
    id: createTimedUuid(mail.receivedAt),
    message_id: row.id,
    address_key: addressKey(target),
    delivered_to: '',
    forwarded_from: originals.map(addressKey).join(' '),
  };
  const copy: InboxCopyRow = {
    ...named,
    address: target,
    domain: domainOf(target),
    acknowledged_at: null,
    dispatched_at: null,
    warned_at: null,
    received_at: row.received_at,
    forward_mac: forwardMac(deps.vault, named),
  };
  insertsOf(deps.storage).copy.queue(tx, [copy]);
  await deps.audit.recordIn(tx, {
    action: 'message.forward',
    actor: 'system',
    outcome: 'ok',
    objects: {
      mailId: mail.id,
      copyId: copy.id,
      messageId: identity.wireId?.slice(0, 255) ?? '',
      from: opened.sender,
      for: originals.join(' '),
      to: target,
    },
    remoteAddress: mail.remoteAddress,
  });
  await notifyReceivers(tx, deps, received, copy);
  return copy.id;
}

/** Two transactions that register the same message for several recipients take the rows in the same order. */
function inLockOrder({
  identity,
  recipients,
}: Received): readonly { recipient: DirectAddress; hash: Uint8Array }[] {
  return recipients
    .map((recipient) => ({ recipient, hash: hashForRecipient(identity, recipient) }))
    .toSorted((left, right) => Buffer.compare(left.hash, right.hash));
}

async function storeCopy(
  tx: Kysely<MessagingTables>,
  deps: MessagingDependencies,
  received: Received,
  recipient: DirectAddress,
  route: Route | undefined,
): Promise<string> {
  const { row, identity, mail, opened, unanswered, warnings, damage } = received;
  const { deliverTo = [], keepsCopy = true } = route ?? {};
  let isDispatched = false;
  if (row.requests_final_delivery === 1)
    for (const address of [...(keepsCopy ? [recipient] : []), ...deliverTo])
      isDispatched ||= (await deps.dispatchesStored?.(address)) === true;
  const named = {
    id: createTimedUuid(mail.receivedAt),
    message_id: row.id,
    address_key: addressKey(recipient),
    delivered_to: deliverTo.map(addressKey).join(' '),
    forwarded_from: '',
  };
  const copy: InboxCopyRow = {
    ...named,
    address: recipient,
    domain: domainOf(recipient),
    // Nobody is to fetch it here: others have it.
    acknowledged_at: keepsCopy ? null : row.received_at,
    dispatched_at: isDispatched ? row.received_at : null,
    warned_at: null,
    received_at: row.received_at,
    forward_mac: forwardMac(deps.vault, named),
  };
  insertsOf(deps.storage).copy.queue(tx, [copy]);
  const messageId = identity.wireId?.slice(0, 255) ?? '';
  await deps.audit.recordIn(tx, {
    action: 'message.receive',
    actor: 'system',
    outcome: 'ok',
    objects: {
      mailId: mail.id,
      copyId: copy.id,
      messageId,
      from: opened.sender,
      to: copy.address,
      ...(route === undefined ? {} : describeRoute(route)),
      ...(unanswered === undefined ? {} : { unanswered }),
      ...(warnings === '' ? {} : { warnings }),
    },
    remoteAddress: mail.remoteAddress,
  });
  if (unanswered === undefined)
    await enqueueMdn(tx, deps, recipient, { ...identity, damage, copyId: copy.id }, 'processed');
  if (isDispatched)
    await enqueueMdn(tx, deps, recipient, { ...identity, damage, copyId: copy.id }, 'dispatched');
  if (keepsCopy) await notifyReceivers(tx, deps, received, copy);
  deps.storage.afterCommit(tx, () => deps.emit('received', {}, { copyId: copy.id, messageId }));
  return copy.id;
}

async function notifyReceivers(
  tx: Kysely<MessagingTables>,
  { webhooks }: MessagingDependencies,
  { opened, receivers, mail }: Received,
  copy: InboxCopyRow,
): Promise<void> {
  for (const { clientId } of receivers.filter((receiver) => receiver.owns(copy.address as DirectAddress))) {
    await webhooks.notifyIn(tx, {
      clientId,
      eventType: 'message.received',
      at: mail.receivedAt,
      messageId: `urn:uuid:${copy.id}`,
      fromDirectAddress: opened.sender,
      toDirectAddress: copy.address,
      status: 'received',
      statusCode: '2.0.0',
      statusText: 'A message was received.',
    });
    await webhooks.notifyInboundIn(tx, clientId, copy.id);
  }
}

// The dispatched MDN may have got lost as well.
async function answerDuplicate(
  tx: Kysely<MessagingTables>,
  deps: MessagingDependencies,
  { entity, identity, opened, unanswered, damage }: Received,
  recipient: DirectAddress,
): Promise<void> {
  if (unanswered !== undefined) return;
  await enqueueMdn(tx, deps, recipient, { ...identity, damage }, 'processed');
  if (!requestsFinalDelivery(entity)) return;
  const dispatched = await tx
    .selectFrom('inbox_copy as c')
    .innerJoin('inbox_message as m', 'm.id', 'c.message_id')
    .select('c.id')
    .where('m.wire_id', '=', identity.wireId ?? '')
    // The condition of the partial index.
    .where(sql<boolean>`m.requests_final_delivery = 1`)
    .where('m.sender', '=', opened.sender)
    .where('c.address_key', '=', addressKey(recipient))
    // What came for another address is answered in its name.
    .where('c.forwarded_from', '=', '')
    // Of what was delivered to others no client has said anything until it is marked as dispatched.
    .where((eb) =>
      eb.or([
        eb('c.dispatched_at', 'is not', null),
        eb.and([eb('c.acknowledged_at', 'is not', null), eb('c.delivered_to', '=', '')]),
      ]),
    )
    .executeTakeFirst();
  if (dispatched !== undefined)
    await enqueueMdn(tx, deps, recipient, { ...identity, damage, copyId: dispatched.id }, 'dispatched');
}
