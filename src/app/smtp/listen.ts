import type { Log } from '../../core/index.ts';
import { CodedError, errorCode, errorText } from '../../core/index.ts';
import { announcesEnvelope } from '../../lib/smime/index.ts';
import {
  createSmtpServer,
  networkOf,
  type SmtpReply,
  type SmtpServer,
  type SmtpServerOptions,
} from '../../lib/smtp/index.ts';
import { domainOf, findDirectAddress } from '../../lib/values/index.ts';
import { createFaultLog, type DiskGuard } from '../../platform/index.ts';
import type { Trust } from '../../service/trust/index.ts';
import type { Messaging } from '../../service/messaging/index.ts';

export interface SmtpListenerOptions extends Omit<SmtpServerOptions, 'handlers'> {
  readonly trust: Pick<Trust, 'findDomainState'>;
  readonly messaging: Pick<Messaging, 'acceptInbound' | 'checkSpool' | 'noteRefused'>;
  readonly disk: Pick<DiskGuard, 'requireRoom'>;
  readonly log: Log;
}

const badAddress: SmtpReply = { code: 553, enhancedCode: '5.1.3', text: 'Not a Direct address' };
const notEncrypted: SmtpReply = {
  code: 554,
  enhancedCode: '5.6.1',
  text: 'Only S/MIME encrypted messages are accepted',
};
const closed: SmtpReply = {
  code: 550,
  enhancedCode: '5.2.1',
  text: 'The organization of this address no longer receives Direct messages',
};
const noRelay: SmtpReply = { code: 550, enhancedCode: '5.7.1', text: 'Relaying is not allowed' };

/**
 * Starts the listener for mail from other HISPs. It takes mail for hosted domains only (EDGE-09); an unknown
 * mailbox under one of them is accepted and answered by a secured failure DSN, so that the sender gets a
 * signed DSN (DSN-05). A message is acknowledged when it is durable (`acceptInbound`). Mail that is not
 * encrypted is refused by its header, without being kept (AS-71): the reply goes to the peer's mail server,
 * and no MDN is sent (AS-78).
 */
export function startSmtpListener(options: SmtpListenerOptions): Promise<SmtpServer> {
  const { trust, messaging, disk, log, ...server } = options;
  const faults = createFaultLog('smtp', log);
  return createSmtpServer({
    ...server,
    handlers: {
      async onRecipient(text, { mailFrom, remoteAddress }) {
        const address = findDirectAddress(text);
        if (address === undefined) return badAddress;
        const state = await trust.findDomainState(domainOf(address));
        if (state === 'open') return 'accept';
        const reason = state === 'closed' ? 'ORGANIZATION_CLOSED' : 'domain-not-hosted';
        messaging.noteRefused({ mailFrom, recipients: [address], remoteAddress }, reason);
        return state === 'closed' ? closed : noRelay;
      },
      onOffer: ({ remoteAddress, sizeBytes = 0 }) =>
        deferring(() => {
          disk.requireRoom(sizeBytes);
          messaging.checkSpool({ network: networkOf(remoteAddress), sizeBytes });
        }),
      onHeader({ header, mailFrom, recipients, remoteAddress }) {
        if (announcesEnvelope(header)) return undefined;
        messaging.noteRefused({ mailFrom, recipients, remoteAddress }, 'DIRECT_NOT_ENCRYPTED');
        return notEncrypted;
      },
      async onMessage({ mailFrom, recipients, message, remoteAddress }) {
        const addresses = recipients.flatMap((text) => findDirectAddress(text) ?? []);
        const mail = { mailFrom, recipients: addresses, message, remoteAddress };
        try {
          await messaging.acceptInbound(mail, networkOf(remoteAddress));
          faults.worked('take mail');
          return undefined;
        } catch (error) {
          return deferring(() => {
            throw error;
          });
        }
      },
      onError(error) {
        // Not the peer's fault, and peers try again as often as they like.
        if (errorCode(error) === 'PLATFORM_STORAGE_UNAVAILABLE') return faults.failed('take mail', error);
        log.warn({ code: errorCode(error), problem: errorText(error) }, 'an inbound connection failed');
      },
    },
  });
}

/**
 * Mail over a limit is deferred (RFC 3463 §3.4: X.3.1, mail system full); anything else is an internal error.
 */
function deferring(check: () => void): SmtpReply | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    if (!(error instanceof CodedError) || !deferredCodes.has(error.code)) throw error;
    return { code: 452, enhancedCode: '4.3.1', text: error.publicMessage };
  }
}

const deferredCodes: ReadonlySet<string> = new Set(['PLATFORM_DISK_LOW', 'MESSAGING_SPOOL_FULL']);
