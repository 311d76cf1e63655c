/**
 * The inbox: which received messages a client may list, read and acknowledge.
 * Used by `service/messaging`.
 * Begin with this file, which finds a message for its client; `require-own-row.ts` checks what was found.
 */
import type { ExpressionBuilder, Kysely } from 'kysely';
import { addressKey, type DirectAddress } from '../../../lib/values/index.ts';
import type { Storage } from '../../../platform/index.ts';
import { canSendAs, type ClientIdentity } from '../../oauth/index.ts';
import { MessagingError } from '../errors.ts';
import { findUuid } from '../status/find-status.ts';
import type { InboxCopyRow, InboxMessageRow, MessagingTables } from '../tables.ts';

/** A copy together with the message it is of. */
export interface InboxEntry {
  readonly copy: InboxCopyRow;
  readonly message: InboxMessageRow;
}

/** The copy of that name if it belongs to an address of the client. */
export async function findEntry(
  db: Kysely<MessagingTables>,
  client: Pick<ClientIdentity, 'directAddresses'>,
  messageId: string,
): Promise<InboxEntry | undefined> {
  const id = findUuid(messageId);
  const copy =
    id === undefined
      ? undefined
      : await db.selectFrom('inbox_copy').selectAll().where('id', '=', id).executeTakeFirst();
  if (copy === undefined || !canSendAs(client, copy.address as DirectAddress)) return undefined;
  const message = await db
    .selectFrom('inbox_message')
    .selectAll()
    .where('id', '=', copy.message_id)
    .executeTakeFirstOrThrow();
  return { copy, message };
}

/**
 * The copy of that name if it belongs to an address of the client. Throws MESSAGING_MESSAGE_NOT_FOUND, also
 * for a copy that another client may read: other clients must not learn whether it exists (SEC-01).
 */
export async function getEntry(
  db: Kysely<MessagingTables>,
  client: Pick<ClientIdentity, 'directAddresses'>,
  messageId: string,
): Promise<InboxEntry> {
  const entry = await findEntry(db, client, messageId);
  if (entry !== undefined) return entry;
  throw new MessagingError('MESSAGING_MESSAGE_NOT_FOUND', 'no received message of this client has that id');
}

/**
 * The condition that a copy which nobody has acknowledged belongs to one of the client's addresses, or to the
 * one asked for.
 */
export function waitingFor(
  { isOneOf }: Pick<Storage, 'isOneOf'>,
  eb: ExpressionBuilder<MessagingTables & { c: InboxCopyRow }, 'c'>,
  client: ClientIdentity,
  address: DirectAddress | undefined,
) {
  const isWaiting = eb('c.acknowledged_at', 'is', null);
  if (address !== undefined) return eb.and([isWaiting, eb('c.address_key', '=', addressKey(address))]);
  const domains = client.directAddresses.filter((own) => own.startsWith('@')).map((own) => own.slice(1));
  const addresses = client.directAddresses.filter((own) => !own.startsWith('@'));
  // In each branch, so that SQLite reads each by the index of what waits.
  return eb.or([
    eb.and([isWaiting, isOneOf(eb.ref('c.address_key'), addresses)]),
    eb.and([isWaiting, isOneOf(eb.ref('c.domain'), domains)]),
  ]);
}
