import { createHash } from 'node:crypto';
import { sql, type Kysely } from 'kysely';
import { hashInSlices, readTexts } from '../../../core/index.ts';
import {
  prepareInsert,
  requireLease,
  storedSize,
  type FairItem,
  type Leases,
  memoryOfContent,
} from '../../../platform/index.ts';
import { perStorage } from '../per-storage.ts';
import { MessagingError } from '../errors.ts';
import type { MessagingDependencies } from '../ports.ts';
import type { InboundMailRow, MessagingTables } from '../tables.ts';
import { partyOf, senderDomainOf, type IncomingMail, type MailEnvelope } from './mail.ts';

/** Waits between attempts on mail that could not be processed: nine attempts over about half a day. */
const retryDelaysMs: readonly number[] = [
  5_000, 30_000, 120_000, 600_000, 1_800_000, 3_600_000, 7_200_000, 28_800_000,
];
export const maxInboundAttempts = retryDelaysMs.length + 1;
/** Waits between attempts to find out about an unknown sender, after which its mail is rejected. */
const undecidedDelaysMs: readonly number[] = [60_000, 300_000];
const undecidedAttempts = undecidedDelaysMs.length + 1;
/** By the machine's clock; that of the waits may run 10 % slower. */
const leastUndecidedMs = 0.9 * undecidedDelaysMs.reduce((sum, ms) => sum + ms);
/** Two claims more: a node that is killed has claimed mail that it never tried. */
export const maxUndecidedAttempts = undecidedAttempts + 2;

/**
 * The last attempt to find out about an unknown sender: those before have taken their time, and were not lost
 * with their node.
 */
export function isLastUndecided({ attempts, receivedAt }: MailItem, now: Date): boolean {
  const isOver = now.getTime() - receivedAt.getTime() >= leastUndecidedMs;
  return attempts >= (isOver ? undecidedAttempts : maxUndecidedAttempts);
}

/** The data of mail that goes to the spool. */
export interface SpoolFacts {
  readonly id: string;
  readonly network: string;
  readonly needsFetch: boolean;
  /** Code of the error that prevented direct processing; undefined if it was not tried. */
  readonly lastError?: string | undefined;
}

/** Spooled mail that this node holds a lease on. */
export interface MailItem extends FairItem, MailEnvelope {
  /**
   * As the row holds it. Decrypted later: a value that cannot be must not stop the claiming of other mail.
   */
  readonly stored: Uint8Array;
  readonly needsFetch: boolean;
  /**
   * This attempt included; counted before the work begins, so that mail which ends the process is counted
   * too.
   */
  readonly attempts: number;
}

/** Takes spooled mail for processing. */
export interface MailTaker {
  readonly leases: Leases;
  hasRoom(party: string): boolean;
  offer(item: MailItem): void;
  wake(): void;
}

const insertOf = perStorage((storage) =>
  prepareInsert<MessagingTables, 'inbound_mail'>(storage, 'inbound_mail', (insert) =>
    // The predicate names the partial index, so it must not be a parameter.
    insert.onConflict((conflict) =>
      conflict
        .column('content_hash')
        .where(sql<boolean>`state = 'waiting'`)
        .doNothing(),
    ),
  ),
);

/**
 * Stores mail durably; the SMTP edge says 250 only after the promise is fulfilled. A peer that did not get
 * the 250 sends again: while the first copy still waits, the second is dropped, on whichever node. Returns
 * the id of the waiting mail.
 */
export async function spoolMail(
  deps: MessagingDependencies,
  mail: IncomingMail,
  facts: SpoolFacts,
  taker: MailTaker | undefined,
): Promise<string> {
  const senderDomain = senderDomainOf(mail.mailFrom);
  const { id } = facts;
  const contentHash = await hashMail(mail);
  const stored = await deps.contents.write(mail.message, encryptionContext(id));
  const row = newRow(deps, mail, { stored, contentHash, senderDomain, facts });
  return deps.storage.transaction(async (tx: Kysely<MessagingTables>) => {
    // Mail that failed just now waits; other mail is started from memory.
    const lease =
      facts.lastError === undefined && taker?.hasRoom(row.party) === true ? taker.leases.begin() : undefined;
    const leased = lease === undefined ? row : { ...row, ...lease, attempts: 1 };
    if ((await insertOf(deps.storage).run(tx, [leased])) === 0) {
      await deps.contents.releaseIn(tx, stored);
      return findWaiting(tx, contentHash, id);
    }
    await deps.contents.keepIn(tx, stored);
    deps.storage.afterCommit(tx, () => {
      if (lease === undefined) taker?.wake();
      else taker?.offer(toItem(leased, lease.lease_token));
    });
    return id;
  });
}

// The waiting copy may have been processed since: then nothing waits under the name that is returned.
async function findWaiting(
  tx: Kysely<MessagingTables>,
  contentHash: string,
  otherwise: string,
): Promise<string> {
  const waiting = await tx
    .selectFrom('inbound_mail')
    .select('id')
    .where('content_hash', '=', contentHash)
    .where(sql<boolean>`state = 'waiting'`)
    .executeTakeFirst();
  return waiting?.id ?? otherwise;
}

interface Given {
  readonly stored: Uint8Array;
  readonly contentHash: string;
  readonly senderDomain: string;
  readonly facts: SpoolFacts;
}

function newRow({ clock, storage }: MessagingDependencies, mail: IncomingMail, given: Given): InboundMailRow {
  const { id, network, needsFetch, lastError } = given.facts;
  const delayMs = lastError === undefined ? 0 : (retryDelaysMs[0] ?? 0);
  return {
    id,
    mail_from: mail.mailFrom,
    recipients: JSON.stringify(mail.recipients),
    sealed_mail: given.stored,
    content_hash: given.contentHash,
    network,
    remote_address: mail.remoteAddress ?? '',
    sender_domain: given.senderDomain,
    party: partyOf(network, given.senderDomain),
    needs_fetch: needsFetch ? 1 : 0,
    state: 'waiting',
    attempts: lastError === undefined ? 0 : 1,
    next_attempt_at: storage.clock.now().getTime() + delayMs,
    lease_token: null,
    lease_until: 0,
    last_error: lastError ?? '',
    received_at: clock.now().getTime(),
  };
}

// The envelope counts too: the same message may come once for each recipient.
async function hashMail({ mailFrom, recipients, message }: IncomingMail): Promise<string> {
  const sorted = recipients.map((address) => address.toLowerCase()).toSorted();
  const envelope = JSON.stringify([mailFrom.toLowerCase(), sorted, await hashInSlices(message)]);
  return createHash('sha256').update(envelope).digest('hex');
}

function toItem(row: InboundMailRow, token: string): MailItem {
  return {
    id: row.id,
    token,
    party: row.party,
    mailFrom: row.mail_from,
    recipients: readTexts(row.recipients),
    remoteAddress: row.remote_address === '' ? undefined : row.remote_address,
    stored: row.sealed_mail,
    needsFetch: row.needs_fetch === 1,
    attempts: row.attempts,
    receivedAt: new Date(row.received_at),
    bytes: memoryOfContent(storedSize(row.sealed_mail, row.sealed_mail.length)),
  };
}

/** Takes due mail of one lane by lease, in one statement. */
export async function claimMail(
  { storage }: MessagingDependencies,
  leases: Leases,
  needsFetch: boolean,
  limit: number,
  excluded: readonly string[],
): Promise<readonly MailItem[]> {
  const now = storage.clock.now().getTime();
  const db = storage.tables<MessagingTables>();
  const due = db
    .selectFrom('inbound_mail')
    .select('id')
    .where(sql<boolean>`state = 'waiting'`)
    .where('needs_fetch', '=', needsFetch ? 1 : 0)
    .where('next_attempt_at', '<=', now)
    .where('lease_until', '<=', now)
    .$if(excluded.length > 0, (query) => query.where((eb) => storage.isNoneOf(eb.ref('party'), excluded)))
    .orderBy('next_attempt_at')
    .limit(limit);
  return leases.claim(async (lease) => {
    const rows = await db
      .with('due', () => storage.forUpdate(due, { skipLocked: true }))
      .updateTable('inbound_mail')
      .set((eb) => ({ ...lease, attempts: eb('attempts', '+', 1) }))
      .where('id', 'in', (eb) => eb.selectFrom('due').select('due.id'))
      .returningAll()
      .execute();
    return rows
      .toSorted((left, right) => left.next_attempt_at - right.next_attempt_at)
      .map((row) => toItem(row, lease.lease_token));
  });
}

/** The outer message, in separate memory. Throws MESSAGING_ROW_CHANGED if its recipients cannot be read. */
export async function openMail({ contents }: MessagingDependencies, mail: MailItem): Promise<Buffer> {
  if (mail.recipients.length === 0)
    throw new MessagingError('MESSAGING_ROW_CHANGED', `the recipients of received mail ${mail.id}`);
  return contents.open(mail.stored, encryptionContext(mail.id));
}

const removeOf = perStorage((storage) =>
  storage.prepare<MessagingTables, { id: string; token: string }>((db, { id, token }) =>
    db.deleteFrom('inbound_mail').where('id', '=', id).where('lease_token', '=', token),
  ),
);

/**
 * Removes mail whose work is done, first in the transaction that stores the outcome. Throws
 * PLATFORM_LEASE_LOST if another node has it.
 */
export async function removeMail(
  tx: Kysely<MessagingTables>,
  { storage, contents }: MessagingDependencies,
  mail: MailItem,
): Promise<void> {
  requireLease(await removeOf(storage).run(tx, { id: mail.id, token: mail.token }), mail.id);
  await contents.releaseIn(tx, mail.stored);
}

/** Why mail could not be processed now. */
export interface MailFailure {
  readonly code: string;
  /** Which certificate, server or limit, in words; may be empty. */
  readonly detail: string;
}

/** The next step for mail that could not be processed now. */
export type Postponed = 'waiting' | 'dead-letter' | 'undecided';

/**
 * Lets mail wait for the next attempt, in the lane that it needs; a dead letter when its attempts are
 * exhausted, for the operator, with an audit row in the same transaction. Mail of a sender that could not be
 * judged (`undecided`) is left to the caller after its last attempt.
 */
export async function postponeMail(
  { storage, audit }: MessagingDependencies,
  mail: MailItem,
  { code, detail }: MailFailure,
  undecided: 'undecided' | 'last-undecided' | undefined,
): Promise<Postponed> {
  const movesLane = undecided !== undefined && !mail.needsFetch;
  if (undecided === 'last-undecided' && !movesLane) return 'undecided';
  const undecidedDelayMs = movesLane ? 0 : (undecidedDelaysMs[mail.attempts - 1] ?? undecidedDelaysMs.at(-1));
  const delayMs = undecided === undefined ? retryDelaysMs[mail.attempts - 1] : undecidedDelayMs;
  const state = delayMs === undefined ? 'dead-letter' : 'waiting';
  await storage.transaction(async (tx: Kysely<MessagingTables>) => {
    const { numUpdatedRows } = await tx
      .updateTable('inbound_mail')
      .set({
        state,
        next_attempt_at: storage.clock.now().getTime() + (delayMs ?? 0),
        lease_token: null,
        lease_until: 0,
        last_error: code,
        ...(movesLane ? { needs_fetch: 1, attempts: 0 } : {}),
      })
      .where('id', '=', mail.id)
      .where('lease_token', '=', mail.token)
      .executeTakeFirst();
    requireLease(numUpdatedRows, mail.id);
    if (state === 'waiting') return;
    await audit.recordIn(tx, {
      action: 'message.dead-letter',
      actor: 'system',
      outcome: 'failed',
      objects: {
        mailId: mail.id,
        from: mail.mailFrom.slice(0, 320),
        to: mail.recipients.join(' ').slice(0, 2000),
        reason: code,
        ...(detail === '' ? {} : { detail }),
      },
      remoteAddress: mail.remoteAddress,
    });
  });
  return state;
}

export const encryptionContext = (id: string): string => `inbound:${id}`;
