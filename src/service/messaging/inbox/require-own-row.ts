import { parseEntity, readMailboxes, readUnquotedMailbox, type MimeEntity } from '../../../lib/mime/index.ts';
import { addressKey, findDirectAddress, type DirectAddress } from '../../../lib/values/index.ts';
import type { RowAlarm } from '../../integrity/index.ts';
import { canSendAs, type ClientIdentity } from '../../oauth/index.ts';
import { MessagingError } from '../errors.ts';
import { readForwardedFrom } from '../inbound/forward-copies.ts';
import type { MessagingDependencies } from '../ports.ts';
import type { InboxEntry } from './inbox-access.ts';

/**
 * A message was stored only for recipients that its header names, under the sender that it names (AS-39,
 * AS-79), and its content cannot be changed. So a row that gives it to another address, or has another
 * sender, was not written by this service: whoever can write to the database and is a client would read the
 * mail of others. Throws MESSAGING_ROW_CHANGED.
 */
export function requireOwnRow(
  inner: Uint8Array,
  { copy, message }: InboxEntry,
  { vault, alarmOfRow }: Pick<MessagingDependencies, 'vault' | 'alarmOfRow'>,
): void {
  const entity = parseEntity(inner);
  const named = namesIn(entity, ['to', 'cc']);
  // A copy that was forwarded says under a MAC for whom it came.
  const recipients = copy.forwarded_from === '' ? [copy.address_key] : (readForwardedFrom(vault, copy) ?? []);
  const isOwn =
    recipients.some((recipient) => named.has(recipient)) &&
    addressKey(copy.address as DirectAddress) === copy.address_key &&
    namesIn(entity, ['from', 'sender']).has(addressKey(message.sender as DirectAddress));
  if (isOwn) return;
  throw refuse(
    alarmOfRow,
    { table: 'inbox_copy', row: copy.id },
    'the message is not for this address, or of another sender',
  );
}

/**
 * The same for what an edge account keeps of its sent messages: their header names a sender that the account
 * may send as. A row that gives one to another account was not written by this service. Throws
 * MESSAGING_ROW_CHANGED.
 */
export function requireOwnSent(
  message: Uint8Array,
  sentId: string,
  client: Pick<ClientIdentity, 'directAddresses'>,
  alarm: RowAlarm,
): void {
  const senders = [...namesIn(parseEntity(message), ['from', 'sender'])];
  if (senders.some((sender) => canSendAs(client, sender as DirectAddress))) return;
  throw refuse(alarm, { table: 'sent_message', row: sentId }, 'the account may not send as its sender');
}

function refuse(alarm: RowAlarm, row: { table: string; row: string }, why: string): MessagingError {
  alarm(row);
  return new MessagingError(
    'MESSAGING_ROW_CHANGED',
    `${row.table} ${row.row}: ${why}; the row was not written by this service`,
  );
}

function namesIn(entity: MimeEntity, fields: readonly string[]): ReadonlySet<string> {
  const values = fields.flatMap((name) => entity.headers(name));
  const texts = values.flatMap((value) => [
    ...readMailboxes(value).map(({ address }) => address),
    readUnquotedMailbox(value) ?? '',
  ]);
  return new Set(texts.flatMap((text) => findDirectAddress(text) ?? []).map(addressKey));
}
