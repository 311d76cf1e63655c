import type { Clock, Log } from '../../core/index.ts';
import type { Metrics } from '../../platform/index.ts';
import { describeUnread, listAllUnread, type UnreadSources } from '../../service/messaging/index.ts';
import type { Oauth } from '../../service/oauth/index.ts';
import { createDailyWatch, type Watch } from './daily-warnings.ts';

export interface MailboxWatchOptions {
  readonly trust: UnreadSources['trust'];
  readonly oauth: { readonly clients: Pick<Oauth['clients'], 'findOwned'> };
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** Notifies operators of hosted addresses whose mail no enabled client may fetch. */
export function createMailboxWatch({ trust, oauth, clock, log, metrics }: MailboxWatchOptions): Watch {
  const unreadCount = metrics.gauge({
    name: 'openhisp_mailboxes_unread',
    help: 'Active hosted addresses whose mail no enabled client may fetch.',
  });
  return createDailyWatch({
    clock,
    log,
    part: 'mailboxes',
    what: 'domains with mailboxes that nobody reads',
    async find() {
      const unread = [...(await listAllUnread({ trust, clients: oauth.clients }))];
      unreadCount.set(unread.reduce((sum, [, addresses]) => sum + addresses.length, 0));
      return unread.map(([domain, addresses]) => ({
        part: 'mailboxes',
        detail: describeUnread(domain, addresses),
        name: domain,
        level: 'warn',
        fields: { domain, count: addresses.length },
      }));
    },
  });
}
