import type { Kysely } from 'kysely';
import type { Storage } from '../../../platform/index.ts';
import { perStorage } from '../per-storage.ts';
import type { MessagingTables } from '../tables.ts';

// The message comes first: rows are locked in this order (Decision 0023).
function selectRecipient(db: Kysely<MessagingTables>) {
  return db
    .selectFrom('message as m')
    .innerJoin('message_recipient as r', 'r.message_id', 'm.id')
    .select([
      'r.id',
      'r.message_id',
      'r.address',
      'r.state',
      'r.has_dispatched_notice',
      'r.reason',
      'r.status_code',
      'r.status_at',
      'r.deadline_at',
      'r.event_count',
      'r.edge_account',
      'm.client_id',
      'm.uuid',
      'm.wire_id',
      'm.sender',
      'm.requests_final_delivery',
      'm.created_at',
    ]);
}

/**
 * A recipient with the data of its message needed to change its state. Both rows are locked until the
 * transaction ends.
 */
export type FoundRecipient = Awaited<ReturnType<ReturnType<typeof selectRecipient>['execute']>>[number];

/** Finds one recipient by the id of its row, by its message's row, or by the ids in an MDN. */
export const recipientQueries = perStorage((storage) => ({
  byId: storage.prepare<MessagingTables, { id: string }, FoundRecipient>((db, { id }) =>
    storage.forUpdate(selectRecipient(db).where('r.id', '=', id)),
  ),
  byAddress: storage.prepare<MessagingTables, { messageId: string; addressKey: string }, FoundRecipient>(
    (db, { messageId, addressKey }) =>
      storage.forUpdate(
        selectRecipient(db).where('m.id', '=', messageId).where('r.address_key', '=', addressKey),
      ),
  ),
  byWire: storage.prepare<
    MessagingTables,
    { wireId: string; senderKey: string; addressKey: string },
    FoundRecipient
  >((db, { wireId, senderKey, addressKey }) =>
    storage.forUpdate(
      selectRecipient(db)
        .where('m.wire_id', '=', wireId)
        .where('m.sender_key', '=', senderKey)
        .where('r.address_key', '=', addressKey),
    ),
  ),
}));

/** The recipient with that address of one of several messages; none has it twice. */
export async function findRecipientAmong(
  tx: Kysely<MessagingTables>,
  storage: Pick<Storage, 'forUpdate'>,
  { messageIds, addressKey }: { readonly messageIds: readonly string[]; readonly addressKey: string },
): Promise<FoundRecipient | undefined> {
  const query = selectRecipient(tx).where('m.id', 'in', messageIds).where('r.address_key', '=', addressKey);
  return storage.forUpdate(query).executeTakeFirst();
}
