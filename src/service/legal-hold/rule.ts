import { sql, type RawBuilder } from 'kysely';
import { tablesOf, type AnyTransaction, type Storage } from '../../platform/index.ts';
import type { LegalHoldTables } from './tables.ts';

/**
 * The rule of what a legal hold keeps (Decision 0034), as conditions on a row that is to be deleted. It reads
 * the tables that say from whom and to whom a message is, whichever service owns them, so that all deletions
 * have the same rule.
 */

/**
 * No hold is added from here to the end of the transaction. Whatever deletes what a hold would keep does this
 * before it examines the rows, and before any other lock; else a hold could be confirmed between the two.
 */
export async function lockLegalHolds(storage: Storage, tx: AnyTransaction): Promise<void> {
  const state = tablesOf<LegalHoldTables>(tx).selectFrom('legal_hold_state').select('id');
  await storage.forUpdate(state).execute();
}

/** True while any legal hold is in force. For rows of which nothing says whose message they concern. */
export const isAnyLegalHold: RawBuilder<boolean> = sql<boolean>`exists (
  select 1 from legal_hold where released_at is null
)`;

/** Domains with their organization; what one received stays on hold after it was removed. */
const ownedDomains = ['hosted_domain', 'removed_domain'] as const;

/** An address in lower case: it is on hold, or the organization of its domain. */
const isAddressOnHold = (addressKey: RawBuilder<string>): RawBuilder<boolean> => sql<boolean>`(exists (
  select 1 from legal_hold lh
  where lh.kind = 'address' and lh.subject = ${addressKey} and lh.released_at is null
) or ${sql.join(
  ownedDomains.map(
    (table) => sql`exists (
  select 1 from legal_hold lh join ${sql.table(table)} hd on hd.organization_id = lh.subject
  where lh.kind = 'organization' and lh.released_at is null and hd.domain = ${domainOf(addressKey)}
)`,
  ),
  sql` or `,
)})`;

/** The text after the last `@`. */
const domainOf = (address: RawBuilder<string>): RawBuilder<string> =>
  sql<string>`replace(${address}, rtrim(${address}, replace(${address}, '@', '')), '')`;

/** The row of `inbox_copy` is of an address on hold, or came for one in its place (Decision 0036). */
function isCopyRowOnHold(alias: string): RawBuilder<boolean> {
  const originals = sql.ref<string>(`${alias}.forwarded_from`);
  const list = sql`' ' || ${originals} || ' '`;
  return sql<boolean>`(${isAddressOnHold(sql.ref(`${alias}.address_key`))} or (${originals} <> '' and exists (
    select 1 from legal_hold lh
    where lh.kind = 'address' and lh.released_at is null
      and replace(${list}, ' ' || lh.subject || ' ', '') <> ${list}
  )))`;
}

/** No domain of an organization on hold moves: its mail would leave the hold. */
export async function isOrganizationOnHold(tx: AnyTransaction, organizationId: string): Promise<boolean> {
  const found = await tablesOf<LegalHoldTables>(tx)
    .selectFrom('legal_hold')
    .select('id')
    .where('kind', '=', 'organization')
    .where('subject', '=', organizationId)
    .where('released_at', 'is', null)
    .executeTakeFirst();
  return found !== undefined;
}

/**
 * Received messages with one Message-ID that are looked at. A peer may give the same to any number of them,
 * and each is compared with all others.
 */
const maxSameId = 100;

/**
 * The message of that Message-ID, sent or received, is on legal hold, or its sender, or one of its
 * recipients; or more received messages have that Message-ID than are looked at. Received mail without one
 * has an empty text, by which it has nothing in common.
 */
export function isMessageOnHold(wireId: RawBuilder<string>): RawBuilder<boolean> {
  const received = sql`(
    select id, sender from inbox_message where wire_id = ${wireId} limit ${sql.lit(maxSameId)}
  )`;
  return sql<boolean>`(${isAnyLegalHold} and ${wireId} <> '' and (
    exists (
      select 1 from legal_hold lh
      where lh.kind = 'message' and lh.subject = ${wireId} and lh.released_at is null
    )
    or exists (
      select 1 from message lm where lm.wire_id = ${wireId} and ${isAddressOnHold(sql.ref('lm.sender_key'))}
    )
    or exists (
      select 1 from message lm join message_recipient lr on lr.message_id = lm.id
      where lm.wire_id = ${wireId} and ${isAddressOnHold(sql.ref('lr.address_key'))}
    )
    or exists (
      select 1 from inbox_message where wire_id = ${wireId} limit 1 offset ${sql.lit(maxSameId)}
    )
    or exists (
      select 1 from ${received} li where ${isAddressOnHold(sql`lower(li.sender)`)}
    )
    or exists (
      select 1 from ${received} li join inbox_copy lc on lc.message_id = li.id
      where ${isCopyRowOnHold('lc')}
    )
  ))`;
}

/** The message of a row with the internal id of a sent message is on hold. */
export function isSentMessageOnHold(messageId: RawBuilder<string>): RawBuilder<boolean> {
  return sql<boolean>`(${isAnyLegalHold} and exists (
    select 1 from message ls where ls.id = ${messageId} and ${isMessageOnHold(sql.ref('ls.wire_id'))}
  ))`;
}

/** The message of a row with the id of a received one is on hold. */
export function isReceivedMessageOnHold(messageId: RawBuilder<string>): RawBuilder<boolean> {
  return sql<boolean>`(${isAnyLegalHold} and exists (
    select 1 from inbox_message lx where lx.id = ${messageId} and (
      ${isAddressOnHold(sql`lower(lx.sender)`)}
      or exists (
        select 1 from inbox_copy lz where lz.message_id = lx.id and ${isCopyRowOnHold('lz')}
      )
      or ${isMessageOnHold(sql.ref('lx.wire_id'))}
    )
  ))`;
}

/** The received message is on hold of which a client knows a copy by that UUID. */
function isCopyOnHold(uuid: RawBuilder<string>): RawBuilder<boolean> {
  return sql<boolean>`exists (
    select 1 from inbox_copy ly where ly.id = ${uuid} and ${isReceivedMessageOnHold(sql.ref('ly.message_id'))}
  )`;
}

const uuidOf = (urn: RawBuilder<string>): RawBuilder<string> => sql<string>`replace(${urn}, 'urn:uuid:', '')`;

/**
 * An attempt is of a message on hold: one of that Message-ID, or of an MDN that answers a copy without one,
 * by its URN.
 */
export function isAttemptOnHold(messageId: RawBuilder<string>): RawBuilder<boolean> {
  return sql<boolean>`(${isMessageOnHold(messageId)} or (${isAnyLegalHold} and ${isCopyOnHold(uuidOf(messageId))}))`;
}

/** Mail that was not opened: its envelope names an address on hold. `recipients` is a JSON list. */
export function isMailOnHold(
  mailFrom: RawBuilder<string>,
  recipients: RawBuilder<string>,
): RawBuilder<boolean> {
  return sql<boolean>`(exists (
    select 1 from legal_hold lh
    where lh.kind = 'address' and lh.released_at is null and (
      lh.subject = lower(${mailFrom})
      or replace(lower(${recipients}), '"' || lh.subject || '"', '') <> lower(${recipients})
    )
  ) or ${sql.join(
    ownedDomains.map(
      (table) => sql`exists (
    select 1 from legal_hold lh join ${sql.table(table)} hd on hd.organization_id = lh.subject
    where lh.kind = 'organization' and lh.released_at is null and (
      hd.domain = ${domainOf(sql`lower(${mailFrom})`)}
      or replace(lower(${recipients}), '@' || hd.domain || '"', '') <> lower(${recipients})
    )
  )`,
    ),
    sql` or `,
  )})`;
}

/**
 * A row of a webhook about a message, which it names by its UUID: the message is on hold. Of a webhook that
 * was removed nothing says whose message it was; such rows are kept while any hold is in force.
 */
export function isNotificationOnHold(
  webhookId: RawBuilder<string>,
  urn: RawBuilder<string>,
): RawBuilder<boolean> {
  const uuid = uuidOf(urn);
  return sql<boolean>`(${isAnyLegalHold} and (
    not exists (select 1 from webhook lw where lw.id = ${webhookId})
    or exists (
      select 1 from webhook lw join message ls on ls.client_id = lw.client_id and ls.uuid = ${uuid}
      where lw.id = ${webhookId} and ${isMessageOnHold(sql.ref('ls.wire_id'))}
    )
    or ${isCopyOnHold(uuid)}
  ))`;
}
