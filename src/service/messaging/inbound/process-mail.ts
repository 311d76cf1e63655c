import { randomUUID } from 'node:crypto';
import type { Kysely } from 'kysely';
import { CodedError, errorCode, hashInSlices } from '../../../core/index.ts';
import { isReport, readNotice, type Notice } from '../../../lib/mdn/index.ts';
import { MimeError, parseEntity, readMessageIds, type MimeEntity } from '../../../lib/mime/index.ts';
import { addressKey, domainOf, findDirectAddress, type DirectAddress } from '../../../lib/values/index.ts';
import { startWorker, type Worker } from '../../../platform/index.ts';
import { canSendAs } from '../../oauth/index.ts';
import { applyNotice } from './apply-notice.ts';
import type { MessagingParts, OpenedMail } from '../ports.ts';
import { enqueueFailure, type Failure } from './send-notice.ts';
import {
  claimMail,
  maxInboundAttempts,
  openMail,
  postponeMail,
  removeMail,
  type ClaimedMail,
} from './spool-mail.ts';
import { countAttachments, storeReceived, type Received } from './store-received.ts';
import { inboxContext, type MessagingTables } from '../tables.ts';

/** Works on one spooled mail: open, classify, then store or correlate (AS-70). Never throws for what is in the mail. */
export async function processMail(parts: MessagingParts, mail: ClaimedMail): Promise<void> {
  try {
    if (mail.attempts > maxInboundAttempts) throw new RangeError('the attempts are used up');
    await acceptOrReport(parts, mail, await openWithAgent(parts, mail));
  } catch (error) {
    if (isRejection(error)) await rejectMail(parts, mail, errorCode(error));
    else await postpone(parts, mail, error);
  }
  parts.webhooks.wake();
}

async function openWithAgent(parts: MessagingParts, mail: ClaimedMail): Promise<OpenedMail> {
  const recipients = mail.recipients.flatMap((text) => findDirectAddress(text) ?? []);
  const message = await openMail(parts, mail);
  return parts.agent.openIncoming({ message, mailFrom: mail.mailFrom, recipients });
}

// The sender is known and trusted, so a message that is too deep or too complex to be read does not just vanish (MDN-12).
async function acceptOrReport(parts: MessagingParts, mail: ClaimedMail, opened: OpenedMail): Promise<void> {
  try {
    await acceptOpened(parts, mail, opened);
  } catch (error) {
    if (!(error instanceof MimeError)) throw error;
    await reportUnreadable(parts, mail, opened);
    throw error;
  }
}

async function reportUnreadable(parts: MessagingParts, mail: ClaimedMail, opened: OpenedMail): Promise<void> {
  const entity = parseEntity(opened.inner);
  const { active } = await sortRecipients(parts, mail, opened);
  await parts.storage.transaction((tx: Kysely<MessagingTables>) =>
    reportFailure(tx, parts, { mail, opened, entity, recipients: active, failure: unreadable }),
  );
}

async function acceptOpened(parts: MessagingParts, mail: ClaimedMail, opened: OpenedMail): Promise<void> {
  const entity = parseEntity(opened.inner);
  const notice = readNotice(entity);
  if (notice === undefined) await acceptMessage(parts, mail, opened, entity);
  else await acceptNotice(parts, mail, opened, notice);
}

async function acceptNotice(
  parts: MessagingParts,
  mail: ClaimedMail,
  opened: OpenedMail,
  notice: Notice,
): Promise<void> {
  await parts.storage.transaction(async (tx: Kysely<MessagingTables>) => {
    const { applied, ignored } = await applyNotice(tx, parts, opened, notice);
    parts.report('noticed', { kind: notice.kind, ignored: ignored ?? '' }, { mailId: mail.id });
    await parts.audit.recordIn(tx, {
      action: `${notice.kind}.receive`,
      actor: 'system',
      outcome: ignored === undefined ? 'ok' : 'refused',
      objects: {
        from: opened.sender,
        messageId: notice.originalMessageIds[0]?.slice(0, 255) ?? '',
        applied,
        reason: ignored ?? '',
      },
    });
    await removeMail(tx, parts, mail);
  });
}

async function acceptMessage(
  parts: MessagingParts,
  mail: ClaimedMail,
  opened: OpenedMail,
  entity: MimeEntity,
): Promise<void> {
  const { active, unknown } = await sortRecipients(parts, mail, opened);
  const messageId = randomUUID();
  const received: Received = {
    messageId,
    stored: await parts.contents.write(opened.inner, inboxContext(messageId)),
    opened,
    entity,
    attachmentCount: countAttachments(entity),
    contentHash: await hashInSlices(opened.inner),
    recipients: active,
    receivedAt: mail.receivedAt,
    receivers: await findReceivers(parts),
  };
  await parts.storage.transaction(async (tx: Kysely<MessagingTables>) => {
    await storeReceived(tx, parts, received);
    await reportFailure(tx, parts, { mail, opened, entity, recipients: unknown, failure: unknownRecipient });
    await removeMail(tx, parts, mail);
  });
}

interface Sorted {
  /** Ours, active, and the message was opened for them. */
  readonly active: readonly DirectAddress[];
  /** In a domain of ours, but no such address, or a disabled one. */
  readonly unknown: readonly DirectAddress[];
}

async function sortRecipients(
  { trust }: MessagingParts,
  mail: ClaimedMail,
  opened: OpenedMail,
): Promise<Sorted> {
  const openedFor = new Set(opened.recipients.map(addressKey));
  const active: DirectAddress[] = [];
  const unknown: DirectAddress[] = [];
  const addresses = new Map(
    mail.recipients
      .flatMap((text) => findDirectAddress(text) ?? [])
      .map((address) => [addressKey(address), address]),
  );
  for (const [key, address] of addresses) {
    const hosted = await trust.findAddress(address);
    if (hosted?.status === 'active') active.push(...(openedFor.has(key) ? [hosted.address] : []));
    else if (await trust.isHostedDomain(domainOf(address))) unknown.push(address);
  }
  return { active, unknown };
}

async function findReceivers({ webhooks, clients }: MessagingParts): Promise<Received['receivers']> {
  const found = await Promise.allSettled(
    (await webhooks.listReceivers()).map((clientId) => clients.get(clientId)),
  );
  return found
    .flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
    .filter((client) => client.disabledAt === undefined)
    .map((client) => ({ clientId: client.clientId, owns: (address) => canSendAs(client, address) }));
}

interface Undeliverable {
  readonly mail: ClaimedMail;
  readonly opened: OpenedMail;
  readonly entity: MimeEntity;
  readonly recipients: readonly DirectAddress[];
  readonly failure: Failure;
}

const unknownRecipient: Failure = { status: '5.1.1', diagnostic: 'There is no such recipient here.' };
const unreadable: Failure = { status: '5.6.0', diagnostic: 'The message is too complex to be read.' };

// The mail was taken with a 250, so its sender must be told that it reached nobody (MDN-12, DSN-05).
async function reportFailure(
  tx: Kysely<MessagingTables>,
  parts: MessagingParts,
  { mail, opened, entity, recipients, failure }: Undeliverable,
): Promise<void> {
  if (recipients.length === 0 || mail.mailFrom === '' || isReport(entity)) return;
  const [wireId] = readMessageIds(entity.header('message-id') ?? '');
  for (const addresses of Map.groupBy(recipients, domainOf).values())
    await enqueueFailure(tx, parts, addresses, { sender: opened.sender, wireId }, failure);
}

// What the agent refuses for good is dropped without any notice (AS-78); limits of the MIME reader count as such.
function isRejection(error: unknown): boolean {
  if (error instanceof MimeError) return true;
  return (
    error instanceof CodedError &&
    !error.isTransient &&
    error.kind !== 'internal' &&
    error.kind !== 'unavailable'
  );
}

async function rejectMail(parts: MessagingParts, mail: ClaimedMail, reason: string): Promise<void> {
  await parts.storage.transaction(async (tx: Kysely<MessagingTables>) => {
    await parts.audit.recordIn(tx, {
      action: 'message.reject',
      actor: 'system',
      outcome: 'refused',
      objects: {
        mailId: mail.id,
        from: mail.mailFrom.slice(0, 320),
        to: mail.recipients.join(' ').slice(0, 2000),
        reason,
      },
    });
    await removeMail(tx, parts, mail);
  });
  parts.report('rejected', { code: reason }, { mailId: mail.id });
}

async function postpone(parts: MessagingParts, mail: ClaimedMail, error: unknown): Promise<void> {
  const code = errorCode(error);
  const isSetAside = await postponeMail(parts, mail, code);
  const fields = { mailId: mail.id, attempts: mail.attempts, frames: framesOf(error) };
  parts.report(isSetAside ? 'setAside' : 'postponed', { code }, fields);
  if (!isSetAside) return;
  await parts.audit.recordNow({
    action: 'message.set-aside',
    actor: 'system',
    outcome: 'failed',
    objects: { mailId: mail.id, reason: code },
  });
}

// Where it happened, without the text: what a parser says may quote what it could not read.
function framesOf(error: unknown): readonly string[] {
  const lines = error instanceof Error ? (error.stack?.split('\n') ?? []) : [];
  return lines.filter((line) => line.startsWith('    at ')).slice(0, 10);
}

/** Works on spooled mail until it is closed. */
export function startMailWorker(parts: MessagingParts, idleMs: number): Worker {
  const concurrency = 4;
  return startWorker<ClaimedMail>({
    name: 'inbound',
    claim: () => claimMail(parts, concurrency),
    handle: (mail) => processMail(parts, mail),
    idleMs,
    concurrency,
    log: parts.log,
  });
}
