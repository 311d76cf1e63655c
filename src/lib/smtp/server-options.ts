import type { SMTPServerOptions } from 'smtp-server';
import type { Budget } from '../../core/index.ts';
import type { SmtpHandlers } from './handlers.ts';
import * as defaults from './limits.ts';
import type { Offers } from './offers.ts';
import { decideRecipient, findPathFault, mailParameters, replyError, takeMessage } from './receive.ts';

export interface SmtpServerLimits {
  readonly maxMessageBytes?: number;
  readonly maxBytesInFlight?: number;
  readonly maxBytesPerNetwork?: number;
  readonly maxRecipients?: number;
  readonly maxConnections?: number;
  readonly maxConnectionsPerPeer?: number;
  /** A network is a /24 of IPv4 or a /64 of IPv6. */
  readonly maxConnectionsPerNetwork?: number;
  readonly evictIdleMs?: number;
  readonly maxUselessCommands?: number;
  /** 0 for none. */
  readonly minBytesPerSecond?: number;
  readonly rateWindowMs?: number;
  readonly idleMs?: number;
  readonly maxSessionMs?: number;
  readonly closeGraceMs?: number;
}

export interface SmtpServerOptions {
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
  /** Our name in the greeting. */
  readonly hostname: string;
  readonly handlers: SmtpHandlers;
  readonly limits?: SmtpServerLimits;
  /** Memory for messages being received, by network; by default a budget made of the limits. */
  readonly budget?: Budget;
  /** PEM key and certificate chain. Without them STARTTLS is not offered. */
  readonly tls?: { readonly key: string | Buffer; readonly cert: string | Buffer };
}

/**
 * Our options as options of the library; `busySessions` is kept up to date with the sessions that wait for a
 * message to be accepted.
 */
export function libraryOptions(
  options: SmtpServerOptions,
  limits: Required<SmtpServerLimits>,
  { busySessions, offers }: { readonly busySessions: Set<string>; readonly offers: Offers },
): SMTPServerOptions {
  const { handlers, tls } = options;
  // The library's built-in key is public, so without a configured key STARTTLS is not offered.
  const disabledCommands = ['AUTH', 'WIZ', 'SHELL', 'KILL', ...(tls === undefined ? ['STARTTLS'] : [])];
  return {
    name: options.hostname,
    size: limits.maxMessageBytes,
    maxRecipients: limits.maxRecipients,
    maxCommandLength: defaults.maxCommandOctets,
    socketTimeout: limits.idleMs,
    closeTimeout: limits.closeGraceMs,
    disabledCommands,
    authOptional: true,
    disableReverseLookup: true,
    hideENHANCEDSTATUSCODES: false,
    hideSMTPUTF8: true,
    heloResponse: '%s',
    ...(tls === undefined ? {} : { ...tls, minVersion: 'TLSv1.2' }),
    onClose: (session) => void busySessions.delete(session.id),
    onMailFrom: (address, session, done) => {
      const reply = findPathFault(address, mailParameters) ?? offers.judge(session, address);
      done(reply === undefined ? null : replyError(reply));
    },
    onRcptTo: (address, session, done) => {
      void answer(decideRecipient(address, session, handlers), done);
    },
    onData: (stream, session, done) => {
      busySessions.add(session.id);
      void answer(
        takeMessage(stream, session, { handlers, limits, reservation: offers.take(session) }),
        (error) => {
          busySessions.delete(session.id);
          done(error, '2.0.0 Message accepted');
        },
      );
    },
  };
}

async function answer(decision: Promise<Error | null>, done: (error: Error | null) => void): Promise<void> {
  done(await decision);
}
