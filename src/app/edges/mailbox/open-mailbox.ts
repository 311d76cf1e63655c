/**
 * A mailbox as mail programs see it: what the account received, and an MDN or DSN for each recipient of what
 * it sent.
 * Used by the IMAP and POP3 edges.
 */
import { CodedError, errorCode, type Budget, type Clock, type Reservation } from '../../../core/index.ts';
import type {
  Edges,
  EdgeProtocol,
  EdgeSession,
  FlagChange,
  MailItem,
  MailboxState,
} from '../../../service/edges/index.ts';
import { edgesOverloaded, mailFlags } from '../../../service/edges/index.ts';
import type { InboundPayload, Messaging } from '../../../service/messaging/index.ts';
import { buildMdnOrDsn, buildUnpacked } from './build-mail.ts';

export interface MailboxDependencies {
  readonly edges: Pick<Edges, 'signIns' | 'mailboxes'>;
  readonly messaging: Pick<
    Messaging,
    'listInbox' | 'readInbox' | 'readReceived' | 'acknowledge' | 'listOutcomes' | 'findOutcome' | 'noteTold'
  >;
  /** Memory for messages that are being fetched, by account. */
  readonly budget: Budget;
  /** Names the reporting host in MDNs and DSNs. */
  readonly hostname: string;
  readonly clock: Clock;
}

export interface Mailbox {
  readonly accountId: string;
  /** Takes up what has come since. Throws EDGES_SIGN_IN_REFUSED once the account may no longer. */
  refresh(): Promise<MailboxState>;
  list(changedAfter?: number): Promise<readonly MailItem[]>;
  /** The octets of one message; undefined if it is gone. Throws EDGES_OVERLOADED. */
  read(item: MailItem): Promise<Buffer | undefined>;
  /** Octets of one message, without reading it where that is known. */
  size(item: MailItem): Promise<number>;
  /** The client has the message whole. */
  noteFetched(item: MailItem): Promise<void>;
  changeFlags(items: readonly MailItem[], change: FlagChange): Promise<ReadonlyMap<number, number>>;
  /** Removes messages; received ones are acknowledged, so that no other edge shows them either. */
  remove(items: readonly MailItem[]): Promise<readonly number[]>;
  onChanged(listener: () => void): () => void;
  /** Gives up the memory of what was read last. */
  close(): void;
}

const outcomesAtOnce = 200;
/** Reserved for a message whose size is not known yet. */
const unknownBytes = 1_000_000;
/** How long a message that was read may be read on without reading it again. */
const holdMs = 60_000;

export function openMailbox(
  deps: MailboxDependencies,
  signedIn: EdgeSession,
  protocol: EdgeProtocol,
  remoteAddress: string,
): Mailbox {
  const { edges, messaging, clock } = deps;
  const { mailboxes } = edges;
  const { accountId } = signedIn.account;
  const origin = { remoteAddress };
  let session = signedIn;

  /** What waited for the addresses before the account had them. */
  async function fill(): Promise<void> {
    let cursor: string | undefined;
    do {
      const page = await messaging.listInbox(session.client, { limit: 100, cursor });
      const isAsItCame = session.account.policies.inbound === 'as-it-came';
      await mailboxes.add(
        accountId,
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
    // Then they are for another edge of the account, or for nobody.
    if (!session.account.policies.noticesInMailbox) return;
    const outcomes = await messaging.listOutcomes(session.client, {
      acceptedBefore: clock.now(),
      limit: outcomesAtOnce,
    });
    if (outcomes.length === 0) return;
    await mailboxes.add(
      accountId,
      outcomes.map((outcome) => ({
        recipientId: outcome.recipientId,
        receivedAt: outcome.at,
        sizeBytes: buildMdnOrDsn(outcome, deps.hostname).length,
      })),
    );
    for (const { recipientId } of outcomes) await messaging.noteTold(session.client, recipientId);
    if (outcomes.length === outcomesAtOnce) await addOutcomes();
  }

  async function acknowledge({ copyId }: MailItem): Promise<void> {
    if (copyId === undefined) return;
    try {
      await messaging.acknowledge(session.client, copyId, origin);
    } catch (error) {
      // Deleted meanwhile, or of an address that the account has no longer.
      if (errorCode(error) !== 'MESSAGING_MESSAGE_NOT_FOUND') throw error;
    }
  }

  // Clients fetch one message in many pieces.
  let held: { readonly uid: number; readonly bytes: Buffer; readonly memory: Reservation } | undefined;
  let letGo: NodeJS.Timeout | undefined;
  function release(): void {
    clearTimeout(letGo);
    held?.memory.release();
    held = undefined;
  }

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
        await mailboxes.noteSize(accountId, item.uid, bytes.length);
      return bytes;
    } catch (error) {
      if (error instanceof CodedError && error.code === 'MESSAGING_MESSAGE_NOT_FOUND') return undefined;
      throw error;
    }
  }

  async function readItem({ copyId, recipientId = '' }: MailItem): Promise<Buffer | undefined> {
    if (copyId === undefined) {
      const outcome = await messaging.findOutcome(session.client, recipientId);
      return outcome && buildMdnOrDsn(outcome, deps.hostname);
    }
    if (session.account.policies.inbound === 'as-it-came')
      return messaging.readReceived(session.client, copyId, origin);
    const payload = await messaging.readInbox(session.client, copyId, false, origin);
    return buildUnpacked(JSON.parse(Buffer.from(payload).toString()) as InboundPayload);
  }

  return {
    accountId,
    async refresh() {
      session = await edges.signIns.renew(session, protocol);
      const before = await mailboxes.state(accountId);
      if (!before.isFilled) await fill();
      await addOutcomes();
      return mailboxes.state(accountId);
    },
    list: (changedAfter) => mailboxes.list(accountId, changedAfter),
    read,
    async size(item) {
      if (item.sizeBytes !== undefined) return item.sizeBytes;
      return (await read(item))?.length ?? 0;
    },
    async noteFetched(item) {
      if (session.account.policies.acknowledgedBy === 'fetched') await acknowledge(item);
    },
    async changeFlags(items, change) {
      const changed = await mailboxes.changeFlags(
        accountId,
        items.map(({ uid }) => uid),
        change,
      );
      const isSeen = change.kind !== 'remove' && (change.flags & mailFlags.seen) !== 0;
      if (isSeen && session.account.policies.acknowledgedBy === 'fetched')
        for (const item of items) await acknowledge(item);
      return changed;
    },
    async remove(items) {
      for (const item of items) await acknowledge(item);
      return mailboxes.remove(
        accountId,
        items.map(({ uid }) => uid),
      );
    },
    onChanged: (listener) => mailboxes.onChanged(accountId, listener),
    close: release,
  };
}
