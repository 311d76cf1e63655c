import { errorText, type Closable, type Log } from '../../core/index.ts';
import { addressKey, type DirectAddress } from '../../lib/values/index.ts';
import type { EdgeClient } from './edge-client.ts';
import { EdgeError } from './edge-error.ts';

export interface PartnerEdgeOptions {
  readonly client: EdgeClient;
  /** Mail for it is fetched and acknowledged at once, so that final delivery is confirmed. */
  readonly takes: DirectAddress;
  /** The same, and each message is answered by one to its sender. */
  readonly echoes: DirectAddress;
  readonly log: Log;
}

interface InboxEntry {
  readonly messageId: string;
  readonly fromDirectAddress: string;
  readonly toDirectAddress: string | readonly string[];
}

/** The partner's edge. */
export interface PartnerEdge extends Closable {
  /** Looks into its mailboxes. Cheap; called by its webhook. */
  look(): void;
}

const retryMs = 2000;

/**
 * Starts the partner's edge system, which empties its mailboxes by the partner's REST API when a webhook
 * tells it, as any practice would.
 */
export function startPartnerEdge(options: PartnerEdgeOptions): PartnerEdge {
  const { client, log } = options;
  let running: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isAsked = false;
  let isClosed = false;

  function look(): void {
    isAsked = true;
    if (isClosed) return;
    running ??= work().finally(() => {
      running = undefined;
      if (isAsked) look();
    });
  }

  async function work(): Promise<void> {
    isAsked = false;
    try {
      for (const address of [options.takes, options.echoes]) await emptyInbox(address);
    } catch (error) {
      // The partner is closing, or busy; the next look may find it well.
      log.debug({ problem: errorText(error) }, 'the partner edge could not look into its mailboxes');
      isAsked = false;
      clearTimeout(timer);
      timer = isClosed ? undefined : setTimeout(look, retryMs);
    }
  }

  async function emptyInbox(address: DirectAddress): Promise<void> {
    const page = (await client.get(
      `/messaging/dirmsg/inbox?toDirectAddress=${encodeURIComponent(address)}`,
    )) as {
      result?: readonly InboxEntry[];
    };
    for (const entry of page.result ?? []) {
      // More may wait than a page has.
      isAsked = true;
      await client.get(`/messaging/dirmsg/inbox/${encodeURIComponent(entry.messageId)}`);
      if (addressKey(address) === addressKey(options.echoes)) await echo(entry);
      await client.post(`/messaging/dirmsg/inbox/${encodeURIComponent(entry.messageId)}/ack`);
    }
  }

  async function echo(entry: InboxEntry): Promise<void> {
    try {
      await client.post('/messaging/dirmsg/send_ccda', {
        fromDirectAddress: options.echoes,
        toDirectAddress: entry.fromDirectAddress,
        messageSubject: 'Your message has arrived',
        messageBody: 'This is the partner HISP of the sandbox. Your message has arrived.',
      });
    } catch (error) {
      // A refused answer must not leave the message unacknowledged forever.
      if (!(error instanceof EdgeError)) throw error;
      log.warn({ status: error.status }, 'the partner edge could not answer a message');
    }
  }

  // What came while it did not run.
  look();
  return {
    look,
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await running;
    },
  };
}
