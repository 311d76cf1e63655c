import { createHash, randomUUID } from 'node:crypto';
import type { Kysely } from 'kysely';
import { hashInSlices } from '../../../core/index.ts';
import type { MessagingParts } from '../ports.ts';
import type { InboundMailRow, MessagingTables } from '../tables.ts';

/** Mail as the SMTP edge took it. */
export interface IncomingMail {
  /** Of the envelope; empty for the null sender. */
  readonly mailFrom: string;
  readonly recipients: readonly string[];
  /** The outer RFC 5322 message. */
  readonly message: Uint8Array;
}

/** Waits between attempts on mail that could not be worked on: nine attempts over about half a day. */
const retryDelaysMs: readonly number[] = [
  5_000, 30_000, 120_000, 600_000, 1_800_000, 3_600_000, 7_200_000, 28_800_000,
];
export const maxInboundAttempts = retryDelaysMs.length + 1;
/** How long a node may work on one mail before another may take it. */
const leaseMs = 5 * 60_000;

/**
 * Stores mail durably; the SMTP edge says 250 only after the promise is fulfilled. A peer that did not hear the 250
 * sends again: while the first copy still waits, the second is dropped. Returns the id of the waiting mail.
 */
export async function spoolMail(parts: MessagingParts, mail: IncomingMail): Promise<string> {
  const id = randomUUID();
  const contentHash = await hashMail(mail);
  const stored = await parts.contents.write(mail.message, sealContext(id));
  return parts.storage.transaction(async (tx: Kysely<MessagingTables>) => {
    const waiting = await tx
      .selectFrom('inbound_mail')
      .select('id')
      .where('content_hash', '=', contentHash)
      .where('state', '=', 'waiting')
      .executeTakeFirst();
    await (waiting === undefined ? parts.contents.keepIn(tx, stored) : parts.contents.releaseIn(tx, stored));
    if (waiting !== undefined) return waiting.id;
    await tx
      .insertInto('inbound_mail')
      .values(newRow(parts, mail, { id, sealed_mail: stored, content_hash: contentHash }))
      .execute();
    return id;
  });
}

function newRow(
  { clock }: MessagingParts,
  mail: IncomingMail,
  given: Pick<InboundMailRow, 'id' | 'sealed_mail' | 'content_hash'>,
): InboundMailRow {
  const nowMs = clock.now().getTime();
  return {
    ...given,
    mail_from: mail.mailFrom,
    recipients: JSON.stringify(mail.recipients),
    state: 'waiting',
    attempts: 0,
    next_attempt_at: nowMs,
    lease_owner: null,
    lease_until: null,
    last_error: '',
    received_at: nowMs,
  };
}

// The envelope counts too: the same message may come once for each recipient.
async function hashMail({ mailFrom, recipients, message }: IncomingMail): Promise<string> {
  const sorted = recipients.map((address) => address.toLowerCase()).toSorted();
  const envelope = JSON.stringify([mailFrom.toLowerCase(), sorted, await hashInSlices(message)]);
  return createHash('sha256').update(envelope).digest('hex');
}

/** Mail that this node holds a lease on. */
export interface ClaimedMail extends Omit<IncomingMail, 'message'> {
  readonly id: string;
  /** As the row holds it. Opened later: a broken seal must not stop the claiming of other mail. */
  readonly stored: Uint8Array;
  /** This attempt included; counted before the work begins, so that mail which kills the process is counted too. */
  readonly attempts: number;
  readonly receivedAt: Date;
}

/** Takes due mail under a lease. */
export async function claimMail(parts: MessagingParts, limit: number): Promise<readonly ClaimedMail[]> {
  const nowMs = parts.clock.now().getTime();
  const due = await dueMail(parts.storage.tables<MessagingTables>(), nowMs).select('id').limit(1).execute();
  if (due.length === 0) return [];
  const rows = await parts.storage.transaction((tx: Kysely<MessagingTables>) =>
    takeLeases(tx, parts, nowMs, limit),
  );
  return rows.map((row) => ({
    id: row.id,
    mailFrom: row.mail_from,
    recipients: JSON.parse(row.recipients) as string[],
    stored: row.sealed_mail,
    attempts: row.attempts + 1,
    receivedAt: new Date(row.received_at),
  }));
}

async function takeLeases(
  tx: Kysely<MessagingTables>,
  parts: MessagingParts,
  nowMs: number,
  limit: number,
): Promise<readonly InboundMailRow[]> {
  const query = dueMail(tx, nowMs).selectAll().orderBy('next_attempt_at').limit(limit);
  const rows = await parts.storage.forUpdate(query, { skipLocked: true }).execute();
  if (rows.length === 0) return [];
  await tx
    .updateTable('inbound_mail')
    .set((eb) => ({
      lease_owner: parts.nodeId,
      lease_until: nowMs + leaseMs,
      attempts: eb('attempts', '+', 1),
    }))
    .where(
      'id',
      'in',
      rows.map((row) => row.id),
    )
    .execute();
  return rows;
}

function dueMail(db: Kysely<MessagingTables>, nowMs: number) {
  return db
    .selectFrom('inbound_mail')
    .where('state', '=', 'waiting')
    .where('next_attempt_at', '<=', nowMs)
    .where((eb) => eb.or([eb('lease_until', 'is', null), eb('lease_until', '<=', nowMs)]));
}

/** The outer message, in memory of its own. */
export function openMail({ contents }: MessagingParts, mail: ClaimedMail): Promise<Buffer> {
  return contents.open(mail.stored, sealContext(mail.id));
}

/** Removes mail whose work is done, in the transaction that stores what came of it. */
export async function removeMail(
  tx: Kysely<MessagingTables>,
  { contents }: MessagingParts,
  mail: ClaimedMail,
): Promise<void> {
  await contents.releaseIn(tx, mail.stored);
  await tx.deleteFrom('inbound_mail').where('id', '=', mail.id).execute();
}

/** Lets mail wait for the next attempt, or sets it aside for an operator when they are used up. Returns true if set aside. */
export async function postponeMail(
  parts: MessagingParts,
  mail: ClaimedMail,
  errorCode: string,
): Promise<boolean> {
  const delayMs = retryDelaysMs[mail.attempts - 1];
  await parts.storage
    .tables<MessagingTables>()
    .updateTable('inbound_mail')
    .set({
      state: delayMs === undefined ? 'failed' : 'waiting',
      next_attempt_at: parts.clock.now().getTime() + (delayMs ?? 0),
      lease_owner: null,
      lease_until: null,
      last_error: errorCode,
    })
    .where('id', '=', mail.id)
    .execute();
  return delayMs === undefined;
}

/** Mail that was set aside because it could not be worked on. */
export interface SetAsideMail {
  readonly id: string;
  readonly mailFrom: string;
  readonly recipients: readonly string[];
  readonly receivedAt: Date;
  /** Code of the last error. */
  readonly lastError: string;
}

/** Oldest first. */
export async function listSetAside(db: Kysely<MessagingTables>): Promise<readonly SetAsideMail[]> {
  const rows = await db
    .selectFrom('inbound_mail')
    .select(['id', 'mail_from', 'recipients', 'received_at', 'last_error'])
    .where('state', '=', 'failed')
    .orderBy('received_at')
    .orderBy('id')
    .execute();
  return rows.map((row) => ({
    id: row.id,
    mailFrom: row.mail_from,
    recipients: JSON.parse(row.recipients) as string[],
    receivedAt: new Date(row.received_at),
    lastError: row.last_error,
  }));
}

/** Lets set-aside mail be tried again, with all attempts: the one named, or all. Returns how many. */
export async function retrySetAside(
  db: Kysely<MessagingTables>,
  nowMs: number,
  id?: string,
): Promise<number> {
  const query = db
    .updateTable('inbound_mail')
    .set({ state: 'waiting', attempts: 0, next_attempt_at: nowMs })
    .where('state', '=', 'failed');
  const result = await (id === undefined ? query : query.where('id', '=', id)).executeTakeFirst();
  return Number(result.numUpdatedRows);
}

/** Gives back the leases that this node held before it was restarted. */
export async function releaseMailLeases(parts: MessagingParts): Promise<void> {
  await parts.storage
    .tables<MessagingTables>()
    .updateTable('inbound_mail')
    .set({ lease_owner: null, lease_until: null })
    .where('lease_owner', '=', parts.nodeId)
    .execute();
}

const sealContext = (id: string): string => `inbound:${id}`;
