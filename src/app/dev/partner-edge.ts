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

/** Between two looks while there is mail, and when there was none for a while: each look costs requests. */
const busyMs = 500;
const quietMs = 2000;
const quietAfterMs = 15_000;

/**
 * Starts the partner's edge system: it looks into its mailboxes by the partner's REST API, as any practice
 * would.
 */
export function startPartnerEdge(options: PartnerEdgeOptions): Closable {
  const { client, log } = options;
  let running: Promise<void> | undefined;
  let timer: NodeJS.Timeout;
  let isClosed = false;
  let lastMailMs = performance.now();
  const poll = (): void => {
    running = work().finally(schedule);
  };
  const schedule = (): void => {
    if (isClosed) return;
    timer = setTimeout(poll, performance.now() - lastMailMs < quietAfterMs ? busyMs : quietMs);
  };

  async function work(): Promise<void> {
    try {
      for (const address of [options.takes, options.echoes]) await emptyInbox(address);
    } catch (error) {
      // The partner is closing, or busy; the next look may find it well.
      log.debug({ problem: errorText(error) }, 'the partner edge could not look into its mailboxes');
    }
  }

  async function emptyInbox(address: DirectAddress): Promise<void> {
    const page = (await client.get(
      `/messaging/dirmsg/inbox?toDirectAddress=${encodeURIComponent(address)}`,
    )) as {
      result?: readonly InboxEntry[];
    };
    for (const entry of page.result ?? []) {
      lastMailMs = performance.now();
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

  schedule();
  return {
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await running;
    },
  };
}
