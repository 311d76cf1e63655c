import { sql, type Kysely } from 'kysely';
import { addressKey, domainOf, type DirectAddress } from '../../lib/values/index.ts';
import { createLookups, type AnyTransaction, type Storage } from '../../platform/index.ts';
import { accountTopic } from './account-store.ts';
import type { EdgesTables, MailboxName } from './tables.ts';

/** The flags of a message (RFC 9051 §2.3.2) as bits. */
export const mailFlags = { seen: 1, answered: 2, flagged: 4, deleted: 8, draft: 16 } as const;

/** A received copy, for the mailboxes of its address. */
export interface ArrivedCopy {
  readonly copyId: string;
  readonly address: DirectAddress;
  readonly receivedAt: Date;
  /** Octets of the message as it came. */
  readonly sizeBytes: number;
}

/** A sent message, for the mailbox of the account that keeps it. */
export interface KeptCopy {
  readonly edgeAccount: string;
  readonly sentId: string;
  readonly sentAt: Date;
  readonly sizeBytes: number;
}

export interface MailboxOwner {
  readonly accountId: string;
  readonly clientId: string;
  /** Else packages are shown unpacked. */
  readonly isShownAsItCame: boolean;
}

export interface MailboxKey {
  readonly accountId: string;
  readonly name: MailboxName;
}

/** What tells a session whether its view is old. */
export interface MailboxState {
  readonly uidValidity: number;
  readonly uidNext: number;
  readonly changeNumber: number;
  readonly removals: number;
  readonly isFilled: boolean;
}

export interface MailItem {
  readonly uid: number;
  /** Exactly one of the three is there. */
  readonly copyId: string | undefined;
  readonly recipientId: string | undefined;
  readonly sentId: string | undefined;
  readonly flags: number;
  /** Octets as the mailbox shows it; undefined: not known yet. */
  readonly sizeBytes: number | undefined;
  readonly receivedAt: Date;
}

export interface MailCounts {
  readonly messages: number;
  readonly unseen: number;
}

/** A message to put into a mailbox. */
export interface NewMail {
  readonly copyId?: string;
  readonly recipientId?: string;
  readonly sentId?: string;
  readonly sizeBytes: number | undefined;
  readonly receivedAt: Date;
  /** None by default. */
  readonly flags?: number;
}

export interface FlagChange {
  readonly kind: 'add' | 'remove' | 'replace';
  readonly flags: number;
}

/** The mailboxes of edge accounts: which messages they hold, under which identifiers and flags. */
export interface Mailboxes {
  /** Puts received copies into the INBOX of their addresses, in the transaction that stores them. */
  deliverIn(tx: AnyTransaction, copies: readonly ArrivedCopy[]): Promise<void>;
  /** The accounts that receive what comes for the address. */
  ownersOf(address: DirectAddress): Promise<readonly MailboxOwner[]>;
  /** Whether what is stored for the address counts as dispatched. */
  dispatchesStored(address: DirectAddress): Promise<boolean>;
  /** Puts a sent message into the account's Sent, in the transaction that accepts it. */
  keepIn(tx: AnyTransaction, copy: KeptCopy): Promise<void>;
  state(mailbox: MailboxKey): Promise<MailboxState>;
  /** All messages by uid, or those that changed after the given number. */
  list(mailbox: MailboxKey, changedAfter?: number): Promise<readonly MailItem[]>;
  /** The uids of all messages. */
  uids(mailbox: MailboxKey): Promise<ReadonlySet<number>>;
  count(mailbox: MailboxKey): Promise<MailCounts>;
  /** The uid of a sent message. */
  findUid(mailbox: MailboxKey, sentId: string): Promise<number | undefined>;
  /** Adds those that are not there; marks the mailbox as filled if asked to. */
  add(
    mailbox: MailboxKey,
    mails: readonly NewMail[],
    options?: { readonly isFilling?: boolean },
  ): Promise<void>;
  /**
   * Puts messages into another mailbox of the account, with their flags but for the one for deletion, and
   * takes them away here if they are to move. Returns the new uids by the old ones, of those that were there.
   */
  copy(
    from: MailboxKey,
    uids: readonly number[],
    to: MailboxName,
    isMove: boolean,
  ): Promise<ReadonlyMap<number, number>>;
  /** Returns the new flags by uid; messages that are gone are absent. */
  changeFlags(
    mailbox: MailboxKey,
    uids: readonly number[],
    change: FlagChange,
  ): Promise<ReadonlyMap<number, number>>;
  /** Returns the uids that were there. */
  remove(mailbox: MailboxKey, uids: readonly number[]): Promise<readonly number[]>;
  noteSize(mailbox: MailboxKey, uid: number, sizeBytes: number): Promise<void>;
  /** Calls back after changes of the account's mailboxes, by any node. Returns the function that ends it. */
  onChanged(accountId: string, listener: () => void): () => void;
}

type Tx = Kysely<EdgesTables>;

const topicOf = (accountId: string): string => `edge-mailbox:${accountId}`;
/** Parameters of one statement. */
const batchSize = 500;

export function createMailboxes({ storage }: { readonly storage: Storage }): Mailboxes {
  const db = storage.tables<EdgesTables>();
  const lookups = createLookups(storage, accountTopic);

  /** The accounts in whose mailbox mail for the address belongs, and whether they show it as it came. */
  const findOwners = (
    address: DirectAddress,
  ): Promise<readonly (MailboxOwner & { readonly dispatchesStored: boolean })[]> =>
    lookups.find(addressKey(address), async () => {
      const rows = await db
        .selectFrom('edge_address as a')
        .innerJoin('edge_account as e', 'e.account_id', 'a.account_id')
        .where('a.address', 'in', [addressKey(address), `@${domainOf(address)}`])
        .select(['e.account_id', 'e.client_id', 'e.policies', 'e.disabled_at'])
        .distinct()
        .execute();
      return rows.map((row) => ({
        accountId: row.account_id,
        clientId: row.client_id,
        isShownAsItCame: row.policies.includes('"inbound":"as-it-came"'),
        dispatchesStored: row.disabled_at === null && row.policies.includes('"acknowledgedBy":"stored"'),
      }));
    });

  async function addIn(tx: Tx, { accountId, name }: MailboxKey, mails: readonly NewMail[]): Promise<void> {
    for (let at = 0; at < mails.length; at += batchSize) {
      const batch = mails.slice(at, at + batchSize);
      const { uid_next, change_number } = await tx
        .updateTable('edge_mailbox')
        .set((eb) => ({
          uid_next: eb('uid_next', '+', batch.length),
          change_number: eb('change_number', '+', 1),
        }))
        .where('account_id', '=', accountId)
        .where('name', '=', name)
        .returning(['uid_next', 'change_number'])
        .executeTakeFirstOrThrow();
      const first = Number(uid_next) - batch.length;
      await tx
        .insertInto('edge_mail')
        .values(
          batch.map((mail, index) => ({
            account_id: accountId,
            mailbox: name,
            uid: first + index,
            copy_id: mail.copyId ?? null,
            recipient_id: mail.recipientId ?? null,
            sent_id: mail.sentId ?? null,
            flags: mail.flags ?? 0,
            change_number: Number(change_number),
            size_bytes: mail.sizeBytes ?? null,
            received_at: mail.receivedAt.getTime(),
          })),
        )
        .onConflict((conflict) => conflict.doNothing())
        .execute();
    }
    storage.announce(tx, topicOf(accountId));
  }

  /** The number of the change that the transaction makes; it holds the mailbox from here on. */
  async function beginChange(tx: Tx, { accountId, name }: MailboxKey, removals: number): Promise<number> {
    const row = await tx
      .updateTable('edge_mailbox')
      .set((eb) => ({
        change_number: eb('change_number', '+', 1),
        removals: eb('removals', '+', removals),
      }))
      .where('account_id', '=', accountId)
      .where('name', '=', name)
      .returning('change_number')
      .executeTakeFirstOrThrow();
    storage.announce(tx, topicOf(accountId));
    return Number(row.change_number);
  }

  return {
    async deliverIn(tx, copies) {
      const mails = new Map<string, NewMail[]>();
      for (const { copyId, address, sizeBytes, receivedAt } of copies)
        for (const { accountId, isShownAsItCame } of await findOwners(address)) {
          const mail = { copyId, receivedAt, sizeBytes: isShownAsItCame ? sizeBytes : undefined };
          mails.set(accountId, [...(mails.get(accountId) ?? []), mail]);
        }
      // In one order, so that two transactions do not wait for each other.
      const ordered = [...mails].toSorted(([left], [right]) => (left < right ? -1 : 1));
      for (const [accountId, own] of ordered) await addIn(tx as Tx, { accountId, name: 'INBOX' }, own);
    },
    ownersOf: findOwners,
    dispatchesStored: async (address) => (await findOwners(address)).some((owner) => owner.dispatchesStored),
    keepIn: (tx, { edgeAccount: accountId, sentId, sentAt, sizeBytes }) =>
      addIn(tx as Tx, { accountId, name: 'Sent' }, [
        { sentId, receivedAt: sentAt, sizeBytes, flags: mailFlags.seen },
      ]),
    async state({ accountId, name }) {
      const row = await db
        .selectFrom('edge_mailbox')
        .selectAll()
        .where('account_id', '=', accountId)
        .where('name', '=', name)
        .executeTakeFirstOrThrow();
      return {
        uidValidity: Number(row.uid_validity),
        uidNext: Number(row.uid_next),
        changeNumber: Number(row.change_number),
        removals: Number(row.removals),
        isFilled: row.filled_at !== null,
      };
    },
    async list(mailbox, changedAfter = 0) {
      const rows = await mailsOf(db, mailbox)
        .select(['uid', 'copy_id', 'recipient_id', 'sent_id', 'flags', 'size_bytes', 'received_at'])
        .$if(changedAfter > 0, (query) => query.where('change_number', '>', changedAfter))
        .orderBy('uid')
        .execute();
      return rows.map((row) => ({
        uid: Number(row.uid),
        copyId: row.copy_id ?? undefined,
        recipientId: row.recipient_id ?? undefined,
        sentId: row.sent_id ?? undefined,
        flags: row.flags,
        sizeBytes: row.size_bytes === null ? undefined : Number(row.size_bytes),
        receivedAt: new Date(Number(row.received_at)),
      }));
    },
    async uids(mailbox) {
      const rows = await mailsOf(db, mailbox).select('uid').execute();
      return new Set(rows.map(({ uid }) => Number(uid)));
    },
    async count(mailbox) {
      const { messages, unseen } = await mailsOf(db, mailbox)
        .select((eb) => [
          eb.fn.countAll().as('messages'),
          eb.fn
            .count(
              eb
                .case()
                .when(sql`flags & ${sql.lit(mailFlags.seen)}`, '=', 0)
                .then(1)
                .end(),
            )
            .as('unseen'),
        ])
        .executeTakeFirstOrThrow();
      return { messages: Number(messages), unseen: Number(unseen) };
    },
    async findUid(mailbox, sentId) {
      const row = await mailsOf(db, mailbox).select('uid').where('sent_id', '=', sentId).executeTakeFirst();
      return row && Number(row.uid);
    },
    add: (mailbox, mails, { isFilling = false } = {}) =>
      storage.transaction(async (tx: Tx) => {
        if (isFilling)
          await tx
            .updateTable('edge_mailbox')
            .set({ filled_at: storage.clock.now().getTime() })
            .where('account_id', '=', mailbox.accountId)
            .where('name', '=', mailbox.name)
            .execute();
        await addIn(tx, mailbox, mails);
      }),
    copy: (from, uids, name, isMove) =>
      storage.transaction(async (tx: Tx) => {
        const to = { accountId: from.accountId, name };
        // In one order, so that two sessions that move in both directions do not wait for each other.
        for (const one of [from, to].toSorted((left, right) => (left.name < right.name ? -1 : 1)))
          await beginChange(tx, one, isMove && one === from ? 1 : 0);
        const copied = new Map<number, number>();
        for (const batch of batchesOf(uids)) {
          const rows = await mailsOf(tx, from).selectAll().where('uid', 'in', batch).orderBy('uid').execute();
          await addIn(
            tx,
            to,
            rows.map((row) => ({
              ...(row.copy_id === null ? {} : { copyId: row.copy_id }),
              ...(row.recipient_id === null ? {} : { recipientId: row.recipient_id }),
              sizeBytes: row.size_bytes === null ? undefined : Number(row.size_bytes),
              receivedAt: new Date(Number(row.received_at)),
              flags: row.flags & ~mailFlags.deleted,
            })),
          );
          const there = await mailsOf(tx, to)
            .select(['uid', 'copy_id', 'recipient_id'])
            .where((eb) =>
              eb.or([
                eb('copy_id', 'in', namesOf(rows, 'copy_id')),
                eb('recipient_id', 'in', namesOf(rows, 'recipient_id')),
              ]),
            )
            .execute();
          const newUids = new Map(there.map((row) => [row.copy_id ?? row.recipient_id, Number(row.uid)]));
          for (const row of rows)
            copied.set(Number(row.uid), newUids.get(row.copy_id ?? row.recipient_id) ?? 0);
          if (isMove) await deleteIn(tx, from, batch);
        }
        return copied;
      }),
    changeFlags: (mailbox, uids, change) =>
      storage.transaction(async (tx: Tx) => {
        const changed = new Map<number, number>();
        if (uids.length === 0) return changed;
        const number = await beginChange(tx, mailbox, 0);
        for (const batch of batchesOf(uids)) {
          const rows = await mailsOf(tx, mailbox)
            .select(['uid', 'flags'])
            .where('uid', 'in', batch)
            .execute();
          const byFlags = Map.groupBy(rows, ({ flags }) => apply(flags, change));
          for (const [flags, same] of byFlags) {
            const changing = same.filter((row) => row.flags !== flags).map(({ uid }) => uid);
            for (const { uid } of same) changed.set(Number(uid), flags);
            if (changing.length > 0)
              await tx
                .updateTable('edge_mail')
                .set({ flags, change_number: number })
                .where('account_id', '=', mailbox.accountId)
                .where('mailbox', '=', mailbox.name)
                .where('uid', 'in', changing)
                .execute();
          }
        }
        return changed;
      }),
    remove: (mailbox, uids) =>
      storage.transaction(async (tx: Tx) => {
        const removed: number[] = [];
        if (uids.length === 0) return removed;
        await beginChange(tx, mailbox, 1);
        for (const batch of batchesOf(uids)) removed.push(...(await deleteIn(tx, mailbox, batch)));
        return removed.toSorted((left, right) => left - right);
      }),
    async noteSize({ accountId, name }, uid, sizeBytes) {
      await db
        .updateTable('edge_mail')
        .set({ size_bytes: sizeBytes })
        .where('account_id', '=', accountId)
        .where('mailbox', '=', name)
        .where('uid', '=', uid)
        .execute();
    },
    onChanged: (accountId, listener) => storage.onAnnounced(topicOf(accountId), listener),
  };
}

const mailsOf = (db: Tx, { accountId, name }: MailboxKey) =>
  db.selectFrom('edge_mail').where('account_id', '=', accountId).where('mailbox', '=', name);

async function deleteIn(tx: Tx, { accountId, name }: MailboxKey, uids: readonly number[]): Promise<number[]> {
  const rows = await tx
    .deleteFrom('edge_mail')
    .where('account_id', '=', accountId)
    .where('mailbox', '=', name)
    .where('uid', 'in', uids)
    .returning('uid')
    .execute();
  return rows.map(({ uid }) => Number(uid));
}

/** At least one value, since some engines refuse an empty list. */
function namesOf(rows: readonly EdgesTables['edge_mail'][], column: 'copy_id' | 'recipient_id'): string[] {
  return ['', ...rows.flatMap((row) => row[column] ?? [])];
}

function apply(flags: number, change: FlagChange): number {
  if (change.kind === 'replace') return change.flags;
  return change.kind === 'add' ? flags | change.flags : flags & ~change.flags;
}

function batchesOf(uids: readonly number[]): number[][] {
  const batches: number[][] = [];
  for (let at = 0; at < uids.length; at += batchSize) batches.push(uids.slice(at, at + batchSize));
  return batches;
}

/**
 * After a restore: the UIDs that were given since the backup are given again, to other messages. Mail
 * programs forget what they know of a mailbox with another UIDVALIDITY, else they would not show those.
 */
export async function renewMailboxes(storage: Storage, now: Date): Promise<void> {
  const seconds = Math.floor(now.getTime() / 1000);
  await storage
    .tables<EdgesTables>()
    .updateTable('edge_mailbox')
    .set((eb) => ({
      uid_validity: eb
        .case()
        .when('uid_validity', '<', seconds)
        .then(seconds)
        .else(eb('uid_validity', '+', 1))
        .end(),
    }))
    .execute();
}
