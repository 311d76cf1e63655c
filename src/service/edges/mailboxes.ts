import type { Kysely } from 'kysely';
import { addressKey, domainOf, type DirectAddress } from '../../lib/values/index.ts';
import { createLookups, type AnyTransaction, type Storage } from '../../platform/index.ts';
import { accountTopic } from './account-store.ts';
import type { EdgesTables } from './tables.ts';

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
  /** Exactly one of the two is there. */
  readonly copyId: string | undefined;
  readonly recipientId: string | undefined;
  readonly flags: number;
  /** Octets as the mailbox shows it; undefined: not known yet. */
  readonly sizeBytes: number | undefined;
  readonly receivedAt: Date;
}

/** A message to put into a mailbox. */
export interface NewMail {
  readonly copyId?: string;
  readonly recipientId?: string;
  readonly sizeBytes: number | undefined;
  readonly receivedAt: Date;
}

export interface FlagChange {
  readonly kind: 'add' | 'remove' | 'replace';
  readonly flags: number;
}

/** The mailboxes of edge accounts: which messages they hold, under which identifiers and flags. */
export interface Mailboxes {
  /** Puts received copies into the mailboxes of their addresses, in the transaction that stores them. */
  deliverIn(tx: AnyTransaction, copies: readonly ArrivedCopy[]): Promise<void>;
  state(accountId: string): Promise<MailboxState>;
  /** All messages by uid, or those that changed after the given number. */
  list(accountId: string, changedAfter?: number): Promise<readonly MailItem[]>;
  /** Adds those that are not there; marks the mailbox as filled if asked to. */
  add(
    accountId: string,
    mails: readonly NewMail[],
    options?: { readonly isFilling?: boolean },
  ): Promise<void>;
  /** Returns the new flags by uid; messages that are gone are absent. */
  changeFlags(
    accountId: string,
    uids: readonly number[],
    change: FlagChange,
  ): Promise<ReadonlyMap<number, number>>;
  /** Returns the uids that were there. */
  remove(accountId: string, uids: readonly number[]): Promise<readonly number[]>;
  noteSize(accountId: string, uid: number, sizeBytes: number): Promise<void>;
  /** Calls back after each change of the mailbox, by any node. Returns the function that ends it. */
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
  const findOwners = (address: DirectAddress): Promise<readonly Owner[]> =>
    lookups.find(addressKey(address), async () => {
      const rows = await db
        .selectFrom('edge_address as a')
        .innerJoin('edge_account as e', 'e.account_id', 'a.account_id')
        .where('a.address', 'in', [addressKey(address), `@${domainOf(address)}`])
        .select(['e.account_id', 'e.policies'])
        .distinct()
        .execute();
      return rows.map((row) => ({
        accountId: row.account_id,
        isShownAsItCame: row.policies.includes('"inbound":"as-it-came"'),
      }));
    });

  async function addIn(tx: Tx, accountId: string, mails: readonly NewMail[]): Promise<void> {
    for (let at = 0; at < mails.length; at += batchSize) {
      const batch = mails.slice(at, at + batchSize);
      const { uid_next, change_number } = await tx
        .updateTable('edge_mailbox')
        .set((eb) => ({
          uid_next: eb('uid_next', '+', batch.length),
          change_number: eb('change_number', '+', 1),
        }))
        .where('account_id', '=', accountId)
        .returning(['uid_next', 'change_number'])
        .executeTakeFirstOrThrow();
      const first = Number(uid_next) - batch.length;
      await tx
        .insertInto('edge_mail')
        .values(
          batch.map((mail, index) => ({
            account_id: accountId,
            uid: first + index,
            copy_id: mail.copyId ?? null,
            recipient_id: mail.recipientId ?? null,
            flags: 0,
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
  async function beginChange(tx: Tx, accountId: string, removals: number): Promise<number> {
    const row = await tx
      .updateTable('edge_mailbox')
      .set((eb) => ({
        change_number: eb('change_number', '+', 1),
        removals: eb('removals', '+', removals),
      }))
      .where('account_id', '=', accountId)
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
      for (const [accountId, own] of ordered) await addIn(tx as Tx, accountId, own);
    },
    async state(accountId) {
      const row = await db
        .selectFrom('edge_mailbox')
        .selectAll()
        .where('account_id', '=', accountId)
        .executeTakeFirstOrThrow();
      return {
        uidValidity: Number(row.uid_validity),
        uidNext: Number(row.uid_next),
        changeNumber: Number(row.change_number),
        removals: Number(row.removals),
        isFilled: row.filled_at !== null,
      };
    },
    async list(accountId, changedAfter = 0) {
      const rows = await db
        .selectFrom('edge_mail')
        .select(['uid', 'copy_id', 'recipient_id', 'flags', 'size_bytes', 'received_at'])
        .where('account_id', '=', accountId)
        .$if(changedAfter > 0, (query) => query.where('change_number', '>', changedAfter))
        .orderBy('uid')
        .execute();
      return rows.map((row) => ({
        uid: Number(row.uid),
        copyId: row.copy_id ?? undefined,
        recipientId: row.recipient_id ?? undefined,
        flags: row.flags,
        sizeBytes: row.size_bytes === null ? undefined : Number(row.size_bytes),
        receivedAt: new Date(Number(row.received_at)),
      }));
    },
    add: (accountId, mails, { isFilling = false } = {}) =>
      storage.transaction(async (tx: Tx) => {
        if (isFilling)
          await tx
            .updateTable('edge_mailbox')
            .set({ filled_at: storage.clock.now().getTime() })
            .where('account_id', '=', accountId)
            .execute();
        await addIn(tx, accountId, mails);
      }),
    changeFlags: (accountId, uids, change) =>
      storage.transaction(async (tx: Tx) => {
        const changed = new Map<number, number>();
        if (uids.length === 0) return changed;
        const number = await beginChange(tx, accountId, 0);
        for (const batch of batchesOf(uids)) {
          const rows = await tx
            .selectFrom('edge_mail')
            .select(['uid', 'flags'])
            .where('account_id', '=', accountId)
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
                .where('account_id', '=', accountId)
                .where('uid', 'in', changing)
                .execute();
          }
        }
        return changed;
      }),
    remove: (accountId, uids) =>
      storage.transaction(async (tx: Tx) => {
        const removed: number[] = [];
        if (uids.length === 0) return removed;
        await beginChange(tx, accountId, 1);
        for (const batch of batchesOf(uids)) {
          const rows = await tx
            .deleteFrom('edge_mail')
            .where('account_id', '=', accountId)
            .where('uid', 'in', batch)
            .returning('uid')
            .execute();
          removed.push(...rows.map(({ uid }) => Number(uid)));
        }
        return removed.toSorted((left, right) => left - right);
      }),
    async noteSize(accountId, uid, sizeBytes) {
      await db
        .updateTable('edge_mail')
        .set({ size_bytes: sizeBytes })
        .where('account_id', '=', accountId)
        .where('uid', '=', uid)
        .execute();
    },
    onChanged: (accountId, listener) => storage.onAnnounced(topicOf(accountId), listener),
  };
}

interface Owner {
  readonly accountId: string;
  readonly isShownAsItCame: boolean;
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
