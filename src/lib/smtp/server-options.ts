import type { SMTPServerOptions } from 'smtp-server';
import type { SmtpHandlers } from './handlers.ts';
import * as defaults from './limits.ts';
import { createByteBudget } from './message-collector.ts';
import { createPeerCounter } from './peer-counter.ts';
import {
  decideRecipient,
  findPathFault,
  mailParameters,
  replyError,
  takeMessage,
  tooManyConnections,
} from './receive.ts';

export interface SmtpServerLimits {
  readonly maxMessageBytes?: number;
  readonly maxBytesInFlight?: number;
  readonly maxRecipients?: number;
  readonly maxConnections?: number;
  readonly maxConnectionsPerPeer?: number;
  readonly idleMs?: number;
  readonly maxSessionMs?: number;
  readonly closeGraceMs?: number;
}

export interface SmtpServerOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Our name in the greeting. */
  readonly hostname: string;
  readonly handlers: SmtpHandlers;
  readonly limits?: SmtpServerLimits;
  /** PEM key and certificate chain. Without them STARTTLS is not offered. */
  readonly tls?: { readonly key: string | Buffer; readonly cert: string | Buffer };
}

/** Our options in the words of the library; `busySessions` is kept up to date with the sessions that wait for a message to be taken. */
export function libraryOptions(
  options: SmtpServerOptions,
  limits: Required<SmtpServerLimits>,
  busySessions: Set<string>,
): SMTPServerOptions {
  const { handlers, tls } = options;
  const budget = createByteBudget(limits.maxBytesInFlight);
  const peers = createPeerCounter(limits.maxConnectionsPerPeer);
  // The library has a built-in key that everybody knows; without a key of ours there is no STARTTLS at all.
  const disabledCommands = ['AUTH', 'WIZ', 'SHELL', 'KILL', ...(tls === undefined ? ['STARTTLS'] : [])];
  return {
    name: options.hostname,
    size: limits.maxMessageBytes,
    maxRecipients: limits.maxRecipients,
    maxClients: limits.maxConnections,
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
    onConnect: (session, done) => done(peers.enter(session) ? null : replyError(tooManyConnections)),
    onClose: (session) => {
      peers.leave(session);
      busySessions.delete(session.id);
    },
    onMailFrom: (address, _session, done) => {
      const reply = findPathFault(address, mailParameters);
      done(reply === undefined ? null : replyError(reply));
    },
    onRcptTo: (address, session, done) => {
      void answer(decideRecipient(address, session, handlers), done);
    },
    onData: (stream, session, done) => {
      busySessions.add(session.id);
      void answer(takeMessage(stream, session, { handlers, limits, budget }), (error) => {
        busySessions.delete(session.id);
        done(error, '2.0.0 Message accepted');
      });
    },
  };
}

async function answer(decision: Promise<Error | null>, done: (error: Error | null) => void): Promise<void> {
  done(await decision);
}
