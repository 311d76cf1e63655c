/**
 * Gives what an edge account received to the operator's own mail store, decrypted, by LMTP (RFC 2033) or
 * SMTP. The message counts as received once the store has taken it. Retries and dead letters are those of
 * webhooks.
 */
import type { Budget, Closable } from '../../core/index.ts';
import { createSmtpClient, type SmtpClient } from '../../lib/smtp/index.ts';
import { edgesOverloaded, type Edges } from '../../service/edges/index.ts';
import type { Messaging } from '../../service/messaging/index.ts';
import { notificationLeaseMs, type MailStores, type MailStoreTarget } from '../../service/webhook/index.ts';
import { readReceivedFor } from './mailbox/open-mailbox.ts';

export interface MailStoreOptions {
  /** Our name in LHLO and EHLO. */
  readonly hostname: string;
  readonly edges: Pick<Edges, 'signIns'>;
  /** Memory for messages that are being handed over, by account. */
  readonly budget: Budget;
  readonly messaging: Pick<Messaging, 'findWaiting' | 'readReceived' | 'readInbox' | 'acknowledge'>;
  /** Time in which a delivery has ended, so that no other node begins the same. */
  readonly leaseMs?: number;
}

/**
 * A connection takes less than half of the lease, and then a message with its reply. A kept connection that
 * fails would be a third.
 */
const timesWithin = (leaseMs: number) => ({
  timeoutMs: leaseMs / 6,
  messageReplyTimeoutMs: leaseMs / 3,
  totalTimeoutMs: (leaseMs * 28) / 60,
  maxIdlePerServer: 0,
});

export function createMailStores({
  hostname,
  edges,
  messaging,
  budget,
  leaseMs = notificationLeaseMs,
}: MailStoreOptions): MailStores & Closable {
  const clients = new Map<string, SmtpClient>();
  const clientFor = ({ protocol, isLoopback }: MailStoreTarget): SmtpClient => {
    const key = `${protocol} ${isLoopback}`;
    const client =
      clients.get(key) ??
      createSmtpClient({
        ...timesWithin(leaseMs),
        hostname,
        isLmtp: protocol === 'lmtp',
        // What goes over a network is encrypted, to a server whose name was checked.
        tls: { mode: isLoopback ? 'never' : 'required' },
      });
    clients.set(key, client);
    return client;
  };
  return {
    async read(copyId, accountId) {
      const session = await edges.signIns.open(accountId);
      const waiting = await messaging.findWaiting(session.client, copyId);
      if (waiting === undefined) return undefined;
      const memory = budget.reserve(accountId, waiting.sizeBytes);
      if (typeof memory === 'string') throw edgesOverloaded();
      try {
        const message = await readReceivedFor(messaging, session, copyId, {});
        return { recipient: waiting.address, message, release: () => memory.release() };
      } catch (error) {
        memory.release();
        throw error;
      }
    },
    async deliver(target, { recipient, message }) {
      // Without a sender, so that a store that cannot keep it returns it to nobody by ordinary mail.
      const envelope = { mailFrom: '', recipients: [recipient] };
      const outcome = await clientFor(target).send({ ...target, ...envelope, message });
      const [refused] = outcome.rejected;
      if (refused !== undefined) return `${refused.code} ${refused.enhancedCode ?? ''}`.trim();
      if (outcome.accepted.length === 0) throw new TypeError('the mail store took no recipient');
      return '';
    },
    async acknowledge(copyId, accountId) {
      const { client } = await edges.signIns.open(accountId);
      await messaging.acknowledge(client, copyId, {});
    },
    async close() {
      await Promise.all([...clients.values()].map((client) => client.close()));
    },
  };
}
