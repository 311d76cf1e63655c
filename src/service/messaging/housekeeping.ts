import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql, type Kysely } from 'kysely';
import { countStored } from './count-stored.ts';
import { certificateUseMs } from './evidence/keep-certificates.ts';
import {
  referenceBytes,
  startRounds,
  tablesOf,
  type AnyTransaction,
  type Rounds,
} from '../../platform/index.ts';
import {
  deleteOldRows,
  isAnyLegalHold,
  isMailOnHold,
  isMessageOnHold,
  isReceivedMessageOnHold,
  isSentMessageOnHold,
  type OldRows,
} from '../legal-hold/index.ts';
import type { MessagingDependencies } from './ports.ts';
import type { MessagingTables } from './tables.ts';

const dayMs = 86_400_000;

/**
 * A sender that asked for final delivery usually waits an hour; after half of it the operator learns of it
 * (MDN-14).
 */
const warnUndispatchedMs = 30 * 60_000;
const everyMs = 60_000;
/** Rows per transaction: other writers wait no longer than that takes. */
const batch = 500;

/** One round of cleaning and warning (Decision 0014, SEC-08). One node does it at a time. */
export async function runHousekeeping(deps: MessagingDependencies): Promise<void> {
  await deps.storage.tryRunExclusive('messaging-housekeeping', async () => {
    const { inboxDays, acknowledgedDays, detailsDays, messageDays, registerDays, deadLetterDays } =
      deps.settings;
    const nowMs = deps.clock.now().getTime();
    const daysAgo = (days: number): number => nowMs - days * dayMs;
    await warnWaiting(deps, nowMs, daysAgo(inboxDays));
    await deleteAcknowledged(deps, daysAgo(acknowledgedDays));
    await deleteDetails(deps, daysAgo(detailsDays));
    await deleteSent(deps, daysAgo(Math.min(detailsDays, messageDays)));
    await deleteMessages(deps, daysAgo(messageDays));
    await deleteCertificates(deps, daysAgo(messageDays) - 2 * certificateUseMs);
    await deleteRegister(deps, daysAgo(registerDays));
    await deleteDeadLetters(deps, daysAgo(deadLetterDays));
    await deps.contents.sweep();
    await countStored(deps);
  });
}

type Deps = MessagingDependencies;

async function deleteDetails({ storage }: Deps, beforeMs: number): Promise<void> {
  const rows: OldRows = {
    name: 'message-details',
    table: 'message',
    order: ['created_at', 'id'],
    // With the condition of the partial index.
    isOld: sql<boolean>`message.sealed_details is not null and message.created_at < ${beforeMs}`,
    isOnHold: isMessageOnHold(sql.ref('message.wire_id')),
  };
  await deleteOldRows(storage, rows, (tx, ids) =>
    tablesOf<MessagingTables>(tx)
      .updateTable('message')
      .set({ sealed_details: null })
      .where('id', 'in', ids)
      .execute(),
  );
}

async function deleteSent({ storage, contents }: Deps, beforeMs: number): Promise<void> {
  const rows: OldRows = {
    name: 'sent-messages',
    table: 'sent_message',
    order: ['created_at', 'message_id'],
    isOld: sql<boolean>`sent_message.created_at < ${beforeMs}`,
    isOnHold: isSentMessageOnHold(sql.ref('sent_message.message_id')),
  };
  await deleteOldRows(storage, rows, (tx, ids) => removeSent(tx, contents, ids));
}

async function removeSent(
  tx: AnyTransaction,
  contents: Deps['contents'],
  messageIds: readonly string[],
): Promise<void> {
  const removed = await tablesOf<MessagingTables>(tx)
    .deleteFrom('sent_message')
    .where('message_id', 'in', messageIds)
    .returning(startOf('sealed_message'))
    .execute();
  for (const row of removed) await contents.releaseIn(tx, row.start);
}

// No message that is left has an attempt or an MDN with one of these; messages on legal hold may.
async function deleteCertificates({ storage }: Deps, beforeMs: number): Promise<void> {
  const rows: OldRows = {
    name: 'path-certificates',
    table: 'path_certificate',
    order: ['used_at', 'fingerprint'],
    isOld: sql<boolean>`path_certificate.used_at < ${beforeMs}`,
    isOnHold: isAnyLegalHold,
  };
  await deleteOldRows(storage, rows, (tx, fingerprints) =>
    tablesOf<MessagingTables>(tx)
      .deleteFrom('path_certificate')
      .where('fingerprint', 'in', fingerprints)
      .execute(),
  );
}

// Recipients and history go with their message. What is left of its sent mail was on hold when the job of
// sent messages ran; it would go as well, but its content would stay for ever.
async function deleteMessages({ storage, contents }: Deps, beforeMs: number): Promise<void> {
  const rows: OldRows = {
    name: 'messages',
    table: 'message',
    order: ['created_at', 'id'],
    isOld: sql<boolean>`message.created_at < ${beforeMs}`,
    isOnHold: isMessageOnHold(sql.ref('message.wire_id')),
  };
  await deleteOldRows(storage, rows, async (tx, ids) => {
    await removeSent(tx, contents, ids);
    await tablesOf<MessagingTables>(tx).deleteFrom('message').where('id', 'in', ids).execute();
  });
}

/** Hashes of which nothing says whose mail they are of. */
async function deleteRegister({ storage }: Deps, beforeMs: number): Promise<void> {
  for (let count = batch; count === batch; await nextTurn())
    count = await storage.transaction((tx: Kysely<MessagingTables>) => deleteHashes(tx, beforeMs));
}

async function deleteHashes(tx: Kysely<MessagingTables>, beforeMs: number): Promise<number> {
  const old = tx
    .selectFrom('received_register')
    .select('hash')
    .where('received_at', '<', beforeMs)
    .orderBy('received_at')
    .limit(batch);
  const result = await tx.deleteFrom('received_register').where('hash', 'in', old).executeTakeFirst();
  return Number(result.numDeletedRows);
}

async function deleteDeadLetters(deps: Deps, beforeMs: number): Promise<void> {
  const rows: OldRows = {
    name: 'dead-letters',
    table: 'inbound_mail',
    order: ['received_at', 'id'],
    // With the condition of the partial index.
    isOld: sql<boolean>`inbound_mail.state = 'dead-letter' and inbound_mail.received_at < ${beforeMs}`,
    isOnHold: isMailOnHold(sql.ref('inbound_mail.mail_from'), sql.ref('inbound_mail.recipients')),
  };
  await deleteOldRows(deps.storage, rows, async (tx, ids) => {
    const removed = await tablesOf<MessagingTables>(tx)
      .deleteFrom('inbound_mail')
      .where('id', 'in', ids)
      .returning(['id', 'mail_from', 'last_error', startOf('sealed_mail')])
      .execute();
    for (const row of removed) {
      await deps.contents.releaseIn(tx, row.start);
      await deps.audit.recordIn(tx, {
        action: 'message.discard',
        actor: 'system',
        outcome: 'failed',
        objects: { mailId: row.id, from: row.mail_from.slice(0, 320), reason: row.last_error },
      });
    }
  });
}

/** A small content is not needed, only the reference of a large one. */
function startOf(column: 'sealed_mail' | 'sealed_message') {
  return sql<Uint8Array>`substr(${sql.ref(column)}, 1, ${sql.lit(referenceBytes)})`.as('start');
}

async function warnWaiting(deps: MessagingDependencies, nowMs: number, beforeMs: number): Promise<void> {
  const db = deps.storage.tables<MessagingTables>();
  const old = await db
    .selectFrom('inbox_copy as c')
    .innerJoin('inbox_message as m', 'm.id', 'c.message_id')
    .select(['c.id', 'c.address', 'c.received_at', 'm.requests_final_delivery'])
    .where('c.acknowledged_at', 'is', null)
    .where('c.warned_at', 'is', null)
    .where('c.received_at', '<', nowMs - warnUndispatchedMs)
    .where((eb) => eb.or([eb('c.received_at', '<', beforeMs), eb('m.requests_final_delivery', '=', 1)]))
    .limit(batch)
    .execute();
  for (const copy of old)
    deps.log.warn(
      { copyId: copy.id, to: copy.address, receivedAt: new Date(copy.received_at).toISOString() },
      'a received message waits for its edge client',
    );
  const ids = old.map((copy) => copy.id);
  if (ids.length > 0)
    await db.updateTable('inbox_copy').set({ warned_at: nowMs }).where('id', 'in', ids).execute();
}

async function deleteAcknowledged({ storage, contents }: Deps, beforeMs: number): Promise<void> {
  const rows: OldRows = {
    name: 'acknowledged',
    table: 'inbox_copy',
    order: ['acknowledged_at', 'id'],
    // With the condition of the partial index. What was delivered to others stays as long as their copies: it
    // says for whom they came, and of it the sender is told that somebody has the message (Decision 0036).
    isOld: sql<boolean>`inbox_copy.acknowledged_at is not null and inbox_copy.acknowledged_at < ${beforeMs}
      and (inbox_copy.delivered_to = '' or not exists (
        select 1 from inbox_copy later where later.message_id = inbox_copy.message_id
        and (later.acknowledged_at is null or later.acknowledged_at >= ${beforeMs})
      ))`,
    isOnHold: isReceivedMessageOnHold(sql.ref('inbox_copy.message_id')),
  };
  await deleteOldRows(storage, rows, async (anyTx, ids) => {
    const tx = tablesOf<MessagingTables>(anyTx);
    const copies = await tx.deleteFrom('inbox_copy').where('id', 'in', ids).returning('message_id').execute();
    const removed = await tx
      .deleteFrom('inbox_message')
      .where(
        'id',
        'in',
        copies.map((copy) => copy.message_id),
      )
      .where((eb) =>
        eb.not(
          eb.exists(
            eb
              .selectFrom('inbox_copy')
              .select('id')
              .whereRef('inbox_copy.message_id', '=', 'inbox_message.id'),
          ),
        ),
      )
      .returning(startOf('sealed_message'))
      .execute();
    for (const row of removed) await contents.releaseIn(anyTx, row.start);
  });
}

/** Cleans and warns once per minute until it is closed. */
export function startHousekeeping(deps: MessagingDependencies): Rounds {
  return startRounds({
    name: 'messaging-housekeeping',
    everyMs,
    log: deps.log,
    work: () => runHousekeeping(deps),
  });
}
