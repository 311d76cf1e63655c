import type { Log } from '../../core/index.ts';
import { errorCode, errorText } from '../../core/index.ts';
import {
  createSmtpServer,
  type SmtpReply,
  type SmtpServer,
  type SmtpServerOptions,
} from '../../lib/smtp/index.ts';
import { domainOf, findDirectAddress } from '../../lib/values/index.ts';
import type { Trust } from '../../service/trust/index.ts';
import type { Messaging } from '../../service/messaging/index.ts';

export interface SmtpListenerOptions extends Omit<SmtpServerOptions, 'handlers'> {
  readonly trust: Pick<Trust, 'isHostedDomain'>;
  readonly messaging: Pick<Messaging, 'acceptInbound'>;
  readonly log: Log;
}

const badAddress: SmtpReply = { code: 553, enhancedCode: '5.1.3', text: 'Not a Direct address' };
const noRelay: SmtpReply = { code: 550, enhancedCode: '5.7.1', text: 'Relaying is not allowed' };

/**
 * Starts the listener for mail from other HISPs. It takes mail for hosted domains only (EDGE-09); an unknown mailbox
 * under one of them is taken and answered by a secured failure notice, so that the sender learns it by a signed word
 * (DSN-05). A message is acknowledged when it is spooled durably.
 */
export function startSmtpListener(options: SmtpListenerOptions): Promise<SmtpServer> {
  const { trust, messaging, log, ...server } = options;
  return createSmtpServer({
    ...server,
    handlers: {
      async onRecipient(text) {
        const address = findDirectAddress(text);
        if (address === undefined) return badAddress;
        return (await trust.isHostedDomain(domainOf(address))) ? 'accept' : noRelay;
      },
      async onMessage({ mailFrom, recipients, message }) {
        await messaging.acceptInbound({
          mailFrom,
          recipients: recipients.flatMap((text) => findDirectAddress(text) ?? []),
          message,
        });
      },
      onError: (error) =>
        log.warn({ code: errorCode(error), problem: errorText(error) }, 'an inbound connection failed'),
    },
  });
}
