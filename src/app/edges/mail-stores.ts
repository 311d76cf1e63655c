/**
 * Gives what an edge account received to the operator's own mail store, decrypted, by LMTP (RFC 2033) or
 * SMTP. The message counts as received once the store has taken it. Retries and dead letters are those of
 * webhooks.
 */
import type { Closable } from '../../core/index.ts';
import { createSmtpClient, type SmtpClient } from '../../lib/smtp/index.ts';
import type { Edges } from '../../service/edges/index.ts';
import type { Messaging } from '../../service/messaging/index.ts';
import type { MailStores, MailStoreTarget } from '../../service/webhook/index.ts';
import { readReceivedFor } from './mailbox/open-mailbox.ts';

export interface MailStoreOptions {
  /** Our name in LHLO and EHLO. */
  readonly hostname: string;
  readonly edges: Pick<Edges, 'signIns'>;
  readonly messaging: Pick<Messaging, 'findWaiting' | 'readReceived' | 'readInbox' | 'acknowledge'>;
}

/** All of an attempt ends within the lease of its notification (a minute). */
const timeouts = { timeoutMs: 10_000, messageReplyTimeoutMs: 20_000, totalTimeoutMs: 40_000 };

export function createMailStores({ hostname, edges, messaging }: MailStoreOptions): MailStores & Closable {
  const clients = new Map<string, SmtpClient>();
  const clientFor = ({ protocol, isLoopback }: MailStoreTarget): SmtpClient => {
    const key = `${protocol} ${isLoopback}`;
    const client =
      clients.get(key) ??
      createSmtpClient({
        ...timeouts,
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
      const recipient = await messaging.findWaiting(session.client, copyId);
      if (recipient === undefined) return undefined;
      return { recipient, message: await readReceivedFor(messaging, session, copyId, {}) };
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
