import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql, type Kysely } from 'kysely';
import { certificateUseMs } from './evidence/keep-certificates.ts';
import {
  defaultSettings,
  referenceBytes,
  startWorker,
  type Config,
  type Worker,
} from '../../platform/index.ts';
import type { MessagingDependencies } from './ports.ts';
import type { MessagingTables } from './tables.ts';

/** Retention times in milliseconds (Decision 0014, SEC-08). */
export interface Retention {
  /** Unacknowledged mail older than this is reported to the operator once; it is never deleted. */
  readonly warnUnacknowledgedMs: number;
  /** Acknowledged mail is deleted after this. */
  readonly keepAcknowledgedMs: number;
  /**
   * The data of a send request beyond its status is deleted after this, and so are the sent messages of
   * mailboxes; status and history stay.
   */
  readonly keepDetailsMs: number;
  /**
   * Sent messages are deleted after this, with status and history; longer than any delivery or window lasts.
   */
  readonly keepMessagesMs: number;
  /** Replays of mail received longer ago than this are not detected; longer than mail may be old. */
  readonly keepRegisterMs: number;
  /** Dead letters are deleted after this. */
  readonly keepDeadLettersMs: number;
}

const dayMs = 86_400_000;

export function retentionOf(settings: Config['messaging']): Retention {
  return {
    warnUnacknowledgedMs: settings.inboxDays * dayMs,
    keepAcknowledgedMs: settings.acknowledgedDays * dayMs,
    keepDetailsMs: settings.detailsDays * dayMs,
    keepMessagesMs: settings.messageDays * dayMs,
    keepRegisterMs: settings.registerDays * dayMs,
    keepDeadLettersMs: settings.deadLetterDays * dayMs,
  };
}

export const defaultRetention: Retention = retentionOf(defaultSettings.messaging);

/**
 * A sender that asked for final delivery usually waits an hour; after half of it the operator learns of it
 * (MDN-14).
 */
const warnUndispatchedMs = 30 * 60_000;
const everyMs = 60_000;
/** Rows per transaction: other writers wait no longer than that takes. */
const batch = 500;

/** One round of cleaning and warning. One node does it at a time. */
export async function runHousekeeping(deps: MessagingDependencies, retention: Retention): Promise<void> {
  await deps.storage.tryRunExclusive('messaging-housekeeping', async () => {
    const nowMs = deps.clock.now().getTime();
    await warnWaiting(deps, nowMs, retention);
    const clean = (work: (tx: Kysely<MessagingTables>) => Promise<number>): Promise<void> =>
      inBatches(deps, work);
    await clean((tx) => deleteAcknowledged(tx, deps, nowMs - retention.keepAcknowledgedMs));
    await clean((tx) => deleteDetails(tx, nowMs - retention.keepDetailsMs));
    const keepSentMs = Math.min(retention.keepDetailsMs, retention.keepMessagesMs);
    await clean((tx) => deleteSent(tx, deps, nowMs - keepSentMs));
    await clean((tx) => deleteMessages(tx, nowMs - retention.keepMessagesMs));
    await clean((tx) => deleteCertificates(tx, nowMs - retention.keepMessagesMs - 2 * certificateUseMs));
    await clean((tx) => deleteRegister(tx, nowMs - retention.keepRegisterMs));
    await clean((tx) => deleteDeadLetters(tx, deps, nowMs - retention.keepDeadLettersMs));
    await deps.contents.sweep();
  });
}

/** Repeats until nothing is left, so that deletion keeps pace with new rows. */
async function inBatches(
  { storage }: MessagingDependencies,
  work: (tx: Kysely<MessagingTables>) => Promise<number>,
): Promise<void> {
  while ((await storage.transaction(work)) === batch) await nextTurn();
}

async function deleteDetails(tx: Kysely<MessagingTables>, beforeMs: number): Promise<number> {
  const old = tx
    .selectFrom('message')
    .select('id')
    .where('sealed_details', 'is not', null)
    .where('created_at', '<', beforeMs)
    .orderBy('created_at')
    .limit(batch);
  const result = await tx
    .updateTable('message')
    .set({ sealed_details: null })
    .where('id', 'in', old)
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
}

async function deleteSent(
  tx: Kysely<MessagingTables>,
  { contents }: MessagingDependencies,
  beforeMs: number,
): Promise<number> {
  const old = tx
    .selectFrom('sent_message')
    .select('message_id')
    .where('created_at', '<', beforeMs)
    .orderBy('created_at')
    .limit(batch);
  const removed = await tx
    .deleteFrom('sent_message')
    .where('message_id', 'in', old)
    .returning(startOf('sealed_message'))
    .execute();
  for (const row of removed) await contents.releaseIn(tx, row.start);
  return removed.length;
}

// No message that is left has an attempt or an MDN with one of these.
async function deleteCertificates(tx: Kysely<MessagingTables>, beforeMs: number): Promise<number> {
  const old = tx
    .selectFrom('path_certificate')
    .select('fingerprint')
    .where('used_at', '<', beforeMs)
    .orderBy('used_at')
    .limit(batch);
  const result = await tx.deleteFrom('path_certificate').where('fingerprint', 'in', old).executeTakeFirst();
  return Number(result.numDeletedRows);
}

// Recipients and history go with their message.
async function deleteMessages(tx: Kysely<MessagingTables>, beforeMs: number): Promise<number> {
  const old = tx
    .selectFrom('message')
    .select('id')
    .where('created_at', '<', beforeMs)
    .orderBy('created_at')
    .limit(batch);
  const result = await tx.deleteFrom('message').where('id', 'in', old).executeTakeFirst();
  return Number(result.numDeletedRows);
}

async function deleteRegister(tx: Kysely<MessagingTables>, beforeMs: number): Promise<number> {
  const old = tx
    .selectFrom('received_register')
    .select('hash')
    .where('received_at', '<', beforeMs)
    .orderBy('received_at')
    .limit(batch);
  const result = await tx.deleteFrom('received_register').where('hash', 'in', old).executeTakeFirst();
  return Number(result.numDeletedRows);
}

async function deleteDeadLetters(
  tx: Kysely<MessagingTables>,
  deps: MessagingDependencies,
  beforeMs: number,
): Promise<number> {
  const old = await tx
    .selectFrom('inbound_mail')
    .select(['id', 'mail_from', 'last_error', startOf('sealed_mail')])
    // The condition of the partial index.
    .where(sql<boolean>`state = 'dead-letter'`)
    .where('received_at', '<', beforeMs)
    .orderBy('received_at')
    .limit(batch)
    .execute();
  if (old.length === 0) return 0;
  const ids = old.map(({ id }) => id);
  await tx.deleteFrom('inbound_mail').where('id', 'in', ids).execute();
  for (const row of old) {
    await deps.contents.releaseIn(tx, row.start);
    await deps.audit.recordIn(tx, {
      action: 'message.discard',
      actor: 'system',
      outcome: 'failed',
      objects: { mailId: row.id, from: row.mail_from.slice(0, 320), reason: row.last_error },
    });
  }
  return old.length;
}

/** A small content is not needed, only the reference of a large one. */
function startOf(column: 'sealed_mail' | 'sealed_message') {
  return sql<Uint8Array>`substr(${sql.ref(column)}, 1, ${sql.lit(referenceBytes)})`.as('start');
}

async function warnWaiting(deps: MessagingDependencies, nowMs: number, retention: Retention): Promise<void> {
  const db = deps.storage.tables<MessagingTables>();
  const old = await db
    .selectFrom('inbox_copy as c')
    .innerJoin('inbox_message as m', 'm.id', 'c.message_id')
    .select(['c.id', 'c.address', 'c.received_at', 'm.requests_final_delivery'])
    .where('c.acknowledged_at', 'is', null)
    .where('c.warned_at', 'is', null)
    .where('c.received_at', '<', nowMs - warnUndispatchedMs)
    .where((eb) =>
      eb.or([
        eb('c.received_at', '<', nowMs - retention.warnUnacknowledgedMs),
        eb('m.requests_final_delivery', '=', 1),
      ]),
    )
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

async function deleteAcknowledged(
  tx: Kysely<MessagingTables>,
  { contents }: MessagingDependencies,
  beforeMs: number,
): Promise<number> {
  const copies = await tx
    .selectFrom('inbox_copy')
    .select(['id', 'message_id'])
    .where('acknowledged_at', 'is not', null)
    .where('acknowledged_at', '<', beforeMs)
    .limit(batch)
    .execute();
  if (copies.length === 0) return 0;
  await tx
    .deleteFrom('inbox_copy')
    .where(
      'id',
      'in',
      copies.map((copy) => copy.id),
    )
    .execute();
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
          eb.selectFrom('inbox_copy').select('id').whereRef('inbox_copy.message_id', '=', 'inbox_message.id'),
        ),
      ),
    )
    .returning(startOf('sealed_message'))
    .execute();
  for (const row of removed) await contents.releaseIn(tx, row.start);
  return copies.length;
}

/** Cleans and warns once per minute until it is closed. */
export function startHousekeeping(deps: MessagingDependencies, retention: Retention): Worker {
  return startWorker<never>({
    name: 'messaging-housekeeping',
    claim: async () => {
      await runHousekeeping(deps, retention);
      return [];
    },
    handle: async () => {},
    idleMs: everyMs,
    concurrency: 1,
    log: deps.log,
  });
}
