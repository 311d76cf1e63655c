/**
 * A mailbox as mail programs see it. INBOX: what the account received, and an MDN or DSN for each recipient
 * of what it sent. Trash: what was put there. Sent: what it sent, with the state of each as a flag, for
 * reading alone.
 * Used by the IMAP and POP3 edges.
 */
import { CodedError, type Budget, type Clock, type Reservation } from '../../../core/index.ts';
import type {
  Edges,
  EdgeProtocol,
  EdgeSession,
  FlagChange,
  MailCounts,
  MailItem,
  MailboxName,
  MailboxState,
} from '../../../service/edges/index.ts';
import { edgesOverloaded, mailFlags, toldByMailbox } from '../../../service/edges/index.ts';
import type {
  InboundPayload,
  MessageStatus,
  Messaging,
  RequestOrigin,
} from '../../../service/messaging/index.ts';
import { buildMdnOrDsn, buildFromPayload } from './build-mail.ts';

export interface MailboxDependencies {
  readonly edges: Pick<Edges, 'signIns' | 'mailboxes'>;
  readonly messaging: Pick<
    Messaging,
    | 'listInbox'
    | 'readInbox'
    | 'readReceived'
    | 'acknowledgeAll'
    | 'listOutcomes'
    | 'findOutcome'
    | 'noteTold'
    | 'listSentStates'
    | 'readSent'
    | 'findSent'
  >;
  /** Memory for messages that are being fetched, by account. */
  readonly budget: Budget;
  /** Memory for the lists of messages of open mailboxes, by account. */
  readonly lists: Budget;
  /** Names the reporting host in MDNs and DSNs. */
  readonly hostname: string;
  readonly clock: Clock;
}

export interface Mailbox {
  readonly accountId: string;
  readonly name: MailboxName;
  /** Whether the account has a mailbox of sent messages. */
  readonly keepsSent: boolean;
  /** For each command that touches mail. Throws EDGES_SIGN_IN_REFUSED once the account may no longer. */
  renew(): Promise<void>;
  /** Renews, and takes up what has come since. */
  refresh(): Promise<MailboxState>;
  /** All messages, whose memory is held until `closeList`. Throws EDGES_OVERLOADED. */
  openList(): Promise<MailItem[]>;
  /** Holds memory for a list that has grown to so many messages; false if there is none. */
  growList(messages: number): boolean;
  closeList(): void;
  /** Messages that changed after that number; of sent ones all. */
  list(changedAfter: number): Promise<readonly MailItem[]>;
  uids(): Promise<ReadonlySet<number>>;
  counts(): Promise<MailCounts>;
  /** The octets of one message; undefined if it is gone. Throws EDGES_OVERLOADED. */
  read(item: MailItem): Promise<Buffer | undefined>;
  /** Octets of one message, without reading it where that is known. */
  size(item: MailItem): Promise<number>;
  /** The client has the message whole. */
  noteFetched(item: MailItem): Promise<void>;
  changeFlags(items: readonly MailItem[], change: FlagChange): Promise<ReadonlyMap<number, number>>;
  /** Removes messages; received ones are acknowledged, so that no other edge shows them either. */
  remove(items: readonly MailItem[]): Promise<readonly number[]>;
  /** Puts messages into another mailbox of the account; those that move are received, like removed ones. */
  copy(items: readonly MailItem[], to: MailboxName, isMove: boolean): Promise<ReadonlyMap<number, number>>;
  /** The UID of the message that the account sent under that Message-ID, in its mailbox of sent messages. */
  findSent(wireId: string): Promise<number | undefined>;
  onChanged(listener: () => void): () => void;
  /** Gives up the memory of what was read last, and of the list. */
  close(): void;
}

const outcomesAtOnce = 200;
/** Reserved for a message whose size is not known yet. */
const unknownBytes = 1_000_000;
/** What became of a sent message, as a keyword flag (RFC 9051 §2.3.2, keywords). */
export const stateFlags: Readonly<Record<MessageStatus, number>> = {
  queued: 32,
  sent: 64,
  processed: 128,
  dispatched: 256,
  failed: 512,
  expired: 1024,
  partial: 2048,
};
/** Shown with a star or a flag in every program. */
const troubled: ReadonlySet<MessageStatus> = new Set(['failed', 'expired', 'partial']);
/** In a list, of an item with its identifier and its date; measured. */
const bytesPerItem = 200;
/** So many messages may come while a list is open before more memory is held for them. */
const uncountedItems = 100;
/** How long a message that was read may be read on without reading it again. */
const holdMs = 60_000;

/** A received message in the form that the account shows it in. */
export async function readReceivedFor(
  messaging: Pick<Messaging, 'readReceived' | 'readInbox'>,
  { account, client }: EdgeSession,
  copyId: string,
  origin: RequestOrigin,
): Promise<Buffer> {
  if (account.policies.inbound === 'as-it-came') return messaging.readReceived(client, copyId, origin);
  const payload = await messaging.readInbox(client, copyId, account.policies.inbound === 'xdm', origin);
  return buildFromPayload(JSON.parse(Buffer.from(payload).toString()) as InboundPayload);
}

export function openMailbox(
  deps: MailboxDependencies,
  signedIn: EdgeSession,
  protocol: EdgeProtocol,
  remoteAddress: string,
  name: MailboxName = 'INBOX',
): Mailbox {
  const { edges, messaging, clock } = deps;
  const { mailboxes } = edges;
  const { accountId } = signedIn.account;
  const origin = { remoteAddress };
  const key = { accountId, name };
  let session = signedIn;
  async function renew(): Promise<void> {
    session = await edges.signIns.renew(session, protocol);
  }

  /** What waited for the addresses before the account had them. */
  async function fill(): Promise<void> {
    let cursor: string | undefined;
    do {
      const page = await messaging.listInbox(session.client, { limit: 100, cursor });
      const isAsItCame = session.account.policies.inbound === 'as-it-came';
      await mailboxes.add(
        key,
        page.messages.map(({ messageId, receivedAt, sizeBytes }) => ({
          copyId: messageId.replace(/^urn:uuid:/, ''),
          receivedAt,
          sizeBytes: isAsItCame ? sizeBytes : undefined,
        })),
        { isFilling: page.nextCursor === undefined },
      );
      cursor = page.nextCursor;
    } while (cursor !== undefined);
  }

  async function addOutcomes(): Promise<void> {
    const outcomes = await messaging.listOutcomes(session.client, {
      acceptedBefore: clock.now(),
      sentBy: toldByMailbox(session.account),
      limit: outcomesAtOnce,
    });
    if (outcomes.length === 0) return;
    await mailboxes.add(
      key,
      outcomes.map((outcome) => ({
        recipientId: outcome.recipientId,
        receivedAt: outcome.at,
        sizeBytes: buildMdnOrDsn(outcome, deps.hostname).length,
      })),
    );
    for (const { recipientId } of outcomes) await messaging.noteTold(session.client, recipientId);
    if (outcomes.length === outcomesAtOnce) await addOutcomes();
  }

  const acknowledge = (items: readonly MailItem[]): Promise<void> =>
    messaging.acknowledgeAll(
      session.client,
      items.flatMap(({ copyId }) => copyId ?? []),
      origin,
    );

  // States of sent messages change without a change of the mailbox: each one that is seen counts as one more.
  let states: ReadonlyMap<string, MessageStatus> = new Map();
  let stateChanges = 0;
  async function refreshStates(): Promise<void> {
    const before = states;
    states = await messaging.listSentStates(session.client);
    if ([...states].some(([id, state]) => before.get(id) !== state)) stateChanges++;
  }
  function withState(item: MailItem): MailItem {
    const state = states.get(item.sentId ?? '') ?? 'queued';
    const star = troubled.has(state) ? mailFlags.flagged : 0;
    return { ...item, flags: item.flags | stateFlags[state] | star };
  }

  // Clients fetch one message in many pieces.
  let held: { readonly uid: number; readonly bytes: Buffer; readonly memory: Reservation } | undefined;
  let letGo: NodeJS.Timeout | undefined;
  function release(): void {
    clearTimeout(letGo);
    held?.memory.release();
    held = undefined;
  }

  let listed: Reservation | undefined;
  function holdList(messages: number): boolean {
    // A list larger than three quarters of all is not refused because of small ones.
    const wanted = Math.min(messages * bytesPerItem, (deps.lists.total * 3) / 4);
    const held = listed?.amount ?? 0;
    if (wanted <= held) return true;
    const memory = listed?.grow(wanted - held) ?? listed ?? deps.lists.reserve(accountId, wanted);
    if (typeof memory === 'string') return false;
    listed = memory;
    return true;
  }
  function closeList(): void {
    listed?.release();
    listed = undefined;
  }
  const list = async (changedAfter?: number): Promise<readonly MailItem[]> =>
    name === 'Sent' ? (await mailboxes.list(key)).map(withState) : mailboxes.list(key, changedAfter);

  async function read(item: MailItem): Promise<Buffer | undefined> {
    if (held?.uid === item.uid) return held.bytes;
    release();
    const memory = deps.budget.reserve(accountId, item.sizeBytes ?? unknownBytes);
    if (typeof memory === 'string') throw edgesOverloaded();
    const bytes = await readOnce(item).catch((error: unknown) => {
      memory.release();
      throw error;
    });
    if (bytes === undefined) memory.release();
    else {
      held = { uid: item.uid, bytes, memory };
      letGo = setTimeout(release, holdMs).unref();
    }
    return bytes;
  }

  async function readOnce(item: MailItem): Promise<Buffer | undefined> {
    try {
      const bytes = await readItem(item);
      if (bytes !== undefined && item.sizeBytes === undefined)
        await mailboxes.noteSize(key, item.uid, bytes.length);
      return bytes;
    } catch (error) {
      if (error instanceof CodedError && error.code === 'MESSAGING_MESSAGE_NOT_FOUND') return undefined;
      throw error;
    }
  }

  async function readItem({ copyId, recipientId = '', sentId }: MailItem): Promise<Buffer | undefined> {
    if (sentId !== undefined) return messaging.readSent(session.client, sentId, origin);
    if (copyId === undefined) {
      const outcome = await messaging.findOutcome(session.client, recipientId);
      return outcome && buildMdnOrDsn(outcome, deps.hostname);
    }
    return readReceivedFor(messaging, session, copyId, origin);
  }

  return {
    accountId,
    name,
    get keepsSent() {
      return session.account.policies.keepsSent;
    },
    renew,
    async refresh() {
      await renew();
      if (name === 'Sent') {
        await refreshStates();
        const state = await mailboxes.state(key);
        return { ...state, changeNumber: state.changeNumber + stateChanges };
      }
      if (name === 'INBOX') {
        if (!(await mailboxes.state(key)).isFilled) await fill();
        await addOutcomes();
      }
      return mailboxes.state(key);
    },
    async openList() {
      closeList();
      const { messages } = await mailboxes.count(key);
      if (!holdList(messages)) throw edgesOverloaded();
      return [...(await list())];
    },
    growList(messages) {
      const counted = (listed?.amount ?? 0) / bytesPerItem;
      return messages <= counted + uncountedItems || holdList(messages);
    },
    closeList,
    list,
    uids: () => mailboxes.uids(key),
    counts: () => mailboxes.count(key),
    read,
    async size(item) {
      if (item.sizeBytes !== undefined) return item.sizeBytes;
      return (await read(item))?.length ?? 0;
    },
    async noteFetched(item) {
      if (session.account.policies.acknowledgedBy !== 'deleted') await acknowledge([item]);
    },
    async changeFlags(items, change) {
      const changed = await mailboxes.changeFlags(
        key,
        items.map(({ uid }) => uid),
        change,
      );
      const isSeen = change.kind !== 'remove' && (change.flags & mailFlags.seen) !== 0;
      if (isSeen && session.account.policies.acknowledgedBy !== 'deleted') await acknowledge(items);
      return changed;
    },
    async copy(items, to, isMove) {
      const uids = items.map(({ uid }) => uid);
      if (isMove) await acknowledge(items);
      return mailboxes.copy(key, uids, to, isMove);
    },
    async findSent(wireId) {
      const sentId = await messaging.findSent(session.client, wireId);
      if (sentId === undefined) return undefined;
      return mailboxes.findUid({ accountId, name: 'Sent' }, sentId);
    },
    async remove(items) {
      await acknowledge(items);
      return mailboxes.remove(
        key,
        items.map(({ uid }) => uid),
      );
    },
    onChanged: (listener) => mailboxes.onChanged(accountId, listener),
    close() {
      release();
      closeList();
    },
  };
}
