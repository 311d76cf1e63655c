import type { DirectAddress } from '../../../lib/values/index.ts';
import type { ClientIdentity } from '../../oauth/index.ts';
import type { InboundDocument, OpenOptions } from '../contents/inbound-document.ts';
import { MessagingError } from '../errors.ts';
import type { MessagingDependencies, RequestOrigin } from '../ports.ts';
import { requireReceiver } from '../require-owned.ts';
import { inboxContext, type MessagingTables } from '../tables.ts';
import { acknowledge } from './acknowledge.ts';
import { findEntry, getEntry, type InboxEntry } from './inbox-access.ts';
import { requireOwnRow } from './require-own-row.ts';

const dbOf = ({ storage }: MessagingDependencies) => storage.tables<MessagingTables>();

/**
 * The JSON of an `InboundPayload`. `onSize` gets the message's size before it is read, and may throw. Throws
 * MESSAGING_MESSAGE_NOT_FOUND.
 */
export async function readInbox(
  deps: MessagingDependencies,
  client: ClientIdentity,
  messageId: string,
  isXdm: boolean,
  origin: RequestOrigin,
  onSize?: (bytes: number) => void,
): Promise<Uint8Array> {
  const entry = await getEntry(dbOf(deps), client, messageId);
  onSize?.(Number(entry.message.size_bytes));
  await auditFetch(deps, client, entry, origin);
  return formatEntry(deps, entry, isXdm);
}

/** A received message as its sender composed it. Throws MESSAGING_MESSAGE_NOT_FOUND. */
export async function readReceived(
  deps: MessagingDependencies,
  client: ClientIdentity,
  messageId: string,
  origin: RequestOrigin,
): Promise<Buffer> {
  const entry = await getEntry(dbOf(deps), client, messageId);
  await auditFetch(deps, client, entry, origin);
  return openInner(deps, entry);
}

/** `position` counts from 0, as in `emailAttachmentList`. Throws MESSAGING_ATTACHMENT_NOT_FOUND. */
export async function readAttachment(
  deps: MessagingDependencies,
  client: ClientIdentity,
  messageId: string,
  position: number,
  isXdm: boolean,
  origin: RequestOrigin,
  onSize?: (bytes: number) => void,
): Promise<InboundDocument> {
  const entry = await getEntry(dbOf(deps), client, messageId);
  onSize?.(Number(entry.message.size_bytes));
  const inner = await openInner(deps, entry);
  const document = await deps.workerPool.findDocument(inner, optionsOf(deps, entry, isXdm), position);
  if (document === undefined)
    throw new MessagingError('MESSAGING_ATTACHMENT_NOT_FOUND', `there is no attachment ${position}`);
  await auditFetch(deps, client, entry, origin);
  return document;
}

/** For whom a received message is that nobody has acknowledged; undefined for any other. */
export async function findWaiting(
  deps: MessagingDependencies,
  client: ClientIdentity,
  messageId: string,
): Promise<{ readonly address: DirectAddress; readonly sizeBytes: number } | undefined> {
  const entry = await findEntry(dbOf(deps), client, messageId);
  if (entry === undefined || entry.copy.acknowledged_at !== null) return undefined;
  const { copy, message } = entry;
  return { address: copy.address as DirectAddress, sizeBytes: Number(message.size_bytes) };
}

/** Inbound hooks push the same payload that the inbox serves; their 2xx acknowledges (Decision 0014). */
export function serveInboundHooks(deps: MessagingDependencies): void {
  deps.webhooks.serveInbound({
    async requireReceiver(clientId) {
      requireReceiver(await deps.clients.get(clientId));
    },
    async buildPayload(copyId, clientId, { isXdm }) {
      const client = await deps.clients.get(clientId);
      const entry = await findEntry(dbOf(deps), client, copyId);
      if (entry === undefined || entry.copy.acknowledged_at !== null) return undefined;
      requireReceiver(client);
      await deps.audit.recordNow({
        action: 'message.push',
        actor: clientId,
        outcome: 'ok',
        objects: namesOf(entry),
      });
      return formatEntry(deps, entry, isXdm);
    },
    async measure(copyIds) {
      const rows = await dbOf(deps)
        .selectFrom('inbox_copy')
        .innerJoin('inbox_message', 'inbox_message.id', 'inbox_copy.message_id')
        .select(['inbox_copy.id', 'inbox_message.size_bytes'])
        .where('inbox_copy.id', 'in', copyIds)
        .execute();
      return new Map(rows.map((row) => [row.id, row.size_bytes]));
    },
    async acknowledge(copyId, clientId) {
      await acknowledge(deps, await deps.clients.get(clientId), copyId, {});
    },
  });
}

async function formatEntry(
  deps: MessagingDependencies,
  entry: InboxEntry,
  isXdm: boolean,
): Promise<Uint8Array> {
  return deps.workerPool.formatPayload(await openInner(deps, entry), optionsOf(deps, entry, isXdm));
}

async function openInner(deps: MessagingDependencies, entry: InboxEntry): Promise<Buffer> {
  const { message } = entry;
  const inner = await deps.contents.open(message.sealed_message, inboxContext(message.id));
  requireOwnRow(inner, entry, deps);
  return inner;
}

function optionsOf(
  { identity }: MessagingDependencies,
  { copy, message }: InboxEntry,
  isXdm: boolean,
): OpenOptions {
  const facts = {
    copyId: copy.id,
    recipient: copy.address,
    sender: message.sender,
    wireId: message.wire_id,
    receivedAt: new Date(copy.received_at),
  };
  return { facts, isXdm, identity };
}

async function auditFetch(
  { audit }: MessagingDependencies,
  { clientId }: ClientIdentity,
  entry: InboxEntry,
  origin: RequestOrigin,
): Promise<void> {
  await audit.recordNow({
    action: 'message.fetch',
    actor: clientId,
    outcome: 'ok',
    objects: namesOf(entry),
    ...origin,
  });
}

/**
 * The ids by which an audit row names a received message: this recipient's copy, and the sender's Message-ID.
 */
function namesOf({ copy, message }: InboxEntry): Readonly<Record<string, string>> {
  return { copyId: copy.id, messageId: message.wire_id.slice(0, 255) };
}
